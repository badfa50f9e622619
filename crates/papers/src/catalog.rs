//! The profiles of the papers' machines and of what these are made of.

use sim::profile::{Catalog, Catalogued};

const PROFILES: &[Catalogued] = sim::catalogued! {
    "buses": "cmi", "sbi", "unibus-750", "unibus-780";
    "controllers": "alternating-buffers", "sc750", "sc780", "si9900", "uda50";
    "machines": "cdc7600-ltss-819", "cray1-alamos-dd19", "cray1-cos-dd19", "cray1-ctss-dd19",
        "vax750-sc750-eagle", "vax750-uda50-ra81", "vax780-sc780-eagle",
        "vax780-sc780-eagle-initial", "vax780-sc780-eagle-search-lead", "vax780-si9900-eagle",
        "vax780-uda50-ra81";
    "processors": "cdc-7600", "cray-1", "vax-11-750", "vax-11-780";
    "systems": "4.2bsd";
};

/// Every profile that comes with lbolt: the machines here use drives of `sim`.
pub const CATALOG: Catalog = Catalog(&[sim::profile::PROFILES, PROFILES]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_can_be_read_and_says_what_it_is() {
        for (position, known) in CATALOG.profiles().enumerate() {
            let is_same = |other: &Catalogued| other.name == known.name;
            assert!(!CATALOG.profiles().take(position).any(is_same), "{} twice", known.name);
            let profile = CATALOG.load(known.name).unwrap();
            assert!(!profile.title.is_empty() && profile.leaves().count() > 1, "{}", known.name);
            for (key, leaf) in profile.leaves() {
                assert!(leaf.is_sourced(), "{}: {key} has no source", known.name);
            }
        }
    }
}

//! The profiles that come with lbolt, by name, and how a machine is put together from its parts.

use super::ProfileError;
use super::reader::{ALONE, Profile};
use toml::{Table, Value};

/// A profile that comes with lbolt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Catalogued {
    /// What `--model` calls it.
    pub name: &'static str,
    /// Where it lies in the sources.
    pub path: &'static str,
    /// What stands in it.
    pub text: &'static str,
}

/// The profiles of the crate that this is written in, by the folders of its `profiles`.
#[macro_export]
macro_rules! catalogued {
    ($($folder:literal: $($name:literal),* $(,)?;)*) => {
        &[$($($crate::profile::Catalogued {
            name: $name,
            path: concat!(
                "crates/", env!("CARGO_PKG_NAME"), "/profiles/", $folder, "/", $name, ".toml"
            ),
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/profiles/", $folder, "/", $name, ".toml"
            )),
        }),*),*]
    };
}

/// The profiles of this crate: what traces are replayed on.
pub const PROFILES: &[Catalogued] = catalogued! {
    "drives": "819", "atlas-iii", "atlas10k", "aws-gp2", "aws-gp3", "aws-io2", "aws-st1",
        "azure-premium-ssd-p20", "azure-premium-ssd-p30", "azure-premium-ssd-v2", "barracuda",
        "cheetah4lp", "cheetah9lp", "cloud-volume", "dd-19", "dec-rz26", "eagle", "flash-nvme-2020",
        "flash-sata-2018", "flash-sata-2021", "gcp-hyperdisk-balanced", "gcp-pd-balanced",
        "gcp-pd-ssd", "generic-7200rpm", "hp-c2200a", "hp-c2247a", "hp-c2490a", "hp-c3323a",
        "ibm18es", "ra81", "st41601n";
    "machines": "hp-9000-845";
};

/// A catalog of this crate's profiles alone.
pub const CATALOG: Catalog = Catalog(&[PROFILES]);

/// How deep machines may be made of machines.
const DEPTH_MAX: u32 = 4;

/// Profiles by their names, in lists that crates bring along.
#[derive(Debug, Clone, Copy)]
pub struct Catalog(pub &'static [&'static [Catalogued]]);

impl Catalog {
    /// All of them.
    pub fn profiles(&self) -> impl Iterator<Item = &'static Catalogued> {
        self.0.iter().copied().flatten()
    }

    /// The profile of that name.
    /// Errors: an unknown name, with the nearest known one; a profile at fault.
    pub fn load(&self, name: &str) -> Result<Profile, ProfileError> {
        let catalogued = self.find(name, "", "")?;
        self.load_text(catalogued.name, catalogued.path, catalogued.text)
    }

    /// A profile from its text; the parts that it uses come from the catalog.
    pub fn load_text(&self, name: &str, file: &str, text: &str) -> Result<Profile, ProfileError> {
        let mut profile = Profile::empty(name);
        let table = parse(file, text)?;
        // A part by itself is a machine of that part.
        let kind = kind_of(file, &table)?;
        let prefix = if kind == "machine" { "" } else { kind };
        profile.kind = kind.to_owned();
        profile.title = table.get("title").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kind == "drive" {
            self.add(&mut profile, ALONE.0, "", &parse(ALONE.0, ALONE.1)?, 0)?;
        }
        self.add(&mut profile, file, prefix, &table, 0)?;
        profile.check_intervals()?;
        Ok(profile)
    }

    /// Adds the parts that a profile uses, and then its own values over them.
    fn add(
        &self,
        profile: &mut Profile,
        file: &str,
        prefix: &str,
        table: &Table,
        depth: u32,
    ) -> Result<(), ProfileError> {
        if depth > DEPTH_MAX {
            return Err(ProfileError::new(file, "uses", "profiles use each other in a cycle"));
        }
        let uses = table.get("uses").map(|uses| {
            uses.as_table().ok_or_else(|| {
                ProfileError::new(file, "uses", "is a table of parts: uses = { drive = \"eagle\" }")
            })
        });
        for (part, name) in uses.transpose()?.into_iter().flatten() {
            let key = format!("uses.{part}");
            let name =
                name.as_str().ok_or_else(|| ProfileError::new(file, &key, "is not a name"))?;
            let used = self.find(name, file, &key)?;
            // A base is what a profile is itself, but for what it changes.
            let prefix =
                if part == "base" { prefix.to_owned() } else { super::leaf::join(prefix, part) };
            self.add(profile, used.path, &prefix, &parse(used.path, used.text)?, depth + 1)?;
        }
        let mut own = table.clone();
        for key in ["uses", "kind", "title"] {
            own.remove(key);
        }
        profile.overlay(file, prefix, &own)
    }

    fn find(&self, name: &str, file: &str, key: &str) -> Result<&'static Catalogued, ProfileError> {
        self.profiles().find(|known| known.name == name).ok_or_else(|| {
            let near = super::reader::nearest(name, self.profiles().map(|known| known.name));
            let reason =
                format!("no model \"{name}\"{near}; lbolt simulate --list-models lists the models");
            ProfileError::new(file, key, reason)
        })
    }
}

fn parse(file: &str, text: &str) -> Result<Table, ProfileError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        ProfileError::new(file, &format!("line {line}"), error.message())
    })
}

fn kind_of<'a>(file: &str, table: &'a Table) -> Result<&'a str, ProfileError> {
    let kind = table.get("kind").and_then(Value::as_str);
    kind.ok_or_else(|| {
        let reason =
            "is missing; a profile states its kind: machine, processor, controller, drive …";
        ProfileError::new(file, "kind", reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_of_the_catalog_can_be_read_and_says_what_it_is() {
        for known in CATALOG.profiles() {
            let profile = CATALOG.load(known.name).unwrap();
            assert!(!profile.title.is_empty() && profile.leaves().count() > 1, "{}", known.name);
            for (key, leaf) in profile.leaves() {
                assert!(leaf.is_sourced(), "{}: {key} has no source", known.name);
            }
        }
    }

    #[test]
    fn a_machine_is_made_of_its_parts_and_may_change_them() {
        let text = "kind = 'machine'\nuses = { drive = 'eagle' }\n[drive.rotation]\nassumed = \
            'x'\nspeed = '1 rpm'\n";
        let profile = CATALOG.load_text("m", "m.toml", text).unwrap();
        let drive = profile.reader().below("drive");
        assert_eq!(drive.below("rotation").revolution_ns("speed"), Ok(60e9));
        assert!(drive.has_any());
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        for (text, sentence) in [
            ("kind = ", "line 1"),
            ("", "kind: is missing"),
            ("kind = 'machine'\nuses = { drive = 'egle' }", "did you mean \"eagle\""),
            ("kind = 'machine'\nuses = 'eagle'", "table of parts"),
        ] {
            let error = CATALOG.load_text("m", "m.toml", text).unwrap_err().to_string();
            assert!(error.contains(sentence) && error.starts_with("m.toml: "), "{text}: {error}");
        }
        assert!(CATALOG.load("atlas").unwrap_err().reason.contains("--list-models"));
    }
}

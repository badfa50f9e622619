//! Which flag of a bio says that it has been through the throttling of cgroups. The flags are an
//! enum without a name, which the loader cannot find; its members' names are in the kernel's types.
//!
//! Source: include/linux/blk_types.h (BIO_BPS_THROTTLED, since Linux 6.1; BIO_THROTTLED before);
//! Documentation/bpf/btf.rst: behind its header types and then strings; a member of an enum is a
//! name's place and a value.
//!
//! Non-goals: anything else of these types.

const NAMES: [&str; 2] = ["BIO_BPS_THROTTLED", "BIO_THROTTLED"];
/// What the members' names begin with.
const FAMILY: &[u8] = b"BIO_";
/// A bio has 16 flags.
const FLAGS: u32 = 16;

/// The flag as a mask; 0 where the kernel does not tell.
pub(super) fn throttled() -> u32 {
    let types = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    NAMES.iter().find_map(|name| bit(&types, name)).map_or(0, |bit| 1 << bit)
}

/// The value of the member of that name.
fn bit(btf: &[u8], name: &str) -> Option<u32> {
    let word =
        |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk::<4>()?));
    // Magic, version and flags; then the lengths of the header, and the sections' places in it.
    let place = |at| word(btf, at).map(|place| place as usize);
    let header = place(4)?;
    let section = |begin: usize, length: usize| {
        let begin = header.checked_add(begin)?;
        btf.get(begin..begin.checked_add(length)?)
    };
    let types = section(place(8)?, place(12)?)?;
    let strings = section(place(16)?, place(20)?)?;
    let wanted = [&[0], name.as_bytes(), &[0]].concat();
    let offset = strings.windows(wanted.len()).position(|window| window == wanted)? + 1;
    let is_of_family = |at: usize| {
        let other = word(types, at).and_then(|offset| strings.get(offset as usize..));
        other.is_some_and(|other| other.starts_with(FAMILY))
    };
    // The same number may stand elsewhere: a member has others of its family at its sides.
    let members = (0..types.len()).step_by(4).filter(|at| word(types, *at) == Some(offset as u32));
    let mut members = members.filter(|at| at.checked_sub(8).is_some_and(is_of_family));
    members.find_map(|at| word(types, at + 4).filter(|value| *value < FLAGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types with an enum of these members, behind a word that is no member.
    fn btf(members: &[(&str, u32)]) -> Vec<u8> {
        let (mut strings, mut types) = (vec![0], Vec::new());
        let offsets: Vec<u32> = members
            .iter()
            .map(|(name, _)| {
                let offset = strings.len() as u32;
                strings.extend([name.as_bytes(), &[0]].concat());
                offset
            })
            .collect();
        for word in offsets.iter().rev().chain(&[77]) {
            types.extend(word.to_ne_bytes());
        }
        for (offset, (_, value)) in offsets.iter().zip(members) {
            types.extend([offset.to_ne_bytes(), value.to_ne_bytes()].concat());
        }
        let (first, second) = (types.len() as u32, strings.len() as u32);
        let header = [0xeb9f, 24, 0, first, first, second].map(u32::to_ne_bytes).concat();
        [header, types, strings].concat()
    }

    #[test]
    fn a_member_is_found_by_its_name_and_its_neighbours() {
        let whole = btf(&[("BIO_CHAIN", 3), ("BIO_REFFED", 4), ("BIO_BPS_THROTTLED", 5)]);
        assert_eq!(bit(&whole, "BIO_BPS_THROTTLED"), Some(5));
        assert_eq!(bit(&whole, "BIO_THROTTLED"), None);
        assert_eq!(bit(&btf(&[("OTHER", 3), ("BIO_THROTTLED", 7)]), "BIO_THROTTLED"), None);
        for length in 0..whole.len() {
            let _ = bit(&whole[..length], "BIO_BPS_THROTTLED");
        }
    }
}

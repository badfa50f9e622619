//! The kernels that lbolt was tried on, and where another one stands among them: those of `make
//! lab`, and 6.18, on which it is developed. Not every stack was tried on each, and not all held.
//!
//! Source: docs/kernels.md, which says what was tried and what works.
//!
//! Non-goals: what a kernel has (`capability`), which is looked up and not concluded from a number.

/// Major and minor number, in their order.
pub const TESTED: [(u32, u32); 5] = [(5, 10), (6, 1), (6, 12), (6, 18), (7, 2)];

/// Where a kernel stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is one of them.
    Tested,
    /// It lies between two of them.
    Between((u32, u32), (u32, u32)),
    /// It is newer than all of them.
    Newer,
    /// It is older.
    Older,
}

/// Where the kernel of this release (`6.12.117+deb12-amd64`) stands; none of what is no release.
pub fn standing(release: &str) -> Option<Standing> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let above = TESTED.iter().position(|tested| *tested >= version);
    Some(match above {
        Some(place) if TESTED[place] == version => Standing::Tested,
        Some(0) => Standing::Older,
        Some(place) => Standing::Between(TESTED[place - 1], TESTED[place]),
        None => Standing::Newer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_tested_between_two_newer_or_older() {
        assert_eq!(standing("6.12.117+deb12-rt-amd64"), Some(Standing::Tested));
        assert_eq!(standing("5.14.0-503.el9"), Some(Standing::Between((5, 10), (6, 1))));
        assert_eq!(standing("4.19.0-27-amd64"), Some(Standing::Older));
        assert_eq!(standing("8.0"), Some(Standing::Newer));
        assert_eq!((standing(""), standing("six.one")), (None, None));
    }

    #[test]
    fn they_are_in_their_order() {
        assert!(TESTED.is_sorted());
    }
}

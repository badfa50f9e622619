//! What a Debian package says of itself: its control file and Debian's changelog, as text. Pure.
//!
//! Source: Debian Policy, chapters 4.4 and 5.

use super::names::{Target, version};
use host::subject::FILE_SYSTEMS;
use std::collections::BTreeSet;

const ABOUT: &str = "\
storage I/O performance laboratory
 lbolt measures disks and file systems, traces each request to them, and says
 how far each number can be trusted. A survey answers what a machine's storage
 does; a capture says who waits, for whom, and on which file.
 .
 The program is static: it needs no library. The unit lbolt-watch.service, a
 standing watch with metrics for Prometheus, is installed and not enabled.";

/// The control file. What makes file systems is only recommended: who measures a directory or a
/// device needs none of it.
pub(super) fn control(target: Target, maintainer: &str, installed_kib: u64) -> String {
    let packages: BTreeSet<&str> = FILE_SYSTEMS.iter().map(|system| system.package).collect();
    let recommended = packages.into_iter().collect::<Vec<_>>().join(", ");
    let fields = [
        ("Package", "lbolt".to_owned()),
        ("Version", version()),
        ("Architecture", target.debian.to_owned()),
        ("Maintainer", maintainer.to_owned()),
        ("Installed-Size", installed_kib.to_string()),
        ("Recommends", recommended),
        ("Section", "admin".to_owned()),
        ("Priority", "optional".to_owned()),
        ("Description", ABOUT.to_owned()),
    ];
    fields.map(|(name, value)| format!("{name}: {value}\n")).concat()
}

/// Debian's changelog: that it was packaged; what is new is in lbolt's own. `date` is of RFC 5322.
pub(super) fn changelog(maintainer: &str, date: &str) -> String {
    format!(
        "lbolt ({}) unstable; urgency=medium\n\n  * Packaged by `make dist`; what is new is in \
         changelog.gz.\n\n -- {maintainer}  {date}\n",
        version()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::names::TARGETS;

    #[test]
    fn a_package_needs_nothing_and_recommends_what_makes_file_systems() {
        let text = control(TARGETS[1], "A. Packager <a@b.example>", 12345);
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        assert_eq!(field("Package: "), Some("lbolt"));
        assert_eq!(field("Architecture: "), Some("arm64"));
        assert_eq!(field("Maintainer: "), Some("A. Packager <a@b.example>"));
        assert_eq!(field("Installed-Size: "), Some("12345"));
        assert_eq!(field("Recommends: "), Some("btrfs-progs, e2fsprogs, xfsprogs"));
        assert_eq!(field("Depends: "), None);
        // Lines of the long description begin with a space, and none is empty.
        let (_, about) = text.split_once("Description: ").unwrap();
        assert!(about.lines().skip(1).all(|line| line.starts_with(' ') && line.len() > 1));
        assert!(text.ends_with(".\n") && about.lines().all(|line| line.len() < 80));
    }

    #[test]
    fn debians_changelog_is_of_the_packages_version() {
        let text = changelog("A <a@b.example>", "Tue, 24 Nov 2026 02:00:00 +0000");
        assert!(text.starts_with(&format!("lbolt ({}) unstable; ", version())), "{text}");
        assert!(text.ends_with("\n -- A <a@b.example>  Tue, 24 Nov 2026 02:00:00 +0000\n"));
    }
}

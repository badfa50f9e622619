//! What is built for which processor, and how its files and packages are called: pure.

use model::record::TOOL_VERSION;
use object::Architecture;

/// Debian's own count of packages of one version.
const REVISION: u32 = 1;

/// A kind of machine that packages are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// Rust's name of the processor.
    pub(super) processor: &'static str,
    /// Debian's.
    pub(super) debian: &'static str,
    /// As its programs say it.
    pub(super) architecture: Architecture,
    /// What runs its programs elsewhere: of Debian's qemu-user-static.
    pub(super) emulator: &'static str,
}

/// All.
pub(super) const TARGETS: [Target; 2] = [
    Target {
        processor: "x86_64",
        debian: "amd64",
        architecture: Architecture::X86_64,
        emulator: "qemu-x86_64-static",
    },
    Target {
        processor: "aarch64",
        debian: "arm64",
        architecture: Architecture::Aarch64,
        emulator: "qemu-aarch64-static",
    },
];

impl Target {
    /// Rust's name of processor, kernel and C library.
    pub(super) fn triple(&self) -> String {
        format!("{}-unknown-linux-musl", self.processor)
    }

    /// The tarball's name without its ending, which is also the one directory in it.
    pub(super) fn tree(&self) -> String {
        format!("lbolt-{TOOL_VERSION}-{}-linux-musl", self.processor)
    }

    /// The package's file.
    pub(super) fn package(&self) -> String {
        format!("lbolt_{}_{}.deb", version(), self.debian)
    }

    /// Whether this machine runs its programs.
    pub(super) fn is_native(&self) -> bool {
        self.processor == std::env::consts::ARCH
    }
}

/// Debian's version.
pub(super) fn version() -> String {
    format!("{TOOL_VERSION}-{REVISION}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_says_version_and_processor_in_the_words_of_its_kind() {
        let [intel, arm] = TARGETS;
        assert_eq!(intel.tree(), format!("lbolt-{TOOL_VERSION}-x86_64-linux-musl"));
        assert_eq!(intel.package(), format!("lbolt_{TOOL_VERSION}-1_amd64.deb"));
        assert_eq!(arm.triple(), "aarch64-unknown-linux-musl");
        assert_eq!(arm.package(), format!("lbolt_{TOOL_VERSION}-1_arm64.deb"));
        assert!(TARGETS.iter().filter(|target| target.is_native()).count() <= 1);
    }
}

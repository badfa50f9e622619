//! What is fuzzed by itself.

/// A part of what reads files that is fuzzed by itself.
#[derive(Debug)]
pub(super) struct Target {
    /// As `LBOLT_FUZZ_TARGET` says it.
    pub(super) name: String,
    /// Whether it is fed with more than text.
    pub(super) is_binary: bool,
    /// Names of files and what is in them.
    pub(super) seeds: Vec<(String, Vec<u8>)>,
}

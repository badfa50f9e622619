//! What several tests use.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

pub(crate) mod judge;
pub(crate) mod srt;

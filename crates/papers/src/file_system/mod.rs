//! File systems: where the blocks of files lie on a drive.

pub(crate) mod fast;

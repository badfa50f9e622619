//! File systems: where the blocks of files lie on a drive.

pub mod fast;

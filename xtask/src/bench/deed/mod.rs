//! What lbolt says of a device against what a device does: `whatif` against the change really made
//! ([`whatif`]), and the indirect ways to a number against the direct one ([`indirect`]); and how
//! long the answers of `explore` take.

mod devices;
mod explore;
mod indirect;
mod load;
mod pg_test_fsync;
mod pgbench;
mod predicted;
mod rows;
mod statistic;
mod whatif;

pub(super) use explore::explore;
pub(super) use indirect::indirect;
pub(super) use pg_test_fsync::pg_test_fsync;
pub(super) use pgbench::pgbench;
pub(super) use whatif::whatif;

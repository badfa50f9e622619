//! Traces that are made for a measurement: the same bytes in each run.

pub(super) mod blktrace;
pub(super) mod requests;
pub(super) mod text;

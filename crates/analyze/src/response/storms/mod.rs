//! Storms: bursts of writes or flushes, who made them, and the reads that waited behind them.
//!
//! - [`grid`]: each device's trace on a grid of time, in bounded memory.

mod grid;

pub(super) use grid::{Grid, Resolution};

//! Storms: bursts of writes or flushes that stand out from what a device is asked for otherwise, who made them, and the
//! reads that waited behind them.
//!
//! Each device's trace is kept on a grid of time ([`grid`]), in bounded memory. Which bins belong to a storm is decided
//! against the null model of a steady load ([`detect`], [`calm`]), which of them bring work ([`deeper`]), and whether they
//! come at regular times ([`period`]). [`bursts`] is the plain rule that others use, for comparison.

mod bursts;
mod calm;
mod deeper;
mod detect;
mod grid;
mod period;

#[cfg(test)]
mod evaluation;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;

pub(super) use grid::{Grid, Resolution};

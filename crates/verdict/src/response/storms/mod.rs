//! Storms: bursts of writes or flushes that stand out from what a device gets otherwise,
//! who made them, and the reads that waited behind them.
//!
//! Each device's trace is kept on a grid of time ([`grid`]), in bounded memory, writes of two kinds
//! apart ([`kinds`]). Which bins belong to a storm is decided against the null model of a steady
//! load ([`detect`], [`calm`]), which of them bring work ([`deeper`]), and whether they come at
//! regular times ([`period`]). [`storm`] says what each was, [`findings`] publishes them, and
//! [`span`] tells where they lie.

mod calm;
mod deeper;
mod detect;
mod findings;
mod grid;
mod kinds;
mod period;
mod span;
mod storm;

#[cfg(test)]
mod tests;

pub(super) use findings::{Context, findings};
pub(super) use grid::Resolution;
pub(super) use kinds::Grids;
pub(crate) use period::period;
pub use span::StormSpan;
pub(super) use span::spans;

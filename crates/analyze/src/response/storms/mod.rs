//! Storms: bursts of writes or flushes that stand out from what a device is asked for otherwise. Which bins of a time
//! grid belong to a storm is decided here ([`detect`], against the null model of [`calm`]), which of them bring work ([`deeper`]),
//! and whether they come at regular times ([`period`]). [`bursts`] is the plain rule that others use, for comparison.
//!
//! Non-goals: who is to blame, and what a storm did to others.

#![allow(dead_code, reason = "nothing asks yet")]

mod bursts;
mod calm;
mod deeper;
mod detect;
mod period;

#[cfg(test)]
mod evaluation;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;

//! A watch that goes on: what is counted of requests and calls as they end, and who lost time to
//! whom, by spans of the wall clock (minutes).
//!
//! - `spans`: when spans begin and end, on the requests' clock and on the wall's.
//! - `tally`: counts and response times, each in the span in which it began.
//! - `many`: these, in a ledger.
//! - `losses`: the verdict of each span: the ledger of `verdict` over the requests that concern it,
//!   as `response --from --to` has it.
//! - `rolled`: the same of a trace's file, minute by minute.
//! - `usual`: what stands out against the same hour of earlier days.
//!
//! Times are CLOCK_MONOTONIC's, in ns, but for those that are called `unix`.
//!
//! Non-goals: where rows come from, and where they are kept.

mod losses;
mod many;
mod rolled;
mod spans;
mod tally;
mod usual;

/// Files whose owners are remembered: so many, and up to twice as many.
const OWNERS_MOST: usize = 50_000;

pub use losses::Losses;
pub use many::Many;
pub use rolled::{Rolled, events_lost, minutes_from_ns};
pub use spans::{ClockSet, Span, Spans};
pub use tally::{InCommon, Names, Tally};
pub use usual::{LastMinute, Unusual, Usual};

//! What lbolt says of a device, held against what the device does: the bench's own part of it. The
//! scripts of bench.toml make the requests, on modelled drives and on loop devices; what is here
//! makes the loads, picks and counts the rows, and judges predictions. And how long the answers of
//! `explore` take.

mod closed;
mod explore;
mod held;
mod load;
mod rows;
mod statistic;

pub(super) use closed::closed;
pub(super) use explore::explore;
pub(super) use held::held;
pub(super) use load::{dribble, load};
pub(super) use rows::pick;
pub(super) use statistic::times;

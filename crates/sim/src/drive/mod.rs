//! Rotating drives: where a block lies, how long the arm and the platter take to it, and what the
//! drive's electronics make of a request.
//!
//! Times within a drive are `f64` nanoseconds; angles are shares of a revolution.

mod cache;
pub mod layout;
pub mod mechanics;
mod reading;
mod rules;
pub mod seek;
mod serve;
pub mod speed_matching;
mod writing;

pub use layout::{Layout, Run, Sparing, Spot, Zone};
pub use mechanics::{Arm, Mechanics};
pub use rules::{After, Bus, CacheRules, ExtraDisconnect, Overheads, ReadAhead};
pub use seek::SeekCurve;
pub use serve::{Drive, DriveRequest, PastEnd};
pub use speed_matching::SpeedMatching;

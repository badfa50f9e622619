//! Rotating drives: where a block lies, how long the arm and the platter take to it.
//!
//! Times within a drive are `f64` nanoseconds; angles are shares of a revolution.

pub mod layout;
pub mod mechanics;
pub mod seek;
pub mod speed_matching;

pub use layout::{Layout, Spot, Zone};
pub use mechanics::{Arm, Mechanics};
pub use seek::SeekCurve;
pub use speed_matching::SpeedMatching;

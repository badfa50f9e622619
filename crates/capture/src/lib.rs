//! The capture of requests: one session, behind `record`, its flight recorder and `--trace`.
//!
//! [`Session`] is in the kernel or pauses, empties the rings, and knows at its end what was lost,
//! what it cost and whether the kernel's own counts agree. `record` runs it until something ends it
//! ([`until`]); the flight recorder does, too, and its rows go to [`LastSeconds`]; `--trace` runs
//! it in a thread, pass by pass ([`PassCapture`]).
//!
//! Around it: the user's COMMAND ([`load`]), what a killed run leaves and who puts that in order
//! ([`leftover`], [`caretaker`]), parts of lbolt that are processes of their own ([`part`],
//! [`wire`]), and the gate that rows pass ([`gate`]).
//!
//! Non-goals: the tracer (`trace::capture`), what the rows mean (`analyze`).
#![forbid(unsafe_code)]

mod areas;
pub mod caretaker;
pub mod caretaker_part;
pub mod condition;
mod cost;
mod cpu_use_watch;
mod cpu_watch;
mod devices;
mod diskstats;
mod ended;
pub mod gate;
mod kept;
mod last_seconds;
pub mod leftover;
mod limits;
pub mod load;
pub mod outcome;
pub mod part;
mod passes;
mod presence;
mod pressure_watch;
mod quick;
mod repeats;
mod session;
mod slowdown;
mod stack_names;
mod sums;
mod trigger;
mod until;
pub mod wire;
mod witness;

pub use devices::{Devices, host_facts, kernel_number, models, resolve};
pub use ended::{Ended, Live, SoFar, UNKNOWN, note_cgroups, note_devices};
pub use last_seconds::LastSeconds;
pub use passes::PassCapture;
pub use presence::CHANGED;
pub use repeats::{Repeats, TakesSums};
pub use session::{Options, Session};
pub use slowdown::slowdown;
pub use sums::Sums;
pub use trace::clock::now_ns;
pub use trigger::Alarm;
pub use until::{End, Until};
pub use witness::NewThread;

//! The capture of requests: one session, behind `record`, its flight recorder and `--trace`.
//!
//! [`Session`] is in the kernel or pauses, empties the rings, and knows at its end what was lost,
//! what it cost and whether the kernel's own counts agree. `record` runs it until something ends it
//! ([`until`]); the flight recorder does, too, and its rows go to [`LastSeconds`]; `--trace` runs
//! it in a thread, pass by pass ([`PassCapture`]).
//!
//! Non-goals: the tracer (`trace::capture`), what the rows mean (`analyze`).

mod areas;
mod cost;
mod cpu_watch;
mod devices;
mod diskstats;
mod last_seconds;
mod passes;
mod presence;
mod pressure_watch;
mod session;
mod slowdown;
mod stack_names;
mod trigger;
mod until;
mod witness;

pub(crate) use devices::{Devices, kernel_number, models, resolve};
pub(crate) use last_seconds::LastSeconds;
pub(crate) use passes::PassCapture;
pub(crate) use presence::CHANGED;
pub(crate) use session::{Ended, Live, Options, Session, SoFar, note_cgroups, note_devices};
pub(crate) use slowdown::slowdown;
pub(crate) use trigger::Alarm;
pub(crate) use until::{End, Until};
pub(crate) use witness::NewThread;

use rustix::time::{ClockId, clock_gettime};

/// What a clock shows, in ns.
pub(crate) fn now_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

//! Runs: their directories, sessions and signals, and what each experiment does in its
//! session.

pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod device;
pub(crate) mod directory;
pub(crate) mod explore;
pub(crate) mod fleet;
pub(crate) mod history;
pub(crate) mod incidents;
pub(crate) mod overhead;
mod parameter_samples;
pub(crate) mod profile;
pub(crate) mod replay;
pub(crate) mod requests;
pub(crate) mod rounds;
pub(crate) mod session;
pub(crate) mod simulate;
pub(crate) mod storm;
mod subject;
pub(crate) mod survey;
pub(crate) mod synthetic_fleet;
pub(crate) mod throughput;
pub(crate) mod tracing;

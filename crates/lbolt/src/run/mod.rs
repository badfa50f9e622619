//! What runs need: the watch over rows, a run whose record is requests, the capture of requests.

pub(crate) mod capture;
pub(crate) mod requests;
mod watch;

pub(crate) use watch::{Interrupted, Watch};

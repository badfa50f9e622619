//! A trace that is explored: indexed once, then asked by a page until the user ends it.
//!
//! - `index`: from the trace's rows, or from where it was kept.
//! - `trace`: what the page is told of the trace as a whole.
//! - `request`: one request with all that its row says.
//! - `serve`: who may ask, and what he gets.
//! - `redirect`: the file that sends the browser there.
//!
//! Non-goals: counting (`explore`), connections (crate `server`), drawing (`viewer/`).

mod index;
mod redirect;
mod request;
mod serve;
mod trace;

pub(crate) use index::Explored;
pub(crate) use redirect::Redirect;
pub(crate) use serve::{Address, serve};

//! Traces replayed on models, and how well a model does on one.
//!
//! Pure code over rows: the caller reads and writes the files.

mod closed;
mod demerit;

pub use closed::{Closed, ReplayError, closed};
pub use demerit::{Demerit, demerit};

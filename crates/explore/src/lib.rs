//! A trace that somebody looks into: all its requests in memory, in 14 bytes each, so that any
//! part of it, by time, place, response time, device, operation, role and file, is counted while
//! he waits.
//!
//! Two things are counted. Of up to [`ROWS_AT_ONCE`] requests in the selected time, each by itself.
//! Of more, [`groups`]: cells of time in which requests of the same class, place and response time
//! are one number. Then what is selected is moved to the borders of cells, and the answer tells
//! where these are: so each count is exact for what it says that it is of.
//!
//! - [`scale`]: response times as numbers of a logarithmic scale.
//! - [`classes`]: device, operation, role and file, as one number.
//! - [`rows`]: the requests, column by column.
//! - [`groups`]: the cells.
//! - [`brush`]: what is selected.
//! - [`count`]: how it is counted; [`view`]: what comes of it.
//! - [`find`]: single requests.
//! - [`store`]: the whole as bytes, to be kept.
//!
//! Non-goals: reading traces, serving, drawing.
#![forbid(unsafe_code)]

mod brush;
mod classes;
mod count;
mod find;
mod groups;
mod index;
mod rows;
mod scale;
mod store;
#[cfg(test)]
mod tests;
mod view;

pub use brush::Brush;
pub use classes::{Files, OPERATIONS};
pub use find::{Found, Order};
pub use index::{Builder, Index};
pub use scale::{from_ns as response_from_ns, within_percent};
pub use store::StoreError;
pub use view::{Heat, Line, Lists, View};

/// Requests that are counted one by one; of more the cells are.
pub const ROWS_AT_ONCE: usize = 12 << 20;

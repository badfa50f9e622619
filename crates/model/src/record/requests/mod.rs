//! Files of requests (`requests.parquet`): the one record of which there are millions, and so
//! written and read as a stream of columns, where samples and findings go row by row.
//!
//! - [`COLUMNS`]: each column, its type and why it is there; docs/records.md is made from it.
//! - [`RequestWriter`]: rows in, Parquet out, in bounded memory; [`Parts`] and [`PartWriter`] are
//!   its two halves, for two threads.
//! - [`RequestFile`]: Parquet in, rows out, a batch at a time, whole or by parts.
//! - [`Groups`]: a file put together from what a killed writer left.
//! - [`Area`]: a named part of a device, told by the provenance.
//! - [`DeviceStack`]: which devices lie on which, told by the provenance.
//! - [`Provenance`]: what the footer says of where the rows come from and what was lost on the way.
//!
//! Non-goals: order (whoever writes sorts), derived columns.

mod areas;
mod batch;
mod columns;
mod devices;
mod growing;
mod provenance;
mod reader;
mod salvage;
mod stack;
mod writer;

pub use areas::{AREA_KINDS, Area};
pub use batch::{CHUNK_ROWS, RequestBatch};
pub use columns::{COLUMNS, CellType, OF_FILE, RequestColumn, SCHEMA, STEPS};
pub use devices::{DEVICES_MOST, other_devices};
pub use provenance::{
    BPF, CALLS_SAVED, Counts, KILLED, METHOD, NAMED_DEVICES, Provenance, SLOWER_THAN, SUMMED,
};
pub use reader::{RequestFile, RequestReader};
pub use salvage::{Groups, Piece, Tail};
pub use stack::{DeviceStack, LAYERS_MOST};
pub use writer::{BATCH_ROWS, Part, PartWriter, Parts, RequestWriter};

use super::request::Request;

/// What a Parquet file begins with, in bytes.
const MAGIC_BYTES: u64 = 4;

pub(super) use columns::describe;
pub(super) use provenance::COUNTED;

//! A row as the analysis takes it, with what was found out about it on the way.

use super::outstanding::{Found, Kind};
use super::processes::ProcessId;
use crate::requests::Share;
use model::record::Request;

/// What was found out about a row.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) share: Share,
    pub(super) kind: Kind,
    pub(super) arrival_ns: Option<i64>,
    /// The places of the device and of the process in their tables.
    pub(super) device: usize,
    pub(super) process: ProcessId,
    /// What it found outstanding, if it was requested and arrived.
    pub(super) found: Found,
}

impl Taken {
    #[inline(always)]
    pub(super) fn of(row: &Request) -> Self {
        Self {
            share: Share::of(row),
            kind: Kind::of(row),
            arrival_ns: row.arrival_ns(),
            device: 0,
            process: 0,
            found: Found::default(),
        }
    }

    /// When it arrived, if it was requested and that is known: then it is in the flow of its
    /// device.
    #[inline(always)]
    pub(super) fn asked_ns(&self) -> Option<i64> {
        self.arrival_ns.filter(|_| self.share.is_requested)
    }
}

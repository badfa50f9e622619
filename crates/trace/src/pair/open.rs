//! A request on its way: what is known of it so far.

use crate::event::{Event, Extent, Origin};
use model::record::{Flags, Request};

/// A request that was seen and is not completed yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) id: u64,
    pub(super) device: u32,
    pub(super) extent: Extent,
    pub(super) origin: Origin,
    pub(super) cpu: Option<u16>,
    pub(super) queued_ns: Option<i64>,
    pub(super) started_ns: Option<i64>,
    pub(super) issued_ns: Option<i64>,
    pub(super) parent_id: Option<u64>,
    /// The driver gave it back; its last issue is kept until there is another.
    pub(super) is_requeued: bool,
    /// A part of it was completed: what is issued again is only the rest.
    pub(super) is_in_parts: bool,
    /// The first error of its parts.
    pub(super) error: i32,
}

impl Open {
    /// A request of which nothing was seen before.
    pub(super) fn new(event: &Event, origin: Origin, id: u64) -> Self {
        Self {
            id,
            device: event.device,
            extent: event.extent,
            origin,
            cpu: event.cpu,
            queued_ns: None,
            started_ns: None,
            issued_ns: None,
            parent_id: None,
            is_requeued: false,
            is_in_parts: false,
            error: 0,
        }
    }

    /// Whether it waits to be issued, for the first time or again.
    pub(super) fn is_unissued(&self) -> bool {
        self.issued_ns.is_none() || self.is_requeued
    }

    /// What an issue adds: the request as the driver got it, merges included.
    pub(super) fn issue(&mut self, time_ns: i64, extent: Extent) {
        self.issued_ns = Some(time_ns);
        self.is_requeued = false;
        if self.is_in_parts {
            return;
        }
        let grew = extent.length_bytes > self.extent.length_bytes;
        let flags = self.extent.flags | extent.flags;
        self.extent.flags = flags.with(Flags::MERGED, grew || extent.flags.contains(Flags::MERGED));
        if extent.length_bytes > 0 {
            self.extent.length_bytes = extent.length_bytes;
        }
        self.extent.offset_bytes = extent.offset_bytes.or(self.extent.offset_bytes);
    }

    /// A part was completed.
    pub(super) fn complete_a_part(&mut self, error: i32) {
        self.is_in_parts = true;
        if self.error == 0 {
            self.error = error;
        }
    }

    /// The row, completed or never completed.
    pub(super) fn row(&self, completed_ns: Option<i64>, error: i32) -> Request {
        Request {
            request_id: self.id,
            device: self.device,
            op: self.extent.op,
            flags: self.extent.flags,
            offset_bytes: self.extent.offset_bytes,
            length_bytes: self.extent.length_bytes,
            queued_ns: self.queued_ns,
            started_ns: self.started_ns,
            issued_ns: self.issued_ns,
            completed_ns,
            completed_by_ns: None,
            error: if self.error == 0 { error } else { self.error },
            cpu: self.cpu,
            pid: self.origin.pid,
            cgroup: self.origin.cgroup,
            command: self.origin.command,
            parent_id: self.parent_id,
            above_id: None,
            file: self.origin.file,
            stacks: self.origin.stacks,
        }
    }
}

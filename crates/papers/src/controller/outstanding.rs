//! The transfers that a driver has: from the request on a drive's queue to the interrupt that says
//! that it is done.

use super::{Traffic, Transfer};
use sim::drive::Mechanics;
use sim::queue::Waiting;
use std::collections::BTreeMap;

/// Transfers by their numbers, and since when the driver has each, ns.
#[derive(Debug, Default)]
pub(super) struct Outstanding(BTreeMap<u64, (Transfer, u64)>);

impl Outstanding {
    /// Takes one on; how it waits in its drive's queue.
    pub(super) fn add(
        &mut self,
        now_ns: u64,
        transfer: Transfer,
        mechanics: &Mechanics,
    ) -> Waiting {
        let Transfer { number, block, is_write, .. } = transfer;
        self.0.insert(number, (transfer, now_ns));
        let cylinder = mechanics.layout.cylinder(block);
        Waiting { number, block, cylinder, is_write, arrived_ns: now_ns }
    }

    pub(super) fn get(&self, number: u64) -> Option<Transfer> {
        self.0.get(&number).map(|(transfer, _)| *transfer)
    }

    /// One is done: it is accounted for, and forgotten.
    pub(super) fn finish(&mut self, now_ns: u64, transfer: &Transfer, traffic: &mut Traffic) {
        let submitted_ns = self.0.remove(&transfer.number).map_or(now_ns, |(_, at_ns)| at_ns);
        traffic.add(transfer, submitted_ns, now_ns);
    }
}

//! What the drives of a time-shared System V get: reads and single writes at random moments,
//! and every so often a sync, which hands over all the writes that have gathered.
//!
//! A request is *local* where it goes to the cylinder of the one before it on its drive; else it
//! goes anywhere. A sync's writes go to the i-lists at the beginnings of the slices (file systems),
//! where section 3.3 found its spikes.

use super::scenario::{Inputs, Load};
use model::record::{Flags, Op, Request};
use sim::random::Random;

#[derive(Debug)]
pub(super) struct Arrivals<'a> {
    load: &'a Load,
    inputs: &'a Inputs,
    random: Random,
    drive_bytes: u64,
    /// Where the last request was, by drive, bytes.
    last_bytes: Vec<u64>,
    next_single_ns: f64,
    next_sync_ns: f64,
    /// Writes of the sync under way that are still to come, and when the next of them does.
    burst: u64,
    next_write_ns: f64,
    number: u64,
}

impl<'a> Arrivals<'a> {
    pub(super) fn new(load: &'a Load, inputs: &'a Inputs, drive_bytes: u64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let next_single_ns = random.exponential(inputs.mean_gap_ns(load));
        Self {
            load,
            inputs,
            random,
            drive_bytes,
            last_bytes: vec![0; load.drives],
            next_single_ns,
            next_sync_ns: load.sync_interval_ns,
            burst: 0,
            next_write_ns: 0.0,
            number: 0,
        }
    }

    fn request(&mut self, at_ns: f64, op: Op, is_of_sync: bool) -> Request {
        let drive = self.random.below(self.load.drives as u64) as usize;
        let is_local = !is_of_sync && self.random.unit() < self.inputs.local;
        let load = self.load;
        let (from, length) = if is_local {
            (
                self.last_bytes[drive] / load.cylinder_bytes * load.cylinder_bytes,
                load.cylinder_bytes,
            )
        } else if is_of_sync {
            let slices = (self.drive_bytes / load.slice_bytes).max(1);
            let i_list_bytes = (load.slice_bytes as f64 * load.i_list) as u64;
            (self.random.below(slices) * load.slice_bytes, i_list_bytes)
        } else {
            (0, self.drive_bytes)
        };
        let place = self.random.below(length / load.request_bytes);
        let end = self.drive_bytes - load.request_bytes;
        let offset = (from + place * load.request_bytes).min(end);
        self.last_bytes[drive] = offset;
        self.number += 1;
        Request {
            request_id: self.number - 1,
            device: drive as u32,
            op,
            flags: Flags::default().with(Flags::BACKGROUND, op == Op::Write),
            offset_bytes: Some(offset),
            length_bytes: self.load.request_bytes as u32,
            queued_ns: Some(at_ns as i64),
            ..Request::default()
        }
    }
}

impl Iterator for Arrivals<'_> {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        loop {
            let others_ns = self.next_single_ns.min(self.next_sync_ns);
            if self.burst > 0 && self.next_write_ns <= others_ns {
                self.burst -= 1;
                let at_ns = self.next_write_ns;
                self.next_write_ns += self.inputs.sync_gap_ms * 1e6;
                return Some(self.request(at_ns, Op::Write, true));
            }
            if others_ns > self.load.duration_ns {
                return None;
            }
            if self.next_sync_ns <= self.next_single_ns {
                let writes = self.random.exponential(self.inputs.writes_per_sync).round();
                // What the sync before has not written yet is written now.
                self.burst = (self.burst + writes as u64).min(self.load.buffers);
                self.next_write_ns = self.next_sync_ns;
                self.next_sync_ns += self.load.sync_interval_ns;
                continue;
            }
            let at_ns = self.next_single_ns;
            self.next_single_ns += self.random.exponential(self.inputs.mean_gap_ns(self.load));
            let singles_per_s = self.inputs.singles_per_s(self.load);
            let is_write = self.random.unit() * singles_per_s < self.inputs.writes_per_s;
            let op = if is_write { Op::Write } else { Op::Read };
            return Some(self.request(at_ns, op, false));
        }
    }
}

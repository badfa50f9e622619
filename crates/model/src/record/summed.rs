//! Requests that have no rows, as sums: those that were quicker than a trace's threshold (`record
//! --slower-than`); and in an incident of a watch, those that the kernel had summed up.
//!
//! Non-goals: sums by role, file and class (`rollup`).

use super::Op;
use super::column::record;
use crate::busy::Busy;
use crate::histogram::{SparseHistogram, Store};

record! {
    /// The quick requests of a role's threads, of one class and file system, that were completed
    /// within an interval.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Summed, "lbolt.summed/1", times [from_ns until_ns busy_from_ns] {
        device: u64 = "device number, as in requests";
        op: Op = "operation, as in requests";
        from_ns: i64 = "start and end of the time in which they were completed";
        until_ns: i64 = "start and end of the time in which they were completed";
        count: u64 = "requests";
        bytes: u64 = "their bytes";
        admission_ns: u64 = "sum of the times from queued to started";
        queue_ns: u64 = "sum of the times from queued to issued";
        sum_ns: u64 = "sum of the response times";
        min_ns: u64 = "bounds of the response times";
        max_ns: u64 = "bounds of the response times";
        buckets: Vec<u64> = "histogram of the response times, as in rollup";
        counts: Vec<u64> = "number in each bucket";
        pid: Option<u64> = "thread; null: of threads of the kernel, who may ask for anybody";
        command: Option<String> = "its name";
        flags: Option<u64> = "flags, as in requests";
        length_bytes: Option<u64> = "length of one of them";
        busy_from_ns: i64 = "from when busy_bits tells, in 2^21 ns (2.1 ms) each";
        busy_bits: u64 = "in which of these some were in flight, the lowest first; 0: not known";
        other_pids: Vec<u64> = "other threads of the role";
    }
}

impl Summed {
    /// With response times in their columns.
    #[must_use]
    pub fn with_responses(self, responses: &SparseHistogram) -> Self {
        let (buckets, counts) = responses.nonzero().unzip();
        let (min_ns, max_ns) = (responses.min_ns(), responses.max_ns());
        let (count, sum_ns) = (responses.count(), responses.sum_ns());
        Self { count, sum_ns, min_ns, max_ns, buckets, counts, ..self }
    }

    /// Bytes that were read or written: a discard moves none.
    pub fn moved_bytes(&self) -> u64 {
        if self.op == Op::Discard { 0 } else { self.bytes }
    }

    /// When some were in flight, where that is known.
    pub fn busy(&self) -> Option<Busy> {
        let (from_ns, bits) = (self.busy_from_ns, self.busy_bits);
        (bits != 0).then_some(Busy { from_ns, bits })
    }

    /// Adds its response times to others; false where its columns are no histogram.
    pub fn add_responses<S: Store>(&self, to: &mut crate::histogram::Buckets<S>) -> bool {
        to.add_parts(&self.buckets, &self.counts, (self.sum_ns, self.min_ns, self.max_ns))
    }
}

//! Requests that have no rows, as sums: those that were quicker than a trace's threshold (`record
//! --slower-than`); and in an incident of a watch, those that the kernel had summed up.
//!
//! Non-goals: sums by role, file and class (`rollup`).

use super::Op;
use super::column::record;
use crate::histogram::{SparseHistogram, Store};

record! {
    /// The quick requests of a device and operation that were completed within an interval; of a
    /// watch, of a role's threads, of one class and file system.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Summed, "lbolt.summed/1", times [from_ns until_ns] {
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
        pid: Option<u64> = "thread; null: of all threads (`record --slower-than`)";
        command: Option<String> = "its name";
        flags: Option<u64> = "flags, as in requests; null: of all";
        length_bytes: Option<u64> = "length of one of them; null: of all";
        busy_ns: Option<u64> = "how long some were in flight; null: not known";
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

    /// Adds its response times to others; false where its columns are no histogram.
    pub fn add_responses<S: Store>(&self, to: &mut crate::histogram::Buckets<S>) -> bool {
        to.add_parts(&self.buckets, &self.counts, (self.sum_ns, self.min_ns, self.max_ns))
    }
}

//! Passes beside a load that is not ours: a pass is a window of its time, and what was requested
//! meanwhile is seen by whoever watches.
//!
//! Non-goals: starting the load, and how it is watched ([`Load`] is somebody else's).

use super::Tried;
use super::pass::Run;
use crate::account::{add_cpu, add_devices, add_one_by_one};
use crate::checks::Meanwhile;
use model::histogram::Histogram;
use model::record::subject::StormStream;
use model::record::{Judgement, Sample};
use model::seam::{Accounting, Subject, SubjectError};

/// The writer's rate is counted in blocks of this size: what reached the device, however large the
/// requests were.
const BLOCK_BYTES: u64 = 4096;

/// A load that is not ours, and goes on through all passes.
pub trait Load {
    /// Watches it for so long.
    /// Errors: it ended; it cannot be watched; `Interrupted`.
    fn watch(&mut self, for_ns: u64) -> Result<Window, SubjectError>;
}

/// What was seen of a load in a window of its time.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// How long it was watched.
    pub wall_ns: u64,
    /// What its read requests took.
    pub reads: Histogram,
    /// Of these, those that met a sync of its own.
    pub in_sync: Histogram,
    /// The others.
    pub between: Histogram,
    /// What its calls took that make data durable.
    pub syncs: Histogram,
    /// How long any of these calls went on.
    pub sync_ns: u64,
}

impl<S: Subject> Run<'_, S> {
    /// A window of the load under a remedy: a sample of each stream that there was.
    pub(super) fn watch(
        &mut self,
        tried: &Tried,
        round: u32,
    ) -> Result<Option<Vec<Sample>>, SubjectError> {
        let for_ns = self.plan.pass_ns();
        let before = self.bench.subject.counters(Accounting::Difference)?;
        let started_ns = self.bench.clock.now_ns();
        let Some(load) = self.surroundings.load() else { return Ok(None) };
        let window = load.watch(for_ns)?;
        let after = self.bench.subject.counters(Accounting::Difference)?;
        let doubts = [self.bench.place.doubts.clone(), self.surroundings.doubts()].concat();
        let streams = [
            (StormStream::Read, &window.reads),
            (StormStream::ReadInSync, &window.in_sync),
            (StormStream::ReadBetween, &window.between),
            (StormStream::Commit, &window.syncs),
            (StormStream::Write, &Histogram::default()),
        ];
        let made = streams.map(|(stream, latency)| {
            let span = (started_ns, started_ns + window.wall_ns);
            let sync_ns = if stream == StormStream::Write { window.sync_ns } else { 0 };
            let mut sample = self.blank(tried, stream, round);
            add_one_by_one(&mut sample, latency, span, sync_ns);
            (sample.rate_requested_iops, sample.jobs) = (None, 0);
            add_cpu(&mut sample, &[], &before, &after);
            add_devices(&mut sample, &before, &after);
            if stream == StormStream::Write {
                sample.block_bytes = BLOCK_BYTES;
                sample.bytes = sample.device_write_bytes.unwrap_or(0);
                sample.operations = sample.bytes / BLOCK_BYTES;
            }
            let meanwhile = Meanwhile { sample: &sample, before: &before, after: &after };
            let doubts = [doubts.clone(), meanwhile.doubts_beside_a_load()].concat();
            sample.judge(Judgement::of(doubts));
            sample
        });
        // A load without syncs has no commits that anybody could wait for.
        let is_there = |sample: &Sample| sample.operations > 0;
        Ok(Some(made.into_iter().filter(is_there).collect()))
    }
}

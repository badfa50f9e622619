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
    /// Waits until it makes requests, and until those of before a change are over, for passes of
    /// so long.
    /// Errors: as `watch`.
    fn settle(&mut self, _for_ns: u64) -> Result<(), SubjectError> {
        Ok(())
    }

    /// Watches it for so long, from now on.
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
        let Some(load) = self.surroundings.load() else { return Ok(None) };
        load.settle(for_ns)?;
        let before = self.bench.subject.counters(Accounting::Difference)?;
        let started_ns = self.bench.clock.now_ns();
        let Some(load) = self.surroundings.load() else { return Ok(None) };
        let window = load.watch(for_ns)?;
        let after = self.bench.subject.counters(Accounting::Difference)?;
        let doubts = [self.bench.place.doubts.clone(), self.surroundings.doubts()].concat();
        // What the counters tell is of the time between their readings.
        let counted = (before.at_ns, after.at_ns);
        let watched = (started_ns, started_ns + window.wall_ns);
        let streams = [
            (StormStream::Read, &window.reads),
            (StormStream::ReadInSync, &window.in_sync),
            (StormStream::ReadBetween, &window.between),
            (StormStream::Commit, &window.syncs),
            (StormStream::Write, &Histogram::default()),
        ];
        let made = streams.map(|(stream, latency)| {
            let (span, sync_ns) = match stream {
                StormStream::Write => (counted, window.sync_ns),
                _ => (watched, 0),
            };
            let mut sample = self.blank(tried, stream, round);
            add_one_by_one(&mut sample, latency, span, sync_ns);
            (sample.rate_requested_iops, sample.jobs) = (None, 0);
            add_cpu(&mut sample, &[], &before, &after);
            // No window has more than its CPUs: the counters took a moment longer.
            let all_ns = sample.wall_ns * u64::from(after.cpu.cpus);
            sample.cpu_elsewhere_ns = sample.cpu_elsewhere_ns.map(|ns| ns.min(all_ns));
            let left_ns = all_ns - sample.cpu_elsewhere_ns.unwrap_or(0);
            sample.cpu_other_ns = sample.cpu_other_ns.map(|ns| ns.min(left_ns));
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

#[cfg(test)]
mod tests {
    use super::super::{NONE, Plan, Surroundings, run_system};
    use super::*;
    use crate::observer::{Observer, PassStart};
    use model::record::{Subject as About, Verdict};
    use model::seam::{
        Clock, Counters, DeviceCounters, DeviceRole, Job, JobCpu, JobPlacement, PreparedTarget,
    };
    use std::cell::Cell;
    use std::rc::Rc;

    const SECOND: u64 = 1_000_000_000;
    const BYTES_PER_S: u64 = 4096 * 100;

    /// A machine of two CPUs that are busy, and a disk that is written at one rate.
    #[derive(Clone, Default)]
    struct Machine(Rc<Cell<u64>>);

    impl Machine {
        fn goes_on(&self, ns: u64) {
            self.0.set(self.0.get() + ns);
        }
    }

    impl Clock for Machine {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }

        fn precision_ns(&self) -> f64 {
            1.0
        }
    }

    impl Subject for Machine {
        fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
            Ok(PreparedTarget::default())
        }

        fn run<J: Job>(
            &mut self,
            _: Vec<(JobPlacement, J)>,
        ) -> Result<Vec<(J, JobCpu)>, SubjectError> {
            Err(SubjectError::Failed("no job of ours".into()))
        }

        fn make_cold(&mut self, _: &[(usize, String)]) -> Result<(), SubjectError> {
            Ok(())
        }

        fn counters(&mut self, _: Accounting) -> Result<Counters, SubjectError> {
            // Reading them takes a moment.
            self.goes_on(SECOND / 100);
            let at_ns = self.0.get();
            let mut counters = Counters { at_ns, ..Counters::default() };
            (counters.cpu.cpus, counters.cpu.elsewhere_ns) = (2, Some(2 * at_ns));
            counters.devices.push(DeviceCounters {
                name: "sda".into(),
                role: DeviceRole::Tested,
                read_bytes: 0,
                write_bytes: at_ns / (SECOND / BYTES_PER_S),
                requests: 0,
                flushes: None,
                in_flight_ns: 0,
            });
            Ok(counters)
        }

        fn clean_up(&mut self) -> Result<(), SubjectError> {
            Ok(())
        }
    }

    /// A load that begins after a minute, and of which so many windows can be watched.
    struct Late {
        machine: Machine,
        windows: u32,
    }

    impl Load for Late {
        fn settle(&mut self, _: u64) -> Result<(), SubjectError> {
            self.machine.goes_on(60 * SECOND);
            Ok(())
        }

        fn watch(&mut self, for_ns: u64) -> Result<Window, SubjectError> {
            self.windows = self.windows.checked_sub(1).ok_or(SubjectError::Interrupted)?;
            self.machine.goes_on(for_ns);
            let mut window = Window { wall_ns: for_ns, ..Window::default() };
            (0..50).for_each(|_| window.reads.record(1000));
            Ok(window)
        }
    }

    impl Surroundings for Late {
        fn laid_out(&mut self, _: &PreparedTarget) -> Result<(), String> {
            Ok(())
        }

        fn begin(&mut self, _: &Plan) {}

        fn change(&mut self, _: &str) -> Result<(), String> {
            Ok(())
        }

        fn load(&mut self) -> Option<&mut dyn Load> {
            Some(self)
        }

        fn doubts(&mut self) -> Vec<model::doubt::Doubt> {
            vec![]
        }
    }

    #[derive(Default)]
    struct Seen(Vec<Sample>);

    impl Observer for Seen {
        fn pass_starts(&mut self, _: &PassStart<'_>) {}

        fn pass_done(&mut self, sample: Sample) {
            self.0.push(sample);
        }

        fn cell_done(&mut self) {}
    }

    /// All samples of a storm with these remedies, of which so many windows are whole.
    fn samples(remedies: &[&str], windows: u32, time_ns: u64) -> Vec<Sample> {
        let machine = Machine::default();
        let tried = |name: &&str| Tried { name: (*name).to_owned(), ..Tried::default() };
        let plan = Plan {
            command: vec!["load".into()],
            period_ns: 5 * SECOND,
            periods: 1,
            rounds: 1,
            keeps_time: time_ns > 0,
            time_ns,
            remedies: remedies.iter().map(tried).collect(),
            ..Plan::default()
        };
        let mut late = Late { machine: machine.clone(), windows };
        let (clock, mut seen) = (machine.clone(), Seen::default());
        let around = (&clock as &dyn Clock, &mut late as &mut dyn Surroundings);
        let _ = run_system(&mut machine.clone(), "d", &plan, around, &mut seen);
        seen.0
    }

    #[test]
    fn rates_and_cpu_are_of_the_window_alone_however_late_a_load_begins() {
        let samples = samples(&[NONE], 1, 0);
        let of = |wanted: StormStream| {
            let stream = |sample: &&Sample| match &sample.subject {
                About::Storm(of) => Some(of.stream),
                _ => None,
            };
            samples.iter().find(|sample| stream(sample) == Some(wanted)).unwrap()
        };
        let writes = of(StormStream::Write).operations_per_s();
        assert!((writes - 100.0).abs() < 1.0, "{writes}");
        assert_eq!(of(StormStream::Read).operations_per_s(), 10.0);
        for sample in &samples {
            let busy_ns = sample.cpu_elsewhere_ns.unwrap() + sample.cpu_other_ns.unwrap();
            assert!(busy_ns <= 2 * sample.wall_ns, "{busy_ns} of {}", sample.wall_ns);
        }
    }

    #[test]
    fn what_had_no_pass_when_the_storm_ended_says_why() {
        for (windows, time_ns, reason) in
            [(2, 0, "interrupted"), (9, 100 * SECOND, "--max-time was over")]
        {
            let samples = samples(&[NONE, "a", "b", "c"], windows, time_ns);
            let of = |verdict: fn(&Sample) -> bool| -> Vec<&str> {
                let mut names: Vec<&str> =
                    samples.iter().filter(|s| verdict(s)).map(|s| s.program.as_str()).collect();
                names.dedup();
                names
            };
            assert_eq!(of(|s| s.verdict != Verdict::NotMeasured), [NONE, "a"], "{reason}");
            assert_eq!(of(|s| s.verdict == Verdict::NotMeasured), ["b", "c"], "{reason}");
            let told = format!("{:?}", samples.last().unwrap().judgement());
            assert!(told.contains(reason), "{told}");
        }
    }
}

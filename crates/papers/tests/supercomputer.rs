//! The supercomputers as machines: what they refuse, how they round, that they are deterministic,
//! and which profiles cannot be.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use model::engine::EngineKind;
use model::seam::{
    Accounting, Clock, Counters, DeviceRole, Job, JobPlacement, Operation, Request, Subject,
    SubjectError, TimedCompletion, Turn,
};
use model::workload::Arithmetic;
use papers::CATALOG;
use papers::machine::supercomputer::{Parameters, Supercomputer};
use papers::machine::{Options, build};
use proptest::prelude::*;
use sim::profile::Profile;
use sim::subject::ModelSubject;

const MACHINES: [&str; 4] =
    ["cray1-cos-dd19", "cray1-ctss-dd19", "cray1-alamos-dd19", "cdc7600-ltss-819"];

/// Sends requests one after another and keeps their completions.
struct Script {
    requests: Vec<Request>,
    sent: usize,
    completions: Vec<TimedCompletion>,
}

impl Job for Script {
    fn turn<C: Clock>(&mut self, _clock: &C, completion: Option<TimedCompletion>) -> Turn {
        self.completions.extend(completion);
        if self.completions.len() < self.sent {
            return Turn::Wait { min: 1, until_ns: u64::MAX };
        }
        let Some(request) = self.requests.get(self.sent) else { return Turn::Done };
        self.sent += 1;
        Turn::Submit(*request)
    }
}

fn subject(profile: &Profile) -> ModelSubject {
    ModelSubject::new(Box::new(Supercomputer::read(profile).unwrap()))
}

/// Reads of a length, one after another by a blocking engine: their completions, and the counters
/// after them.
fn reads(
    subject: &mut ModelSubject,
    engine: EngineKind,
    offsets: &[u64],
    length_bytes: u32,
) -> Result<(Vec<TimedCompletion>, Counters), SubjectError> {
    let operation = Operation::Read;
    let request =
        |offset: &u64| Request { token: 0, operation, offset_bytes: *offset, length_bytes };
    let requests = offsets.iter().map(request).collect();
    let script = Script { requests, sent: 0, completions: vec![] };
    let placement =
        JobPlacement { engine, direct: true, block_bytes: length_bytes, ..JobPlacement::default() };
    let done = subject.run(vec![(placement, script)])?;
    let counters = subject.counters(Accounting::Difference)?;
    Ok((done.into_iter().next().unwrap().0.completions, counters))
}

#[test]
fn all_four_can_be_prepared() {
    for name in MACHINES {
        let profile = CATALOG.load(name).unwrap();
        let place = subject(&profile).prepare().unwrap();
        let channels = if name.starts_with("cdc") { 3 } else { 4 };
        assert_eq!((place.drives, place.devices.len(), place.is_device), (1, channels, true));
        let drives = |drives| Options { drives, ..Options::default() };
        let machine = build(&profile, drives(channels)).unwrap();
        assert_eq!(ModelSubject::new(machine).prepare().unwrap().drives, channels);
        let error = build(&profile, drives(5)).err().unwrap();
        assert!(error.reason.contains("drive of its own"), "{error}");
        let block = Options { block_bytes: Some(4096), ..Options::default() };
        let error = build(&profile, block).err().unwrap();
        assert!(error.key == "block" && error.reason.contains("no file system"), "{error}");
        assert!(place.capacity_bytes > 300_000_000, "{name}");
    }
}

#[test]
fn interfaces_that_the_machine_does_not_have_are_refused() {
    let profile = CATALOG.load("cray1-cos-dd19").unwrap();
    for engine in [EngineKind::Mmap, EngineKind::CopyFileRange, EngineKind::Stdio] {
        let refused = reads(&mut subject(&profile), engine, &[0], 4096).unwrap_err();
        let SubjectError::Unavailable(sentence) = refused else { panic!("{refused:?}") };
        assert!(sentence.contains("use psync") && sentence.contains("libaio"), "{sentence}");
    }
    for engine in [EngineKind::Sync, EngineKind::Psync, EngineKind::Libaio, EngineKind::IoUring] {
        let (completions, _) = reads(&mut subject(&profile), engine, &[0, 4096], 4096).unwrap();
        assert_eq!(completions.iter().map(|a| a.result).collect::<Vec<_>>(), [4096, 4096]);
    }
}

#[test]
fn requests_are_of_whole_sectors() {
    let moved = |model: &str, routine: &str, length_bytes: u32| {
        let mut profile = CATALOG.load(model).unwrap();
        profile.set("routine", routine).unwrap();
        let offsets = [0, u64::from(length_bytes)];
        let (_, counters) =
            reads(&mut subject(&profile), EngineKind::Psync, &offsets, length_bytes).unwrap();
        let tested = counters.devices.iter().filter(|d| d.role == DeviceRole::Tested);
        tested.map(|device| device.read_bytes).sum::<u64>()
    };
    assert_eq!(moved("cray1-cos-dd19", "system-call", 4096), 2 * 4096);
    assert_eq!(moved("cray1-cos-dd19", "system-call", 100), 2 * 4096);
    assert_eq!(moved("cdc7600-ltss-819", "rdisk", 4096), 2 * 2 * 3840);
    // BUFFER IN has 511 words of data in a sector.
    assert_eq!(moved("cray1-ctss-dd19", "buffer-cftlib", 4088), 2 * 4096);
    assert_eq!(moved("cray1-ctss-dd19", "buffer-cftlib", 4096), 2 * 2 * 4096);
}

#[test]
fn a_request_past_the_end_is_an_error_of_its_own() {
    let mut subject = subject(&CATALOG.load("cray1-cos-dd19").unwrap());
    let capacity = subject.prepare().unwrap().capacity_bytes;
    let (completions, _) =
        reads(&mut subject, EngineKind::Psync, &[capacity - 4096, capacity], 4096).unwrap();
    assert_eq!(completions.iter().map(|a| a.result).collect::<Vec<_>>(), [4096, -28]);
}

#[test]
fn the_same_requests_take_the_same_time_and_time_goes_on() {
    let profile = CATALOG.load("cray1-ctss-dd19").unwrap();
    let found = |subject: &mut ModelSubject| {
        let offsets = [0, 4096, 40 * 4096, 50_000 * 4096, 4096];
        let (completions, _) = reads(subject, EngineKind::Psync, &offsets, 4096).unwrap();
        completions.iter().map(|a| a.found_ns).collect::<Vec<_>>()
    };
    let (mut one, mut other) = (subject(&profile), subject(&profile));
    let first = found(&mut one);
    assert_eq!(first, found(&mut other));
    assert!(first.is_sorted());
    assert!(found(&mut one)[0] > *first.last().unwrap());
}

/// Keeps some requests outstanding and waits, or computes and tests.
struct Storm {
    requests: Vec<(bool, u64)>,
    length_bytes: u32,
    free: Vec<u32>,
    depth: usize,
    computes: bool,
    is_computed: bool,
    completions: Vec<TimedCompletion>,
}

impl Job for Storm {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            assert!(completion.found_ns <= clock.now_ns());
            self.free.push(u32::try_from(completion.token).unwrap());
            self.completions.push(completion);
        }
        if !self.requests.is_empty()
            && let Some(token) = self.free.pop()
        {
            let (is_write, block) = self.requests.remove(0);
            return Turn::Submit(Request {
                token,
                operation: if is_write { Operation::Write } else { Operation::Read },
                offset_bytes: block * u64::from(self.length_bytes),
                length_bytes: self.length_bytes,
            });
        }
        if self.free.len() == self.depth {
            return Turn::Done;
        }
        self.is_computed = self.computes && !self.is_computed;
        match (self.is_computed, self.computes) {
            (true, _) => Turn::Compute { arithmetic: Arithmetic::Vector, loops: 100 },
            (_, true) => Turn::Wait { min: 0, until_ns: 0 },
            (_, false) => Turn::Wait { min: 1, until_ns: u64::MAX },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// As many completions as requests, all sectors moved and no more, no more time used than there
    /// was.
    #[test]
    fn what_is_asked_is_completed_and_time_is_counted_once(
        requests in prop::collection::vec((any::<bool>(), 0u64..500), 1..40),
        sectors in prop::sample::select(vec![1u32, 2, 17, 18, 40]),
        depth in 1u32..9,
        routine in prop::sample::select(vec!["rdisk", "rdabs", "buffer-cftlib"]),
        computes in any::<bool>(),
    ) {
        let mut profile = CATALOG.load("cray1-ctss-dd19").unwrap();
        profile.set("routine", routine).unwrap();
        let mut subject = subject(&profile);
        let length_bytes = sectors * if routine == "buffer-cftlib" { 4088 } else { 4096 };
        let count = requests.len();
        let storm = Storm {
            length_bytes,
            free: (0..depth).collect(),
            depth: depth as usize,
            computes,
            is_computed: false,
            completions: vec![],
            requests,
        };
        let placement = JobPlacement {
            engine: EngineKind::Libaio,
            depth,
            block_bytes: length_bytes,
            arithmetic: vec![Arithmetic::Vector],
            ..JobPlacement::default()
        };
        let (job, cpu) = subject.run(vec![(placement, storm)]).unwrap().remove(0);
        prop_assert_eq!(job.completions.len(), count);
        prop_assert!(job.completions.iter().all(|a| a.result == i64::from(length_bytes)));
        prop_assert!(job.completions.iter().is_sorted_by_key(|a| a.found_ns));
        let counters = subject.counters(Accounting::Difference).unwrap();
        let used_ns = counters.cpu.idle_ns + cpu.user_ns + cpu.system_ns;
        prop_assert!(used_ns <= counters.at_ns);
        let tested = counters.devices.iter().filter(|d| d.role == DeviceRole::Tested);
        let (bytes, done) = tested.fold((0, 0), |(bytes, done), device| {
            (bytes + device.read_bytes + device.write_bytes, done + device.requests)
        });
        prop_assert_eq!(done, count as u64);
        let needed = u64::from(sectors) * 4096 * count as u64;
        // BUFFER OUT of fewer sectors than it makes calls goes over the last one again.
        let is_again = routine == "buffer-cftlib" && sectors < 3;
        prop_assert!(
            bytes == needed || is_again && bytes > needed && bytes <= 3 * needed,
            "{bytes} {needed}",
        );
    }
}

#[test]
fn there_is_no_trace() {
    let mut subject = subject(&CATALOG.load("cray1-cos-dd19").unwrap());
    let refused = subject.counters(Accounting::Trace).unwrap_err();
    assert!(matches!(refused, SubjectError::Unavailable(_)));
}

#[test]
fn profiles_that_cannot_be_are_refused() {
    for (key, value, sentence) in [
        ("routine", "rdsk", "did you mean \"rdisk\""),
        ("channels.count", "0", "not from 1 to 64"),
        ("system.wake_after_read", "10 us", "cannot run before"),
        ("controller.buffers", "1", "not from 0 to 0"),
        ("controller.cylinder_change", "sometimes", "known are before the answer"),
        ("processor.loop.scalar", "0 ns", "at least 1 ns"),
        ("routines.rdisk.read.t_call", "660", "no unit"),
        ("routines.buffer-cftlib.read.sizes.0.from", "1", "not from 2"),
        ("drive.rotation.speed", "0 rpm", "above zero"),
    ] {
        let mut profile = CATALOG.load("cray1-ctss-dd19").unwrap();
        profile.set(key, value).unwrap();
        let error = Parameters::read(&profile).unwrap_err();
        assert!(error.reason.contains(sentence), "{key}: {error}");
        assert!(error.key.starts_with(key) || key == "controller.buffers", "{error}");
    }
}

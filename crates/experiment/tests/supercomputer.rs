//! The overhead experiment on the supercomputers of Bucher & Hayes (1980), in virtual time: the
//! very code that measures this machine's storage gives the rates and the CPU times that the
//! paper's own program gives on the same model, which are the paper's.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use experiment::overhead::{Account, Observer, Overlap, PassStart, Plan, Sweep, run};
use experiment::throughput;
use model::record::{Judgement, Role, Sample};
use model::workload::{Access, Arithmetic, EngineKind, Program};
use papers::CATALOG;
use papers::machine::supercomputer::{Parameters, Supercomputer};
use papers::machine::{Options, build};
use papers::overhead_1980::{Line, Test, Waiting, point};
use sim::subject::ModelSubject;

const SECOND_NS: u64 = 1_000_000_000;
const SHORT_LOOP_NS: u64 = 20_000;

#[derive(Default)]
struct Notes(Vec<Sample>);

impl Observer for Notes {
    fn pass_starts(&mut self, _pass: &PassStart<'_>) {}
    fn pass_done(&mut self, sample: Sample) {
        self.0.push(sample);
    }
    fn cell_done(&mut self) {}
}

/// A machine, one of its routines, and its sectors: bytes, and how many a cylinder.
#[derive(Clone, Copy)]
struct Bench {
    model: &'static str,
    routine: &'static str,
    sector_bytes: u64,
    cylinder_sectors: u64,
}

const COS: Bench = Bench {
    model: "cray1-cos-dd19",
    routine: "system-call",
    sector_bytes: 4096,
    cylinder_sectors: 180,
};
const RDISK: Bench = Bench { model: "cray1-ctss-dd19", routine: "rdisk", ..COS };
const CDC: Bench = Bench {
    model: "cdc7600-ltss-819",
    routine: "rdisk",
    sector_bytes: 3840,
    cylinder_sectors: 200,
};

impl Bench {
    fn subject(&self) -> (ModelSubject, Parameters, usize) {
        let mut profile = CATALOG.load(self.model).unwrap();
        profile.set("routine", self.routine).unwrap();
        let (parameters, routine) = Parameters::read(&profile).unwrap();
        let machine = Supercomputer::read(&profile).unwrap();
        (ModelSubject::new(Box::new(machine)), parameters, routine)
    }

    fn samples(&self, sweep: Sweep, sectors: &[u64]) -> Vec<Sample> {
        let sweep = Sweep {
            direct: vec![true],
            block_bytes: sectors.iter().map(|sectors| sectors * self.sector_bytes).collect(),
            ..sweep
        };
        let plan = Plan {
            sweeps: vec![sweep],
            file_bytes: 64 * self.cylinder_sectors * self.sector_bytes,
            warmup: 0,
            runs: 1,
            pass_ns: 5 * SECOND_NS,
            direct_pass_ns: 5 * SECOND_NS,
            account_pass_ns: 5 * SECOND_NS,
            cpus: vec![0],
            seed: 1,
            ..Plan::default()
        };
        let mut notes = Notes::default();
        let mut subject = self.subject().0;
        let clock = subject.clock();
        let met = run(&mut subject, self.model, &plan, &clock, &mut notes).unwrap();
        assert_eq!(met, []);
        notes.0
    }

    /// The rate of the paper's own program on the model, words a second and channel.
    fn papers_rate(&self, access: Access, waiting: Waiting, channels: u32, sectors: u64) -> f64 {
        let (_, parameters, routine) = self.subject();
        let is_write = access.writes();
        let test = Test { routine, is_write, waiting, is_random: false, channels };
        point(&parameters, &test, sectors).unwrap().rate_words_per_s
    }

    fn rate(&self, sample: &Sample) -> f64 {
        let sectors = sample.bytes as f64 / self.sector_bytes as f64;
        sectors * 512.0 / sample.wall_ns as f64 * 1e9 / sample.depth as f64
    }
}

fn overlapped(access: Access, arithmetic: Arithmetic, test_interval_ns: u64) -> Sweep {
    Sweep {
        engines: vec![EngineKind::Libaio],
        accesses: vec![access],
        channels: vec![1],
        overlaps: vec![Some(Overlap { arithmetic, test_interval_ns })],
        ..Sweep::default()
    }
}

fn blocking(access: Access) -> Sweep {
    Sweep {
        engines: vec![EngineKind::Psync],
        accesses: vec![access],
        channels: vec![1],
        overlaps: vec![None],
        accounts: vec![Account::Requests],
        ..Sweep::default()
    }
}

fn kept(samples: &[Sample], account: Account) -> Vec<&Sample> {
    samples.iter().filter(|s| s.role == Role::Kept && s.overhead().account == account).collect()
}

/// Equation 2 by the samples alone: T_OH of a sector, us.
fn overhead_us(samples: &[Sample], sample: &Sample, sector_bytes: u64) -> f64 {
    let calibration =
        samples.iter().find(|s| s.role == Role::Calibration && s.overhead().loop_count.is_some());
    let calibration = calibration.unwrap();
    let t_loop = calibration.overhead().cpu_timed_ns.unwrap() as f64
        / calibration.overhead().loop_count.unwrap() as f64;
    let over_ns = sample.wall_ns as f64 - sample.overhead().loop_count.unwrap() as f64 * t_loop;
    over_ns / (sample.bytes / sector_bytes) as f64 / 1e3
}

/// Without computing: COS never misses a revolution, CTSS does at every read and at no write, the
/// 7600 at every call. Within 1.5 %: five seconds are no whole number of cylinders.
#[test]
fn rates_that_are_not_overlapped_are_those_of_the_papers_program() {
    for (bench, access, missed) in [
        (COS, Access::Read, 0.0),
        (RDISK, Access::Read, 1.0),
        (RDISK, Access::Rewrite, 0.0),
        (CDC, Access::Read, 1.0),
    ] {
        let samples = bench.samples(blocking(access), &[1, 3, 20, 180]);
        for sample in kept(&samples, Account::Requests) {
            let sectors = sample.block_bytes / bench.sector_bytes;
            let track = (bench.cylinder_sectors / 10) as f64;
            let equation_7 = 512.0 * 60.0 / (1.1 / track + missed / sectors as f64);
            let rate = bench.rate(sample);
            let papers = bench.papers_rate(access, Waiting::ForAnswer, 1, sectors);
            let what = format!("{} {} {sectors}", bench.model, sample.access.name());
            assert!((rate / papers - 1.0).abs() < 0.015, "{what}: {rate} for {papers}");
            assert!((rate / equation_7 - 1.0).abs() < 0.015, "{what}: {rate} for {equation_7}");
        }
    }
}

/// Passes with the core-speed probe take its time off, although the rotation hid it: 19 us
/// every millisecond.
#[test]
fn the_probe_takes_off_what_the_rotation_hides() {
    let samples = COS.samples(blocking(Access::Read), &[1]);
    let (with, without) =
        (kept(&samples, Account::Difference)[0], kept(&samples, Account::Requests)[0]);
    let excess = COS.rate(with) / COS.rate(without) - 1.0;
    assert!(excess > 0.0 && excess < 0.022, "{excess}");
}

/// Computing meanwhile, equation 2 gives back T_call and T_trans, and the rates are those of the
/// paper's program.
#[test]
fn the_compute_and_test_loop_gives_back_what_a_call_and_a_sector_cost() {
    for (bench, access, t_call_us, t_trans_us) in [
        (COS, Access::Read, 480.0, 42.0),
        (RDISK, Access::Read, 660.0, 6.0),
        (CDC, Access::Rewrite, 1050.0, 46.0),
    ] {
        let sweep = overlapped(access, Arithmetic::Scalar, SHORT_LOOP_NS);
        let samples = bench.samples(sweep, &[1, 2, 20, 180]);
        let mut points = vec![];
        for sample in kept(&samples, Account::Difference) {
            assert_eq!(sample.judgement(), Judgement::default());
            let sectors = sample.block_bytes / bench.sector_bytes;
            points.push((1.0 / sectors as f64, overhead_us(&samples, sample, bench.sector_bytes)));
            let waiting = Waiting::Computing(Arithmetic::Scalar, SHORT_LOOP_NS);
            let papers = bench.papers_rate(access, waiting, 1, sectors);
            let rate = bench.rate(sample);
            let what = format!("{} {sectors}", bench.model);
            assert!((rate / papers - 1.0).abs() < 0.015, "{what}: {rate} for {papers}");
        }
        let line = Line::through(&points).unwrap();
        assert!((line.slope - t_call_us).abs() < 0.5, "{}: {line:?}", bench.model);
        assert!((line.intercept - t_trans_us).abs() < 0.5, "{}: {line:?}", bench.model);
    }
}

/// Figure 3: beside vectors a sector takes more of the processor, a call does not.
#[test]
fn vectors_lock_the_memory() {
    let overhead = |arithmetic| {
        let sweep = overlapped(Access::Read, arithmetic, SHORT_LOOP_NS);
        let samples = RDISK.samples(sweep, &[1, 18]);
        let kept = kept(&samples, Account::Difference);
        [kept[0], kept[1]].map(|sample| overhead_us(&samples, sample, RDISK.sector_bytes))
    };
    let (scalar, vector) = (overhead(Arithmetic::Scalar), overhead(Arithmetic::Vector));
    for (scalar, vector) in scalar.iter().zip(vector) {
        assert!((20.0..26.0).contains(&(vector - scalar)), "{scalar} {vector}");
    }
}

/// Each channel has its own drive, and all share one processor: buffers of half a cylinder stream
/// on all four, single sectors do not (section 5).
#[test]
fn four_channels_share_the_processor() {
    let sweep = Sweep {
        channels: vec![1, 4],
        ..overlapped(Access::Read, Arithmetic::Scalar, SHORT_LOOP_NS)
    };
    let samples = RDISK.samples(sweep, &[1, 90]);
    let rate = |depth: u64, sectors: u64| {
        let is_it = |s: &&Sample| s.depth == depth && s.block_bytes == sectors * 4096;
        let found = kept(&samples, Account::Difference).into_iter().find(is_it);
        RDISK.rate(found.unwrap())
    };
    assert!((rate(4, 90) / rate(1, 90) - 1.0).abs() < 0.05);
    assert!(rate(4, 1) < 0.6 * rate(1, 1), "{} {}", rate(4, 1), rate(1, 1));
}

/// Each moment is in one account: the program's own, the system's for it, interrupts, or idle; and
/// the drives move what the program requested.
#[test]
fn the_accounts_of_a_pass_fit_together() {
    let sweep = overlapped(Access::Read, Arithmetic::Scalar, SHORT_LOOP_NS);
    let samples = COS.samples(sweep, &[9]);
    let pass = kept(&samples, Account::Difference)[0];
    let sectors = pass.bytes / 4096;
    assert_eq!(pass.cpu_system_ns, pass.operations * 480_000);
    assert_eq!(pass.cpu_other_ns, Some(sectors * 42_000));
    assert_eq!((pass.stolen_ns, pass.cpu_elsewhere_ns), (0, Some(0)));
    // All else is the loop's: a program that tests is never idle.
    let busy_ns = pass.cpu_user_ns + pass.cpu_system_ns + sectors * 42_000;
    assert!(busy_ns.abs_diff(pass.wall_ns) < 1_000, "{busy_ns} {}", pass.wall_ns);
    assert_eq!(pass.device_read_bytes, Some(pass.bytes));
    assert!(pass.depth_achieved.unwrap() > 0.9 && pass.device_depth.unwrap() > 0.9);
    let blocked = COS.samples(blocking(Access::Read), &[9]);
    let pass = kept(&blocked, Account::Requests)[0];
    assert_eq!(pass.judgement(), Judgement::default());
    assert_eq!((pass.cpu_user_ns, pass.cpu_system_ns), (0, pass.operations * 480_000));
}

/// Idle-priority loops get what nothing else wants.
#[test]
fn idle_load_gets_the_rest() {
    let sweep = Sweep { accounts: vec![Account::IdleLoad], ..blocking(Access::Read) };
    let samples = COS.samples(sweep, &[18]);
    let pass = kept(&samples, Account::IdleLoad)[0];
    let taken_ns = pass.operations * 480_000 + pass.bytes / 4096 * 42_000;
    let left_ns = pass.wall_ns - taken_ns;
    let idle_load_ns = pass.overhead().idle_load_cpu_ns[0];
    assert!(idle_load_ns.abs_diff(left_ns) < pass.wall_ns / 50, "{idle_load_ns} {left_ns}");
}

/// The throughput experiment runs there too: four drives move four times as much as one.
#[test]
fn the_throughput_battery_runs_on_raw_drives() {
    let rate = |drives: usize| {
        let options = Options { drives, ..Options::default() };
        let machine = build(&CATALOG.load(COS.model).unwrap(), options).unwrap();
        let mut subject = ModelSubject::new(machine);
        let program = |name: &str, access| Program {
            bs: 18 * 4096,
            direct: true,
            ioengine: Some(EngineKind::Psync),
            ..Program::new(name, access)
        };
        let programs = vec![program("read", Access::Read), program("rewrite", Access::Rewrite)];
        let plan = throughput::Plan {
            programs,
            file_bytes: 10 * 180 * 4096,
            warmup: 0,
            runs: 1,
            is_cold: true,
            final_sync: true,
            seed: 1,
            ..throughput::Plan::default()
        };
        let name =
            throughput::SystemName { column: COS.model.into(), target: COS.model.into(), drives };
        let calibration = throughput::Calibration::default();
        let clock = subject.clock();
        let mut notes = Notes::default();
        let met =
            throughput::run_system(&mut subject, &name, &plan, &calibration, &clock, &mut notes);
        assert_eq!(met, Ok(vec![]));
        let kept: Vec<&Sample> = notes.0.iter().filter(|s| s.role == Role::Kept).collect();
        assert_eq!(kept.len(), 2);
        kept.iter().for_each(|s| assert_eq!(s.judgement(), Judgement::default()));
        [kept[0], kept[1]].map(|sample| sample.bytes as f64 / 8.0 / sample.wall_ns as f64 * 1e6)
    };
    // Equation 3, in kword/s; reaching the first sector takes a revolution of the 110.
    for (one, four) in rate(1).into_iter().zip(rate(4)) {
        assert!((one / 502.7 - 1.0).abs() < 0.02, "{one}");
        assert!((four / one - 4.0).abs() < 0.1, "{four} {one}");
    }
}

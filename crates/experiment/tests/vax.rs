//! The throughput experiment, unchanged, on a modelled VAX: it gives the rates that the short path
//! of `papers::throughput_1983` gives, and finds nothing wrong with the machine's counters.

#![allow(clippy::unwrap_used)]

use experiment::throughput::{
    BATTERY, Calibration, Observer, PassStart, Plan, SystemName, run_system,
};
use model::record::{Role, Sample, Verdict};
use model::workload::Battery;
use papers::CATALOG;
use papers::machine::{Options, build};
use papers::throughput_1983::program::FILE_BYTES;
use papers::throughput_1983::{Cell, TABLE, cells, model};
use sim::subject::ModelSubject;

#[derive(Default)]
struct Kept(Vec<Sample>);

impl Observer for Kept {
    fn pass_starts(&mut self, _pass: &PassStart<'_>) {}
    fn pass_done(&mut self, sample: Sample) {
        self.0.push(sample);
    }
    fn cell_done(&mut self) {}
}

fn tables() -> Vec<Cell> {
    cells(TABLE).unwrap()
}

/// The paper's whole script: each program three times, the first left out.
fn battery(cell: &Cell) -> Vec<Sample> {
    let options = Options { drives: cell.drives, block_bytes: Some(cell.block_bytes), seed: 1 };
    let machine = build(&CATALOG.load(cell.machine).unwrap(), options).unwrap();
    let mut subject = ModelSubject::new(machine);
    let clock = subject.clock();
    let plan = Plan {
        programs: Battery::from_toml(BATTERY).unwrap().programs,
        file_bytes: FILE_BYTES,
        warmup: 1,
        runs: 2,
        seed: 1,
        ..Plan::default()
    };
    let name = SystemName {
        column: cell.machine.into(),
        target: format!("model:{}", cell.machine),
        drives: cell.drives,
    };
    let mut kept = Kept::default();
    let failures =
        run_system(&mut subject, &name, &plan, &Calibration::default(), &clock, &mut kept).unwrap();
    assert_eq!(failures, []);
    assert_eq!(kept.0.len(), 4 * 3);
    kept.0.into_iter().filter(|sample| sample.role == Role::Kept).collect()
}

fn kib_per_s(sample: &Sample) -> f64 {
    sample.bytes as f64 / 1024.0 / (sample.wall_ns as f64 / 1e9)
}

#[test]
fn the_experiment_gives_what_the_short_path_gives() {
    let all = tables();
    for (machine, block_bytes, drives) in [
        ("vax780-sc780-eagle", 8192, 1),
        ("vax750-sc750-eagle", 4096, 2),
        ("vax780-si9900-eagle", 8192, 2),
        ("vax750-uda50-ra81", 8192, 1),
    ] {
        let wanted = |cell: &&Cell| {
            (cell.machine, cell.block_bytes, cell.drives) == (machine, block_bytes, drives)
        };
        let of_machine: Vec<&Cell> = all.iter().filter(wanted).collect();
        let samples = battery(of_machine[0]);
        for cell in of_machine {
            let rates: Vec<f64> = samples
                .iter()
                .filter(|sample| sample.program == cell.program.name)
                .map(kib_per_s)
                .collect();
            assert_eq!(rates.len(), 2, "{}", cell.name());
            let mean = rates.iter().sum::<f64>() / 2.0;
            let short = model(&CATALOG.load(machine).unwrap(), cell, 3).unwrap().kib_per_s;
            // What differs is chance: the platters' phases, and what earlier programs left in the
            // cache.
            assert!((mean / short - 1.0).abs() < 0.08, "{}: {mean} and {short}", cell.name());
        }
    }
}

#[test]
fn the_experiments_own_checks_find_nothing_wrong() {
    let cell = &tables()[0];
    for sample in battery(cell) {
        assert_eq!(sample.verdict, Verdict::Ok, "{}: {:?}", sample.program, sample.doubts);
        // The accounts add up to the time that passed, and no more than all of it is used.
        let cpu_ns = sample.cpu_user_ns + sample.cpu_system_ns;
        assert!(cpu_ns > 0 && cpu_ns <= sample.wall_ns + 1000, "{}", sample.program);
        let moved = sample.device_read_bytes.unwrap() + sample.device_write_bytes.unwrap();
        assert!(moved as f64 > 0.9 * sample.bytes as f64, "{}: {moved}", sample.program);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let all = tables();
    let cell = all.iter().find(|cell| cell.machine.contains("initial")).unwrap();
    let walls = || battery(cell).iter().map(|sample| sample.wall_ns).collect::<Vec<_>>();
    assert_eq!(walls(), walls());
}

//! What one pass came to: from the report, the idle-priority loops and the counters around it to
//! the columns of its sample.

use super::Account;
use super::Run;
use super::plan::Cell;
use crate::account::{add_cpu, add_devices};
use crate::checks::{Facts, judge};
use model::record::subject::{Operation, Subject};
use model::record::{Experiment, Judgement, Overhead, Sample};
use model::seam::{Counters, JobCpu, PreparedTarget};
use model::units::{show_size, show_time_ns};
use model::workload::{EngineKind, Program};

/// What a cell's findings are about.
pub(super) fn subject(target: &str, cell: &Cell) -> Subject {
    Subject::Operation(Operation {
        access: cell.access,
        arithmetic: cell.overlap.map(|overlap| overlap.arithmetic),
        block_bytes: cell.block_bytes,
        channels: u64::from(cell.channels),
        direct: u64::from(cell.direct),
        engine: cell.engine,
        target: Some(target.to_owned()),
        test_interval_ns: cell.overlap.map(|overlap| overlap.test_interval_ns),
    })
}

/// What a pass is called while it runs.
pub(super) fn label(cell: &Cell, account: Account) -> String {
    let path = if cell.direct { "direct" } else { "buffered" };
    let mut label = format!(
        "{} {} {path} {} × {}",
        cell.engine.name(),
        cell.access.name(),
        show_size(cell.block_bytes),
        cell.channels
    );
    if let Some(overlap) = cell.overlap {
        label
            .push_str(&format!(", tested every {}", show_time_ns(overlap.test_interval_ns as f64)));
    }
    if account != Account::Difference {
        label.push_str(&format!(", {}", account.name()));
    }
    label
}

/// A sample of which only the cell is known.
pub(super) fn blank(target: &str, cell: &Cell, account: Account, file_bytes: u64) -> Sample {
    Sample {
        experiment: Experiment::Overhead,
        subject: subject(target, cell),
        target: target.into(),
        drives: 1,
        program: cell.access.name().into(),
        engine: cell.engine,
        access: cell.access,
        block_bytes: cell.block_bytes,
        file_bytes,
        jobs: 1,
        depth: u64::from(cell.channels),
        direct: u64::from(cell.direct),
        overhead: Some(Box::new(Overhead {
            account,
            arithmetic: cell.overlap.map(|overlap| overlap.arithmetic),
            test_interval_ns: cell.overlap.map(|overlap| overlap.test_interval_ns),
            ..Overhead::default()
        })),
        ..Sample::default()
    }
}

/// Fills in what a measured pass found, and judges it.
pub(super) fn fill(sample: &mut Sample, cell: &Cell, run: &Run, place: &PreparedTarget) {
    add_work(sample, run);
    // What a copy reads it also writes: its bytes count once.
    sample.bytes = sample.operations * cell.block_bytes;
    add_accounts(sample, run);
    add_devices(sample, &run.before, &run.after);
    let program = Program {
        bs: cell.block_bytes,
        iodepth: cell.channels,
        direct: cell.direct,
        ioengine: Some(cell.engine),
        ..Program::new("", cell.access)
    };
    let facts = Facts {
        program: &program,
        sample,
        bytes_read: run.report.bytes_read,
        bytes_written: run.report.bytes_written,
        before: &run.before,
        after: &run.after,
        harness_ns_per_operation: 0.0,
        is_cached: !cell.direct,
    };
    let of_place = match (cell.engine, cell.direct) {
        // What the cache serves needs no device to be seen.
        (EngineKind::Null, _) | (_, false) => vec![],
        _ => place.doubts.clone(),
    };
    let doubts = [judge(&facts), of_place].concat();
    sample.judge(Judgement::of(doubts));
}

/// Fills in what a run without work found.
pub(super) fn fill_calibration(sample: &mut Sample, run: &Run) {
    add_work(sample, run);
    add_accounts(sample, run);
}

fn add_work(sample: &mut Sample, run: &Run) {
    let report = &run.report;
    // A pause has no stream that begins.
    let started_ns = report.started_ns.max(run.before.at_ns);
    sample.started_ns = i64::try_from(started_ns).unwrap_or(i64::MAX);
    let time_ns = report.ended_ns.saturating_sub(report.started_ns);
    sample.wall_ns = time_ns.saturating_sub(report.probe_total_ns);
    sample.bytes = report.bytes_read + report.bytes_written;
    sample.operations = report.operations;
    sample.overhead_mut().probe_ns = report.probe_ns;
    sample.overhead_mut().probe_least_ns = report.probe_least_ns;
    sample.overhead_mut().loop_count =
        sample.overhead().test_interval_ns.map(|_| report.loop_count);
    sample.depth_achieved = (sample.wall_ns > 0 && report.operations > 0)
        .then(|| report.latency.sum_ns() as f64 / sample.wall_ns as f64);
    sample.set_latency(&report.latency);
    sample.set_service(&report.latency, false);
}

fn add_accounts(sample: &mut Sample, run: &Run) {
    // Whole, the job's time holds the core-speed probe's; its timed part does not.
    let probe_ns = run.report.probe_total_ns;
    sample.overhead_mut().cpu_timed_ns =
        run.job.timed_ns.map(|timed_ns| timed_ns.saturating_sub(probe_ns));
    sample.overhead_mut().idle_load_loops =
        run.idle_loads.iter().map(|(loops, _)| *loops).collect();
    sample.overhead_mut().idle_load_cpu_ns = idle_load_cpu_ns(run);
    add_cpu(sample, &[run.job], &run.before, &run.after);
    if !run.idle_loads.is_empty() {
        // By difference the idle-priority loops themselves are the total.
        sample.cpu_other_ns = None;
    }
    let edges_ns = edges_ns(run, sample.overhead().cpu_timed_ns.unwrap_or(0));
    let lingering_ns = lingering_ns(run, edges_ns);
    sample.cpu_other_ns = sample.cpu_other_ns.map(|ns| ns.saturating_sub(lingering_ns));
    sample.overhead_mut().cpu_tasks_ns = tasks_ns(run);
    sample.overhead_mut().cpu_traced_ns =
        traced_ns(run, edges_ns + lingering_ns, sample.cpu_test_bed_ns);
}

/// What the idle-priority loops got by their own clocks, but for what they got during the
/// core-speed probe, which is no part of the job. The last one shares the job's CPU, and got
/// nothing then.
fn idle_load_cpu_ns(run: &Run) -> Vec<u64> {
    let last = run.idle_loads.len().saturating_sub(1);
    let of = |(place, (_, cpu)): (usize, &(u64, JobCpu))| {
        let probe_ns = if place == last { 0 } else { run.report.probe_total_ns };
        cpu.timed_ns.unwrap_or(0).saturating_sub(probe_ns)
    };
    run.idle_loads.iter().enumerate().map(of).collect()
}

/// What the job's thread did before its first request and after its last completion, and the
/// core-speed probe, by its own clock.
fn edges_ns(run: &Run, timed_ns: u64) -> u64 {
    let setup = |counters: &Counters| counters.cpu.setup_ns;
    setup(&run.after).saturating_sub(setup(&run.before))
        + (run.job.user_ns + run.job.system_ns).saturating_sub(timed_ns)
}

/// What threads that worked for the job did before its first request and after its last completion:
/// a ring's poller spins until the kernel has ended it. 0 where the program has no clock.
fn lingering_ns(run: &Run, edges_ns: u64) -> u64 {
    let (cpu, earlier) = (&run.after.cpu, &run.before.cpu);
    let all_ns =
        cpu.process_ns.zip(earlier.process_ns).map(|(ns, before)| ns.saturating_sub(before));
    let Some((all_ns, timed_ns)) = all_ns.zip(run.job.process_ns) else { return 0 };
    let outside = |(_, cpu): &(u64, JobCpu)| {
        (cpu.user_ns + cpu.system_ns).saturating_sub(cpu.timed_ns.unwrap_or(0))
    };
    let loads_ns: u64 = run.idle_loads.iter().map(outside).sum();
    let own_ns = edges_ns.saturating_sub(run.report.probe_total_ns);
    let harness_ns = cpu.harness_ns.saturating_sub(earlier.harness_ns);
    all_ns.saturating_sub(timed_ns + loads_ns + own_ns + harness_ns)
}

/// CPU time of the timed part of all threads that worked in this program, by their own clocks.
fn tasks_ns(run: &Run) -> Option<u64> {
    let loads_ns: u64 = run.idle_loads.iter().map(|(_, cpu)| cpu.timed_ns.unwrap_or(0)).sum();
    Some(run.job.process_ns?.saturating_sub(loads_ns + run.report.probe_total_ns))
}

/// Total CPU of the timed part by the trace.
fn traced_ns(run: &Run, edges_ns: u64, test_bed_ns: Option<u64>) -> Option<u64> {
    let traced = run.after.cpu.traced?;
    let total_ns = traced.job_ns + traced.kernel_threads_ns + traced.interrupt_ns;
    Some(total_ns.saturating_sub(edges_ns + test_bed_ns.unwrap_or(0)))
}

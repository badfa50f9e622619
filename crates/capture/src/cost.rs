//! What the tracer itself costs, measured on this machine while it traces: the CPU time of the
//! programs in the kernel, and that of lbolt's own threads.
//!
//! Non-goals: how many requests a second less there are (`slowdown`).

use super::now_ns;
use model::doubt::{Code, Doubt, Judgement};
use model::record::{Finding, Subject};
use rustix::time::ClockId;
use std::time::{Duration, Instant};
use trace::bpf::RunCounting;
use trace::capture::Tracer;
use trace::output::writers_ns;

/// The kernel counts what the programs cost during one sixteenth of the emptyings of the ring:
/// counting costs, too. Its beginning and its end interrupt all CPUs, so that after the first round
/// it goes on for a few of them.
const ROUND: u64 = 64;
const COUNTED: u64 = 4;

/// Whether it is counted until the next emptying.
fn is_counted(poll: u64) -> bool {
    match poll < ROUND {
        true => poll.is_multiple_of(ROUND / COUNTED),
        false => poll % ROUND < COUNTED,
    }
}

/// The cost of a capture while it goes on.
#[derive(Debug)]
pub(super) struct Cost {
    /// Before the capture, then during it.
    consumer_ns: i64,
    polls: u64,
    /// While it lives, the kernel counts.
    counting: Option<(RunCounting, Instant, (u64, u64))>,
    counted: Duration,
    runs: u64,
    programs_ns: u64,
}

impl Cost {
    /// From now on.
    pub(super) fn begin() -> Self {
        Self {
            consumer_ns: consumer_ns(),
            polls: 0,
            counting: None,
            counted: Duration::ZERO,
            runs: 0,
            programs_ns: 0,
        }
    }

    /// The ring was emptied. Where the kernel does not count, the cost of its programs is not
    /// measured.
    pub(super) fn poll(&mut self, capture: &Tracer) {
        match (is_counted(self.polls), self.counting.is_some()) {
            (true, false) => {
                let counting = RunCounting::start().ok();
                self.counting =
                    counting.map(|counting| (counting, Instant::now(), totals(capture)));
            }
            (false, true) => self.end(capture),
            _ => {}
        }
        self.polls += 1;
    }

    /// Until now; before the programs are detached, which ends their counts. What was counted at
    /// other times, because somebody else requested it, is left out.
    pub(super) fn end(&mut self, capture: &Tracer) {
        if let Some((_, since, (runs, ns))) = self.counting.take() {
            let (runs_now, ns_now) = totals(capture);
            self.counted += since.elapsed();
            self.runs += runs_now - runs;
            self.programs_ns += ns_now - ns;
        }
    }

    /// So much of this thread's time was for something else, such as loading the programs.
    pub(super) fn leave_out(&mut self, time_ns: i64) {
        self.consumer_ns += time_ns;
    }

    /// All that was captured is in the file.
    pub(super) fn written(&mut self) {
        self.consumer_ns = consumer_ns() - self.consumer_ns;
    }

    /// The findings, of so many requests: of the kernel's programs, and of lbolt's own threads.
    pub(super) fn findings(&self, requests: u64) -> Vec<Finding> {
        let runs = self.runs;
        let each = (runs > 0).then(|| self.programs_ns as f64 / runs as f64);
        let counted_ns = self.counted.as_nanos() as f64;
        let share = (runs > 0).then(|| 100.0 * self.programs_ns as f64 / counted_ns);
        let consumer = (requests > 0).then(|| self.consumer_ns as f64 / requests as f64);
        let kernel = "the kernel's own count (bpf_stats) in one sixteenth of the time; it includes \
            some 20 ns of counting";
        let own = "CPU time of lbolt's threads, from the ring into the file";
        vec![
            finding("tracer_ns_per_event", each, runs, kernel),
            finding("tracer_percent", share, runs, kernel),
            finding("consumer_ns_per_request", consumer, requests, own),
        ]
    }
}

/// CPU time of this thread so far, and of those that write.
fn consumer_ns() -> i64 {
    now_ns(ClockId::ThreadCPUTime) + i64::try_from(writers_ns()).unwrap_or(i64::MAX)
}

/// Runs of all programs so far, and their time in ns.
fn totals(capture: &Tracer) -> (u64, u64) {
    let times = capture.run_times();
    times.iter().fold((0, 0), |(runs, ns), program| (runs + program.runs, ns + program.time_ns))
}

pub(super) fn finding(name: &str, value: Option<f64>, count: u64, method: &str) -> Finding {
    let untraced = || Judgement::not_measured(Doubt::new(Code::NothingTraced, []));
    let finding = Finding::new(&Subject::this_run(), name, value, count, method);
    if value.is_some() { finding } else { finding.judged(untraced()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sixteenth_is_counted_of_short_captures_and_of_long_ones() {
        let counted = |polls: std::ops::Range<u64>| polls.filter(|poll| is_counted(*poll)).count();
        assert_eq!((counted(0..16), counted(0..64), counted(64..640)), (1, 4, 36));
        let turns = (64..640).filter(|poll| is_counted(*poll) && !is_counted(poll - 1)).count();
        assert_eq!(turns, 9);
    }
}

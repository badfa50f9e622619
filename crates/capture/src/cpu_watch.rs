//! What the CPUs did while a capture went on: /proc/stat every tenth of a second, and every second
//! while nothing is requested: to read it is a quarter of what an idle watch costs. Where the
//! hypervisor takes CPUs away, requests seem to be slow and are not.
//!
//! Non-goals: what it explains (`verdict`).

use host::account::{CpuStat, io_stalled_ns};
use model::record::CpuTime;
use std::time::{Duration, Instant};

/// How often it is read, at the most and at the least.
const EVERY: Duration = Duration::from_millis(100);
const SELDOM: Duration = Duration::from_secs(1);
/// So many times as long as a reading takes passes until the next one: many CPUs take long. A
/// reading that was itself held up is no reason to look away for long.
const APART: u32 = 1000;

/// How long it is left alone after a reading that took so long.
fn pause_after(took: Duration) -> Duration {
    took.saturating_mul(APART).clamp(EVERY, SELDOM)
}

/// The intervals so far.
#[derive(Debug, Clone, Default)]
pub(super) struct CpuWatch {
    last: Option<(i64, CpuStat, Option<u64>)>,
    /// When it was read last, and how long it is left alone since.
    read: Option<(Instant, Duration)>,
    intervals: Vec<CpuTime>,
}

impl CpuWatch {
    /// Reads what the CPUs did, if it is time; `now_ns` is on the requests' clock, and `is_idle`
    /// says that nothing has come since the last look. Where /proc does not tell, nothing is known.
    pub(super) fn look(&mut self, now_ns: i64, is_idle: bool) {
        let began = Instant::now();
        let pause = |pause| if is_idle { SELDOM } else { pause };
        if self.read.is_some_and(|(read, wait)| began < read + pause(wait)) {
            return;
        }
        if let Ok(stat) = CpuStat::read() {
            self.add(now_ns, stat, io_stalled_ns());
        }
        self.read = Some((began, pause_after(began.elapsed())));
    }

    fn add(&mut self, now_ns: i64, stat: CpuStat, stalled_ns: Option<u64>) {
        let last = self.last.replace((now_ns, stat, stalled_ns));
        if let Some((from_ns, before, stalled_before_ns)) = last {
            self.intervals.push(CpuTime {
                from_ns,
                until_ns: now_ns,
                cpus: u64::from(stat.cpus),
                // A CPU that goes off line takes its counts along.
                idle_ns: stat.idle_ns.saturating_sub(before.idle_ns),
                stolen_ns: stat.stolen_ns.saturating_sub(before.stolen_ns),
                io_stalled_ns: stalled_ns
                    .zip(stalled_before_ns)
                    .map(|(now, before)| now.saturating_sub(before)),
            });
        }
    }

    /// Whether all CPUs were busy when they were last looked at.
    pub(super) fn is_busy(&self) -> bool {
        self.last.is_some() && self.intervals.last().is_some_and(CpuTime::is_busy)
    }

    /// Drops what was over so long before the last reading.
    pub(super) fn keep_last(&mut self, keep_ns: i64) {
        let since_ns = self.last.map_or(i64::MIN, |(ns, ..)| ns.saturating_sub(keep_ns));
        self.intervals.retain(|interval| interval.until_ns >= since_ns);
    }

    /// The intervals that ended after a moment.
    pub(super) fn since(&self, since_ns: i64) -> Vec<CpuTime> {
        let after = self.intervals.partition_point(|interval| interval.until_ns <= since_ns);
        self.intervals.iter().skip(after).cloned().collect()
    }

    /// What comes until it is looked again belongs to no interval.
    pub(super) fn pause(&mut self) {
        self.last = None;
        self.read = None;
    }

    pub(super) fn take(self) -> Vec<CpuTime> {
        self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_each_other_but_for_pauses() {
        let stat = |idle_ns, stolen_ns| CpuStat { cpus: 2, idle_ns, stolen_ns };
        let mut watch = CpuWatch::default();
        watch.add(5, stat(100, 10), Some(40));
        watch.add(15, stat(117, 11), Some(48));
        watch.add(25, stat(90, 14), None);
        watch.pause();
        watch.add(95, stat(190, 50), Some(60));
        watch.add(99, stat(196, 51), Some(60));
        let row = |from_ns, until_ns, idle_ns, stolen_ns, io_stalled_ns| CpuTime {
            from_ns,
            until_ns,
            cpus: 2,
            idle_ns,
            stolen_ns,
            io_stalled_ns,
        };
        let expected =
            [row(5, 15, 17, 1, Some(8)), row(15, 25, 0, 3, None), row(95, 99, 6, 1, Some(0))];
        assert_eq!(watch.take(), expected);
    }

    #[test]
    fn while_nothing_comes_it_is_read_seldom() {
        let mut watch = CpuWatch::default();
        watch.look(0, true);
        watch.read = Some((Instant::now() - EVERY, EVERY));
        watch.look(1, true);
        assert!(watch.intervals.is_empty());
        watch.look(2, false);
        assert_eq!(watch.intervals.len(), 1, "as soon as something comes");
        watch.read = Some((Instant::now() - SELDOM, SELDOM));
        watch.look(3, true);
        assert_eq!(watch.intervals.len(), 2);
    }

    #[test]
    fn it_is_read_every_tenth_of_a_second_or_every_second_where_that_takes_long() {
        let of = |us| pause_after(Duration::from_micros(us)).as_millis();
        assert_eq!([of(0), of(30), of(250), of(50_000)], [100, 100, 250, 1000]);
    }
}

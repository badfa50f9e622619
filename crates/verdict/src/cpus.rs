//! What the CPUs did while requests were on their way. A CPU that the hypervisor gave to others
//! completes nothing meanwhile, so that waits of that time are longer for no doing of the device or
//! of anybody at it.
//!
//! Non-goals: waits for a CPU that others of this machine use (`super::run_queue`).

use crate::merge::merged;
use model::record::CpuTime;
use std::ops::Range;

/// The intervals of a run, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Cpus(Vec<CpuTime>);

/// A time's CPU time in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CpuSum {
    pub(super) all_ns: f64,
    pub(super) idle_ns: f64,
    pub(super) stolen_ns: f64,
    /// How long some thread waited for a request, of as long a time as the kernel counts it.
    pub(super) io_stalled_ns: f64,
    pub(super) io_counted_ns: f64,
}

merged!(CpuSum { all_ns, idle_ns, stolen_ns, io_stalled_ns, io_counted_ns });

impl Cpus {
    pub(super) fn new(mut intervals: Vec<CpuTime>) -> Self {
        intervals.sort_unstable_by_key(|interval| interval.from_ns);
        Self(intervals)
    }

    /// The next interval.
    pub(super) fn add(&mut self, interval: CpuTime) {
        self.0.push(interval);
    }

    /// When the last of them ends.
    pub(super) fn until_ns(&self) -> Option<i64> {
        self.0.last().map(|interval| interval.until_ns)
    }

    /// Of a time: each interval counts by what of it lies there.
    pub(super) fn within(&self, time_ns: &Range<i64>) -> CpuSum {
        let first = self.0.partition_point(|interval| interval.until_ns <= time_ns.start);
        let of = self.0.iter().skip(first).take_while(|one| one.from_ns < time_ns.end);
        of.fold(CpuSum::default(), |mut sum, interval| {
            let from_ns = interval.from_ns.max(time_ns.start);
            let both_ns = interval.until_ns.min(time_ns.end).saturating_sub(from_ns).max(0) as f64;
            let share = both_ns / interval.until_ns.saturating_sub(interval.from_ns).max(1) as f64;
            sum.all_ns += both_ns * interval.cpus as f64;
            sum.idle_ns += share * interval.idle_ns as f64;
            sum.stolen_ns += share * interval.stolen_ns as f64;
            if let Some(stalled_ns) = interval.io_stalled_ns {
                sum.io_stalled_ns += share * stalled_ns as f64;
                sum.io_counted_ns += both_ns;
            }
            sum
        })
    }

    /// Intervals that begin in a time, and how long some thread waited for a request in each, where
    /// the kernel counts it.
    pub(super) fn pressure_within(
        &self,
        time_ns: &Range<i64>,
    ) -> impl Iterator<Item = (Range<i64>, f64)> {
        let first = self.0.partition_point(|interval| interval.from_ns < time_ns.start);
        let of = self.0.iter().skip(first).take_while(|one| one.from_ns < time_ns.end);
        of.filter_map(|one| Some((one.from_ns..one.until_ns, one.io_stalled_ns? as f64)))
    }

    /// Those that lie in a time, or reach into it.
    pub(super) fn of(&self, time_ns: &Range<i64>) -> Self {
        let first = self.0.partition_point(|interval| interval.until_ns <= time_ns.start);
        let of = self.0.iter().skip(first).take_while(|one| one.from_ns < time_ns.end);
        Self(of.cloned().collect())
    }

    /// The times within a time in which all CPUs were busy.
    pub(super) fn busy_within(&self, time_ns: &Range<i64>) -> impl Iterator<Item = Range<i64>> {
        let Range { start, end } = *time_ns;
        let first = self.0.partition_point(|interval| interval.until_ns <= start);
        let of = self.0.iter().skip(first).take_while(move |one| one.from_ns < end);
        let busy = of.filter(|one| one.is_busy());
        busy.map(move |one| one.from_ns.max(start)..one.until_ns.min(end))
    }

    /// The part of all CPUs' time that was stolen in each slice of such a width from a moment on,
    /// of as many as are stolen from.
    pub(super) fn stolen_by_slice(&self, from_ns: i64, width_ns: i64) -> Vec<f64> {
        let with_any = self.0.iter().filter(|interval| interval.stolen_ns > 0);
        let end_ns = with_any.map(|interval| interval.until_ns).max().unwrap_or(from_ns);
        let since_ns = end_ns.saturating_sub(from_ns).max(0) as u64;
        let slices = 0..since_ns.div_ceil(width_ns.max(1) as u64) as i64;
        let begin_ns = |slice: i64| from_ns.saturating_add(slice.saturating_mul(width_ns));
        let part = |sum: CpuSum| match sum.all_ns > 0.0 {
            true => (sum.stolen_ns / sum.all_ns).min(1.0),
            false => 0.0,
        };
        slices.map(|slice| part(self.within(&(begin_ns(slice)..begin_ns(slice + 1))))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_counts_by_what_of_it_lies_in_the_time() {
        let of = |from_ns, until_ns, idle_ns, stolen_ns| CpuTime {
            from_ns,
            until_ns,
            cpus: 2,
            idle_ns,
            stolen_ns,
            io_stalled_ns: None,
        };
        let cpus = Cpus::new(vec![of(100, 200, 50, 40), of(-50, 100, 300, 0), of(300, 400, 9, 0)]);
        let sum =
            |all_ns, idle_ns, stolen_ns| CpuSum { all_ns, idle_ns, stolen_ns, ..CpuSum::default() };
        assert_eq!(cpus.until_ns(), Some(400));
        assert_eq!(cpus.within(&(150..1000)), sum(300.0, 34.0, 20.0));
        assert_eq!(cpus.within(&(-100..0)), sum(100.0, 100.0, 0.0));
        assert_eq!(cpus.within(&(200..300)), CpuSum::default());
        assert_eq!(cpus.stolen_by_slice(0, 75), [0.0, 20.0 / 150.0, 0.2]);
        assert_eq!(cpus.stolen_by_slice(150, 25), [0.2, 0.2]);
        // Of the last interval alone hardly anything was idle.
        assert!(cpus.busy_within(&(-100..350)).eq(std::iter::once(300..350)));
        assert!(Cpus::default().stolen_by_slice(0, 75).is_empty());
        assert_eq!(cpus.of(&(150..300)).0.len(), 1);
        let pressed = CpuTime { io_stalled_ns: Some(80), ..of(0, 100, 0, 0) };
        let both = Cpus::new(vec![pressed, of(100, 200, 0, 0)]).within(&(50..200));
        assert_eq!((both.io_stalled_ns, both.io_counted_ns), (40.0, 50.0));
    }
}

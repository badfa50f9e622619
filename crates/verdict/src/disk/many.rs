//! Requests at a device that are known as sums: in flight for a time, many one after the other,
//! with those who waited for them.
//!
//! Non-goals: which requests are known so (`crate::watched`).

use super::{Act, Disk, Open, PartNumber, Waiting, Watch, work};

/// Requests one after the other, of which no single one is known: so many of this length in flight
/// in the mean, and for which part of the time any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mean {
    pub(crate) act: Act,
    pub(crate) in_flight: f64,
    pub(crate) busy: f64,
    pub(crate) length_bytes: u32,
}

impl Mean {
    fn work(&self) -> f64 {
        self.in_flight * work(self.act.op, self.length_bytes)
    }
}

impl<C> Disk<C> {
    /// From now to a moment, requests were in flight of which no single one is known, and of which
    /// one was completed again and again.
    pub(crate) fn many(
        &mut self,
        (begin_ns, end_ns): (i64, i64),
        mean: Mean,
        watch: &mut impl Watch<C>,
    ) {
        self.advance(begin_ns, watch);
        self.begin(mean.act, mean.work());
        self.many += 1;
        let number = self.number(mean.act);
        let (until_ns, busy) = self.busy[number];
        let busy = if until_ns == end_ns { busy.max(mean.busy) } else { mean.busy };
        self.busy[number] = (end_ns, busy);
        let act = Some((number, mean.work()));
        let for_ns = end_ns.saturating_sub(begin_ns) as f64 * mean.busy;
        let busy_ns = Some((begin_ns, begin_ns.saturating_add(for_ns as i64)));
        self.open((begin_ns, end_ns), Open { act, busy_ns, wait: None });
    }

    /// Those who waited for many requests of an act: how many, and how long together.
    pub(crate) fn wait_for_many(
        &mut self,
        (begin_ns, end_ns): (i64, i64),
        class: C,
        (act, times): (Act, (u64, u64)),
        watch: &mut impl Watch<C>,
    ) {
        self.advance(begin_ns, watch);
        let many = Some((self.number(act) as PartNumber, times));
        let wait = Waiting { many, ..self.waiting(class, begin_ns) };
        let end_ns = end_ns.max(begin_ns.saturating_add(1));
        self.open((begin_ns, end_ns), Open { act: None, busy_ns: None, wait: Some(wait) });
    }

    /// The parts of a time as those of many waits in it for requests of an act, which took so long
    /// together.
    ///
    /// A part of the time is an act's share of all work in the mean. But while one waits, its own
    /// act has requests, and so more work than in the mean; and so have others while they have any.
    /// When they have is taken not to depend on each other: what comes and goes within so short a
    /// time, and is waited for longer while it is there, has a greater part than is known.
    pub(super) fn put_to_each(
        &self,
        parts: &mut Vec<(PartNumber, f64)>,
        (own, sum_ns): (PartNumber, u64),
        begin_ns: i64,
    ) {
        let whole_ns: f64 = parts.iter().map(|(_, ns)| ns).sum();
        let more = |number: PartNumber, ns: f64| {
            let (until_ns, busy) = self.busy[usize::from(number)];
            if until_ns > begin_ns { (1.0 / busy - 1.0) * ns } else { 0.0 }
        };
        let own_ns = parts.iter().find(|(number, _)| *number == own).map_or(0.0, |(_, ns)| *ns);
        let with_own_ns = whole_ns + more(own, own_ns);
        parts.retain(|(number, _)| *number != own);
        for (number, ns) in parts.iter_mut() {
            *ns *= sum_ns as f64 / (with_own_ns + more(*number, *ns));
        }
        let others_ns: f64 = parts.iter().map(|(_, ns)| ns).sum();
        parts.push((own, sum_ns as f64 - others_ns));
    }
}

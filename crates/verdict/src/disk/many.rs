//! What begins at a device at a moment to come: requests that are known as sums, in flight for a
//! time, many one after the other, with those who waited for them; and waits for a request behind
//! earlier ones.
//!
//! Non-goals: which requests are known so (`crate::watched`).

use super::{ACTS, Act, Disk, Going, Open, PartNumber, Waiting, Watch, work};

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

/// What begins at a moment to come.
#[derive(Debug)]
pub(super) enum Later<C> {
    Requests(Mean),
    /// Who waits for requests of an act: how many, and how long together.
    Waits(C, Act, (u64, u64)),
    /// A wait.
    Wait(C),
}

impl<C> Disk<C> {
    /// Within these times, which are to come, requests are in flight of which no single one is
    /// known.
    pub(crate) fn many(&mut self, times: &[(i64, i64)], mean: Mean) {
        times.iter().for_each(|span| self.begin_later(*span, Later::Requests(mean)));
    }

    /// Those who wait for many requests of an act within a time that is to come: how many, and how
    /// long together.
    pub(crate) fn wait_for_many(
        &mut self,
        span: (i64, i64),
        class: C,
        (act, times): (Act, (u64, u64)),
    ) {
        self.begin_later(span, Later::Waits(class, act, times));
    }

    /// A wait from a moment to come to its end.
    pub(crate) fn wait_later(&mut self, (begin_ns, end_ns): (i64, i64), class: C) {
        let going = Going::Later(end_ns, Later::Wait(class));
        self.open((begin_ns, begin_ns), Open { going, wait: None });
    }

    /// Within these times one of many is completed again and again, and none behind each of them.
    pub(crate) fn completed_within(&mut self, runs: &[(i64, i64)]) {
        for run in runs {
            self.runs.push(*run);
            self.open(*run, Open { going: Going::Run, wait: None });
        }
    }

    fn begin_later(&mut self, (begin_ns, end_ns): (i64, i64), later: Later<C>) {
        let going = Going::Later(end_ns.max(begin_ns.saturating_add(1)), later);
        self.open((begin_ns, begin_ns), Open { going, wait: None });
    }

    /// It begins now.
    pub(super) fn begin_many(
        &mut self,
        (begin_ns, end_ns): (i64, i64),
        later: Later<C>,
        watch: &mut impl Watch<C>,
    ) {
        match later {
            Later::Requests(mean) => {
                self.begin(mean.act, mean.work());
                let number = self.number(mean.act);
                self.many.push((number, mean.busy));
                let (until_ns, busy) = self.busy[number];
                let busy = if until_ns == end_ns { busy.max(mean.busy) } else { mean.busy };
                self.busy[number] = (end_ns, busy);
                let for_ns = end_ns.saturating_sub(begin_ns) as f64 * mean.busy;
                watch.busy(begin_ns, begin_ns.saturating_add(for_ns as i64), mean.act.role);
                let going = Going::Many(number, mean.work(), mean.busy);
                self.open((begin_ns, end_ns), Open { going, wait: None });
            }
            Later::Waits(class, act, times) => {
                let many = Some((self.number(act) as PartNumber, times));
                let wait = Some(Waiting { many, ..self.waiting(class, begin_ns) });
                self.open((begin_ns, end_ns), Open { going: Going::Wait, wait });
            }
            Later::Wait(class) => {
                let wait = Some(self.waiting(class, begin_ns));
                self.open((begin_ns, end_ns), Open { going: Going::Wait, wait });
            }
        }
    }

    pub(super) fn end_many(&mut self, (number, work, busy): (usize, f64, f64)) {
        self.end_request(number, work);
        if let Some(place) = self.many.iter().position(|known| *known == (number, busy)) {
            self.many.remove(place);
        }
    }

    /// For which part of the time nothing is in flight now: where all is known as sums, as if they
    /// did not depend on each other.
    pub(super) fn idle_part(&self) -> f64 {
        match self.in_flight - self.many.len() as u64 {
            0 => self.many.iter().map(|(_, busy)| 1.0 - busy).product(),
            _ => 0.0,
        }
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
        // What was completed soon did not wait while the device stood still, or had nothing.
        parts.retain(|(number, _)| usize::from(*number) >= ACTS);
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

//! What a flight recorder waits for: SIGUSR1, or conditions (`p99(fsync)>50ms`) over what ended
//! within the last second.

use super::{Session, now_ns};
use crate::cli::{Bound, Condition, Of};
use model::histogram::Histogram;
use model::record::{Call, Flags, Request};
use model::units::show_time_ns;
use rustix::time::ClockId;
use signal_hook::consts::SIGUSR1;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long times are gathered before they are judged.
const WINDOW_NS: i64 = 1_000_000_000;

/// Times in a window, below which a quantile says nothing: the maximum alone is judged then.
const FEWEST: u64 = 100;

/// Goes off when what is waited for happens.
#[derive(Debug)]
pub(crate) struct Alarm {
    triggers: RefCell<Vec<Trigger>>,
    signalled: Arc<AtomicBool>,
    happened: RefCell<Option<String>>,
}

impl Alarm {
    /// Waits for SIGUSR1, and for the conditions: any of them.
    /// Errors: a signal that cannot be waited for.
    pub(crate) fn new(conditions: &[Condition]) -> std::io::Result<Self> {
        let signalled = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGUSR1, signalled.clone())?;
        let triggers = conditions.iter().cloned().map(Trigger::new).collect();
        Ok(Self { triggers: RefCell::new(triggers), signalled, happened: RefCell::default() })
    }

    /// Takes a request that is completed.
    pub(crate) fn see(&self, row: &Request) {
        let Some((from, to)) = row.queued_ns.or(row.started_ns).zip(row.completed_ns) else {
            return;
        };
        if row.parent_id.is_none() && !row.flags.contains(Flags::OWN) {
            self.took(Of::Requests(row.op), from, to);
        }
    }

    /// Takes a call that has ended.
    pub(crate) fn see_call(&self, call: &Call) {
        call.end_ns.into_iter().for_each(|to| self.took(Of::Calls, call.begin_ns, to));
    }

    /// What happened until now, if it did, in a capture.
    pub(crate) fn at(&self, session: &Session<'_>) -> Option<String> {
        self.see_depth(session.outstanding(), now_ns(ClockId::Monotonic));
        self.happened()
    }

    /// Takes how many requests are outstanding.
    fn see_depth(&self, outstanding: u64, now_ns: i64) {
        self.ask(|trigger| trigger.see_depth(outstanding, now_ns));
    }

    fn took(&self, of: Of, from_ns: i64, to_ns: i64) {
        self.ask(|trigger| trigger.see(of, from_ns, to_ns));
    }

    fn ask(&self, mut of: impl FnMut(&mut Trigger) -> Option<String>) {
        for trigger in self.triggers.borrow_mut().iter_mut() {
            if let Some(found) = of(trigger) {
                self.happened.borrow_mut().get_or_insert(found);
            }
        }
    }

    /// From now on it waits for what happens next.
    pub(crate) fn rearm(&self) {
        self.signalled.store(false, Ordering::Relaxed);
        self.happened.borrow_mut().take();
        self.triggers.borrow_mut().iter_mut().for_each(Trigger::rearm);
    }

    /// What happened, if it did.
    fn happened(&self) -> Option<String> {
        let signal = || self.signalled.load(Ordering::Relaxed).then(|| "SIGUSR1".to_owned());
        self.happened.borrow().clone().or_else(signal)
    }
}

/// A condition, and the times that it is judged by.
#[derive(Debug)]
struct Trigger {
    condition: Condition,
    window: Histogram,
    began_ns: Option<i64>,
    /// Since when it holds.
    since_ns: Option<i64>,
}

impl Trigger {
    fn new(condition: Condition) -> Self {
        Self { condition, window: Histogram::default(), began_ns: None, since_ns: None }
    }

    /// What was seen so far is forgotten.
    fn rearm(&mut self) {
        *self = Self::new(self.condition.clone());
    }

    /// Takes a time. Says what happened if that was waited for.
    fn see(&mut self, of: Of, from_ns: i64, to_ns: i64) -> Option<String> {
        let Bound::Time { of: wanted, quantile, bound_ns } = self.condition.bound else {
            return None;
        };
        let is_wanted = wanted == of || (wanted == Of::All && of != Of::Calls);
        if !is_wanted {
            return None;
        }
        let began_ns = *self.began_ns.get_or_insert(to_ns);
        self.window.record(u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0));
        if to_ns.saturating_sub(began_ns) < WINDOW_NS {
            return None;
        }
        let window = std::mem::take(&mut self.window);
        self.began_ns = Some(to_ns);
        let count = window.count();
        let value = match quantile < 1.0 {
            true if count < FEWEST => None,
            true => window.quantile_ns(quantile),
            false => Some(window.max_ns()),
        };
        let exceeded = value.filter(|value| *value > bound_ns);
        self.holds(exceeded.is_some(), began_ns, to_ns)?;
        let (measure, value) = (&self.condition.measure, show_time_ns(exceeded? as f64));
        Some(format!("{measure} of the last second was {value} ({count} of them)"))
    }

    /// Takes how many requests are outstanding.
    fn see_depth(&mut self, outstanding: u64, now_ns: i64) -> Option<String> {
        let Bound::Depth(bound) = self.condition.bound else { return None };
        self.holds(outstanding > bound, now_ns, now_ns)?;
        Some(format!("the depth was {outstanding}"))
    }

    /// Whether it has held for so long as is waited for.
    fn holds(&mut self, is_exceeded: bool, from_ns: i64, to_ns: i64) -> Option<()> {
        if !is_exceeded {
            self.since_ns = None;
            return None;
        }
        let since_ns = *self.since_ns.get_or_insert(from_ns);
        let lasting_ns = i64::try_from(self.condition.lasting.as_nanos()).unwrap_or(i64::MAX);
        (to_ns.saturating_sub(since_ns) >= lasting_ns).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Op;

    const MS: i64 = 1_000_000;

    fn alarm(condition: &str) -> Alarm {
        Alarm::new(&[condition.parse().unwrap()]).unwrap()
    }

    fn row(op: Op, queued_ns: i64, response_ns: i64) -> Request {
        let completed_ns = Some(queued_ns + response_ns);
        Request { op, queued_ns: Some(queued_ns), completed_ns, ..Request::default() }
    }

    /// After how many of some requests it goes off: one a millisecond, of which every `slow`th
    /// takes 80 ms.
    fn fires(condition: &str, slow: i64) -> Option<i64> {
        let alarm = alarm(condition);
        (0..4000).find(|n| {
            let response_ns = if n % slow == 0 { 80 * MS } else { MS / 10 };
            alarm.see(&row(Op::Read, n * MS, response_ns));
            alarm.happened().is_some()
        })
    }

    #[test]
    fn a_condition_holds_when_so_many_are_so_slow() {
        assert!(fires("p99>50ms", 20).is_some());
        assert!(fires("p99>50ms", 500).is_none());
        assert!(fires("max > 50ms", 500).is_some());
        assert!(fires("max>90ms", 20).is_none());
        assert!(fires("p50>1ms", 20).is_none());
    }

    #[test]
    fn only_what_it_is_about_counts() {
        assert!(fires("p99(read)>50ms", 20).is_some());
        assert!(fires("p99(write)>50ms", 20).is_none());
        assert!(fires("p99(fsync)>50ms", 20).is_none());
        let (calls, requests) = (alarm("max(fsync)>50ms"), alarm("max>50ms"));
        for n in 0..20 {
            let (begin_ns, end_ns) = (n * 100 * MS, Some(n * 100 * MS + 80 * MS));
            let call = Call { begin_ns, end_ns, ..Call::default() };
            calls.see_call(&call);
            requests.see_call(&call);
        }
        let happened = calls.happened().unwrap();
        assert!(happened.starts_with("max(fsync) of the last second was 80"), "{happened}");
        assert_eq!(requests.happened(), None, "a call is no request");
    }

    #[test]
    fn it_may_have_to_last() {
        let soon = fires("p99>50ms", 20).unwrap();
        let later = fires("p99>50ms for 3s", 20).unwrap();
        assert!(soon < 1200 && (3000..3300).contains(&later), "{soon} {later}");
        let depth = alarm("depth>8 for 2s");
        for (second, outstanding) in [(0, 9), (1, 9), (2, 8), (3, 99), (4, 99)] {
            depth.see_depth(outstanding, second * 1000 * MS);
        }
        assert_eq!(depth.happened(), None);
        depth.see_depth(10, 5000 * MS);
        assert_eq!(depth.happened().as_deref(), Some("the depth was 10"));
    }
}

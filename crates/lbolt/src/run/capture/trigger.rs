//! What a flight recorder waits for: SIGUSR1, or `p99>50ms` over the requests of the last second.

use crate::cli::Condition;
use model::histogram::Histogram;
use model::record::{Flags, Request};
use model::units::show_time_ns;
use signal_hook::consts::SIGUSR1;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long requests are gathered before they are judged.
const WINDOW_NS: i64 = 1_000_000_000;

/// Requests in a window, below which a quantile says nothing: the maximum alone is judged then.
const FEWEST: u64 = 100;

/// Goes off when what is waited for happens.
#[derive(Debug)]
pub(crate) struct Alarm {
    trigger: RefCell<Option<Trigger>>,
    signalled: Arc<AtomicBool>,
    happened: RefCell<Option<String>>,
}

impl Alarm {
    /// Waits for SIGUSR1, and for the condition.
    /// Errors: a signal that cannot be waited for.
    pub(crate) fn new(condition: Option<Condition>) -> std::io::Result<Self> {
        let signalled = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGUSR1, signalled.clone())?;
        let trigger = RefCell::new(condition.map(Trigger::new));
        Ok(Self { trigger, signalled, happened: RefCell::default() })
    }

    /// Takes a request that is completed.
    pub(crate) fn see(&self, row: &Request) {
        let found = self.trigger.borrow_mut().as_mut().and_then(|trigger| trigger.see(row));
        if let Some(found) = found {
            self.happened.borrow_mut().get_or_insert(found);
        }
    }

    /// What happened, if it did.
    pub(super) fn happened(&self) -> Option<String> {
        let signal = || self.signalled.load(Ordering::Relaxed).then(|| "SIGUSR1".to_owned());
        self.happened.borrow().clone().or_else(signal)
    }
}

/// A condition, and the requests that it is judged by.
#[derive(Debug)]
struct Trigger {
    condition: Condition,
    window: Histogram,
    began_ns: Option<i64>,
}

impl Trigger {
    fn new(condition: Condition) -> Self {
        Self { condition, window: Histogram::default(), began_ns: None }
    }

    /// Takes a request that is completed. Says what happened if that was waited for.
    fn see(&mut self, row: &Request) -> Option<String> {
        let (from, to) = row.queued_ns.or(row.started_ns).zip(row.completed_ns)?;
        if row.parent_id.is_some() || row.flags.contains(Flags::OWN) {
            return None;
        }
        let began_ns = *self.began_ns.get_or_insert(to);
        self.window.record(u64::try_from(to.saturating_sub(from)).unwrap_or(0));
        if to.saturating_sub(began_ns) < WINDOW_NS {
            return None;
        }
        let found = self.judge();
        self.window = Histogram::default();
        self.began_ns = Some(to);
        found
    }

    fn judge(&self) -> Option<String> {
        let Condition { measure, quantile, bound_ns } = self.condition;
        let count = self.window.count();
        if count < FEWEST && quantile < 1.0 {
            return None;
        }
        let value =
            if quantile < 1.0 { self.window.quantile_ns(quantile)? } else { self.window.max_ns() };
        (value > bound_ns).then(|| {
            format!(
                "{measure} of the last second was {} ({count} requests)",
                show_time_ns(value as f64)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(queued_ns: i64, response_ns: i64) -> Request {
        let completed_ns = Some(queued_ns + response_ns);
        Request { queued_ns: Some(queued_ns), completed_ns, ..Request::default() }
    }

    /// One request a millisecond, of which every `slow`th takes 80 ms.
    fn fires(condition: &str, slow: i64) -> bool {
        let mut trigger = Trigger::new(condition.parse().unwrap());
        (0..3000).any(|n| {
            let response_ns = if n % slow == 0 { 80_000_000 } else { 100_000 };
            trigger.see(&row(n * 1_000_000, response_ns)).is_some()
        })
    }

    #[test]
    fn a_condition_holds_when_so_many_are_so_slow() {
        assert!(fires("p99>50ms", 20));
        assert!(!fires("p99>50ms", 500));
        assert!(fires("max > 50ms", 500));
        assert!(!fires("max>90ms", 20));
        assert!(!fires("p50>1ms", 20));
    }
}

//! What a flight recorder waits for: SIGUSR1, or conditions (`p99(fsync)>50ms`) over what ended
//! within the last second.

use super::{Session, now_ns};
use crate::condition::{Bound, Condition, Of};
use model::histogram::{Histogram, SparseHistogram};
use model::record::{Call, Flags, Op, Request, Wait};
use model::units::show_time_ns;
use rustix::time::ClockId;
use signal_hook::consts::SIGUSR1;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long times are gathered before they are judged.
const WINDOW_NS: i64 = 1_000_000_000;

/// A quantile of fewer says little: these are gathered for longer,
const FEWEST: u64 = 100;
/// but no longer than this. Of what are still fewer, the greatest alone is no quantile: one more
/// must be beyond the bound.
const WINDOW_NS_MOST: i64 = 10_000_000_000;

/// A value that is older is no present one.
const PRESENT: Duration = Duration::from_secs(10);

/// How often waits that go on are looked at, and how long they must be by then.
const LOOK_AT_WAITS: Duration = Duration::from_secs(1);

/// What goes on for so long is an incident again,
const AGAIN_NS: i64 = 600_000_000_000;
/// and so is at once what is so many times worse than the last one.
const WORSE: u64 = 2;

/// Goes off when what is waited for happens.
#[derive(Debug)]
pub struct Alarm {
    triggers: RefCell<Vec<Trigger>>,
    signalled: Arc<AtomicBool>,
    happened: RefCell<Option<String>>,
    /// What happened once must have been over for so long, before it happens again.
    over_ns: i64,
    /// Whether waits are waited for, and when those that go on were looked at.
    looks_at_waits: bool,
    looked: Cell<Instant>,
}

impl Alarm {
    /// Waits for SIGUSR1, and for the conditions: any of them. If it is armed anew, what happened
    /// must have been over for a time (`over`), have gone on for ten minutes, or be twice as bad,
    /// to happen again.
    /// Errors: a signal that cannot be waited for.
    pub fn new(conditions: &[Condition], over: Duration) -> std::io::Result<Self> {
        let signalled = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGUSR1, signalled.clone())?;
        let triggers = conditions.iter().cloned().map(Trigger::new).collect();
        let (triggers, happened) = (RefCell::new(triggers), RefCell::default());
        let over_ns = i64::try_from(over.as_nanos()).unwrap_or(i64::MAX);
        let looks_at_waits = conditions.iter().any(|one| matches!(one.bound, Bound::Wait(_)));
        let looked = Cell::new(Instant::now());
        Ok(Self { triggers, signalled, happened, over_ns, looks_at_waits, looked })
    }

    /// Takes a request that is completed.
    pub fn see(&self, row: &Request) {
        let Some((from, to)) = row.queued_ns.or(row.started_ns).zip(row.completed_ns) else {
            return;
        };
        if row.is_asked() && !row.flags.contains(Flags::OWN) {
            self.took(Of::Requests(row.op), from, to);
        }
    }

    /// Takes requests that were completed within a time and are told as a sum.
    pub fn see_many(&self, op: Op, responses: &SparseHistogram, until_ns: i64) {
        self.ask(|trigger| {
            let gather = |window: &mut Histogram| window.merge(responses);
            trigger.gather(Of::Requests(op), until_ns, gather)
        });
    }

    /// Takes a call that has ended.
    pub fn see_call(&self, call: &Call) {
        let Some(to) = call.end_ns else { return };
        self.took(Of::Calls, call.begin_ns, to);
        self.waited(&call.command, call.kind.name(), (call.begin_ns, to));
    }

    /// Takes a wait of a thread that has ended.
    pub fn see_wait(&self, wait: &Wait) {
        self.waited(&wait.command, wait.kind.name(), (wait.begin_ns, wait.end_ns));
    }

    fn waited(&self, who: &str, wait: &str, span_ns: (i64, i64)) {
        self.ask(|trigger| trigger.see_wait(who, wait, span_ns));
    }

    /// What happened until now, if it did, in a capture.
    pub fn at(&self, session: &Session<'_>) -> Option<String> {
        if self.looks_at_waits && self.looked.get().elapsed() >= LOOK_AT_WAITS {
            self.looked.set(Instant::now());
            session.going_on(LOOK_AT_WAITS).iter().for_each(|wait| self.see_wait(wait));
        }
        let of_depth = |trigger: &Trigger| matches!(trigger.condition.bound, Bound::Depth(_));
        // They are counted one by one.
        if self.triggers.borrow().iter().any(of_depth) {
            self.see_depth(session.outstanding(), now_ns(ClockId::Monotonic));
        }
        self.happened()
    }

    /// The present value of each condition, beside its bound.
    pub fn describe(&self) -> String {
        let triggers = self.triggers.borrow();
        let all: Vec<String> = triggers.iter().map(Trigger::describe).collect();
        all.join(", ")
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
    pub fn rearm(&self) {
        self.signalled.store(false, Ordering::Relaxed);
        self.happened.borrow_mut().take();
        let mut triggers = self.triggers.borrow_mut();
        triggers.iter_mut().for_each(|trigger| trigger.rearm(self.over_ns));
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
    /// When the last one ended.
    last_ns: Option<i64>,
    /// Since when it holds.
    since_ns: Option<i64>,
    /// When it was last exceeded, and how it must go on for this to matter again.
    exceeded_ns: Option<i64>,
    rest: Option<Rest>,
    /// The greatest value since it was armed.
    greatest: u64,
    /// The last value, and when that was.
    present: Option<(u64, Instant)>,
}

/// What has happened does not happen again until one of these.
#[derive(Debug)]
struct Rest {
    /// It was over for so long,
    over_ns: i64,
    /// or it is this late,
    until_ns: i64,
    /// or it exceeds this by as much as [`WORSE`] says.
    value: u64,
}

impl Trigger {
    fn new(condition: Condition) -> Self {
        Self {
            condition,
            window: Histogram::default(),
            began_ns: None,
            last_ns: None,
            since_ns: None,
            exceeded_ns: None,
            rest: None,
            greatest: 0,
            present: None,
        }
    }

    /// What was seen so far is forgotten, but for what goes on.
    fn rearm(&mut self, over_ns: i64) {
        let Self { exceeded_ns, last_ns, present, greatest: value, .. } = *self;
        let rest = |ns: i64| Rest { over_ns, until_ns: ns.saturating_add(AGAIN_NS), value };
        let rest = exceeded_ns.map(rest);
        *self = Self { exceeded_ns, last_ns, present, rest, ..Self::new(self.condition.clone()) };
    }

    /// What its value is now, as far as it is known, beside its bound.
    fn describe(&self) -> String {
        let present = self.present.filter(|(_, at)| at.elapsed() <= PRESENT);
        let of_time = |ns: u64| show_time_ns(ns as f64);
        let (show, bound): (&dyn Fn(u64) -> String, u64) = match self.condition.bound {
            Bound::Time { bound_ns, .. } | Bound::Wait(bound_ns) => (&of_time, bound_ns),
            Bound::Depth(depth) => (&|depth: u64| depth.to_string(), depth),
            Bound::Usual => return self.condition.measure.clone(),
        };
        let value = present.map_or_else(|| "none yet".to_owned(), |(value, _)| show(value));
        format!("{} {value} (armed at {})", self.condition.measure, show(bound))
    }

    /// Takes a time. Says what happened if that was waited for.
    fn see(&mut self, of: Of, from_ns: i64, to_ns: i64) -> Option<String> {
        let took_ns = u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0);
        self.gather(of, to_ns, |window| window.record(took_ns))
    }

    /// Takes some that have ended by a moment.
    fn gather(
        &mut self,
        of: Of,
        to_ns: i64,
        gather: impl FnOnce(&mut Histogram),
    ) -> Option<String> {
        let Bound::Time { of: wanted, quantile, bound_ns } = self.condition.bound else {
            return None;
        };
        let is_wanted = wanted == of || (wanted == Of::All && of != Of::Calls);
        if !is_wanted {
            return None;
        }
        // Where nothing ended meanwhile, it was over, or this is another thing: a device that hung.
        let silent_ns = self.last_ns.replace(to_ns).map_or(0, |ns| to_ns.saturating_sub(ns));
        self.rest.take_if(|rest| silent_ns >= rest.over_ns);
        let began_ns = *self.began_ns.get_or_insert(to_ns);
        gather(&mut self.window);
        let (for_ns, count) = (to_ns.saturating_sub(began_ns), self.window.count());
        let is_enough = quantile >= 1.0 || count >= FEWEST || for_ns >= WINDOW_NS_MOST;
        if for_ns < WINDOW_NS || !is_enough {
            return None;
        }
        let window = std::mem::take(&mut self.window);
        self.began_ns = Some(to_ns);
        let value = match quantile < 1.0 {
            true if count < 2 => None,
            true if count < FEWEST => window.quantile_ns(quantile.min(next_to_last(count))),
            true => window.quantile_ns(quantile),
            false => Some(window.max_ns()),
        };
        self.holds(value.unwrap_or(0), bound_ns, (began_ns, to_ns))?;
        let (measure, value) = (&self.condition.measure, show_time_ns(value? as f64));
        let time = match (for_ns + WINDOW_NS / 2) / WINDOW_NS {
            1 => "second".to_owned(),
            seconds => format!("{seconds} s"),
        };
        Some(format!("{measure} of the last {time} was {value} (n = {count})"))
    }

    /// Takes a single wait.
    fn see_wait(&mut self, who: &str, wait: &str, (from_ns, to_ns): (i64, i64)) -> Option<String> {
        let Bound::Wait(bound_ns) = self.condition.bound else { return None };
        let took_ns = u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0);
        let is_wanted = self.condition.who.as_ref().is_none_or(|of| who.contains(of.as_str()));
        if !is_wanted {
            return None;
        }
        if took_ns <= bound_ns {
            self.see_present(took_ns);
            return None;
        }
        self.holds(took_ns, bound_ns, (from_ns, to_ns))?;
        Some(format!("{who} waited for {} ({wait})", show_time_ns(took_ns as f64)))
    }

    /// Takes how many requests are outstanding.
    fn see_depth(&mut self, outstanding: u64, now_ns: i64) -> Option<String> {
        let Bound::Depth(bound) = self.condition.bound else { return None };
        self.holds(outstanding, bound, (now_ns, now_ns))?;
        Some(format!("the queue depth was {outstanding}"))
    }

    /// Of waits the longest of the last seconds, else the last value.
    fn see_present(&mut self, value: u64) {
        let is_of_waits = matches!(self.condition.bound, Bound::Wait(_));
        let is_longer = |(before, at): (u64, Instant)| value >= before || at.elapsed() > PRESENT;
        if !is_of_waits || self.present.is_none_or(is_longer) {
            self.present = Some((value, Instant::now()));
        }
    }

    /// Whether a value has been beyond the bound for so long as is waited for.
    fn holds(&mut self, value: u64, bound: u64, (from_ns, to_ns): (i64, i64)) -> Option<()> {
        self.see_present(value);
        let is_exceeded = value > bound;
        self.greatest = self.greatest.max(value);
        let before_ns = self.exceeded_ns.filter(|_| self.rest.is_some());
        self.exceeded_ns = if is_exceeded { Some(to_ns) } else { self.exceeded_ns };
        let rests = |rest: &Rest| {
            let was_over = before_ns.is_none_or(|ns| from_ns.saturating_sub(ns) >= rest.over_ns);
            let is_worse = is_exceeded && value / WORSE > rest.value;
            !was_over && to_ns < rest.until_ns && !is_worse
        };
        if self.rest.as_ref().is_some_and(rests) {
            return None;
        }
        self.rest = None;
        if !is_exceeded {
            self.since_ns = None;
            return None;
        }
        let since_ns = *self.since_ns.get_or_insert(from_ns);
        let lasting_ns = i64::try_from(self.condition.lasting.as_nanos()).unwrap_or(i64::MAX);
        (to_ns.saturating_sub(since_ns) >= lasting_ns).then_some(())
    }
}

/// The quantile of the last but one of so many.
fn next_to_last(count: u64) -> f64 {
    count.saturating_sub(1) as f64 / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Op;

    const MS: i64 = 1_000_000;

    fn alarm(condition: &str) -> Alarm {
        Alarm::new(&[condition.parse().unwrap()], Duration::from_secs(10)).unwrap()
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
    fn one_wait_of_who_is_named_is_enough() {
        let wait = |who: &str, ms: i64| Wait {
            kind: model::record::WaitKind::Throttling,
            command: who.to_owned(),
            begin_ns: 5 * MS,
            end_ns: (5 + ms) * MS,
            ..Wait::default()
        };
        let said = |condition: &str, waits: &[Wait]| {
            let alarm = alarm(condition);
            waits.iter().for_each(|wait| alarm.see_wait(wait));
            alarm.happened()
        };
        let waits = [wait("dd", 1500), wait("logger", 900), wait("logger", 1200)];
        let of_logger = Some("logger waited for 1.20 s (dirty throttling)".to_owned());
        assert_eq!(said("wait(logger)>1s", &waits), of_logger);
        assert_eq!(said("wait(logger)>2s", &waits), None);
        assert!(said("wait>1s", &waits).is_some_and(|said| said.starts_with("dd waited")));
        assert_eq!(said("p99>1ms", &waits), None);
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
    fn requests_that_are_told_as_a_sum_are_judged_with_those_that_are_told_singly() {
        let fires = |condition: &str, quick: u64| {
            let alarm = alarm(condition);
            (1..=60).any(|poll| {
                let mut responses = SparseHistogram::default();
                (0..quick).for_each(|_| responses.record(100_000));
                alarm.see_many(Op::Read, &responses, 20 * poll * MS);
                alarm.see(&row(Op::Read, 20 * poll * MS, 80 * MS));
                alarm.happened().is_some()
            })
        };
        assert!(fires("p99(read)>50ms", 20));
        assert!(!fires("p99(read)>50ms", 200), "1 of 200 is slow");
        assert!(fires("max>50ms", 200));
    }

    /// A request every 100 ms: those of 80 ms begin at these places.
    fn fires_of_few(slow: &[i64]) -> Option<String> {
        let alarm = alarm("p99>50ms");
        for n in 0..300 {
            let response_ns = if slow.contains(&n) { 80 * MS } else { MS / 10 };
            alarm.see(&row(Op::Read, n * 100 * MS, response_ns));
        }
        alarm.happened()
    }

    #[test]
    fn few_are_gathered_for_longer_and_the_slowest_alone_is_no_quantile() {
        assert_eq!(fires_of_few(&[30]), None);
        assert_eq!(fires_of_few(&[30, 150]), None);
        let happened = fires_of_few(&[30, 35]).unwrap();
        assert!(happened.starts_with("p99 of the last 10 s was 80"), "{happened}");
        assert!(happened.ends_with("ms (n = 100)"), "{happened}");
    }

    /// At which seconds it goes off and is armed anew, where it holds in these.
    fn told(holds: impl Fn(i64) -> bool, seconds: i64) -> Vec<i64> {
        let depth = alarm("depth>8");
        let happens = |second: &i64| {
            depth.see_depth(if holds(*second) { 9 } else { 1 }, second * 1000 * MS);
            let has_happened = depth.happened().is_some();
            if has_happened {
                depth.rearm();
            }
            has_happened
        };
        (0..seconds).filter(happens).collect()
    }

    #[test]
    fn what_goes_on_happens_once_in_ten_minutes_and_what_was_over_happens_again() {
        assert_eq!(told(|_| true, 1500), [0, 600, 1200]);
        assert_eq!(told(|second| second % 9 == 0, 500), [0]);
        assert_eq!(told(|second| second % 10 == 0, 25), [0, 10, 20]);
    }

    #[test]
    fn what_goes_on_and_is_twice_as_bad_happens_again_at_once() {
        let depth = alarm("depth>8");
        let happens = |second: i64, outstanding: u64| {
            depth.see_depth(outstanding, second * 1000 * MS);
            let has_happened = depth.happened().is_some();
            if has_happened {
                depth.rearm();
            }
            has_happened
        };
        let dull = (0..100).filter(|second| happens(*second, 9)).count();
        assert_eq!(dull, 1);
        assert!(!happens(100, 19) && happens(101, 20) && !happens(102, 20) && !happens(103, 41));
        assert!(happens(104, 42));
    }

    #[test]
    fn the_present_value_is_shown_beside_the_bound() {
        let times = alarm("p99(read)>50ms");
        assert_eq!(times.describe(), "p99(read) none yet (armed at 50.0 ms)");
        (0..1100).for_each(|n| times.see(&row(Op::Read, n * MS, 2 * MS)));
        assert_eq!(times.describe(), "p99(read) 2.00 ms (armed at 50.0 ms)");
        let depth = alarm("depth>64");
        depth.see_depth(7, 0);
        assert_eq!(depth.describe(), "depth 7 (armed at 64)");
        let waits = alarm("wait(dd)>1s");
        for ms in [300, 5] {
            waits.waited("dd", "read", (0, ms * MS));
        }
        assert_eq!(waits.describe(), "wait(dd) 300 ms (armed at 1.00 s)");
        assert_eq!(waits.happened(), None);
    }

    #[test]
    fn after_a_silence_it_happens_again() {
        let alarm = alarm("max>50ms");
        let mut happened = Vec::new();
        for ms in (0..5000).step_by(100).chain((60_000..65_000).step_by(100)) {
            alarm.see(&row(Op::Read, ms * MS, 80 * MS));
            if alarm.happened().is_some() {
                happened.push(ms / 1000);
                alarm.rearm();
            }
        }
        assert_eq!(happened, [1, 60]);
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
        assert_eq!(depth.happened().as_deref(), Some("the queue depth was 10"));
    }
}

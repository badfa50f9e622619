//! What each table has: its columns, and the items of which its rows are made.
//!
//! Non-goals: their order.

use super::{Column, Subject, Value, figure, text};
use crate::answer::{Loss, losses};
use crate::past::{Kept, Window};
use crate::storm::Storm;
use crate::table::{Key, Kind, Name};
use crate::tally::Tally;
use hashbrown::HashMap;
use model::circumstance::cause;
use model::record::{is_among_others, operations};

/// A loss of so much of the waiting is marked.
const MARKED_PERCENT: f64 = 20.0;
/// And at so many seconds a second.
const MARKED_LOST: f64 = 0.05;
const OTHERS: &str = "(others)";

/// What a row is made of; each table fills in what its columns show.
#[derive(Debug, Default)]
pub(crate) struct Item {
    pub(crate) key: Key,
    /// Requests, or in the table of calls these.
    pub(crate) sum: Tally,
    pub(crate) calls: Tally,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    /// Seconds a second.
    pub(crate) waits: f64,
    pub(crate) lost: f64,
    /// A device's busy time, or a loss of the waiting for the same.
    pub(crate) percent: Option<f64>,
    pub(crate) storm: Storm,
    /// The time of all this.
    pub(crate) span_ns: f64,
    pub(crate) opens: Option<Subject>,
    pub(crate) is_marked: bool,
}

impl Item {
    /// The sums of a key.
    pub(crate) fn of(key: &Key, sum: Tally, window: &Window) -> Self {
        let (is_marked, span_ns) = (sum.failed > 0, window.span_ns);
        Self { key: key.clone(), sum, span_ns, is_marked, ..Self::default() }
    }

    fn name(&self, of: fn(&Key) -> &Option<Name>) -> Value {
        match (self.key.is_others, of(&self.key)) {
            (true, _) => Value::Text(OTHERS.into()),
            (false, Some(name)) => Value::Text(name.clone()),
            (false, None) => Value::Text("-".into()),
        }
    }

    fn operation(&self) -> Value {
        Value::Text(self.key.operation.clone())
    }

    pub(crate) fn rate(&self, count: u64) -> Value {
        Value::Rate(count as f64 * 1e9 / self.span_ns)
    }

    pub(crate) fn megabytes(&self, bytes: u64) -> Value {
        Value::Decimal(bytes as f64 * 1e3 / self.span_ns)
    }

    /// The response time at a quantile; none where no times were counted.
    pub(crate) fn quantile(&self, quantile: f64) -> Value {
        known(self.sum.quantile_ns(quantile), Value::Time)
    }

    /// The greatest time; none where no times were counted.
    pub(crate) fn max(&self) -> Value {
        known(Some(self.sum.max_ns as f64).filter(|ns| *ns > 0.0), Value::Time)
    }
}

/// A cell of what may not be known.
fn known<T>(value: Option<T>, cell: fn(T) -> Value) -> Value {
    value.map_or(Value::None, cell)
}

pub(super) const DEVICES: &[Column] = &[
    text("device", 8, 0, |it| it.name(|key| &key.device)),
    text("operation", 9, 0, Item::operation),
    figure("/s", 6, 0, |it| it.rate(it.sum.count)),
    figure("MB/s", 6, 0, |it| it.megabytes(it.sum.bytes)),
    figure("p50", 7, 2, |it| it.quantile(0.5)),
    figure("p99", 7, 0, |it| it.quantile(0.99)),
    figure("max", 7, 1, Item::max),
    figure("depth", 5, 3, |it| Value::Decimal(it.sum.sum_ns as f64 / it.span_ns)),
    figure("busy %", 6, 4, |it| known(it.percent, Value::Percent)),
    figure("failed/s", 8, 5, |it| it.rate(it.sum.failed)),
];

/// Devices by operation: of the requests that were seen, and where none were, of the kernel's
/// counts.
pub(super) fn devices(_: &Kept, window: &Window) -> Vec<Item> {
    let (seen, disk) = (window.slot.table(Kind::Devices), window.slot.table(Kind::Disk));
    let is_told = |key: &Key| {
        matches!(&*key.operation, operations::BUSY | operations::QUEUED)
            || key.is_others
            || seen.get(key).is_some()
    };
    let busy: HashMap<&Name, f64> = disk
        .iter()
        .filter(|(key, _)| &*key.operation == operations::BUSY)
        .filter_map(|(key, sum)| Some((key.device.as_ref()?, sum.sum_ns as f64)))
        .collect();
    let kernels = disk.iter().filter(|(key, sum)| !is_told(key) && sum.count > 0);
    let item = |(key, sum): (&Key, &Tally)| {
        let busy = key.device.as_ref().and_then(|device| busy.get(device));
        let percent = busy.map(|ns| (100.0 * ns / window.span_ns).min(100.0));
        let opens = key.device.clone().map(Subject::Device);
        Item { percent, opens, ..Item::of(key, sum.clone(), window) }
    };
    seen.iter().chain(kernels).map(item).collect()
}

pub(super) const WAITS: &[Column] = &[
    text("who waits", 20, 0, |it| it.name(|key| &key.role)),
    text("for", 9, 0, Item::operation),
    text("on", 6, 1, |it| it.name(|key| &key.device)),
    text("because of", 20, 0, |it| Value::Text(it.key.other.as_deref().map_or("-", cause).into())),
    figure("lost /s", 8, 0, |it| Value::Time(it.lost * 1e9)),
    figure("% of it", 7, 0, |it| known(it.percent, Value::Percent)),
];

/// Who waits for whom.
pub(super) fn waits(_: &Kept, window: &Window) -> Vec<Item> {
    let item = |loss: &Loss<'_>| Item {
        key: loss.key.clone(),
        lost: loss.lost,
        percent: loss.percent,
        opens: loss.key.role.clone().map(Subject::Role),
        is_marked: loss.lost >= MARKED_LOST && loss.percent.is_some_and(|p| p >= MARKED_PERCENT),
        ..Item::default()
    };
    losses(window).iter().map(item).collect()
}

pub(super) const ROLES: &[Column] = &[
    text("role", 22, 0, |it| it.name(|key| &key.role)),
    figure("requests/s", 10, 0, |it| it.rate(it.sum.count)),
    figure("MB/s", 6, 0, |it| it.megabytes(it.sum.moved_bytes)),
    figure("p99", 7, 0, |it| it.quantile(0.99)),
    figure("calls/s", 7, 1, |it| it.rate(it.calls.count)),
    figure("their p99", 9, 1, |it| known(it.calls.quantile_ns(0.99), Value::Time)),
    figure("waits /s", 8, 3, |it| Value::Time(it.waits * 1e9)),
    figure("lost /s", 8, 2, |it| Value::Time(it.lost * 1e9)),
];

/// Roles, of all devices.
pub(super) fn roles(_: &Kept, window: &Window) -> Vec<Item> {
    let mut roles: HashMap<Key, Item> = HashMap::new();
    for kind in [Kind::Requests, Kind::Calls, Kind::Waits, Kind::Lost] {
        for (key, sum) in window.slot.table(kind).iter() {
            let (role, is_others) = (key.role.clone(), key.is_others);
            let is_again = is_among_others(&key.operation);
            let key = Key { role, is_others, ..Key::default() };
            let of = roles.entry(key).or_default();
            match kind {
                Kind::Requests => of.sum.merge(sum),
                Kind::Calls => of.calls.merge(sum),
                Kind::Waits if is_again => {}
                Kind::Waits => of.waits += sum.sum_ns as f64 / window.span_ns,
                _ => of.lost += sum.lost_ns / window.span_ns,
            }
        }
    }
    let item = |(key, of): (Key, Item)| Item {
        opens: key.role.clone().map(Subject::Role),
        is_marked: of.lost >= MARKED_LOST && 100.0 * of.lost >= MARKED_PERCENT * of.waits,
        span_ns: window.span_ns,
        key,
        ..of
    };
    roles.into_iter().map(item).collect()
}

/// Whether an operation on a file is a request, and not a call.
fn is_request(operation: &str) -> bool {
    matches!(operation, "read" | "write" | "flush" | "discard")
}

pub(super) const FILES: &[Column] = &[
    text("file", 20, 0, |it| it.name(|key| &key.other)),
    figure("requests/s", 10, 0, |it| it.rate(it.sum.count)),
    figure("read MB/s", 9, 0, |it| it.megabytes(it.read_bytes)),
    figure("written MB/s", 12, 0, |it| it.megabytes(it.written_bytes)),
    figure("mean", 7, 2, |it| known(it.sum.mean_ns(), Value::Time)),
    figure("calls/s", 7, 1, |it| it.rate(it.calls.count)),
];

/// Files.
pub(super) fn files(_: &Kept, window: &Window) -> Vec<Item> {
    let mut files: HashMap<Key, Item> = HashMap::new();
    for (key, sum) in window.slot.table(Kind::Files).iter() {
        let (other, is_others) = (key.other.clone(), key.is_others);
        let of = files.entry(Key { other, is_others, ..Key::default() }).or_default();
        match &*key.operation {
            "read" => of.read_bytes = of.read_bytes.saturating_add(sum.bytes),
            "write" => of.written_bytes = of.written_bytes.saturating_add(sum.bytes),
            _ => {}
        }
        let sums = if is_request(&key.operation) { &mut of.sum } else { &mut of.calls };
        sums.merge(sum);
    }
    let item = |(key, of): (Key, Item)| Item {
        opens: key.other.clone().map(Subject::File),
        span_ns: window.span_ns,
        key,
        ..of
    };
    files.into_iter().map(item).collect()
}

pub(super) const CALLS: &[Column] = &[
    text("call", 9, 0, Item::operation),
    text("device", 6, 2, |it| it.name(|key| &key.device)),
    text("role", 22, 0, |it| it.name(|key| &key.role)),
    figure("/s", 6, 0, |it| it.rate(it.sum.count)),
    figure("p50", 7, 1, |it| it.quantile(0.5)),
    figure("p99", 7, 0, |it| it.quantile(0.99)),
    figure("max", 7, 0, Item::max),
    figure("waits /s", 8, 3, |it| Value::Time(it.sum.sum_ns as f64 * 1e9 / it.span_ns)),
    figure("failed/s", 8, 4, |it| it.rate(it.sum.failed)),
];

/// Calls that make files durable.
pub(super) fn calls(_: &Kept, window: &Window) -> Vec<Item> {
    let item = |(key, sum): (&Key, &Tally)| {
        let opens = (!key.is_others).then(|| Subject::Call(key.clone()));
        Item { opens, ..Item::of(key, sum.clone(), window) }
    };
    window.slot.table(Kind::Calls).iter().map(item).collect()
}

pub(super) const STORMS: &[Column] = &[
    figure("UTC", 8, 0, |it| Value::Clock(it.storm.span().0)),
    figure("for", 5, 0, |it| Value::Seconds(it.storm.span().1 - it.storm.span().0 + 1)),
    text("device", 6, 1, |it| known(it.key.device.clone(), Value::Text)),
    text("worst", 9, 2, |it| known(it.storm.worst().map(|(op, ..)| op.clone()), Value::Text)),
    figure("p99", 7, 0, |it| known(it.storm.worst().map(|(_, p99, _)| *p99), Value::Time)),
    figure("usual", 7, 2, |it| known(it.storm.worst().map(|(.., usual)| *usual), Value::Time)),
    text("who waited", 18, 0, |it| known(it.storm.pair().map(|(who, _)| who.clone()), Value::Text)),
    text("because of", 18, 0, |it| {
        known(it.storm.pair().map(|(_, by)| cause(by).into()), Value::Text)
    }),
    figure("lost s", 6, 3, |it| Value::Decimal(it.storm.lost_ns() / 1e9)),
];

/// The last storms.
pub(super) fn storms(kept: &Kept, _: &Window) -> Vec<Item> {
    let now = kept.until_unix_ns.div_euclid(1_000_000_000);
    let item = |storm: &Storm| {
        let (first, last) = storm.span();
        let device = Some(&storm.device).filter(|name| !name.is_empty()).cloned();
        let opens = match storm.pair() {
            Some((victim, _)) => Some(Subject::Role(victim.clone())),
            None => device.clone().map(Subject::Device),
        };
        let key = Key { device, operation: first.to_string().into(), ..Key::default() };
        // One that goes on is marked.
        Item { key, opens, is_marked: last >= now - 2, storm: storm.clone(), ..Item::default() }
    };
    kept.storms.iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{Counted, EVICTED_PAGE, Rollup};

    #[test]
    fn evicted_pages_are_not_waited_for_twice() {
        let mut window = Window { span_ns: 1e9, ..Window::default() };
        for (operation, sum_ns) in [("read", 300_000_000), (EVICTED_PAGE, 100_000_000)] {
            let row = Rollup {
                counted: Counted::Waits,
                role: Some("db".into()),
                operation: operation.into(),
                sum_ns,
                ..Rollup::default()
            };
            window.slot.add(&row, &mut crate::table::Names::default());
        }
        let items = roles(&Kept::default(), &window);
        assert_eq!(items.iter().map(|item| item.waits).collect::<Vec<f64>>(), [0.3]);
    }
}

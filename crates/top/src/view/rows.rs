//! The rows of each table, of the sums of a window.
//!
//! Non-goals: their order.

use super::{Row, Subject, Value};
use crate::answer::losses;
use crate::past::{Kept, Window};
use crate::table::{Key, Kind, Name};
use crate::tally::Tally;
use hashbrown::HashMap;
use model::circumstance::cause;
use model::record::operations;

/// A loss of so much of the waiting is marked.
const MARKED_PERCENT: f64 = 20.0;
/// And at so many seconds a second.
const MARKED_LOST: f64 = 0.05;
const OTHERS: &str = "(others)";

fn name(of: Option<&Name>, key: &Key) -> Value {
    match (key.is_others, of) {
        (true, _) => Value::Text(OTHERS.into()),
        (false, Some(name)) => Value::Text(name.clone()),
        (false, None) => Value::Text("-".into()),
    }
}

fn time(ns: Option<f64>) -> Value {
    ns.map_or(Value::None, Value::Time)
}

/// The greatest time; none where no times were counted.
fn max(sum: &Tally) -> Value {
    if sum.max_ns > 0 { Value::Time(sum.max_ns as f64) } else { Value::None }
}

fn per_second(value: u64, window: &Window) -> f64 {
    value as f64 * 1e9 / window.span_ns
}

fn megabytes(bytes: u64, window: &Window) -> Value {
    Value::Decimal(per_second(bytes, window) / 1e6)
}

/// Devices by operation: of the requests that were seen, and where none were, of the kernel's
/// counts.
pub(super) fn devices(window: &Window) -> Vec<Row> {
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
    let row = |(key, sum): (&Key, &Tally)| {
        let busy = key.device.as_ref().and_then(|device| busy.get(device));
        let busy = busy.map(|ns| (100.0 * ns / window.span_ns).min(100.0));
        Row {
            key: key.clone(),
            cells: vec![
                name(key.device.as_ref(), key),
                Value::Text(key.operation.clone()),
                Value::Rate(per_second(sum.count, window)),
                megabytes(sum.bytes, window),
                time(sum.quantile_ns(0.5)),
                time(sum.quantile_ns(0.99)),
                max(sum),
                Value::Decimal(sum.sum_ns as f64 / window.span_ns),
                busy.map_or(Value::None, Value::Percent),
                Value::Rate(per_second(sum.failed, window)),
            ],
            opens: key.device.clone().map(Subject::Device),
            is_marked: sum.failed > 0,
        }
    };
    seen.iter().chain(kernels).map(row).collect()
}

/// Who waits for whom.
pub(super) fn waits(window: &Window) -> Vec<Row> {
    let row = |loss: &crate::answer::Loss<'_>| Row {
        key: loss.key.clone(),
        cells: vec![
            name(loss.key.role.as_ref(), loss.key),
            Value::Text(loss.key.operation.clone()),
            name(loss.key.device.as_ref(), loss.key),
            match &loss.key.other {
                Some(other) => Value::Text(cause(other).into()),
                None => Value::Text("-".into()),
            },
            Value::Time(loss.lost * 1e9),
            loss.percent.map_or(Value::None, Value::Percent),
        ],
        opens: loss.key.role.clone().map(Subject::Role),
        is_marked: loss.lost >= MARKED_LOST && loss.percent.is_some_and(|p| p >= MARKED_PERCENT),
    };
    losses(window).iter().map(row).collect()
}

/// What a role did and waited for.
#[derive(Default)]
struct OfRole {
    requests: Tally,
    calls: Tally,
    waited_ns: f64,
    lost_ns: f64,
}

/// Roles, of all devices.
pub(super) fn roles(window: &Window) -> Vec<Row> {
    let mut roles: HashMap<(Option<&Name>, bool), OfRole> = HashMap::new();
    for kind in [Kind::Requests, Kind::Calls, Kind::Waits, Kind::Lost] {
        for (key, sum) in window.slot.table(kind).iter() {
            let of = roles.entry((key.role.as_ref(), key.is_others)).or_default();
            match kind {
                Kind::Requests => of.requests.merge(sum),
                Kind::Calls => of.calls.merge(sum),
                Kind::Waits => of.waited_ns += sum.sum_ns as f64,
                _ => of.lost_ns += sum.lost_ns,
            }
        }
    }
    let row = |((role, is_others), of): ((Option<&Name>, bool), OfRole)| {
        let key = Key { role: role.cloned(), is_others, ..Key::default() };
        let (waits, lost) = (of.waited_ns / window.span_ns, of.lost_ns / window.span_ns);
        Row {
            cells: vec![
                name(role, &key),
                Value::Rate(per_second(of.requests.count, window)),
                megabytes(of.requests.bytes, window),
                time(of.requests.quantile_ns(0.99)),
                Value::Rate(per_second(of.calls.count, window)),
                time(of.calls.quantile_ns(0.99)),
                Value::Time(waits * 1e9),
                Value::Time(lost * 1e9),
            ],
            opens: role.cloned().map(Subject::Role),
            is_marked: lost >= MARKED_LOST && 100.0 * lost >= MARKED_PERCENT * waits,
            key,
        }
    };
    roles.into_iter().map(row).collect()
}

/// Whether an operation on a file is a request, and not a call.
pub(crate) fn is_request(operation: &str) -> bool {
    matches!(operation, "read" | "write" | "flush" | "discard")
}

/// Files.
pub(super) fn files(window: &Window) -> Vec<Row> {
    #[derive(Default)]
    struct OfFile {
        requests: Tally,
        read: u64,
        written: u64,
        calls: u64,
    }
    let mut files: HashMap<(Option<&Name>, bool), OfFile> = HashMap::new();
    for (key, sum) in window.slot.table(Kind::Files).iter() {
        let of = files.entry((key.other.as_ref(), key.is_others)).or_default();
        match &*key.operation {
            "read" => of.read = of.read.saturating_add(sum.bytes),
            "write" => of.written = of.written.saturating_add(sum.bytes),
            _ => {}
        }
        match is_request(&key.operation) {
            true => of.requests.merge(sum),
            false => of.calls = of.calls.saturating_add(sum.count),
        }
    }
    let row = |((file, is_others), of): ((Option<&Name>, bool), OfFile)| {
        let key = Key { other: file.cloned(), is_others, ..Key::default() };
        Row {
            cells: vec![
                name(file, &key),
                Value::Rate(per_second(of.requests.count, window)),
                megabytes(of.read, window),
                megabytes(of.written, window),
                time(of.requests.mean_ns()),
                Value::Rate(per_second(of.calls, window)),
            ],
            opens: file.cloned().map(Subject::File),
            is_marked: false,
            key,
        }
    };
    files.into_iter().map(row).collect()
}

/// Calls that make files durable.
pub(super) fn calls(window: &Window) -> Vec<Row> {
    let row = |(key, sum): (&Key, &Tally)| Row {
        key: key.clone(),
        cells: vec![
            Value::Text(key.operation.clone()),
            name(key.device.as_ref(), key),
            name(key.role.as_ref(), key),
            Value::Rate(per_second(sum.count, window)),
            time(sum.quantile_ns(0.5)),
            time(sum.quantile_ns(0.99)),
            max(sum),
            Value::Time(sum.sum_ns as f64 * 1e9 / window.span_ns),
            Value::Rate(per_second(sum.failed, window)),
        ],
        opens: (!key.is_others).then(|| Subject::Call(key.clone())),
        is_marked: sum.failed > 0,
    };
    window.slot.table(Kind::Calls).iter().map(row).collect()
}

/// The last storms.
pub(super) fn storms(kept: &Kept) -> Vec<Row> {
    let now = kept.until_unix_ns.div_euclid(1_000_000_000);
    let row = |storm: &crate::storm::Storm| {
        let (first, last) = storm.span();
        let worst = storm.worst();
        let (victim, other) = storm.pair().unzip();
        let text = |name: Option<&Name>| name.map_or(Value::None, |n| Value::Text(n.clone()));
        let device = Some(&storm.device).filter(|name| !name.is_empty());
        Row {
            key: Key {
                device: device.cloned(),
                operation: first.to_string().into(),
                ..Key::default()
            },
            cells: vec![
                Value::Clock(first),
                Value::Seconds(last - first + 1),
                text(device),
                text(worst.map(|(operation, ..)| operation)),
                time(worst.map(|(_, p99, _)| *p99)),
                time(worst.map(|(.., usual)| *usual)),
                text(victim),
                other.map_or(Value::None, |name| Value::Text(cause(name).into())),
                Value::Decimal(storm.lost_ns() / 1e9),
            ],
            opens: match victim {
                Some(victim) => Some(Subject::Role(victim.clone())),
                None => device.cloned().map(Subject::Device),
            },
            // It goes on.
            is_marked: last >= now - 2,
        }
    };
    kept.storms.iter().map(row).collect()
}

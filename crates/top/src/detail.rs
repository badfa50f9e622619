//! A row that was opened: its operations with all their percentiles, the histogram of one of them,
//! who it waits for, and who waits for it.
//!
//! Non-goals: drawing.

use crate::answer::losses;
use crate::number::{percent, time};
use crate::past::Window;
use crate::table::{Key, Kind};
use crate::tally::{Responses, Tally};
use crate::view::{Column, Item, Subject, figure};
use model::circumstance::Circumstance;
use model::record::waited_for;
use model::units::counted;
use std::collections::BTreeMap;

/// The columns of an operation.
pub(crate) const FIGURES: [Column; 7] = [
    figure("/s", 8, 0, |it| it.rate(it.sum.count)),
    figure("MB/s", 8, 0, |it| it.megabytes(it.sum.bytes)),
    figure("p50", 8, 0, |it| it.quantile(0.5)),
    figure("p90", 8, 0, |it| it.quantile(0.9)),
    figure("p99", 8, 0, |it| it.quantile(0.99)),
    figure("p99.9", 8, 0, |it| it.quantile(0.999)),
    figure("max", 8, 0, Item::max),
];

/// What is known of it.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    pub(crate) title: String,
    /// Its operations by name.
    pub(crate) operations: Vec<(String, Item)>,
    /// Sentences: who waits.
    pub(crate) waits: Vec<String>,
}

/// Everything of a subject in a window.
pub(crate) fn detail(subject: &Subject, window: &Window) -> Detail {
    let mut sums: BTreeMap<String, Tally> = BTreeMap::new();
    let mut take = |kind: Kind, is_it: &dyn Fn(&Key) -> bool, name: &dyn Fn(&Key) -> String| {
        for (key, sum) in window.slot.table(kind).iter() {
            if !key.is_others && is_it(key) {
                sums.entry(name(key)).or_default().merge(sum);
            }
        }
    };
    let alone = |key: &Key| key.operation.to_string();
    let on = |key: &Key| match &key.device {
        Some(device) => format!("{} on {device}", key.operation),
        None => key.operation.to_string(),
    };
    let title = match subject {
        Subject::Device(device) => {
            let is_it = |key: &Key| key.device.as_ref() == Some(device);
            take(Kind::Devices, &is_it, &alone);
            take(Kind::Calls, &is_it, &alone);
            format!("device {device}")
        }
        Subject::Role(role) => {
            let is_it = |key: &Key| key.role.as_ref() == Some(role);
            take(Kind::Requests, &is_it, &on);
            take(Kind::Calls, &is_it, &on);
            format!("role {role}")
        }
        Subject::File(file) => {
            take(Kind::Files, &|key| key.other.as_ref() == Some(file), &alone);
            format!("file {file}")
        }
        Subject::Call(call) => {
            take(Kind::Calls, &|key| key == call, &on);
            let role = call.role.as_deref().unwrap_or("all roles");
            format!("{} of {role}", on(call))
        }
    };
    let item = |(name, sum)| (name, Item::of(&Key::default(), sum, window));
    let operations = sums.into_iter().map(item).collect();
    Detail { title, operations, waits: waits(subject, window) }
}

fn waits(subject: &Subject, window: &Window) -> Vec<String> {
    let is_it = |key: &Key| match subject {
        Subject::Device(device) => key.device.as_ref() == Some(device),
        Subject::Role(role) => [&key.role, &key.other].contains(&&Some(role.clone())),
        Subject::File(_) => false,
        Subject::Call(call) => {
            (&call.role, &call.operation, &call.device) == (&key.role, &key.operation, &key.device)
        }
    };
    let of_it = losses(window);
    let of_it = of_it.iter().filter(|loss| !loss.key.is_others && is_it(loss.key));
    let sentence = |loss: &crate::answer::Loss<'_>| {
        let key = loss.key;
        let share = loss.percent.map(|p| format!(", {} % of its waiting", percent(p)));
        format!(
            "{} lost {} a second waiting for {} on {}{}, {} ({})",
            key.role.as_deref().unwrap_or("-"),
            time(loss.lost * 1e9),
            waited_for(&key.operation),
            key.device.as_deref().unwrap_or("-"),
            share.unwrap_or_default(),
            because(key.other.as_deref().unwrap_or("-")),
            counted(loss.count, "wait{s}"),
        )
    };
    of_it.map(sentence).collect()
}

fn because(cause: &str) -> String {
    Circumstance::of_marked(cause)
        .map_or_else(|| format!("because of {cause}"), |of| of.clause().to_owned())
}

/// A histogram's bars: each a power of two of nanoseconds with its count, without gaps.
pub(crate) fn bars(responses: &Responses) -> Vec<(u64, u64)> {
    let mut bars: BTreeMap<u32, u64> = BTreeMap::new();
    for (ns, count) in responses.values() {
        *bars.entry(ns.max(1).ilog2()).or_default() += count;
    }
    let (first, last) = (bars.keys().next().copied(), bars.keys().next_back().copied());
    let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
    (first..=last).map(|power| (1 << power, bars.get(&power).copied().unwrap_or(0))).collect()
}

//! The first line: who waits for whom now, in a sentence.
//!
//! Non-goals: why, beyond the cause (`lbolt response` says more of a run).

use crate::number::{percent, time};
use crate::past::Window;
use crate::table::{Key, Kind};
use model::circumstance::Circumstance;
use model::record::{operations, waited_for};

/// A loss is worth a sentence at so much of the victim's waiting, and so much a second.
const LEAST_PERCENT: f64 = 5.0;
const LEAST_PER_SECOND: f64 = 0.01;

/// What a victim loses to a cause.
#[derive(Debug, Clone)]
pub(crate) struct Loss<'a> {
    pub(crate) key: &'a Key,
    pub(crate) count: u64,
    /// Seconds a second.
    pub(crate) lost: f64,
    /// Of what the victim waits for the same; none where that is not known.
    pub(crate) percent: Option<f64>,
}

impl Loss<'_> {
    /// Whether it is worth saying.
    pub(crate) fn matters(&self) -> bool {
        self.lost >= LEAST_PER_SECOND && self.percent.is_none_or(|p| p >= LEAST_PERCENT)
    }
}

/// All losses above nothing, the greatest first.
pub(crate) fn losses(window: &Window) -> Vec<Loss<'_>> {
    let waits = window.slot.table(Kind::Waits);
    let lost = window.slot.table(Kind::Lost).iter().filter(|(_, sum)| sum.lost_ns > 0.0);
    let of = |(key, sum): (&'_ Key, &crate::tally::Tally)| {
        let waited = waits.get(&Key { other: None, ..key.clone() });
        let waited_ns = waited.map(|sum| sum.sum_ns as f64).filter(|ns| *ns > 0.0);
        // Late rows of a loss may come before those of its waits.
        (sum.count, waited_ns.map(|ns| (100.0 * sum.lost_ns / ns).min(100.0)))
    };
    let mut losses: Vec<Loss<'_>> = lost
        .map(|(key, sum)| {
            let (count, percent) = of((key, sum));
            Loss { key, count, lost: sum.lost_ns / window.span_ns, percent }
        })
        .collect();
    losses.sort_by(|a, b| {
        (a.key.is_others, b.lost)
            .partial_cmp(&(b.key.is_others, a.lost))
            .unwrap_or(std::cmp::Ordering::Equal)
            .then_with(|| a.key.cmp(b.key))
    });
    losses
}

/// The sentence.
pub(crate) fn sentence(window: &Window, span: &str) -> String {
    let losses = losses(window);
    let mut told: Vec<&Loss<'_>> =
        losses.iter().filter(|loss| loss.matters() && !loss.key.is_others).collect();
    told.truncate(2);
    let mut text = match told.as_slice() {
        [] => calm(window, &losses, span),
        [first] => format!("{}.", of_loss(first)),
        [first, second, ..] => format!("{}; {}.", of_loss(first), of_loss(second)),
    };
    let watch = window.slot.table(Kind::Watch);
    let lost_events = watch
        .iter()
        .filter(|(key, _)| &*key.operation == operations::EVENTS_LOST)
        .fold(0u64, |all, (_, sum)| all.saturating_add(sum.count));
    if lost_events > 0 {
        text.push_str(&format!(" {lost_events} events were lost: figures are too low."));
    }
    text
}

fn of_loss(loss: &Loss<'_>) -> String {
    let key = loss.key;
    let waited = waited_for(&key.operation);
    let share = match loss.percent {
        Some(share) => format!("{} % of its waiting for {waited}", percent(share)),
        None => format!("{} a second waiting for {waited}", time(loss.lost * 1e9)),
    };
    let device = key.device.as_deref().map(|name| format!(" on {name}")).unwrap_or_default();
    let role = key.role.as_deref().unwrap_or("somebody");
    format!("{role} lost {share}{device} {}", because(key.other.as_deref().unwrap_or("")))
}

fn because(cause: &str) -> String {
    match Circumstance::of_marked(cause) {
        Some(circumstance) => circumstance.clause().into(),
        None if cause.is_empty() => "to an unknown cause".into(),
        None => format!("to {cause}"),
    }
}

fn calm(window: &Window, losses: &[Loss<'_>], span: &str) -> String {
    let mut devices = window.slot.table(Kind::Devices).iter();
    let has_none = devices.all(|(_, sum)| sum.count == 0);
    if has_none && losses.is_empty() {
        return format!("No requests in the last {span}.");
    }
    let most = losses.first().filter(|loss| !loss.key.is_others && loss.lost >= 0.0005);
    let most = most.map(|loss| format!(": at the most, {}", of_loss(loss))).unwrap_or_default();
    format!("Nobody waits much for others{most}.")
}

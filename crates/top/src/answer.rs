//! The first line: who waits for whom now, in a sentence.
//!
//! Non-goals: why, beyond the cause (`lbolt response` says more of a run).

use crate::number::{percent, time};
use crate::past::Window;
use crate::table::{Key, Kind};
use model::circumstance::Circumstance;
use model::rank::{Lost, Ranks};
use model::record::{WAIT_FOR_THREAD, Wait, operations, waited_for};
use model::text::visible;
use model::units::counted;
use std::collections::BTreeMap;

/// A loss is worth a sentence at so much of the victim's waiting, and so much a second.
const LEAST_PERCENT: f64 = 5.0;
const LEAST_PER_SECOND: f64 = 0.01;

/// So many that hang are told of.
const HUNG_MOST: usize = 2;

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

/// All losses above nothing, the greatest first; who waits for a thread comes behind those who wait
/// for storage themselves.
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
    let rank = |key: &Key| (key.is_others, key.operation.starts_with(WAIT_FOR_THREAD));
    losses.sort_by(|a, b| {
        (rank(a.key), b.lost)
            .partial_cmp(&(rank(b.key), a.lost))
            .unwrap_or(std::cmp::Ordering::Equal)
            .then_with(|| a.key.cmp(b.key))
    });
    losses
}

/// Those that are worth saying, who is hurt first.
fn worth_saying<'a, 'k>(losses: &'a [Loss<'k>]) -> Vec<&'a Loss<'k>> {
    let is_worth = |loss: &&Loss<'_>| loss.matters() && !loss.key.is_others;
    let mut told: Vec<&Loss<'k>> = losses.iter().filter(is_worth).collect();
    let lost = told.iter().copied().map(|Loss { key, lost, .. }| Lost {
        host: "",
        victim: key.role.as_deref().unwrap_or_default(),
        cause: key.other.as_deref().filter(|cause| Circumstance::of_marked(cause).is_none()),
        wait: &key.operation,
        lost: *lost,
    });
    let ranks: Ranks<'_> = lost.collect();
    // What is of one rank stays as it stands.
    told.sort_by_key(|loss| {
        let is_behind = loss.key.operation.starts_with(WAIT_FOR_THREAD);
        (is_behind, ranks.of("", loss.key.role.as_deref().unwrap_or_default()))
    });
    told
}

/// The sentence.
pub(crate) fn sentence(window: &Window, span: &str, going_on: &[Wait]) -> String {
    let losses = losses(window);
    let told = worth_saying(&losses);
    let mut text = match told.as_slice() {
        [] if !going_on.is_empty() => String::new(),
        [] => calm(window, &losses, span),
        [first] => format!("{}.", of_loss(first)),
        [first, second, ..] => format!("{}; {}.", of_loss(first), of_loss(second)),
    };
    text = [hung(going_on), text].join(" ").trim().to_owned();
    let watch = window.slot.table(Kind::Watch);
    let lost_events = watch
        .iter()
        .filter(|(key, _)| &*key.operation == operations::EVENTS_LOST)
        .fold(0u64, |all, (_, sum)| all.saturating_add(sum.count));
    if lost_events > 0 {
        let lost = counted(lost_events, "event{s} {was|were} lost: figures are too low.");
        text.push_str(&format!(" {lost}"));
    }
    text
}

/// Who waits for long by now, the longest first.
fn hung(going_on: &[Wait]) -> String {
    let mut by_kind: BTreeMap<(&str, &str), (u64, i64)> = BTreeMap::new();
    for wait in going_on {
        let (count, most_ns) = by_kind.entry((&wait.command, wait.kind.name())).or_default();
        *count += 1;
        *most_ns = (*most_ns).max(wait.end_ns.saturating_sub(wait.begin_ns));
    }
    let mut all: Vec<_> = by_kind.into_iter().collect();
    all.sort_by_key(|(who, (_, most_ns))| (-most_ns, *who));
    let told = all.iter().take(HUNG_MOST).map(|((command, kind), (count, most_ns))| {
        let (command, waited) = (visible(command), waited_for(kind));
        let time = time(*most_ns as f64);
        match count {
            1 => format!("{command} has been waiting for {waited} for {time}."),
            _ => format!("{count} threads of {command} wait for {waited}, for up to {time}."),
        }
    });
    told.collect::<Vec<_>>().join(" ")
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
        None if cause.is_empty() => Circumstance::Unknown.clause().into(),
        None => format!("to {cause}"),
    }
}

fn calm(window: &Window, losses: &[Loss<'_>], span: &str) -> String {
    let has_none = window.has_no_requests();
    if window.is_counted_alone() && losses.is_empty() {
        return "It is unknown who waits for whom: the requests were counted by the kernel, and \
                none was captured."
            .to_owned();
    }
    if has_none && losses.is_empty() {
        return format!("No requests in the last {span}.");
    }
    let most = losses.first().filter(|loss| !loss.key.is_others && loss.lost >= 0.0005);
    let most = most.map(|loss| format!(": at the most, {}", of_loss(loss))).unwrap_or_default();
    format!("Nobody waits much for others{most}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{Counted, Rollup, WaitKind};

    #[test]
    fn who_hangs_comes_first_and_leaves_no_all_clear() {
        let of = |command: &str, s: i64| Wait {
            kind: WaitKind::Journal,
            command: command.to_owned(),
            end_ns: s * 1_000_000_000,
            ..Wait::default()
        };
        let waits = [of("mv", 3), of("saver", 75), of("mv", 4), of("tail", 2)];
        let said = sentence(&Window::default(), "10 s", &waits);
        let expected = "saver has been waiting for the journal for 75 s. \
                        2 threads of mv wait for the journal, for up to 4 s.";
        assert_eq!(said.replace("75.0", "75").replace("4.00", "4"), expected);
        assert!(sentence(&Window::default(), "10 s", &[]).starts_with("No requests"));
    }

    /// A copy's own sync waits longest, whoever else it hurts.
    #[test]
    fn who_is_hurt_is_told_of_first() {
        let told = |losses: &[(&str, &str, f64)]| {
            let mut window = Window { span_ns: 1e9, ..Window::default() };
            for (role, cause, lost_ns) in losses {
                let row = Rollup {
                    counted: Counted::Lost,
                    role: Some((*role).into()),
                    cause: Some((*cause).into()),
                    operation: "fsync".into(),
                    lost_ns: *lost_ns as i64,
                    ..Rollup::default()
                };
                window.slot.add(&row, &mut crate::table::Names::default());
            }
            let losses = super::losses(&window);
            let roles = worth_saying(&losses).into_iter().filter_map(|loss| loss.key.role.clone());
            roles.map(|role| role.to_string()).collect::<Vec<String>>()
        };
        let (kernels, copy) = (("kernel worker", "dd", 4e8), ("dd", "<held>", 3e8));
        assert_eq!(told(&[kernels, copy, ("db", "dd", 1e8)]), ["db", "dd", "kernel worker"]);
        assert_eq!(told(&[copy, ("db", "<device>", 1e8)]), ["dd", "db"], "it hurts nobody");
    }

    #[test]
    fn what_only_the_kernel_counted_is_no_all_clear() {
        let mut window = Window::default();
        let row = model::record::Rollup {
            counted: model::record::Counted::Disk,
            device: Some("vda".into()),
            operation: "read".into(),
            count: 5,
            ..model::record::Rollup::default()
        };
        window.slot.add(&row, &mut crate::table::Names::default());
        let said = sentence(&window, "10 s", &[]);
        assert!(said.starts_with("It is unknown who waits for whom"), "{said}");
    }
}

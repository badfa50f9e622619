//! The verdict in one to three sentences: for each pair of victim and cause that matters, who lost
//! how much, how, when, and because of whom; or that nobody did, and what was looked for.
//!
//! Non-goals: which pairs matter (`verdict`).

use super::shown::Shown;
use super::told::{Loss, Of, Told, Values};
use crate::doubt::of_every_figure;
use crate::number::significant;
use crate::requests::KNOWN_COUNTS;
use model::circumstance::Circumstance;
use model::job_role::JobRole;
use model::record::subject::{Blame, Class};
use model::record::{Finding, Verdict, WAIT_FOR_THREAD, WaitKind, waited_for};
use model::units::{counted, show_moment, show_time_ns};

/// Pairs that are told of.
const MOST: usize = 3;
/// Storms whose times are told one by one.
const STORMS_MOST: usize = 4;
/// A cause's doing that has less of the loss than this is left out.
const LEAST_PERCENT: f64 = 15.0;
/// From then on moments are told as clocks do.
const HOUR_NS: f64 = 3600e9;
/// CPUs that are less idle are a reason to wait.
const IDLE_PERCENT_LEAST: f64 = 3.0;
/// Pressure that is less is not worth a sentence; and where less of it was seen, all is not clear.
const PRESSURE_PERCENT_LEAST: f64 = 2.0;
const SEEN_PERCENT_LEAST: f64 = 75.0;
/// Waits of no known device are no all-clear from then on.
const UNPLACED_NS_LEAST: f64 = 1e9;
/// Where more of the waiting than this could not be compared, nobody knows whether all is clear: if
/// it is so much, or so much of the time, that it would matter if it were lost.
const UNKNOWN_PART: f64 = 0.1;
const LARGE_NS: f64 = 1e9;
const LARGE_PART: f64 = 0.005;
/// Who waited for a victim less than this part of what it lost is left out.
const SLEEPER_LEAST: f64 = 0.1;
/// Of a trace that lacks so much of its events nobody knows who waited.
const LOST_PERCENT_LEAST: f64 = 10.0;
/// What an answer begins with that is no all-clear.
const UNKNOWN: &str = "Unknown whether anybody waited long for others";
/// Whoever held the lock for this part of what was lost is said to have held it.
const HELD_LEAST: f64 = 0.8;

pub(super) fn all(told: &Told<'_>, shown: &Shown) -> Vec<String> {
    // Who waited for a thread stands with what that one lost, unless he is asked for.
    let is_asked_for = |of: &Blame| shown.selects_roles() && shown.has_role(&[&of.victim]);
    let has_sentence =
        |loss: &&Loss<'_>| loss.is_of(shown) && (waker(loss.of).is_none() || is_asked_for(loss.of));
    let of_roles = || told.losses.iter().filter(has_sentence);
    let matters = of_roles().filter(|loss| loss.matters());
    let said: Vec<&Loss<'_>> = matters.take(MOST).collect();
    let mut lines: Vec<String> = Vec::with_capacity(said.len());
    for (number, loss) in said.iter().enumerate() {
        // Once for each victim and cause, whatever it waited for.
        let is_alike = |other: &&&Loss<'_>| is_pair(other.of, loss.of);
        let is_first = said[..number].iter().find(is_alike).is_none();
        let sleepers = if is_first { sleepers(loss, told) } else { String::new() };
        lines.push(of_loss(loss, told) + &sleepers);
    }
    if lines.is_empty() {
        let most = of_roles().next().filter(|loss| loss.of.is_role && loss.lost_ns() > 0.0);
        let most = most.map_or(String::new(), of_most);
        lines.push(match shown.selects_roles() {
            true => format!(
                "The selected roles neither waited long for others nor kept them waiting{most}."
            ),
            false => calm(told, &most),
        });
    }
    lines.extend(only_slow(told));
    lines.extend(known(told));
    lines.extend(remedy(told, shown));
    lines.extend(pressure(told));
    lines.extend(busy_cpus(told));
    lines.extend(doubts(told));
    lines
}

/// Which requests were compared, where these are not all.
fn only_slow(told: &Told<'_>) -> Option<String> {
    crate::requests::only_slow(|quantity| told.run.get(quantity))
}

/// Of how many requests the times are known, where many do not tell theirs.
fn known(told: &Told<'_>) -> Option<String> {
    let [completed, responses, devices] = KNOWN_COUNTS.map(|count| told.whole.get(count));
    let (completed, responses, devices) = (completed?, responses?, devices?);
    let is_suspect = |mean: &Finding| mean.verdict == Verdict::Suspect;
    let are_few = told.whole.finding("response_mean_ns").is_some_and(is_suspect);
    let matters = are_few || devices > responses || responses == 0.0;
    crate::requests::known([completed, responses, devices]).filter(|_| matters)
}

/// What makes every figure doubtful.
fn doubts(told: &Told<'_>) -> Option<String> {
    let span = told.run.finding("verdict_span_ns")?;
    let is_suspect = span.verdict == Verdict::Suspect;
    is_suspect.then(|| of_every_figure(&span.doubts))
}

/// What may help, where somebody was throttled because of others' dirty pages.
fn remedy(told: &Told<'_>, shown: &Shown) -> Option<String> {
    let is_throttled = |loss: &&Loss<'_>| {
        loss.matters() && wait_kind(&loss.of.wait) == Some(WaitKind::Throttling) && loss.of.is_role
    };
    told.losses.iter().filter(|loss| loss.is_of(shown)).find(is_throttled)?;
    Some("`lbolt storm --remedies dirty-early` tests whether earlier writeback helps.".to_owned())
}

/// What the kernel counts by itself of waits for requests, where that is much.
fn pressure(told: &Told<'_>) -> Option<String> {
    let percent = told.run.get("io_pressure_percent").filter(|of| *of >= PRESSURE_PERCENT_LEAST)?;
    let all = show_time_ns(told.run.or_zero("io_pressure_ns"));
    let seen = told.run.or_zero("io_pressure_seen_percent");
    let of_cgroups = of_cgroups(told);
    let counted = format!(
        "The kernel counts {all} ({} % of the time) with a thread waiting for I/O (PSI)",
        significant(percent)
    );
    let seen_percent = significant(seen);
    Some(match seen < SEEN_PERCENT_LEAST {
        true => format!(
            "{counted}; this trace shows only {seen_percent} % of it. The rest are waits for \
             devices that were not traced, or below 1 ms{}.{of_cgroups}",
            short(told),
        ),
        false => format!("{counted}; this trace shows {seen_percent} % of it.{of_cgroups}"),
    })
}

/// ` (hog 23.7 s)`: who did, so that it is much.
fn short(told: &Told<'_>) -> String {
    let of = told.short.iter().map(|(role, values)| (role, values.or_zero("short_waits_ns")));
    let of = of.filter(|(_, ns)| *ns >= LARGE_NS).take(MOST);
    let of: Vec<String> =
        of.map(|(role, ns)| format!("{} {}", role.class, show_time_ns(ns))).collect();
    if of.is_empty() { String::new() } else { format!(" ({})", of.join(", ")) }
}

/// ` By cgroup: /shop.slice 3.20 s (98.1 % shown).`
fn of_cgroups(told: &Told<'_>) -> String {
    let of = pressed_cgroups(told).take(MOST).map(|(cgroup, values)| {
        let time = show_time_ns(values.or_zero("io_pressure_ns"));
        let seen = significant(values.or_zero("io_pressure_seen_percent"));
        format!("{} {time} ({seen} % shown)", cgroup.class)
    });
    match of.collect::<Vec<_>>() {
        of if of.is_empty() => String::new(),
        of => format!(" By cgroup: {}.", of.join(", ")),
    }
}

/// Cgroups in which the kernel counts much waiting.
fn pressed_cgroups<'t>(told: &'t Told<'_>) -> impl Iterator<Item = &'t Of<'t, Class>> {
    let is_much = |values: &Values<'_>| {
        values.get("io_pressure_percent").is_some_and(|of| of >= PRESSURE_PERCENT_LEAST)
    };
    told.cgroups.iter().filter(move |(_, values)| is_much(values))
}

/// Whether the kernel counts much waiting that is not known here, of the machine or of a cgroup.
fn is_much_unseen(told: &Told<'_>) -> bool {
    let is_unseen = |values: &Values<'_>| {
        values.get("io_pressure_seen_percent").is_some_and(|seen| seen < SEEN_PERCENT_LEAST)
    };
    told.run.or_zero("io_pressure_percent") >= PRESSURE_PERCENT_LEAST && is_unseen(&told.run)
        || pressed_cgroups(told).any(|(_, values)| is_unseen(values))
}

/// Where the CPUs are never idle, a wait may be one for a CPU.
fn busy_cpus(told: &Told<'_>) -> Option<String> {
    let idle = told.run.get("cpu_idle_percent").filter(|idle| *idle < IDLE_PERCENT_LEAST)?;
    Some(format!("The CPUs were {:.1} % busy: long waits may be waits for a CPU.", 100.0 - idle))
}

/// `postgres: backend lost 23.8 s waiting for fdatasync on loop1 (31 % of its 76 s), behind flushes
/// and writes of postgres: checkpointer, in 3 storms every 30 s (at 12.3, 42.4 and 72.4 s): a wait
/// took 5.4 ms instead of 1.5 ms.`
fn of_loss(loss: &Loss<'_>, told: &Told<'_>) -> String {
    let of = loss.of;
    let all_ns = told.waits.iter().find(|(wait, _)| loss.is_in(wait));
    let all_ns = all_ns.map_or(0.0, |(_, values)| values.or_zero("waited_ns"));
    let lost = format!(
        "{} lost {}{} waiting for {} on {} ({} % of its {})",
        who("The", &of.victim),
        if is_estimate(loss) { "about " } else { "" },
        show_time_ns(loss.lost_ns()),
        waited_for(&of.wait),
        of.device,
        significant(loss.values.or_zero("lost_percent")),
        show_time_ns(all_ns),
    );
    let took = match (loss.values.get("affected_mean_ns"), loss.values.get("affected_calm_mean_ns"))
    {
        (Some(mean), Some(0.0)) => {
            format!(": a wait took {}; calm periods have none", show_time_ns(mean))
        }
        (Some(mean), Some(calm)) => {
            format!(": a wait took {} instead of {}", show_time_ns(mean), show_time_ns(calm))
        }
        (Some(mean), None) => format!(": a wait took {} on average", show_time_ns(mean)),
        _ if wait_kind(&of.wait).is_some() => String::new(),
        _ => "; no calm period to compare with".to_owned(),
    };
    format!("{lost}, {}{}{took}.", behind(loss), when(loss, told))
}

/// Whether two losses are of one victim and one cause at one device.
fn is_pair(one: &Blame, other: &Blame) -> bool {
    one.victim == other.victim && is_cause(one, other)
}

fn is_cause(one: &Blame, other: &Blame) -> bool {
    (&one.device, &one.cause, one.is_role) == (&other.device, &other.cause, other.is_role)
}

/// Whose thread the victim waited for.
fn waker(of: &Blame) -> Option<&str> {
    of.wait.strip_prefix(WAIT_FOR_THREAD)
}

/// ` Meanwhile its own threads (24.3 s) and pgbench (19.4 s) waited for it.`
fn sleepers(loss: &Loss<'_>, told: &Told<'_>) -> String {
    let root = loss.of;
    let is_behind = |one: &&Loss<'_>| {
        waker(one.of) == Some(root.victim.as_str())
            && is_cause(one.of, root)
            && one.lost_ns() >= SLEEPER_LEAST * loss.lost_ns()
    };
    let behind = told.losses.iter().filter(is_behind).take(MOST).map(|one| {
        let who = match one.of.victim == root.victim {
            true => "its own threads",
            false => &one.of.victim,
        };
        format!("{who} ({})", show_time_ns(one.lost_ns()))
    });
    match behind.collect::<Vec<_>>().split_last() {
        None => String::new(),
        Some((one, [])) => format!(" Meanwhile {one} waited for it."),
        Some((last, others)) => {
            format!(" Meanwhile {} and {last} waited for it.", others.join(", "))
        }
    }
}

/// A role in a sentence: those of lbolt's own jobs are no names.
fn who(article: &str, role: &str) -> String {
    match JobRole::ALL.iter().any(|(_, job)| *job == role) {
        true => format!("{article} {role}"),
        false => role.to_owned(),
    }
}

fn is_estimate(loss: &Loss<'_>) -> bool {
    loss.values.get("affected_mean_ns").is_none()
}

fn wait_kind(wait: &str) -> Option<WaitKind> {
    WaitKind::ALL.iter().find(|(_, name)| *name == wait).map(|(kind, _)| *kind)
}

fn behind(loss: &Loss<'_>) -> String {
    const DOING: [(&str, &str); 4] = [
        ("reads", "lost_to_reads_percent"),
        ("writes", "lost_to_writes_percent"),
        ("flushes", "lost_to_flushes_percent"),
        ("discards", "lost_to_discards_percent"),
    ];
    let nobody = Circumstance::of_name(&loss.of.cause).filter(|_| !loss.of.is_role);
    match (nobody, loss.of.cause.as_str()) {
        (Some(held @ Circumstance::Held), _) => {
            format!("{} (a limit of a cgroup, a lock, or the CPU)", held.clause())
        }
        (Some(circumstance), _) => circumstance.clause().to_owned(),
        (None, cause) => {
            let cause = who("the", cause);
            let mut doing: Vec<(&str, f64)> =
                DOING.iter().map(|(name, of)| (*name, loss.values.or_zero(of))).collect();
            doing.retain(|(_, percent)| *percent >= LEAST_PERCENT);
            doing.sort_by(|a, b| b.1.total_cmp(&a.1));
            let names: Vec<&str> = doing.iter().map(|(name, _)| *name).collect();
            let behind = match names.is_empty() {
                true => format!("behind {cause}"),
                false => format!("behind {} of {cause}", names.join(" and ")),
            };
            let held_ns = loss.values.or_zero("lock_held_ns");
            match held_ns >= HELD_LEAST * loss.lost_ns() {
                true if held_ns > 0.0 => format!("{behind}, which held the lock"),
                _ => behind,
            }
        }
    }
}

/// ` in 3 storms every 30 s (at 12.3, 42.4 and 72.4 s)`, or nothing where it was all the time.
fn when(loss: &Loss<'_>, told: &Told<'_>) -> String {
    let span_ns = told.run.or_zero("verdict_span_ns");
    let storms = &loss.storms_ns;
    let in_storms: f64 = storms.iter().map(|(from, until)| until - from).sum();
    if storms.is_empty() || in_storms > 0.7 * span_ns {
        return " most of the time".to_owned();
    }
    let is_long = storms.iter().any(|(from, _)| *from >= HOUR_NS);
    let at = storms.iter().take(STORMS_MOST).map(|(from, _)| match is_long {
        true => show_moment(*from),
        false => format!("{:.1}", from / 1e9),
    });
    let at: Vec<String> = at.collect();
    let unit = if is_long { "" } else { " s" };
    let at = match storms.len() > STORMS_MOST {
        true => format!("first at {}", at.join(", ")),
        false => format!("at {}", at.join(", ")),
    };
    let at = match loss.values.get("affected_period_ns") {
        Some(ns) => format!("every {}, {at}", show_time_ns(ns)),
        None => at,
    };
    match storms.len() {
        1 => format!(" for {} {at}{unit}", show_time_ns(in_storms)),
        count => format!(" in {count} storms ({at}{unit})"),
    }
}

/// That nobody waited for others, what was looked for, and what of it could not be told.
fn calm(told: &Told<'_>, most: &str) -> String {
    let sum = |quantity: &str| -> f64 {
        told.waits.iter().map(|(_, values)| values.or_zero(quantity)).sum()
    };
    let (count, unknown_ns) = (sum("waits_count"), sum("uncompared_ns"));
    let unplaced_ns = told.run.or_zero("unplaced_waits_ns");
    if unplaced_ns >= UNPLACED_NS_LEAST {
        let roles = told.unplaced.iter().take(MOST).map(|(role, values)| {
            let time = show_time_ns(values.or_zero("unplaced_waits_ns"));
            format!("{} {time}", role.class)
        });
        return format!(
            "{UNKNOWN}: threads waited {} without a request ({}) for an unknown device{most}.",
            show_time_ns(unplaced_ns),
            roles.collect::<Vec<_>>().join(", "),
        );
    }
    if told.tells_no_completion() {
        return format!("{UNKNOWN}: the trace does not tell when its requests were completed.");
    }
    let is_alone = told.run.get("summed_count").is_none_or(|count| count == 0.0);
    if let Some(threshold_ns) = told.run.get("slower_than_ns").filter(|_| is_alone) {
        return format!(
            "{UNKNOWN}: there are no sums of requests of less than {}, so a usual wait is not \
             known{most}.",
            show_time_ns(threshold_ns)
        );
    }
    if count == 0.0 {
        return "Nobody waited: no thread waited for a read, a direct write, a flush or an fsync."
            .to_owned();
    }
    let span_ns = told.run.or_zero("verdict_span_ns");
    let span = show_time_ns(span_ns);
    let kinds = format!("in {span} (reads, direct writes, flushes, fsync)");
    let looked = format!("{} {kinds}", counted(count as u64, "wait{s}"));
    let none = match count {
        1.0 => format!("the only wait {kinds} was not"),
        _ => format!("none of {looked} was"),
    };
    let (unknown, time) = (sum("uncompared_count"), show_time_ns(unknown_ns));
    let have = if unknown == 1.0 { "has" } else { "have" };
    let is_large = unknown_ns >= LARGE_NS || unknown_ns >= LARGE_PART * span_ns;
    if is_large && unknown_ns > UNKNOWN_PART * sum("waited_ns") {
        return format!(
            "{UNKNOWN}: {unknown:.0} of {looked}, {time} of waiting, {have} no calm period to \
             compare with{most}. A longer trace may have one."
        );
    }
    if is_much_unseen(told) {
        return format!(
            "{UNKNOWN}: {none} much longer because of others, but the trace does not show much of \
             the waiting{most}."
        );
    }
    let lost = told.run.or_zero("lost_count");
    let lost_percent = 100.0 * lost / (lost + told.run.or_zero("events_count")).max(1.0);
    if lost_percent >= LOST_PERCENT_LEAST {
        return format!(
            "{UNKNOWN}: {none} much longer because of others, but the trace lacks {} % of its \
             events{most}.",
            significant(lost_percent)
        );
    }
    let all_clear =
        format!("Nobody waited long for others: {none} much longer because of them{most}.");
    match unknown_ns > 0.0 {
        true => format!(
            "{all_clear} {unknown:.0} of them, {time} of waiting, {have} no calm period to compare \
             with."
        ),
        false => all_clear,
    }
}

fn of_most(loss: &Loss<'_>) -> String {
    format!(
        "; {} lost most, {} ({} % of its waiting) behind {}",
        who("the", &loss.of.victim),
        show_time_ns(loss.lost_ns()),
        significant(loss.values.or_zero("lost_percent")),
        who("the", &loss.of.cause),
    )
}

//! The answer in a few sentences: who lost most to whom and when, the slowest time, and what was
//! not watched.

use super::{length, moment, stamp};
use crate::number::significant;
use crate::screen::short;
use crate::words::clean;
use model::circumstance::{Circumstance, cause};
use model::history::{By, DAY_NS, Gap, Line, Loss, Overview};
use model::rank::{Lost, Ranks};
use model::record::waited_for;
use model::units::{counted, show_time_ns};

/// Losses that are told of.
const MOST_LOSSES: usize = 2;
/// Gaps that are told one by one.
const MOST_GAPS: usize = 3;
/// A percentile that is not this many times the middle one is no sentence.
const REMARKABLE: f64 = 1.5;
/// Less lost in a line is no worst one.
const LEAST_WORST_NS: f64 = 1e9;
/// Of fewer lines there is no middle one.
const LEAST_LINES: usize = 5;

/// The answer.
pub fn sentences(overview: &Overview) -> Vec<String> {
    if overview.watched_ns == 0 && overview.lines.is_empty() {
        let (from, until) = overview.span_unix_ns;
        let end = "nothing was watched.";
        return vec![format!("From {} to {} {end}", moment(from), moment(until))];
    }
    let mut told: Vec<String> = worst(overview).into_iter().collect();
    told.extend(losses(overview));
    told.extend(slowest(overview));
    told.extend(failed(overview));
    told.push(watched(overview));
    told.extend(disturbances(overview));
    told
}

/// A moment, with its date only where that is needed.
fn at(overview: &Overview, unix_ns: i64) -> String {
    let (from, until) = overview.span_unix_ns;
    let is_one_day = from.div_euclid(DAY_NS) == (until - 1).div_euclid(DAY_NS);
    let is_minute = unix_ns.div_euclid(1_000_000_000) % 60 == 0;
    match is_one_day {
        true => stamp(unix_ns, if is_minute { "%H:%MZ" } else { "%H:%M:%SZ" }),
        false => moment(unix_ns),
    }
}

fn losses(overview: &Overview) -> Vec<String> {
    let matter = matter(overview);
    if matter.is_empty() && overview.tells_no_time {
        let unknown = "Unknown whether anybody lost time to others: the requests do not tell when \
                       they were completed.";
        return vec![unknown.to_owned()];
    }
    if matter.is_empty() {
        let most = overview.losses.first().filter(|loss| loss.lost_ns > 0.0);
        let most = most.map_or(String::new(), |loss| {
            let (victim, cause) =
                (short(&clean(&loss.pair.victim)), short(&clean(cause(&loss.pair.cause))));
            let lost = show_time_ns(loss.lost_ns);
            format!(": at most {victim} to {cause}, {lost} in all")
        });
        return vec![format!("Nobody lost much time to others{most}.")];
    }
    matter.iter().map(|loss| of_loss(loss, overview)).collect()
}

/// The losses that the sentences and the table of losses are of: who is hurt first.
pub(super) fn matter(overview: &Overview) -> Vec<&Loss> {
    let mut matter: Vec<&Loss> = overview.losses.iter().filter(|loss| loss.matters).collect();
    let lost = matter.iter().copied().map(|Loss { pair, lost_ns, .. }| Lost {
        host: &pair.host,
        victim: &pair.victim,
        cause: Circumstance::of_marked(&pair.cause).is_none().then_some(pair.cause.as_str()),
        wait: &pair.operation,
        lost: *lost_ns,
    });
    let ranks: Ranks<'_> = lost.collect();
    // What is of one rank stays in the order of what was lost.
    matter.sort_by_key(|loss| ranks.of(&loss.pair.host, &loss.pair.victim));
    matter.truncate(MOST_LOSSES);
    matter
}

/// `postgres: backend lost 2.10 s to postgres: checkpointer, waiting for fsync on sda (31 % of its
/// waiting); 1.20 s of it at 03:14Z.`
fn of_loss(loss: &Loss, overview: &Overview) -> String {
    let pair = &loss.pair;
    let name = |name: &str| short(&clean(name));
    let on = match pair.device.as_str() {
        "" => String::new(),
        device => format!(" on {}", name(device)),
    };
    let percent = loss.percent.map_or(String::new(), |percent| {
        format!(" ({} % of its waiting)", significant(percent.min(100.0)))
    });
    let about = if loss.half_ns.is_none() { "about " } else { "" };
    let within = loss.half_ns.filter(|half_ns| *half_ns > 0.0);
    let within = within.map_or(String::new(), |half_ns| format!(" ± {}", show_time_ns(half_ns)));
    let (from, until) = loss.worst_unix_ns;
    let when = worst_ns(loss, overview).map_or(String::new(), |ns| {
        let most = show_time_ns(ns);
        format!("; {most} of it from {} to {}", at(overview, from), at(overview, until))
    });
    format!(
        "{} lost {about}{}{within} to {}, waiting for {}{on}{percent}{}{when}.",
        name(&pair.victim),
        show_time_ns(loss.lost_ns),
        name(cause(&pair.cause)),
        waited_for(&name(&pair.operation)),
        storms(loss),
    )
}

/// What was lost in the time in which most was, where that is but a part of the whole time.
pub(super) fn worst_ns(loss: &Loss, overview: &Overview) -> Option<f64> {
    let (from, until) = loss.worst_unix_ns;
    let span_ns = overview.span_unix_ns.1 - overview.span_unix_ns.0;
    ((until - from) * 2 < span_ns).then(|| loss.worst_lost_ns.min(loss.lost_ns))
}

/// `, in 120 storms of 1.20 s on average, one every 30.0 s`.
fn storms(loss: &Loss) -> String {
    let (count, _) = loss.storms;
    let mean = show_time_ns(storm_ns(loss));
    let every =
        loss.period_ns.map_or(String::new(), |ns| format!(", one every {}", show_time_ns(ns)));
    match count {
        0 => String::new(),
        1 => format!(", in one storm of {mean}"),
        _ => format!(", in {count} storms of {mean} on average{every}"),
    }
}

/// How long a storm is, in the mean.
pub(super) fn storm_ns(loss: &Loss) -> f64 {
    let (count, sum_ns) = loss.storms;
    sum_ns as f64 / count.max(1) as f64
}

/// `Worst from 03:00Z: 11.9 s lost (median line 3.3 s), 10.6 s of it by postgres:
/// backend to backup.`
fn worst(overview: &Overview) -> Option<String> {
    if overview.step_ns.is_none() || overview.by != By::Time || overview.lines.len() < LEAST_LINES {
        return None;
    }
    let mut lost: Vec<f64> = overview.lines.iter().map(|line| line.lost_ns).collect();
    lost.sort_by(f64::total_cmp);
    let middle = lost[lost.len() / 2].max(0.0);
    let line = overview.lines.iter().max_by(|a, b| a.lost_ns.total_cmp(&b.lost_ns))?;
    let (pair, of_pair) = line.who.as_ref()?;
    if line.lost_ns < LEAST_WORST_NS || line.lost_ns < REMARKABLE * middle {
        return None;
    }
    Some(format!(
        "Worst from {}: {} lost (median line {}), {} by {} to {}, waiting for {}.",
        at(overview, line.from_unix_ns),
        show_time_ns(line.lost_ns),
        show_time_ns(middle),
        show_time_ns(of_pair.min(line.lost_ns)),
        short(&clean(&pair.victim)),
        short(&clean(cause(&pair.cause))),
        waited_for(&short(&clean(&pair.operation))),
    ))
}

/// `device sda from 03:00Z`.
fn what(line: &Line, overview: &Overview) -> String {
    match (overview.by, overview.step_ns) {
        (By::Time, _) => format!("from {}", at(overview, line.from_unix_ns)),
        (by, None) => format!("{} {}", by.name(), short(&clean(cause(&line.group)))),
        (by, _) => {
            let group = short(&clean(cause(&line.group)));
            format!("{} {group} from {}", by.name(), at(overview, line.from_unix_ns))
        }
    }
}

/// `312 of 5000 requests failed; most, 300: device sda.`
fn failed(overview: &Overview) -> Option<String> {
    let sum = |of: fn(&Line) -> u64| overview.lines.iter().map(of).sum::<u64>();
    let (failed, requests) = (sum(|line| line.failed), sum(|line| line.requests));
    let most = overview.lines.iter().max_by_key(|line| line.failed);
    let most = most
        .filter(|_| overview.lines.len() > 1)
        .map_or(String::new(), |line| format!("; most, {}: {}", line.failed, what(line, overview)));
    (failed > 0).then(|| format!("{failed} of {requests} requests failed{most}."))
}

fn slowest(overview: &Overview) -> Option<String> {
    let (line, middle_ns) = overview.slowest.as_ref()?;
    let (p99_ns, max_ns) = line.p99_ns.zip(line.max_ns)?;
    let what = what(line, overview);
    let times =
        format!("p99 {}, up to {}", show_time_ns(p99_ns as f64), show_time_ns(max_ns as f64));
    let middle = show_time_ns(*middle_ns as f64);
    if overview.lines.len() < 2 {
        return Some(format!("Responses: {times}."));
    }
    // A line may have too few requests for a percentile, or few that were slow.
    let longest = overview.lines.iter().max_by_key(|line| line.max_ns);
    let longest = longest.filter(|longest| longest.max_ns > Some(max_ns)).map(|longest| {
        let ns = longest.max_ns.unwrap_or(max_ns) as f64;
        format!(
            " The longest response took {}, {}.",
            show_time_ns(ns),
            self::what(longest, overview)
        )
    });
    let longest = longest.unwrap_or_default();
    // Of two lines, or of two halves, the middle one is one of the slow.
    let least_ns = overview.lines.iter().filter_map(|line| line.p99_ns).min().unwrap_or(p99_ns);
    let is_above = |other_ns: u64| p99_ns as f64 >= REMARKABLE * other_ns as f64;
    Some(if is_above(*middle_ns) {
        format!("Slowest {what}: {times}; the median line's p99 is {middle}.{longest}")
    } else if is_above(least_ns) {
        let least = show_time_ns(least_ns as f64);
        format!("Slowest {what}: {times}; the fastest line's p99 is {least}.{longest}")
    } else {
        format!(
            "All lines have about the same p99, {middle}; the slowest, {what}: {times}.{longest}"
        )
    })
}

fn watched(overview: &Overview) -> String {
    let (from, until) = overview.watched_unix_ns.unwrap_or(overview.span_unix_ns);
    let gaps = &overview.gaps;
    let hosts = match overview.hosts.len() {
        0 => "W".to_owned(),
        hosts => format!("{hosts} hosts, w"),
    };
    let begin = format!(
        "{hosts}atched from {} to {}",
        moment(from.max(overview.span_unix_ns.0)),
        moment(until.min(overview.span_unix_ns.1)),
    );
    if gaps.is_empty() {
        return format!("{begin}.");
    }
    let length_ns = |gap: &Gap| gap.span_unix_ns.1 - gap.span_unix_ns.0;
    let mut longest: Vec<&Gap> = gaps.iter().collect();
    longest.sort_by_key(|gap| -length_ns(gap));
    let all_ns: i64 = gaps.iter().map(length_ns).sum();
    let told = longest.iter().take(MOST_GAPS);
    let told = told.map(|gap| {
        let (from, until) = gap.span_unix_ns;
        let host = match gap.host.as_str() {
            "" => String::new(),
            host => format!("{} ", short(&clean(host))),
        };
        let length = length(length_ns(gap) as f64);
        format!("{host}{} to {} ({length})", at(overview, from), at(overview, until))
    });
    let told: Vec<String> = told.collect();
    let more = match gaps.len() {
        count if count > MOST_GAPS => {
            format!(", and {} more, {} in all", count - MOST_GAPS, length(all_ns as f64))
        }
        _ => String::new(),
    };
    format!("{begin}, but not {}{more}.", told.join(", "))
}

/// What makes figures doubtful.
fn disturbances(overview: &Overview) -> Option<String> {
    let times = |count: u64| if count == 1 { "once".into() } else { format!("{count} times") };
    let clock = |(count, ns): (u64, u64), way: &str| {
        let by = length(ns as f64);
        (count > 0).then(|| format!("the clock was set {way} {}, by {by} in all", times(count)))
    };
    let events = (overview.events_lost > 0).then(|| {
        counted(
            overview.events_lost,
            "event{s} {was|were} lost and {is|are} missing from all figures",
        )
    });
    let from_issue = (overview.from_issue > 0).then(|| {
        format!(
            "the queueing of {} is not known, so their times are device times, from the issue on",
            counted(overview.from_issue, "request{s}")
        )
    });
    let not_kept = (overview.not_kept_ns > 0)
        .then(|| format!("{} could not be kept", length(overview.not_kept_ns as f64)));
    let clocks = [clock(overview.forward, "forward"), clock(overview.back, "back")];
    let all = clocks.into_iter().chain([events, from_issue, not_kept]);
    let all: Vec<String> = all.flatten().collect();
    let mut text = all.join("; ");
    let first = text.chars().next()?.to_uppercase().to_string();
    text.replace_range(..1, &first);
    Some(text + ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::history::Pair;

    fn overview(p99s_ns: &[u64]) -> Overview {
        let line = |p99_ns: &u64| Line {
            group: format!("d{p99_ns}"),
            p99_ns: Some(*p99_ns),
            max_ns: Some(*p99_ns),
            ..Line::default()
        };
        let lines: Vec<Line> = p99s_ns.iter().map(line).collect();
        let slowest = lines.iter().max_by_key(|line| line.p99_ns).cloned();
        let middle = lines[lines.len() / 2].p99_ns.unwrap();
        Overview {
            by: By::Device,
            slowest: slowest.map(|line| (line, middle)),
            lines,
            ..Overview::default()
        }
    }

    /// A copy's own sync waits longest, whoever else it hurts.
    #[test]
    fn who_is_hurt_is_told_of_first() {
        let loss = |host: &str, victim: &str, cause: &str, lost_ns| {
            let [host, victim, cause] = [host, victim, cause].map(str::to_owned);
            let pair = Pair { host, victim, cause, ..Pair::default() };
            Loss { pair, lost_ns, matters: true, ..Loss::default() }
        };
        let told = |losses: Vec<Loss>| {
            let overview = Overview { losses, ..Overview::default() };
            let victims = matter(&overview).into_iter().map(|loss| loss.pair.victim.clone());
            victims.collect::<Vec<String>>()
        };
        let kernels = loss("a", "kernel worker", "dd", 2e10);
        let copy = || loss("a", "dd", "<held>", 1e10);
        let all = vec![kernels, copy(), loss("a", "orders", "dd", 3e9)];
        assert_eq!(told(all), ["orders", "dd"]);
        let elsewhere = vec![copy(), loss("b", "orders", "dd", 3e9)];
        assert_eq!(told(elsewhere), ["dd", "orders"], "another dd");
        let by_itself = vec![copy(), loss("a", "orders", "<device>", 3e9)];
        assert_eq!(told(by_itself), ["dd", "orders"]);
    }

    #[test]
    fn requests_that_failed_are_told_and_where_most_of_them_did() {
        let mut overview = overview(&[70_000, 80_000]);
        assert_eq!(failed(&overview), None);
        overview.lines.iter_mut().for_each(|line| line.requests = 500);
        (overview.lines[0].failed, overview.lines[1].failed) = (3, 400);
        let sentence = "403 of 1000 requests failed; most, 400: device d80000.";
        assert_eq!(failed(&overview).as_deref(), Some(sentence));
        overview.lines.remove(0);
        assert_eq!(failed(&overview).as_deref(), Some("400 of 500 requests failed."));
    }

    #[test]
    fn lines_have_about_the_same_p99_only_where_all_have() {
        let of = |p99s_ns: &[u64]| slowest(&overview(p99s_ns)).unwrap();
        let two = of(&[70_000, 7_060_000]);
        let three = of(&[70_000, 7_000_000, 7_060_000]);
        assert!(three.ends_with("the fastest line's p99 is 70.0 µs."), "{three}");
        assert!(!two.contains("about the same"), "{two}");
        assert!(of(&[6_000_000, 7_000_000]).starts_with("All lines have about the same p99"));
        assert!(of(&[70_000, 71_000, 7_060_000]).starts_with("Slowest device d7060000"));
        let mut overview = overview(&[6_000_000, 7_000_000]);
        overview.lines[0].max_ns = Some(6_168_000_000);
        let text = slowest(&overview).unwrap();
        assert!(
            text.ends_with("up to 7.00 ms. The longest response took 6.17 s, device d6000000."),
            "{text}"
        );
    }
}

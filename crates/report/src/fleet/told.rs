//! The answer: what was lost, what stands out, what hit many hosts at once, and what changed.

use super::{About, STORMS, slower, stamp, time};
use crate::answer::Card;
use crate::number::significant;
use crate::screen::short;
use crate::words::{clean, upper};
use model::circumstance::{Circumstance, cause};
use model::fleet::{Common, Fleet, FleetFinding, FleetStorm};
use model::history::DAY_NS;
use model::units::{counted, show_time_ns};

/// Findings on a first screen.
pub(super) const FINDINGS: usize = 5;
/// Findings of a page beside its cards.
const MORE: usize = 20;

/// All sentences.
pub(super) fn sentences(fleet: &Fleet, about: &About) -> Vec<String> {
    let mut told = vec![head(fleet)];
    told.extend(change(fleet));
    let most = if about.shows_all { usize::MAX } else { FINDINGS };
    let findings = fleet.findings.iter().take(most).enumerate();
    told.extend(findings.map(|(place, found)| of_finding(place + 1, found, fleet, about)));
    if fleet.findings.len() > most {
        told.push(format!("{} more: --all.", counted_of(fleet.findings.len() - most, "finding")));
    }
    if fleet.findings.is_empty() {
        told.push(nothing(fleet));
    }
    told.extend(slower::sentences(fleet, about, fleet.findings.len().min(most)));
    told.extend(storms(fleet, "with --all"));
    told.extend(about.notes.iter().map(|note| upper(note)));
    told
}

/// What a page says beside the cards of its findings: of the first `cards` of them it says nothing.
pub(super) fn beside_cards(fleet: &Fleet, about: &About, cards: usize) -> Vec<String> {
    let mut told = vec![head(fleet)];
    told.extend(change(fleet));
    let more = fleet.findings.iter().enumerate().skip(cards).take(MORE);
    told.extend(more.map(|(place, found)| of_finding(place + 1, found, fleet, about)));
    let left = fleet.findings.len().saturating_sub(cards + MORE);
    told.extend((left > 0).then(|| format!("{} more: --all.", counted_of(left, "finding"))));
    told.extend(fleet.findings.is_empty().then(|| nothing(fleet)));
    told.extend(slower::sentences(fleet, about, fleet.findings.len().min(cards + MORE)));
    told.extend(storms(fleet, "in the table"));
    told
}

/// A finding as a card of a page.
pub(super) fn card(place: usize, found: &FleetFinding, fleet: &Fleet, about: &About) -> Card {
    let whose = if found.hosts == 1 { "its" } else { "their" };
    let more = if fleet.change_unix_ns.is_some() { " more" } else { "" };
    let percent = significant(found.percent.max(0.0));
    let worst = match found.common {
        Common::Host => String::new(),
        _ => format!(" Worst: {}.", slower::named(&found.worst)),
    };
    Card {
        word: format!("{place}. {}", subject(found)),
        number: format!("{} lost{more}", time(found.lost_ns)),
        what: format!("{}{percent} % of {whose} waiting", half("± ", found, "; ")),
        bars: vec![],
        sentence: format!("{}{}.{worst}", upper(&to(found)), when(found, fleet)),
        advice: about.open(&found.first()),
    }
}

/// What a finding lost its time to: `to backup`.
fn to(found: &FleetFinding) -> String {
    Circumstance::of_marked(&found.cause).map_or_else(
        || format!("to {}", short(&clean(&found.cause))),
        |circumstance| circumstance.clause().to_owned(),
    )
}

pub(super) fn counted_of(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => counted(count as u64, &format!("{word}s")),
    }
}

/// `1,000 hosts, 2026-11-01 to 2026-12-01: 812 h lost, 3.1 % of their waiting.`
fn head(fleet: &Fleet) -> String {
    let (from, until) = fleet.span_unix_ns;
    let simulated = match fleet.simulated {
        0 => String::new(),
        all if all == fleet.hosts => " (simulated, nobody watched them)".into(),
        some => format!(" ({some} of them simulated)"),
    };
    let percent = match fleet.waited_ns {
        0 => String::new(),
        waited => {
            let percent = 100.0 * fleet.lost_ns.max(0.0) / waited as f64;
            format!(", {} % of their waiting", significant(percent))
        }
    };
    format!(
        "{}{simulated}, {} to {}: {} lost{percent}.",
        counted_of(fleet.hosts, "host"),
        stamp(from, "%Y-%m-%d %H:%MZ"),
        stamp(until, "%Y-%m-%d %H:%MZ"),
        time(fleet.lost_ns),
    )
}

/// What differs after a moment.
fn change(fleet: &Fleet) -> Option<String> {
    let (before, after) = fleet.before_after?;
    let at = stamp(fleet.change_unix_ns?, "%Y-%m-%d %H:%MZ");
    let times = match before > 0.0 && after > 0.0 {
        true => format!(" ({}×)", significant(after / before)),
        false => String::new(),
    };
    Some(format!(
        "Lost per host and day: {} before {at}, {} after{times}. What follows is what hosts lost \
         after it beyond what they lost before.",
        show_time_ns(before.max(0.0)),
        show_time_ns(after.max(0.0)),
    ))
}

/// What the hosts of a finding are.
pub(super) fn subject(found: &FleetFinding) -> String {
    let key = short(&clean(&found.key));
    let of = |of: usize| match found.hosts == of {
        true => format!("all {}", counted_of(of, "host")),
        false => format!("{} of {}", found.hosts, counted_of(of, "host")),
    };
    match found.common {
        Common::Host if found.device.is_empty() => format!("Host {key}"),
        Common::Host => format!("Host {key} ({})", short(&clean(&found.device))),
        Common::Model => format!("Device model {key}: {}", of(found.of_hosts)),
        Common::Firmware => {
            let model = short(&clean(&found.model));
            format!("Firmware {key} of {model}: {}", of(found.of_hosts))
        }
        Common::Kernel => format!("Kernel {key}: {}", of(found.of_hosts)),
        Common::Cause => match Circumstance::of_marked(&found.key) {
            Some(_) => upper(&of(found.of_hosts)),
            None => format!("Role {key}: {}", of(found.of_hosts)),
        },
        Common::All => "All hosts".to_owned(),
    }
}

/// `1. Firmware A2.0 of Sim NVMe A: all 125 hosts lost 300 h ± 3 h because the device itself stood
/// still (5.7 % of their waiting). Worst: sim-0023. Next: lbolt history fleet/…`
fn of_finding(place: usize, found: &FleetFinding, fleet: &Fleet, about: &About) -> String {
    let more = if fleet.change_unix_ns.is_some() { " more" } else { "" };
    let worst = match found.common {
        Common::Host => String::new(),
        _ => format!(" Worst: {}.", slower::named(&found.worst)),
    };
    format!(
        "{place}. {} lost {}{more}{} {} ({} % of {} waiting){}.{worst} Next: {}",
        subject(found),
        time(found.lost_ns),
        half(" ± ", found, ""),
        to(found),
        significant(found.percent.max(0.0)),
        if found.hosts == 1 { "its" } else { "their" },
        when(found, fleet),
        about.open(&found.first()),
    )
}

/// Half the interval between two texts; nothing where there is none.
fn half(before: &str, found: &FleetFinding, behind: &str) -> String {
    match found.half_ns > 0.0 {
        true => format!("{before}{}{behind}", time(found.half_ns)),
        false => String::new(),
    }
}

/// `, since 2026-11-20, 02:00Z to 04:00Z`.
fn when(found: &FleetFinding, fleet: &Fleet) -> String {
    let since = found
        .since_unix_ns
        .map_or(String::new(), |at| format!(", since {}", stamp(at, "%Y-%m-%d")));
    // Within two days nothing is known of each day.
    let (from, until) = fleet.span_unix_ns;
    let hours = found.hours.filter(|_| until - from > 2 * DAY_NS);
    let hours = hours.map_or(String::new(), |(first, count)| {
        format!(", {first:02}:00Z to {:02}:00Z each day", (first + count) % 24)
    });
    format!("{since}{hours}")
}

fn nothing(fleet: &Fleet) -> String {
    format!(
        "Nothing stands out: no host, device model, firmware, kernel or role lost more than the \
         others beyond chance and 1 % of its waiting ({} compared).",
        counted_of(fleet.hosts, "host")
    )
}

/// Storms in two sentences: many hosts at once, and single hosts.
fn storms(fleet: &Fleet, elsewhere: &str) -> Vec<String> {
    let (many, alone): (Vec<_>, Vec<_>) = fleet.storms.iter().partition(|storm| storm.hosts > 1);
    let of_many = |storm: &&FleetStorm| {
        format!(
            "{} on up to {} hosts ({}, {} lost, {} to {})",
            short(&clean(cause(&storm.cause))),
            storm.hosts,
            counted_of(storm.hours, "hour"),
            time(storm.lost_ns),
            stamp(storm.from_unix_ns, "%m-%d %H:%MZ"),
            stamp(storm.until_unix_ns, "%m-%d %H:%MZ"),
        )
    };
    let of_one = |storm: &&FleetStorm| {
        let host = short(&clean(&storm.worst.host));
        let to = short(&clean(cause(&storm.cause)));
        format!(
            "{host} to {to} ({}, {} lost)",
            counted_of(storm.hours, "hour"),
            time(storm.lost_ns)
        )
    };
    let listed = |head: &str, all: Vec<String>, count: usize| {
        let more = count.saturating_sub(all.len());
        let more = if more > 0 { format!("; {more} more {elsewhere}") } else { String::new() };
        (!all.is_empty()).then(|| format!("{head}: {}{more}.", all.join("; ")))
    };
    let many_told = many.iter().take(STORMS).map(of_many).collect();
    let alone_told = alone.iter().take(STORMS / 2).map(of_one).collect();
    let told = [
        listed("Storms on many hosts at once", many_told, many.len()),
        listed("Storms on one host alone", alone_told, alone.len()),
    ];
    told.into_iter().flatten().collect()
}

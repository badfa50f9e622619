//! Hosts that are slower than others of their kind: a sentence and a row of a table for each.
//!
//! Non-goals: reckoning it (`verdict::fleet`).

use super::told::counted_of;
use super::{About, stamp};
use crate::listing::Listing;
use crate::number::significant;
use crate::screen::short;
use crate::sheet::Sheet;
use crate::words::clean;
use model::fleet::{Common, Fleet, FleetSlower, Found, Slowness};
use model::history::HOUR_NS;
use model::units::show_time_ns;

/// Sentences of a first screen.
const SLOWER: usize = 3;
/// Hosts that a sentence names.
const NAMED: usize = 3;

/// The sentences, behind so many numbered ones.
pub(super) fn sentences(fleet: &Fleet, about: &About, behind: usize) -> Vec<String> {
    let most = if about.shows_all { usize::MAX } else { SLOWER };
    let told = fleet.slower.iter().take(most).enumerate();
    let mut told: Vec<String> = told
        .map(|(place, slower)| {
            let next = about.open(&slower.hosts.first().cloned().unwrap_or_default());
            format!("{}. {} Next: {next}", behind + place + 1, sentence(slower, fleet))
        })
        .collect();
    let left = fleet.slower.len().saturating_sub(most);
    if left > 0 {
        told.push(format!("{left} more that are slower than others of their kind: --all."));
    }
    told
}

/// The hosts by name, the first ones: `web1, web2 and 18 more`.
pub(super) fn named(hosts: &[Found]) -> String {
    let shown = hosts.iter().take(NAMED).map(|of| short(&clean(&of.host)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(NAMED) {
        0 => shown,
        left => format!("{shown} and {left} more"),
    }
}

/// `reads`, `the slowest 1 % of writes`.
fn requests(slower: &FleetSlower) -> String {
    let all = match slower.operation.as_str() {
        "flush" => "flushes".to_owned(),
        operation => format!("{}s", clean(operation)),
    };
    match slower.share < 1.0 {
        true => format!("the slowest {} % of {all}", significant(100.0 * slower.share)),
        false => all,
    }
}

fn times(slower: &FleetSlower) -> String {
    format!(
        "{} [{}, {}] times as long",
        significant(slower.ratio),
        significant(slower.low),
        significant(slower.high)
    )
}

fn subject(slower: &FleetSlower) -> String {
    let key = short(&clean(&slower.key));
    match slower.common {
        Common::Host => format!("Host {key} ({})", short(&clean(&slower.device))),
        Common::Model => format!("Device model {key}"),
        Common::Firmware => format!("Firmware {key} of {}", short(&clean(&slower.model))),
        Common::Kernel => format!("Kernel {key}"),
        Common::Cause | Common::All => of_all(slower),
    }
}

fn of_all(slower: &FleetSlower) -> String {
    let (hosts, of) = (slower.hosts.len(), counted_of(slower.of_hosts, "host"));
    if hosts == slower.of_hosts { format!("all {of}") } else { format!("{hosts} of {of}") }
}

fn sentence(slower: &FleetSlower, fleet: &Fleet) -> String {
    let (subject, requests, times) = (subject(slower), requests(slower), times(slower));
    let named = named(&slower.hosts);
    let on = match slower.common {
        Common::Host => String::new(),
        Common::Cause | Common::All => format!(" ({named})"),
        _ => format!(" ({}: {named})", of_all(slower)),
    };
    match slower.slowness {
        Slowness::Level => {
            let what = match slower.common {
                Common::Kernel => format!("other kernels on {}", short(&clean(&slower.model))),
                _ => "the model's other firmware".to_owned(),
            };
            let beside = match slower.is_against_all {
                true => ", beside all of the same host",
                false => "",
            };
            format!("{subject}: {requests} take {times} as with {what}{beside}{on}.")
        }
        Slowness::Change => {
            let at = fleet.change_unix_ns.map(|at| stamp(at, "%Y-%m-%d %H:%MZ"));
            let at = at.unwrap_or_default();
            let subject = crate::words::upper(&subject);
            format!("{subject}: {requests} take {times} as before {at}{on}.")
        }
        Slowness::Drift => {
            let (from, until) = slower.span_unix_ns;
            let hours = ((until - from) as f64 / HOUR_NS as f64).max(1.0);
            format!(
                "{subject}: {requests} take longer and longer, {times} at the end of {} as at its \
                 start ({} % more each hour), beside others of the model.",
                crate::history::span(from, until),
                significant(100.0 * (slower.ratio.powf(1.0 / hours) - 1.0)),
            )
        }
        Slowness::Stalls => format!(
            "{subject}: in {} several requests took {} and more, up to {}; others of the model had \
             {} such hours, in the mean.",
            counted_of(slower.stalls.0 as usize, "hour"),
            show_time_ns(fleet.stall_ns as f64),
            show_time_ns(slower.stalls.1 as f64),
            significant(slower.stalls_of_others),
        ),
        Slowness::Daily => {
            let (first, count) = slower.hours.unwrap_or_default();
            format!(
                "Between {first:02}:00Z and {:02}:00Z each day, several requests took {} and more, \
                 up to {}, on {subject}{on}; at other hours, on {} hosts in the mean.",
                (first + count) % 24,
                show_time_ns(fleet.stall_ns as f64),
                show_time_ns(slower.stalls.1 as f64),
                significant(slower.stalls_of_others),
            )
        }
    }
}

/// The table; none where there is none. A first screen has the sentences alone.
pub(super) fn table(fleet: &Fleet) -> Option<Sheet> {
    let rows: Vec<&FleetSlower> = fleet.slower.iter().collect();
    let ratio = |of: f64| if of == 1.0 { "-".to_owned() } else { significant(of) };
    let listing = Listing::of(&rows)
        .label("where", |of| crate::words::upper(&subject(of)))
        .label("slower", |of| of.slowness.name().to_owned())
        .label("what", |of| if of.operation.is_empty() { "-".into() } else { requests(of) })
        .figure("", "times as long", move |of| ratio(of.ratio))
        .figure("", "from", move |of| ratio(of.low))
        .figure("", "to", move |of| ratio(of.high))
        .figure("", "hosts", |of| of.hosts.len().to_string())
        .remark("most", |of| named(&of.hosts));
    (!rows.is_empty()).then(|| listing.sheet("Slower than others of their kind"))
}

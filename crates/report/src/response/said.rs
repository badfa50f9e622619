//! What is said of a trace in sentences: first what matters most, and last what the figures rest
//! on.

use super::classes::{Class, Classes};
use crate::doubt::{of_every_figure, sentence, sentences};
use crate::number::{show_rate, significant};
use crate::requests::{KNOWN_COUNTS, VERDICT_SPAN, said};
use crate::verdict::{self, Shown};
use model::record::{Doubt, Finding, Verdict};
use model::units::{counted, show_time_ns};

/// How far depth by the clock may be from Little's law before it is known.
const LITTLE: f64 = 0.01;

/// The answer: what makes figures doubtful, who waited for whom where that is known, and the bursts
/// that reads waited behind, or why there are none. Each sentence once. The findings are all of the
/// trace's, the classes those that are shown: who waited cannot be told of a part of the findings.
pub(super) fn first(findings: &[Finding], shown: &Shown, classes: &Classes) -> Vec<String> {
    let is_judged = findings.iter().any(|finding| finding.quantity == VERDICT_SPAN);
    let verdict = if is_judged { verdict::answer(findings, shown) } else { Vec::new() };
    let verdict = verdict.into_iter().map(|of| of.sentence);
    let mut storms = classes.by("storms");
    storms.retain(|device| device.value("storms_count").is_some_and(|count| count > 0.0));
    let cost = |device: &&Class| {
        let of = |quantity| device.value(quantity).unwrap_or(0.0);
        of("reads_behind_count") * (of("reads_behind_mean_ns") - of("reads_apart_mean_ns"))
    };
    let worst = storms.iter().max_by(|a, b| cost(a).total_cmp(&cost(b)));
    let matters = match worst {
        Some(device) => Some(storm(classes, device)),
        None => calm(classes),
    };
    let before = [only_slow(classes), doubts(classes), known(classes)];
    let all = before.into_iter().flatten().chain(verdict).chain(matters);
    let mut seen = std::collections::HashSet::new();
    all.filter(|sentence| seen.insert(sentence.clone())).collect()
}

/// Which requests the figures are of, where these are not all.
fn only_slow(classes: &Classes) -> Option<String> {
    crate::requests::only_slow(|quantity| classes.of_run(quantity))
}

/// Of how many requests the times are known, where these are not all.
fn known(classes: &Classes) -> Option<String> {
    let whole = classes.named("whole", "all")?;
    let [completed, responses, devices] = KNOWN_COUNTS.map(|count| whole.value(count));
    crate::requests::known([completed?, responses?, devices?])
}

/// What makes every figure doubtful.
fn doubts(classes: &Classes) -> Option<String> {
    let counted = classes.named("whole", "all")?.figure("requested_count")?;
    let is_suspect = counted.verdict == Verdict::Suspect;
    is_suspect.then(|| of_every_figure(&counted.doubts()))
}

/// `p99 of reads is 6.2 × higher in the 3 % of time when postgres (812) flushes vda …`
fn storm(classes: &Classes, storms: &Class) -> String {
    let of = |quantity| storms.value(quantity);
    let name = &storms.key.1;
    let share =
        of("storm_time_percent").map(|percent| format!("the {} % of time", significant(percent)));
    let share = share.unwrap_or_else(|| "the time".into());
    let when = match blamed(classes, name) {
        Some(who) => format!("{share} with bursts of {name} by {who}"),
        None => format!("{share} with bursts of {name}"),
    };
    let often = of("storm_period_ns")
        .map_or_else(String::new, |ns| format!(", every {}", show_time_ns(ns)));
    let number = counted(of("storms_count").unwrap_or(0.0) as u64, "burst{s}");
    let reads = of("reads_behind_count").unwrap_or(0.0);
    let Some(ratio) = of("reads_behind_p99_ratio").filter(|_| reads > 0.0) else {
        return format!("No reads waited in {when} ({number}{often}).");
    };
    let compared = match ratio {
        ratio if ratio >= 1.05 => format!("{}× higher", significant(ratio)),
        ratio if ratio <= 0.95 => format!("{}× lower", significant(1.0 / ratio)),
        _ => "the same".to_owned(),
    };
    let queue = of("reads_behind_wait_percent").filter(|percent| *percent >= 1.0);
    let excess = of("reads_behind_excess_percent").filter(|percent| *percent > 0.0);
    let why = match (queue, excess) {
        (Some(percent), _) => format!("; {percent:.0} % of their response is queueing"),
        (None, Some(percent)) => {
            format!("; {percent:.0} % of their response is more than other reads take")
        }
        (None, None) => String::new(),
    };
    format!(
        "p99 read response is {compared} in {when} ({number}{often}): {} arrived during one{why}.",
        counted(reads as u64, "read{s}")
    )
}

/// Which process requested most of some bursts; with a kernel's worker the first that is none.
fn blamed(classes: &Classes, storms: &str) -> Option<String> {
    let prefix = format!("{storms}: ");
    let all = classes.by("storms by process");
    let mut named = all.iter().filter_map(|class| class.key.1.strip_prefix(&prefix));
    let first = named.next()?;
    let process = is_worker(first).then(|| named.find(|name| !is_worker(name))).flatten();
    let with = process.map_or_else(String::new, |process| format!(", with {process}"));
    Some(format!("process {first}{with}"))
}

/// Threads of the kernel that write for others.
const WORKERS: [&str; 5] = ["kworker/", "jbd2/", "xfsaild/", "btrfs-", "kswapd"];

fn is_worker(name: &str) -> bool {
    WORKERS.iter().any(|worker| name.starts_with(worker))
}

/// Why there are no bursts, where the trace writes at all.
fn calm(classes: &Classes) -> Option<String> {
    let devices = classes.by("storms");
    let reason = |device: &&Class| device.figure("storms_count")?.doubts().into_iter().next();
    let reasons: Vec<Option<Doubt>> = devices.iter().map(reason).collect();
    let first = reasons.first()?.as_ref()?;
    if devices.iter().all(|device| device.value("storms_count").is_none()) {
        return Some(format!("Bursts of writes were not looked for: {}.", sentence(first)));
    }
    match reasons.iter().all(|reason| reason.as_ref() == Some(first)) {
        true => Some(format!("No bursts of writes or flushes: {}.", sentence(first))),
        false => Some("No bursts of writes or flushes on any device.".into()),
    }
}

/// What the figures rest on, and whether the load is balanced.
pub(super) fn last(findings: &[Finding], classes: &Classes) -> Vec<String> {
    let depth = || {
        let (mean, at_arrival) =
            (classes.of_run("depth_mean")?, classes.of_run("depth_at_arrival_mean")?);
        let max = classes.of_run("depth_max")?;
        Some(format!(
            "Queue depth: {mean:.2} on average, {at_arrival:.2} as arrivals find it, {max:.0} at \
             most"
        ))
    };
    let little = || {
        let ratio = classes.of_run("little_ratio")?;
        let is_off = (ratio - 1.0).abs() > LITTLE;
        is_off.then(|| {
            format!(
                "Suspect: the measured queue depth is {ratio:.3} × that of Little's law (rate × \
                 mean response)"
            )
        })
    };
    let late = || {
        let late = classes.of_run("late_count").filter(|count| *count > 0.0)?;
        Some(format!(
            "Suspect: {} a row that arrived later; queue depths and seeks are wrong by them",
            counted(late as u64, "row{s} follow{s|}")
        ))
    };
    let reversed = || {
        let rows = classes.of_run("reversed_count").filter(|count| *count > 0.0)?;
        Some(format!(
            "Suspect: {} steps in the wrong order; the time between them is left out",
            counted(rows as u64, "row{s} {has|have}")
        ))
    };
    let slopes = ["read", "write"].into_iter();
    let slopes = slopes.flat_map(|op| [slope(classes, op), no_slope(classes, op)]).flatten();
    let mut lines = said(findings);
    lines.extend(slopes);
    lines.extend([balance(classes), depth(), little(), late(), reversed()].into_iter().flatten());
    lines
}

/// What the size of a transfer costs, and why.
fn slope(classes: &Classes, op: &str) -> Option<String> {
    let class = classes.named("direction", op)?;
    let of = |quantity| class.value(quantity);
    let response = of("slope_response_ns_per_kib")?;
    let (wait, device) = (of("slope_wait_ns_per_kib"), of("slope_device_ns_per_kib"));
    let each = format!("Each additional KiB adds {} to a {op}", show_time_ns(response));
    Some(match (wait.unwrap_or(0.0), device.unwrap_or(0.0)) {
        (wait, device) if wait > device => format!(
            "{each}, mostly in the queue: large requests wait, and bandwidth is not their limit"
        ),
        (_, device) if device > 0.0 => {
            format!("{each}, mostly in the device, as at {}", show_rate(1024.0 * 1e9 / device))
        }
        _ => each,
    })
}

/// What of it is not measured, and why.
fn no_slope(classes: &Classes, op: &str) -> Option<String> {
    const OF: [(&str, &str); 3] = [
        ("the response", "slope_response_ns_per_kib"),
        ("the queue", "slope_wait_ns_per_kib"),
        ("the device", "slope_device_ns_per_kib"),
    ];
    let class = classes.named("direction", op)?;
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, quantity) in OF {
        let found = class.figure(quantity).filter(|found| found.value.is_none());
        let Some(reason) = found.map(|found| sentences(&found.doubts())) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    let of = |(reason, names): &(String, Vec<&str>)| format!("{}: {reason}", names.join(", "));
    let told: Vec<String> = reasons.iter().map(of).collect();
    let head = format!("Not measured: what an additional KiB adds to a {op}, in");
    (!told.is_empty()).then(|| format!("{head} {}", told.join("; ")))
}

/// The paper's use of figures 2 and 3: whether the devices share the load, and which slice to move.
fn balance(classes: &Classes) -> Option<String> {
    let share = |class: &Class| class.value("time_percent").unwrap_or(0.0);
    let mut devices = classes.by("device");
    devices.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let ([busiest, ..], Some(idlest)) = (devices.as_slice(), devices.last()) else { return None };
    let difference = share(busiest) - share(idlest);
    if devices.len() < 2 || difference < 100.0 / devices.len() as f64 {
        return None;
    }
    // The slice whose time is nearest to half of the difference evens it out best.
    let prefix = format!("{} ", busiest.key.1);
    let of_busiest = |class: &&Class| {
        class
            .key
            .1
            .strip_prefix(&prefix)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let distance = |class: &&Class| (share(class) - difference / 2.0).abs();
    let slices = classes.by("region").into_iter().filter(of_busiest);
    let slice = slices.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    Some(format!(
        "Unbalanced: {} has {:.0} % of all response time, {} has {:.0} %; moving {} ({:.0} %) \
         there balances them best",
        busiest.key.1,
        share(busiest),
        idlest.key.1,
        share(idlest),
        slice.key.1,
        share(slice)
    ))
}

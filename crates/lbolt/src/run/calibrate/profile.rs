//! A fit as a profile: TOML text that `lbolt simulate --model` reads.
//!
//! Non-goals: writing files.

use crate::resolve::calibrate::ResolvedCalibration;
use analyze::calibrate::{Direction, Fit, Judged, Load, Path, Range};
use experiment::calibrate::{LARGE_BYTES, Plan};
use model::text::visible;
use std::fmt::Write as _;

/// What measured the numbers of a fit.
pub(super) const OWN: &str = "lbolt calibrate";

/// How a number is known, and from where, as profiles say it.
type Source = (&'static str, &'static str);

/// The beginning of any profile, to within its `calibrated`.
pub(super) fn head(plan: &Plan, device: &str) -> String {
    let device = visible(device).replace(['"', '\\'], "'");
    let day = jiff::Zoned::now().date();
    format!(
        "kind = \"drive\"\ntitle = \"{device}, calibrated on {day}\"\n\n[calibrated]\nfitted = \
         \"lbolt calibrate {device}, {} rounds of {} ms",
        plan.rounds,
        plan.pass_ns / 1_000_000,
    )
}

/// The profile's text.
pub(super) fn text(
    resolved: &ResolvedCalibration,
    fit: &Fit,
    limits: &[(String, f64)],
    judged: &[Judged],
) -> String {
    let depth = fit.read.random.loads.iter().map(|load| load.outstanding).max().unwrap_or(1);
    let mut text = format!(
        "{}{}\"\nrequest_size_max = \"{LARGE_BYTES} B\"\noutstanding_max = \
         {depth}\n\n[design]\nassumed = \"a black box\"\nkind = \
         \"virtual\"\n\n[capacity]\npublished = \"by the device\"\nsize = \"{} B\"\nsector_size = \
         \"512 B\"\n\n[service]\nfitted = \"lbolt calibrate\"\ndepth = {depth}\n",
        head(&resolved.plan, &resolved.name),
        judged_text(judged),
        resolved.capacity_bytes / 512 * 512,
    );
    match fit.flush_ns {
        Some(flush_ns) => text.push_str(&number("flush", flush_ns, "ns", ("fitted", OWN))),
        None => text.push_str("flush = { value = \"0 ns\", assumed = \"not measured\" }\n"),
    }
    direction(&mut text, "read", &fit.read, ("fitted", OWN));
    match &fit.write {
        Some(write) => direction(&mut text, "write", write, ("fitted", OWN)),
        None => {
            direction(&mut text, "write", &fit.read, ("assumed", "as reads: not measured"));
        }
    }
    if !limits.is_empty() {
        text.push_str("\n[limit]\nassumed = \"given by --limit\"\n");
        limits.iter().for_each(|(key, value)| _ = writeln!(text, "{key} = {value:?}"));
    }
    text
}

/// What does not hold, as far as it was judged.
pub(super) fn judged_text(judged: &[Judged]) -> String {
    let missed: Vec<String> =
        judged.iter().filter(|of| !of.holds()).map(|of| of.class.name()).collect();
    match (judged.is_empty(), missed.is_empty()) {
        (true, _) => String::new(),
        (false, true) => "; all held-out classes are predicted".to_owned(),
        (false, false) => format!("; not predicted: {}", missed.join(", ")),
    }
}

fn direction(text: &mut String, name: &str, of: &Direction, source: Source) {
    let _ = writeln!(text, "\n[{name}]\n{} = \"{}\"", source.0, source.1);
    let paths = [("", &of.random), ("sequential_", &of.sequential)];
    for (prefix, path) in paths {
        let Path { fixed_ns, bytes_per_s, loads } = path;
        let time = if prefix.is_empty() { "random" } else { "sequential" };
        text.push_str(&number(time, *fixed_ns, "ns", source));
        text.push_str(&number(&format!("{prefix}rate"), *bytes_per_s, "B/s", source));
        let _ = writeln!(text, "{prefix}load = [");
        loads.iter().for_each(|load| text.push_str(&row(load)));
        text.push_str("]\n");
    }
}

/// A number with its unit, its interval and where it is from.
pub(super) fn number(key: &str, range: Range, unit: &str, (kind, from): Source) -> String {
    let Range { value, low, high } = range;
    format!(
        "{key} = {{ value = \"{value:.3} {unit}\", low = \"{low:.3} {unit}\", high = \"{high:.3} \
         {unit}\", {kind} = \"{from}\" }}\n"
    )
}

fn row(load: &Load) -> String {
    let numbers = [load.fixed_factor, load.bytes_factor].into_iter().chain(load.spread.clone());
    let numbers: Vec<String> = numbers.map(|number| format!("{number:.5}")).collect();
    format!("  [{}, {}],\n", load.outstanding, numbers.join(", "))
}

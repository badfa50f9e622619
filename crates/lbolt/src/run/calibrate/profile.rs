//! A fit as a profile: TOML text that `lbolt simulate --model` reads.
//!
//! Non-goals: writing files.

use crate::resolve::calibrate::ResolvedCalibration;
use analyze::calibrate::{Direction, Fit, Judged, Load, Path, Range};
use experiment::calibrate::{LARGE_BYTES, Plan};
use model::calibration::Pass;
use model::text::visible;
use std::fmt::Write as _;

/// What measured the numbers of a fit.
pub(super) const OWN: &str = "lbolt calibrate";

/// How much a volume lets through at once is neither measured nor published: without it every two
/// requests would be held apart, and a prediction would be sure of that.
const WINDOW: &str = "window = { value = \"100 ms\", low = \"0 ms\", high = \"1000 ms\", assumed = \
                      \"the time over which limits are averaged\" }\n";

/// How a number is known, and from where, as profiles say it.
pub(super) type Source = (&'static str, &'static str);

/// How the passes of a plan measure.
pub(super) fn rounds_of(plan: &Plan) -> String {
    format!("{} rounds of {} ms", plan.rounds, plan.pass_ns / 1_000_000)
}

/// The beginning of any profile, to within its `calibrated`.
pub(super) fn head(device: &str, how: &str) -> String {
    let device = visible(device).replace(['"', '\\'], "'");
    let day = jiff::Zoned::now().date();
    format!(
        "kind = \"drive\"\ntitle = \"{device}, calibrated on {day}\"\n\n[calibrated]\nfitted = \
         \"lbolt calibrate {device}, {how}"
    )
}

/// What a profile says of a device besides its times.
pub(super) struct Frame<'a> {
    pub(super) device: &'a str,
    pub(super) how: String,
    /// Bytes, and who says so.
    pub(super) capacity: (u64, Source),
    pub(super) request_bytes_max: u64,
    /// The most outstanding that were measured.
    pub(super) outstanding_max: u32,
}

impl<'a> Frame<'a> {
    /// Of passes, some of which the fit may have left out.
    pub(super) fn of(resolved: &'a ResolvedCalibration, passes: &[Pass]) -> Self {
        let of_fit = passes.iter().filter(|pass| !pass.cell.is_held_out);
        let depths = of_fit.map(|pass| pass.cell.class.depth);
        Self {
            device: &resolved.name,
            how: rounds_of(&resolved.plan),
            capacity: (resolved.capacity_bytes, ("published", "by the device")),
            request_bytes_max: LARGE_BYTES,
            outstanding_max: depths.max().unwrap_or(1),
        }
    }
}

/// The profile's text.
pub(super) fn text(
    frame: &Frame<'_>,
    fit: &Fit,
    limits: &[(String, f64)],
    judged: &[Judged],
) -> String {
    let (size_bytes, source) = frame.capacity;
    let most = frame.outstanding_max;
    let mut text = format!(
        "{}{}\"\nrequest_size_max = \"{} B\"\noutstanding_max = {most}\n\n[design]\nassumed = \
         \"a black box\"\nkind = \"virtual\"\n\n[capacity]\n{} = \"{}\"\nsize = \"{} B\"\n\
         sector_size = \"512 B\"\n\n[service]\nfitted = \"lbolt calibrate\"\ndepth = {most}\n",
        head(frame.device, &frame.how),
        judged_text(judged),
        frame.request_bytes_max,
        source.0,
        source.1,
        size_bytes / 512 * 512,
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
    if let Ok(buffer) = &fit.buffer {
        text.push_str("\n[buffer]\nfitted = \"lbolt calibrate\"\n");
        text.push_str(&number("size", buffer.size_bytes, "B", ("fitted", OWN)));
        text.push_str(&number("drain", buffer.drain_bytes_per_s, "B/s", ("fitted", OWN)));
    }
    if !limits.is_empty() {
        text.push_str("\n[limit]\nassumed = \"given by --limit\"\n");
        limits.iter().for_each(|(key, value)| _ = writeln!(text, "{key} = {value:?}"));
        text.push_str(WINDOW);
    }
    text
}

/// What does not hold, as far as it was judged.
pub(super) fn judged_text(judged: &[Judged]) -> String {
    let missed: Vec<String> =
        judged.iter().filter(|of| !of.holds()).map(|of| of.name.clone()).collect();
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
        let Path { fixed_ns, bytes_per_s, loads, sizes } = path;
        let time = if prefix.is_empty() { "random" } else { "sequential" };
        text.push_str(&number(time, *fixed_ns, "ns", source));
        text.push_str(&number(&format!("{prefix}rate"), *bytes_per_s, "B/s", source));
        let _ = writeln!(text, "{prefix}load = [");
        let factors = |load: &Load| [load.fixed_factor, load.bytes_factor];
        loads.iter().for_each(|of| text.push_str(&row(&of.outstanding, &factors(of), &of.spread)));
        text.push_str("]\n");
        if !sizes.is_empty() {
            let _ = writeln!(text, "{prefix}by_size = [");
            sizes.iter().for_each(|of| {
                let head = format!("{}, {}", of.bytes, of.outstanding);
                text.push_str(&row(&head, &[of.factor], &of.spread));
            });
            text.push_str("]\n");
        }
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

fn row(head: &dyn std::fmt::Display, factors: &[f64], spread: &[f64]) -> String {
    let numbers = factors.iter().chain(spread);
    let numbers: Vec<String> = numbers.map(|number| format!("{number:.5}")).collect();
    format!("  [{head}, {}],\n", numbers.join(", "))
}

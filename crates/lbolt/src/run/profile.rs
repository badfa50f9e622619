//! A trace's profile: its device is chosen and measured in a first look at the rows, and profiled
//! in a second.

use analysis::trace::TraceFile;
use analyze::profile::{Profiler, Span, is_request};
use formats::export::Source as _;
use host::drive::Control;
use messages::fault::{Fault, failure, not_there, of_records};
use model::mix::Profile;
use model::record::Request;
use std::collections::BTreeMap;

/// A device's requests: how many, and when the first and the last came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    first_ns: i64,
    last_ns: i64,
}

/// Profiles a trace's device of a name, or the one with the most requests.
/// Errors: a trace that cannot be read or has no such requests; interruption.
pub(crate) fn profile(
    trace: &TraceFile,
    device: Option<&str>,
    control: &Control,
) -> anyhow::Result<Profile> {
    let (device, of) = busiest(trace, device, control)?;
    // The last request has a gap behind it, too.
    let between = of.last_ns.abs_diff(of.first_ns);
    let length_ns = between + between / of.requests.max(1) + 1;
    let mut profiler = Profiler::new(Span { device, began_ns: of.first_ns, length_ns });
    each_row(trace, control, |row| profiler.add(row))?;
    let source = trace.provenance().origin_name().to_owned();
    profiler.profile(&source, &trace.device_name(device)).ok_or_else(nothing)
}

/// A trace's device of a name, or the one with the most requests.
/// Errors: as [`profile`].
pub(crate) fn busiest(
    trace: &TraceFile,
    device: Option<&str>,
    control: &Control,
) -> anyhow::Result<(u32, Seen)> {
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    each_row(trace, control, |row| {
        let Some(at_ns) = row.arrival_ns().filter(|_| is_request(row)) else { return };
        let new = Seen { requests: 0, first_ns: at_ns, last_ns: at_ns };
        let of = seen.entry(row.device).or_insert(new);
        of.requests += 1;
        of.last_ns = of.last_ns.max(at_ns);
    })?;
    chosen(trace, device, &seen)
}

fn nothing() -> anyhow::Error {
    failure(Fault::Usage, "the trace has no reads or writes")
}

fn chosen(
    trace: &TraceFile,
    wanted: Option<&str>,
    seen: &BTreeMap<u32, Seen>,
) -> anyhow::Result<(u32, Seen)> {
    let name = |device: u32| trace.device_name(device);
    let found = match wanted {
        None => seen.iter().max_by_key(|(_, of)| of.requests),
        Some(wanted) => {
            let found = seen.iter().find(|(device, _)| name(**device) == wanted);
            let known = || seen.keys().map(|device| name(*device));
            Some(found.ok_or_else(|| not_there("device", wanted, "the trace", known()))?)
        }
    };
    found.map(|(device, of)| (*device, *of)).ok_or_else(nothing)
}

/// Shows all rows of a trace, one after the other.
/// Errors: a trace that cannot be read; interruption.
pub(crate) fn each_row(
    trace: &TraceFile,
    control: &Control,
    mut show: impl FnMut(&Request),
) -> anyhow::Result<()> {
    let mut rows = trace.rows()?;
    while let Some(row) = rows.next_row().map_err(of_records)? {
        if control.is_stopped() {
            return Err(failure(Fault::Interrupted, "interrupted; nothing was written"));
        }
        show(&row);
    }
    Ok(())
}

//! A run's storms, each with what happened in it, for its page: the rows once more, in their order.
//!
//! Non-goals: finding storms (`verdict::response`), what is counted of each (`verdict::opened`).

use super::trace::device_name;
use ::verdict::opened::{Names, OpenedStorm, Opener, Responses, Told};
use ::verdict::response::StormSpan;
use capture::gate::Gate;
use messages::fault::{Fault, failure, of_records};
use model::histogram::CoarseHistogram;
use model::record::requests::{OF_FILE, RequestFile, STEPS};
use model::record::{Commands, Context};
use model::text::visible;
use report::page::storms::{Senders, Sent, Side, Storm};

/// What a second look asks of a row.
const COLUMNS: &[&[&str]] =
    &[&["device", "op", "flags", "length_bytes", "pid", "command", "parent_id"], STEPS, OF_FILE];

/// The worst of these storms.
/// Errors: records that cannot be read; interruption.
pub(crate) fn of_storms(
    file: &RequestFile,
    spans: &[StormSpan],
    context: &Context,
    gate: &Gate,
) -> anyhow::Result<Vec<OpenedAt>> {
    if spans.is_empty() {
        return Ok(Vec::new());
    }
    let mut opener = Opener::new(spans, context);
    let mut commands = Commands::default();
    if file.groups() > 0 {
        let mut reader = file.read(0..file.groups(), &COLUMNS.concat()).map_err(of_records)?;
        while let Some(batch) = reader.next_batch().map_err(of_records)? {
            let known = &reader.commands;
            batch.for_each_chunk(|rows| rows.iter().for_each(|row| opener.add(row, known)));
            let stopped = |_| failure(Fault::Interrupted, "interrupted; no page was written");
            gate.pass(0).map_err(stopped)?;
        }
        commands = reader.commands;
    }
    let provenance = file.provenance();
    let name = |device| device_name(device, &provenance);
    let (storms, outside) = opener.finish(&Names { device: &name, commands: &commands });
    let none = Responses::default();
    let shown = |storm: &OpenedStorm| OpenedAt {
        span: storm.span.clone(),
        storm: of_storm(storm, outside.get(&storm.span.device).unwrap_or(&none), &name),
    };
    Ok(storms.iter().map(shown).collect())
}

/// A storm as the page shows it, and where it lies.
pub(crate) struct OpenedAt {
    pub(crate) span: StormSpan,
    pub(crate) storm: Storm,
}

fn of_storm(storm: &OpenedStorm, outside: &Responses, name: &dyn Fn(u32) -> String) -> Storm {
    let span = &storm.span;
    Storm {
        kind: span.kind.to_owned(),
        device: visible(&name(span.device)).into_owned(),
        time_ns: (span.start_ns as f64, span.end_ns as f64),
        own: span.requests,
        requests: storm.requests,
        depth: (storm.depth_mean, span.depth_max),
        inside: sides(&storm.responses),
        outside: sides(outside),
        roles: senders(&storm.roles),
        threads: senders(&storm.threads),
        files: senders(&storm.files),
    }
}

fn sides(of: &Responses) -> [Side; 3] {
    let side = |times: &CoarseHistogram| {
        let at = |share| times.quantile_ns(share).map(|ns| ns as f64);
        let known = || Some([times.mean_ns()?, at(0.5)?, at(0.99)?, times.max_ns() as f64]);
        Side { count: times.count(), times_ns: known() }
    };
    [side(&of.reads), side(&of.writes), side(&of.flushes)]
}

fn senders(told: &Told) -> Senders {
    let sent = |(name, sent): &(String, ::verdict::opened::Sent)| Sent {
        name: name.clone(),
        requests: sent.requests,
        bytes: (sent.read_bytes, sent.write_bytes),
        held_ns: sent.held_ns as f64,
    };
    Senders { rows: told.rows.iter().map(sent).collect(), more: told.more, is_cut: told.is_cut }
}

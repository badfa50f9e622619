//! One request with all that its row says, its steps, and the rows that are its parts.
//!
//! Non-goals: what others did meanwhile: the page selects its time for that.

use super::Explored;
use analysis::trace::device_name;
use messages::fault::of_records;
use model::record::{Commands, FileKind, Flags, Request};
use model::text::visible;
use serde::Serialize;

/// A request, as the page shows it.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    /// What is known of it: names and values.
    facts: Vec<(&'static str, String)>,
    /// When it came, and what it then went through.
    arrived_ns: Option<i64>,
    steps: Vec<Step>,
    /// What the device did for it, where it was requested as several.
    parts: Vec<Part>,
}

/// A stretch of its time.
#[derive(Debug, Serialize)]
struct Step {
    name: &'static str,
    from_ns: i64,
    until_ns: i64,
}

/// A row that serves another.
#[derive(Debug, Serialize)]
struct Part {
    what: String,
    steps: Vec<Step>,
}

/// What lies between two of the times that a row may have: queued, started, issued, completed.
const STRETCHES: [(usize, usize, &str); 6] = [
    (0, 1, "before a request was allocated"),
    (0, 2, "in the queue"),
    (0, 3, "in the queue and at the device"),
    (1, 2, "at the scheduler"),
    (1, 3, "at the scheduler and at the device"),
    (2, 3, "at the device"),
];

/// Reads a row by its number in the file.
/// Errors: a number that there is none of; records that cannot be read.
pub(super) fn request(explored: &Explored, number: u64) -> anyhow::Result<Shown> {
    let file = &explored.file;
    let Some((group, place)) = file.group_of(number) else {
        return Err(of_records(format!(
            "row {number} does not exist; the trace has {} \
                                       rows",
            file.rows()
        )));
    };
    let mut found: Option<(Request, Commands)> = None;
    let mut parts: Vec<Request> = Vec::new();
    let mut at = 0;
    // Its parts come behind it, soon.
    let groups = group..(group + 2).min(file.groups());
    let mut reader = file.read(groups, &[]).map_err(of_records)?;
    while let Some(batch) = reader.next_batch().map_err(of_records)? {
        let begin = at;
        at += batch.len();
        if at <= place {
            continue;
        }
        let rows = batch.rows().skip(place.saturating_sub(begin));
        for row in rows {
            match &found {
                None => found = Some((row, reader.commands.clone())),
                Some((of, _)) if row.parent_id == Some(of.request_id) => parts.push(row),
                Some(_) => {}
            }
        }
        let is_past =
            |end_ns: i64| batch.rows().last().is_some_and(|r| r.arrival_ns() > Some(end_ns));
        let end_ns = found.as_ref().and_then(|(of, _)| of.completed_ns);
        if found.is_some() && end_ns.is_none_or(is_past) {
            break;
        }
    }
    let Some((row, commands)) = found else {
        return Err(of_records(format!("row {number} is not in the file")));
    };
    Ok(shown(explored, &row, &commands, &parts))
}

fn shown(explored: &Explored, row: &Request, commands: &Commands, parts: &[Request]) -> Shown {
    let part = |row: &Request| Part {
        what: format!("{}, {} bytes", row.op.name(), row.length_bytes),
        steps: steps(row),
    };
    Shown {
        facts: facts(explored, row, commands),
        arrived_ns: row.arrival_ns(),
        steps: steps(row),
        parts: parts.iter().map(part).collect(),
    }
}

fn steps(row: &Request) -> Vec<Step> {
    let times = [row.queued_ns, row.started_ns, row.issued_ns, row.completed_ns];
    let known: Vec<(usize, i64)> =
        times.iter().enumerate().filter_map(|(place, ns)| Some((place, (*ns)?))).collect();
    let between = known.windows(2).filter_map(|pair| match pair {
        [(from, from_ns), (until, until_ns)] => {
            let is_it = |(a, b, _): &&(usize, usize, &str)| (a, b) == (from, until);
            let (_, _, name) = STRETCHES.iter().find(is_it)?;
            Some(Step { name, from_ns: *from_ns, until_ns: *until_ns })
        }
        _ => None,
    });
    between.collect()
}

fn facts(explored: &Explored, row: &Request, commands: &Commands) -> Vec<(&'static str, String)> {
    let provenance = explored.file.provenance();
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    let set = Flags::ALL.iter().filter(|(flag, ..)| row.flags.contains(*flag));
    let flags: Vec<&str> = set.map(|(_, name, _)| *name).collect();
    let kind = |kind: FileKind| kind.name().to_owned();
    let all = [
        ("request", Some(row.request_id.to_string())),
        ("device", Some(device_name(row.device, &provenance))),
        ("operation", Some(row.op.name().to_owned())),
        ("flags", (!flags.is_empty()).then(|| flags.join(", "))),
        ("offset in bytes", number(row.offset_bytes)),
        ("length in bytes", Some(row.length_bytes.to_string())),
        ("error", (row.error != 0).then(|| row.error.to_string())),
        ("CPU", row.cpu.map(|cpu| cpu.to_string())),
        ("thread", number(row.pid.map(u64::from))),
        ("command", row.command.map(|id| commands.name(id).to_owned())),
        ("cgroup", number(row.cgroup)),
        ("file's kind", row.file.map(|file| kind(file.kind))),
        ("inode", number(row.file.map(|file| file.number.inode))),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name, visible(&value?).into_owned())))
        .collect()
}

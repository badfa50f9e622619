//! A timeline to look at: Chrome's trace event format (JSON), which ui.perfetto.dev and
//! chrome://tracing open.
//!
//! Each device is a process. Requests that overlap lie in lanes (its threads), each in the first
//! one that is free, so that a device with one request at a time has one lane. Inside of a request
//! lie its phases: *admission* (queued until started), *scheduler* (until issued; *queue* if the
//! start is not known) and *device* (until completed). What has no length in time, being never
//! completed or never requested, is an instant in lane 0. A counter shows what is outstanding,
//! without the parts of flush sequences.
//!
//! Non-goals: Perfetto's own format (protobuf), which would be smaller.

use super::names::name;
use super::output::Output;
use super::{ExportError, ExportFormat, ExportRows};
use model::record::{Flags, Request};
use model::text::visible_json;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "perfetto",
    meaning: "a timeline (Chrome's trace events) for ui.perfetto.dev or chrome://tracing",
    lacks: &[],
    flags: Flags((1 << Flags::ALL.len()) - 1),
    replaces: true,
    write,
};

fn write(rows: &mut ExportRows<'_>, output: &Path) -> Result<(), ExportError> {
    let mut file = rows.create(output)?;
    file.text(format_args!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"))?;
    let mut devices: HashMap<u32, Device> = HashMap::new();
    let mut events = Events { file, is_first: true };
    while let Some(row) = rows.next_row()? {
        let met = devices.len() as u32 + 1;
        let device = devices.entry(row.device).or_default();
        if device.process == 0 {
            device.process = met;
            events.name("process_name", met, 0, &name(row.device, rows.provenance()))?;
        }
        device.row(&row, rows, &mut events)?;
    }
    let mut devices: Vec<Device> = devices.into_values().collect();
    devices.sort_by_key(|device| device.process);
    for device in &mut devices {
        device.complete_until(None, &mut events)?;
    }
    let mut file = events.file;
    file.text(format_args!("\n]}}\n"))?;
    rows.finish(file)
}

#[derive(Debug)]
struct Events {
    file: Output,
    is_first: bool,
}

impl Events {
    /// An event: what kind, of which process and lane, and the rest of its members.
    fn event(
        &mut self,
        kind: &str,
        process: u32,
        lane: u32,
        rest: &str,
    ) -> Result<(), ExportError> {
        let between = if std::mem::take(&mut self.is_first) { "" } else { ",\n" };
        self.file.text(format_args!(
            "{between}{{\"ph\":\"{kind}\",\"pid\":{process},\"tid\":{lane},{rest}}}"
        ))
    }

    fn name(&mut self, what: &str, process: u32, lane: u32, name: &str) -> Result<(), ExportError> {
        let rest = format!("\"name\":\"{what}\",\"args\":{{\"name\":{}}}", quoted(name));
        self.event("M", process, lane, &rest)
    }

    /// Something that lasts.
    fn slice(
        &mut self,
        (process, lane): (u32, u32),
        name: &str,
        (from, to): (i64, i64),
        args: &str,
    ) -> Result<(), ExportError> {
        let (begin, length) = (micros(from), micros(to.saturating_sub(from).max(0)));
        let rest =
            format!("\"name\":\"{name}\",\"ts\":{begin},\"dur\":{length},\"args\":{{{args}}}");
        self.event("X", process, lane, &rest)
    }
}

#[derive(Debug, Default)]
struct Device {
    /// Its number; 0 until it is met.
    process: u32,
    lanes: u32,
    free: BinaryHeap<Reverse<u32>>,
    /// When what is outstanding is completed: its lane, and whether it counts.
    completions: BinaryHeap<Reverse<(i64, u32, bool)>>,
    outstanding: u32,
}

impl Device {
    fn row(
        &mut self,
        row: &Request,
        rows: &ExportRows<'_>,
        events: &mut Events,
    ) -> Result<(), ExportError> {
        let Some(arrival) = row.arrival_ns() else { return Ok(()) };
        self.complete_until(Some(arrival), events)?;
        let args = args(row, rows);
        let Some(completed) = row.completed_ns.filter(|_| !row.is_orphan()) else {
            let what = if row.is_orphan() { "completion of nothing" } else { "never completed" };
            let op = row.op.name();
            let rest = format!(
                "\"name\":\"{op}: {what}\",\"s\":\"t\",\"ts\":{},\"args\":{{{args}}}",
                micros(arrival)
            );
            return events.event("i", self.process, 0, &rest);
        };
        let lane = self.lane(events)?;
        let counts = row.parent_id.is_none();
        self.completions.push(Reverse((completed, lane, counts)));
        let place = (self.process, lane);
        events.slice(place, row.op.name(), (arrival, completed), &args)?;
        for (phase, from, to) in phases(row) {
            events.slice(place, phase, (from, to), "")?;
        }
        if counts {
            self.outstanding += 1;
            self.counter(arrival, events)?;
        }
        Ok(())
    }

    /// The first lane that is free.
    fn lane(&mut self, events: &mut Events) -> Result<u32, ExportError> {
        if let Some(Reverse(lane)) = self.free.pop() {
            return Ok(lane);
        }
        let lane = self.lanes;
        self.lanes += 1;
        events.name("thread_name", self.process, lane, &format!("lane {lane}"))?;
        Ok(lane)
    }

    /// What is completed by then leaves its lane.
    fn complete_until(
        &mut self,
        moment: Option<i64>,
        events: &mut Events,
    ) -> Result<(), ExportError> {
        while let Some(Reverse((time, lane, counts))) = self.completions.peek().copied() {
            if moment.is_some_and(|moment| time > moment) {
                break;
            }
            self.completions.pop();
            self.free.push(Reverse(lane));
            if counts {
                self.outstanding -= 1;
                self.counter(time, events)?;
            }
        }
        Ok(())
    }

    fn counter(&self, time: i64, events: &mut Events) -> Result<(), ExportError> {
        let rest = format!(
            "\"name\":\"outstanding\",\"ts\":{},\"args\":{{\"requests\":{}}}",
            micros(time),
            self.outstanding
        );
        events.event("C", self.process, 0, &rest)
    }
}

/// The phases of a request of which both ends are known.
fn phases(row: &Request) -> impl Iterator<Item = (&'static str, i64, i64)> {
    let waiting = if row.started_ns.is_some() { "scheduler" } else { "queue" };
    let ends = [
        ("admission", row.queued_ns, row.started_ns),
        (waiting, row.started_ns.or(row.queued_ns), row.issued_ns),
        ("device", row.issued_ns, row.completed_ns),
    ];
    ends.into_iter().filter_map(|(name, from, to)| Some((name, from?, to?)))
}

/// What is told of a request when it is clicked on.
fn args(row: &Request, rows: &ExportRows<'_>) -> String {
    let flags = Flags::ALL.iter().filter(|(flag, _, _)| row.flags.contains(*flag));
    let flags = flags.map(|(_, name, _)| *name).collect::<Vec<_>>().join(" ");
    let known = [
        ("offset_bytes", row.offset_bytes.map(|v| v.to_string())),
        ("length_bytes", Some(row.length_bytes.to_string())),
        ("flags", (!flags.is_empty()).then(|| quoted(&flags))),
        ("error", (row.error != 0).then(|| row.error.to_string())),
        ("command", row.command.map(|command| quoted(rows.commands().name(command)))),
        ("pid", row.pid.map(|v| v.to_string())),
        ("cgroup", row.cgroup.map(|v| v.to_string())),
        ("cpu", row.cpu.map(|v| v.to_string())),
        ("parent", row.parent_id.map(|v| v.to_string())),
    ];
    let mut args = format!("\"request\":{}", row.request_id);
    for (name, value) in known {
        if let Some(value) = value {
            let _ = write!(args, ",\"{name}\":{value}");
        }
    }
    args
}

/// Microseconds with all ns behind the point.
fn micros(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", ns / 1000, ns % 1000)
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    visible_json(&quoted).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_words_are_json() {
        assert_eq!(micros(1_234_005), "1234.005");
        assert_eq!(micros(-1), "-0.001");
        assert_eq!(quoted("a\"\\\n"), r#""a\"\\\u000a""#);
        assert_eq!(quoted("\u{7f}\u{202e}"), r#""\u007f\u202e""#);
    }

    #[test]
    fn phases_have_both_ends() {
        let row = Request {
            queued_ns: Some(1),
            started_ns: Some(2),
            issued_ns: Some(3),
            completed_ns: Some(4),
            ..Request::default()
        };
        let names = |row: &Request| phases(row).map(|(name, _, _)| name).collect::<Vec<_>>();
        assert_eq!(names(&row), ["admission", "scheduler", "device"]);
        assert_eq!(names(&Request { started_ns: None, ..row }), ["queue", "device"]);
        assert_eq!(names(&Request { issued_ns: None, ..row }), ["admission"]);
    }
}

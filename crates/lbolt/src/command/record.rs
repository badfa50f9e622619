//! `lbolt record`: captures requests while a command runs, for a time, or until ^C; or keeps the
//! last of them in memory until something happens.

use super::report::{kept, say_where};
use super::{note as say, print, print_json};
use crate::render::render;
use crate::run::directory::RunPlace;
use crate::run::requests::{RequestsRun, Taken};
use crate::run::session::control;
use ::verdict::selection::Selection;
use analysis::response::{Analysed, analyse};
use capture::condition::armed;
use capture::gate::Gate;
use capture::load::Load;
use capture::outcome::outcome;
use capture::{
    Alarm, Devices, End, Ended, LastSeconds, Live, Options, Session, UNKNOWN, Until, note_devices,
    resolve, slowdown,
};
use clap::ValueEnum;
use cli::{Format, RecordOptions, TraceOptions};
use host::drive::Control;
use messages::fault::{Fault, failure, unable};
use messages::output::terminal_width;
use messages::ticker::Ticker;
use model::quote;
use model::record::Finding;
use model::record::requests::Provenance;
use model::units::counted;
use report::screen::limited;
use report::verdict::Shown;
use report::visible_findings;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use trace::capture::default_ring_bytes;
use trace::intake::{Rows, RowsError};

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run(options: &RecordOptions) -> anyhow::Result<()> {
    let devices = resolve(&options.capture.devices)?;
    let place = RunPlace::of(&options.output, "record");
    if options.dry_run {
        return print_json(&describe(options, &devices));
    }
    let control = control()?;
    let mut load = Load::new(&options.command);
    let slowdown = match options.measure_overhead {
        true => Some(slowdown(&of_session(options), &devices, &mut load, &control)?),
        false => None,
    };
    record(options, &devices, &place, &control, &mut load, slowdown)
}

/// How it is captured.
fn of_session(options: &RecordOptions) -> Options {
    Options {
        method: options.capture.tracer.into(),
        ring_bytes: options.ring_size.unwrap_or_else(default_ring_bytes),
        zero_ns: None,
        with_context: true,
        keep: options.keep.map(|keep| keep.saturating_add(options.after.unwrap_or_default())),
        with_syscalls: options.capture.syscalls,
        with_stacks: options.stacks,
        is_checked: true,
        own_process: 0,
        slower_than: options.slower_than,
        repeats: false,
        repeats_by_file: false,
    }
}

/// Every request goes to the disk as it comes; those of a flight recorder are kept in memory, and
/// are written when what it waits for happens.
fn record(
    options: &RecordOptions,
    devices: &Devices,
    place: &RunPlace,
    control: &Arc<Control>,
    load: &mut Load,
    slowdown: Option<Finding>,
) -> anyhow::Result<()> {
    // Of a flight recorder too: whether the output can be written is to be known now, and not when
    // it matters.
    let plan = describe(options, devices);
    let mut run = RequestsRun::begin("record", place, plan, Gate::default())?;
    let path = std::path::absolute(run.path())?;
    let alarm =
        options.keep.map(|_| Alarm::new(&options.when, std::time::Duration::ZERO)).transpose()?;
    let after = options.after.unwrap_or_default();
    let begun = || {
        devices.warn_of_own_writes(&path);
        devices.warn_of_depth();
        alarm.iter().for_each(|_| say(&armed(&options.when)));
    };
    let mut last =
        options.keep.map(|keep| LastSeconds::new(keep.saturating_add(after), options.keep_size));
    let until = Until {
        load: &mut *load,
        duration: options.capture.duration,
        control,
        alarm: alarm.as_ref(),
        after,
        went_off: None,
        begun: &begun,
        live: Arc::new(Live::default()),
    };
    let (end, mut ended) = match capture(options, devices, &mut run, last.as_mut(), until) {
        Ok(captured) => captured,
        Err(error) => {
            run.discard();
            return Err(error);
        }
    };
    let was_stopped = control.is_stopped();
    if last.is_some() && !matches!(end, End::Trigger(_)) {
        run.discard();
        load.end();
        return Err(nothing_happened(&end));
    }
    let refused = match last {
        Some(last) => write(last, &end, &mut ended, &mut run),
        None => ended.refused.take(),
    };
    ended.costs.extend(slowdown);
    ended.note(run.cgroups());
    let (state, done) = outcome(refused);
    let (provenance, more) = (ended.provenance, [ended.costs, ended.checks].concat());
    run.set_context(ended.context);
    let taken = run.finish(state, &provenance, &ended.commands, |d| ended.devices.name(d), more)?;
    if let End::Trigger(why) = &end {
        say(&format!("written because {why}"));
    }
    // The records are written now, however long the command and the analysis still take; a signal
    // that ended the capture was for that and the command.
    if was_stopped || !matches!(end, End::Trigger(_)) {
        load.end();
    }
    if was_stopped {
        control.go_on();
    }
    let printed = conclude(options, &taken, &provenance, &path, control);
    // The command that a flight recorder watched is left to its own end.
    if let (false, false, Some(pid)) = (load.is_over(), control.is_stopped(), load.pid()) {
        say(&format!("waiting until the command ends (process {pid}); Ctrl-C ends it"));
        load.wait(control);
    }
    load.end();
    done?;
    load.complaint(&end).map_or(printed, |sentence| Err(failure(Fault::Io, sentence)))
}

/// Captures until something ends it: into the run, or into a flight recorder's memory.
fn capture(
    options: &RecordOptions,
    devices: &Devices,
    run: &mut RequestsRun,
    last: Option<&mut LastSeconds>,
    mut until: Until<'_>,
) -> anyhow::Result<(End, Ended)> {
    let live = until.live.clone();
    let _ticker = progress(live.clone());
    let mut besides = None;
    if last.is_none() {
        let mut known = Provenance::default();
        note_devices(&mut known, devices);
        run.survive(&known)?;
        besides = Some(run.write_besides()?);
    }
    let mut written = run.rows();
    let rows: &mut dyn Rows = match last {
        Some(last) => last,
        None => &mut written,
    };
    let mut session = Session::new(of_session(options), rows);
    session.show(live);
    if let Some(alarm) = until.alarm {
        session.watch(|row, _| alarm.see(row));
        session.watch_calls(|call| alarm.see_call(call));
        session.watch_waits(|wait| alarm.see_wait(wait));
    }
    if let Some(write) = besides {
        session.survive(write).map_err(unable("start a thread"))?;
    }
    let end = until.run(&mut session, devices)?;
    Ok((end, session.end()))
}

/// Writes what a flight recorder kept. Says what the output refuses.
fn write(
    last: LastSeconds,
    end: &End,
    ended: &mut Ended,
    run: &mut RequestsRun,
) -> Option<RowsError> {
    if last.crowded_out() > 0 {
        say(&format!(
            "{} of the last {:?} did not fit into --keep-size, so the records start later; give a \
             larger --keep-size",
            counted(last.crowded_out(), "request{s}"),
            last.keep()
        ));
    }
    let notes = &mut ended.provenance.notes;
    if let End::Trigger(why) = end {
        notes.insert("trigger".to_owned(), why.clone());
    }
    notes.insert("counts".to_owned(), "of the whole flight, but for the rows".to_owned());
    // So are the kernel's own counts.
    ended.checks.clear();
    let kept = last.count();
    let context = std::mem::take(&mut ended.context);
    ended.context = context.since(last.since_ns());
    let mut rows = run.rows();
    let refused = last.into_rows().try_for_each(|row| rows.push(&row, &ended.commands)).err();
    drop(rows);
    let counts = &mut ended.provenance.counts;
    counts.requests = run.written();
    counts.unwritten = kept - counts.requests;
    refused
}

/// What the user is told at the end.
fn conclude(
    options: &RecordOptions,
    taken: &Taken,
    provenance: &Provenance,
    path: &Path,
    control: &Arc<Control>,
) -> anyhow::Result<()> {
    let gate = Gate::new(control);
    let shown = gate.clone();
    let ticker =
        Ticker::reading(move || format!("{} requests; the records are written", shown.rows()));
    let mut analysed = analyse(&TraceOptions::own(path), Selection::default(), &gate);
    drop(ticker);
    // Whatever becomes of the analysis: what was captured and lost, and where the records are.
    let findings = analysed.as_mut().map_or_else(|_| vec![], Analysed::findings);
    let printed = text(options, taken, &findings).and_then(|text| print(&text));
    lost(provenance).iter().for_each(|sentence| say(sentence));
    if let Err(error) = analysed {
        say_where(path);
        say(&format!("no verdict; to get it: lbolt response {}", quote::path(path)));
        return printed.and(Err(error));
    }
    let paged = kept(path, &options.output);
    printed.and(paged)
}

/// How many events were lost and why, as far as that was counted, and what may be missing besides.
fn lost(provenance: &Provenance) -> Vec<String> {
    const NEW_CPU: &str = "lost.new_cpu.";
    const WHYS: [(&str, &str); 4] = [
        ("lost.cpu.", "the kernel's buffer was full (give a larger --ring-size)"),
        (NEW_CPU, "CPUs were added to the machine, for which there is no buffer (start it again)"),
        ("lost.runs.", "the kernel skipped runs of the tracer (notes lost.runs)"),
        ("lost.second", "the buffer for steps in process 1 was full"),
    ];
    let (unknown, known): (Vec<_>, Vec<_>) =
        provenance.notes.iter().partition(|(_, lost)| *lost == UNKNOWN);
    let is_counted = |of: &str| known.iter().any(|(note, _)| note.starts_with(of));
    let whys = WHYS.iter().filter(|(note, _)| is_counted(note)).map(|(_, why)| *why);
    let whys = match whys.collect::<Vec<_>>().join(", and ") {
        none if none.is_empty() => "it is unknown why".into(),
        whys => whys,
    };
    let lost = provenance.counts.lost;
    let told = (lost > 0).then(|| counted(lost, "event{s} {was|were} lost: ") + &whys);
    let new: Vec<&str> =
        unknown.iter().filter_map(|(note, _)| note.strip_prefix(NEW_CPU)).collect();
    let uncounted = (!new.is_empty()).then(|| {
        format!(
            "CPU {} came online during the capture by perf: events of its first moments may be \
             missing",
            new.join(", ")
        )
    });
    told.into_iter().chain(uncounted).collect()
}

/// The verdict's screen, where there is one, and what the capture says of itself; or the findings
/// in another format.
fn text(options: &RecordOptions, taken: &Taken, findings: &[Finding]) -> anyhow::Result<String> {
    if options.all || options.output.format != Format::Table {
        // The capture's own counts, and what the analysis finds besides.
        let is_known = |finding: &&Finding| {
            let mut own = taken.findings.iter();
            own.any(|own| own.subject == finding.subject && own.quantity == finding.quantity)
        };
        let mut all = taken.findings.clone();
        all.extend(findings.iter().filter(|finding| !is_known(finding)).cloned());
        return render(&taken.info, (&all, &[]), options.output.format);
    }
    let (shown, width) = (Shown::default(), terminal_width());
    let of_capture = report::capture_text(&visible_findings(&taken.findings), limited(width));
    if findings.is_empty() {
        return Ok(format!("{of_capture}\n"));
    }
    let below = of_capture.lines().count() + 1;
    let findings = visible_findings(findings);
    let screen = report::verdict::screen_above(&findings, &shown, width, below);
    Ok(format!("{screen}\n{of_capture}\n"))
}

/// A flight recorder that was ended before anything happened leaves no records.
fn nothing_happened(end: &End) -> anyhow::Error {
    let (fault, why) = match end {
        End::Signal => (Fault::Interrupted, "interrupted"),
        End::Command => (Fault::Io, "the command ended"),
        End::Time | End::Trigger(_) => (Fault::Io, "--duration was over"),
    };
    failure(fault, format!("{why} before the flight recorder was triggered; nothing was written"))
}

/// What run.json says was planned.
fn describe(options: &RecordOptions, devices: &Devices) -> Value {
    let method = options.capture.tracer.to_possible_value();
    json!({
        "devices": devices.describe(),
        "command": options.command,
        "duration_ns": options.capture.duration.map(|d| d.as_nanos() as u64),
        "method": method.map(|method| method.get_name().to_owned()),
        "ring_bytes": options.ring_size.unwrap_or_else(default_ring_bytes),
        "slower_than_ns": options.slower_than.map(|d| d.as_nanos() as u64),
        "keep_ns": options.keep.map(|d| d.as_nanos() as u64),
    })
}

/// Requests so far, their rate, what was lost, and the time.
fn progress(live: Arc<Live>) -> Ticker {
    let began = Instant::now();
    let (mut last, mut last_requests) = (began, 0);
    Ticker::new(move || {
        let requests = live.requests.load(Ordering::Relaxed);
        let rate = (requests - last_requests) as f64 / last.elapsed().as_secs_f64().max(1e-3);
        (last, last_requests) = (Instant::now(), requests);
        let lost = live.lost.load(Ordering::Relaxed);
        let seconds = began.elapsed().as_secs();
        let condition = live.condition.lock().map(|text| text.clone()).unwrap_or_default();
        let condition = if condition.is_empty() { condition } else { format!("; {condition}") };
        format!("{seconds} s: {requests} requests, {rate:.0} IOPS, {lost} events lost{condition}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{Commands, Request};

    #[test]
    fn whoever_stops_the_analysis_has_the_records_and_what_was_captured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let words = ["lbolt".as_ref(), "record".as_ref(), "-o".as_ref(), path.as_os_str()];
        let parsed = <cli::Cli as clap::Parser>::try_parse_from(words).unwrap();
        let cli::Command::Record(options) = parsed.command else { panic!("no record") };
        let place = RunPlace::of(&options.output, "record");
        let mut run = RequestsRun::begin("record", &place, Value::Null, Gate::default()).unwrap();
        let row = Request { request_id: 1, completed_ns: Some(1), ..Request::default() };
        run.rows().push(&row, &Commands::default()).unwrap();
        let known = Provenance::default();
        let name = |_| "sda".to_owned();
        let taken = run.finish("finished", &known, &Commands::default(), name, vec![]).unwrap();
        let control = Arc::new(Control::default());
        control.stop.store(true, Ordering::Relaxed);
        let stopped = conclude(&options, &taken, &known, &path, &control).unwrap_err();
        assert!(stopped.to_string().contains("nothing was analysed"), "{stopped}");
        let captured = text(&options, &taken, &[]).unwrap();
        assert!(captured.contains("requests"), "{captured}");
        control.go_on();
        conclude(&options, &taken, &known, &path, &control).unwrap();
    }

    #[test]
    fn the_reason_of_a_loss_is_the_one_that_was_counted() {
        let said = |count: u64, notes: &[(&str, &str)]| {
            let mut provenance = Provenance::default();
            provenance.counts.lost = count;
            let notes = notes.iter().map(|(name, lost)| ((*name).to_owned(), (*lost).to_owned()));
            provenance.notes.extend(notes);
            lost(&provenance)
        };
        assert!(said(0, &[("lost.runs.writeback_mark_inode_dirty", "3")]).is_empty());
        assert_eq!(said(9, &[]), ["9 events were lost: it is unknown why"]);
        let of_new = said(9, &[("lost.new_cpu.3", "9")]);
        assert!(of_new[0].starts_with("9 events were lost: CPUs were added"), "{of_new:?}");
        assert!(!of_new[0].contains("--ring-size"), "{of_new:?}");
        let both = said(9, &[("lost.cpu.0", "9"), ("lost.new_cpu.1", UNKNOWN)]);
        assert!(both[0].starts_with("9 events were lost: the kernel's buffer"), "{both:?}");
        assert!(!both[0].contains("CPUs") && both[1].starts_with("CPU 1 came online"), "{both:?}");
        assert_eq!(said(0, &[("lost.new_cpu.1", UNKNOWN)]), both[1..]);
    }
}

//! `lbolt history`: what a watch kept, as a table, as incidents, or one time against another.

use super::{note, print};
use crate::resolve::history::{Known, default_to_read, step_ns};
use crate::run::fleet::too_many;
use crate::run::history::gather;
use ::verdict::history::compare::{Side, series};
use ::verdict::history::{Asked, Ledger, Names};
use analysis::inputs::rollups_in;
use analyze::compare::{Question, Unit, compare};
use cli::{Format, HistoryOptions, PointSpan};
use messages::fault::{Fault, failure, not_there, of_records};
use messages::output::terminal_width;
use model::history::{
    By, HOUR_NS, History, HistoryError, Incident, NAME_ONE, Note, Query, incidents,
};
use model::text::visible;
use report::compare::About;
use report::history::Shown;
use std::path::{Path, PathBuf};

/// The least difference of two times that matters, in per cent.
const EFFECT_PERCENT: f64 = 10.0;
/// A time is compared by so many parts at the least.
const LEAST_SLOTS: i64 = 12;

/// Runs the command.
/// Errors: a history that is not there or is empty; a time that is none.
pub(super) fn run(options: &HistoryOptions) -> anyhow::Result<()> {
    host::memory::keep_freed();
    let paths = match options.histories.as_slice() {
        [] => vec![default_to_read()?],
        named => rollups_in(named)?,
    };
    let shown_paths = || paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    if options.incidents {
        return match paths.as_slice() {
            [path] => list_incidents(path, options),
            _ => Err(failure(
                Fault::Usage,
                "failed to list incidents: several histories are named; \
                                            name one",
            )),
        };
    }
    if options.role.is_some() && matches!(options.by, By::Size | By::Origin) {
        let sentence = format!(
            "failed to select a role: the history does not count requests by role and {0}; leave \
             out --role or use --by role",
            options.by.name()
        );
        return Err(failure(Fault::Usage, sentence));
    }
    let history = History::open_all(&paths).map_err(usage)?;
    let Some(span_unix_ns) = history.span() else {
        history.notes().iter().for_each(|said| note(&said.to_string()));
        let path = shown_paths().join(", ");
        return Err(failure(
            Fault::Usage,
            format!("failed to read a history from {path}: it contains none; {NAME_ONE}"),
        ));
    };
    let now_unix_ns = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let known = Known { span_unix_ns, now_unix_ns };
    match options.compare.as_slice() {
        [a, b] => print(&compared(&history, options, known, [*a, *b])?),
        _ => print(&shown(&history, options, known)?),
    }
}

fn usage(error: HistoryError) -> anyhow::Error {
    match error {
        HistoryError::None { .. } | HistoryError::Twice { .. } | HistoryError::Record(_) => {
            failure(Fault::Usage, format!("failed to {error}"))
        }
        other => of_records(other),
    }
}

/// The answer and its table.
fn shown(history: &History, options: &HistoryOptions, known: Known) -> anyhow::Result<String> {
    let (from_unix_ns, until_unix_ns) = known.span(options)?;
    let hosts = history.origins().hosts();
    let without = Ledger::without(options.by, hosts.len());
    let query = Query { from_unix_ns, until_unix_ns, kinds: Ledger::kinds(options.by), without };
    let span = (from_unix_ns, until_unix_ns);
    let has_time = options.by == By::Time || options.every.is_some();
    let step_ns = has_time.then(|| step_ns(options.every, span, history.level(&query)));
    let asked = Asked {
        from_unix_ns,
        until_unix_ns,
        step_ns,
        by: options.by,
        device: options.device.clone(),
        role: options.role.clone(),
        hosts,
    };
    let (ledger, notes) = gather(
        history,
        &query,
        || Ledger::new(&asked),
        |ledger, row| ledger.take(row),
        Ledger::merge,
    );
    if let Some(bound) = ledger.full() {
        return Err(too_many("a history", bound));
    }
    if let Some((option, wanted, known)) = ledger.absent() {
        return Err(not_there(option, wanted, "the history", known.iter().cloned()));
    }
    let overview = ledger.finish();
    let notes = texts(&notes);
    Ok(match options.format {
        Format::Json => report::history::json(&overview, &notes)?,
        Format::Csv => {
            notes.iter().for_each(|said| note(said));
            report::history::csv(&overview)
        }
        Format::Markdown => report::history::markdown(&overview, &notes),
        Format::Table => {
            let shows_all = options.all || options.every.is_some();
            let shown = Shown { width: terminal_width(), is_wide: options.wide, shows_all };
            report::history::table(&overview, &notes, shown)
        }
    })
}

fn texts(notes: &[Note]) -> Vec<String> {
    notes.iter().map(|said| format!("{said}.")).collect()
}

/// A time that is compared, and the names of its devices.
fn side(
    history: &History,
    options: &HistoryOptions,
    (from_unix_ns, until_unix_ns): (i64, i64),
    slot_ns: i64,
) -> ((Side, Names), Vec<Note>) {
    let without = Ledger::without(By::Time, 1);
    let query = Query { from_unix_ns, until_unix_ns, kinds: Ledger::kinds(By::Time), without };
    let is_taken = |device: Option<&str>| match (&options.device, device) {
        (Some(wanted), Some(device)) => device.contains(wanted.as_str()),
        _ => true,
    };
    let new = || (Side::new(from_unix_ns, slot_ns), Names::new(options.device.as_ref()));
    gather(
        history,
        &query,
        new,
        |(side, devices), row| {
            devices.take(row.device);
            if is_taken(row.device) {
                side.take(row);
            }
        },
        |(side, devices), (other, names)| {
            side.merge(other);
            devices.merge(names);
        },
    )
}

/// One time against another.
fn compared(
    history: &History,
    options: &HistoryOptions,
    known: Known,
    spans: [PointSpan; 2],
) -> anyhow::Result<String> {
    if history.origins().hosts().len() > 1 {
        let sentence = "failed to compare: the histories are of several hosts; name the histories \
                        of one host, or compare hosts with `lbolt fleet --before-after`";
        return Err(failure(Fault::Usage, sentence));
    }
    let [a, b] = spans;
    let spans = [known.compared(a)?, known.compared(b)?];
    let lengths = spans.map(|(from, until)| until - from);
    if lengths[0] != lengths[1] {
        let sentence = "failed to compare: the time ranges of --compare differ in length; give two \
                        ranges of equal length";
        return Err(failure(Fault::Usage, sentence));
    }
    // An hour where there are enough of them: shorter ones are all alike.
    let slot_ns = HOUR_NS.min(lengths[0] / LEAST_SLOTS).max(model::history::MINUTE_NS);
    let mut notes = Vec::new();
    let mut devices = Names::new(options.device.as_ref());
    let sides = spans.map(|span| {
        let ((side, names), said) = side(history, options, span, slot_ns);
        notes.extend(said);
        devices.merge(names);
        side
    });
    if let Some((wanted, known)) = devices.absent() {
        return Err(not_there("device", wanted, "the history", known.iter().cloned()));
    }
    if let Some(bound) = sides.iter().find_map(Side::full) {
        return Err(too_many("a history", bound));
    }
    let (of_a, of_b, slots) = series(&sides[0], &sides[1]);
    if slots == 0 {
        let sentence = "failed to compare: no part of the two time ranges was watched in both; \
                        choose ranges that `lbolt history` shows";
        return Err(failure(Fault::Usage, sentence));
    }
    let question = Question {
        unit: Unit::Hour,
        effect_percent: EFFECT_PERCENT,
        machine_percent: 0.0,
        across: vec![],
        refusal: None,
    };
    let compared = compare(&[of_a], &[of_b], &question);
    let name = |(from, until): (i64, i64)| report::history::span(from, until);
    let about = About {
        a: name(spans[0]),
        b: name(spans[1]),
        units: if slot_ns == HOUR_NS { "hours".into() } else { "parts".into() },
        effect_percent: EFFECT_PERCENT,
        notes: texts(&notes),
        shows_all: options.all,
        ..About::default()
    };
    Ok(match options.format {
        Format::Table => report::compare::table(&compared, &about, terminal_width()),
        Format::Markdown => report::compare::markdown(&compared, &about),
        Format::Csv => report::compare::csv(&compared),
        Format::Json => report::compare::json(&compared, &about)?,
    })
}

fn list_incidents(path: &Path, options: &HistoryOptions) -> anyhow::Result<()> {
    if !path.is_dir() {
        let why = if path.exists() { "a file has no incidents" } else { "no such directory" };
        let sentence = format!(
            "failed to list the incidents of {}: {why}; name the directory of a `lbolt watch`",
            visible(&path.display().to_string())
        );
        return Err(failure(Fault::Usage, sentence));
    }
    let (found, damaged) = incidents(path).map_err(of_records)?;
    damaged.iter().for_each(|said| note(&format!("{said}; the others are listed")));
    let end = found.iter().map(|(_, incident)| incident.until_unix_ns).max().unwrap_or(0);
    let begin = found.iter().map(|(_, incident)| incident.from_unix_ns).min().unwrap_or(0);
    let now_unix_ns = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let known = Known { span_unix_ns: (begin, end.saturating_add(1)), now_unix_ns };
    let is_all = options.from.is_none() && options.to.is_none() && options.last.is_none();
    let (from, to) = if is_all { (i64::MIN, i64::MAX) } else { known.span(options)? };
    let is_in = |incident: &Incident| incident.until_unix_ns > from && incident.from_unix_ns < to;
    let found: Vec<(PathBuf, Incident)> =
        found.into_iter().filter(|(_, incident)| is_in(incident)).collect();
    print(&match options.format {
        Format::Table => report::history::incidents(&found, terminal_width()),
        Format::Json => report::history::incidents_json(&found)?,
        Format::Csv => report::history::incidents_csv(&found),
        Format::Markdown => report::history::incidents_markdown(&found),
    })
}

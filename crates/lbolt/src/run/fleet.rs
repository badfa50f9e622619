//! The inputs of a fleet: opened one after the other, so that thousands of hosts need no more open
//! files than cores; what is there twice is counted once; then read by all cores.
//!
//! Non-goals: what the rows say (`verdict::fleet`).

use ::verdict::Bound;
use ::verdict::fleet::{Asked, Ledger, Source};
use ::verdict::parts::in_order;
use analysis::inputs::{label_of, matching, rollups_in};
use host::drive::Control;
use messages::fault::{Fault, failure};
use messages::ticker::Ticker;
use model::fleet::Fleet;
use model::history::{History, MINUTE_NS, Note, Origins, Query};
use report::fleet::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Groups of rows that a core takes at once, of a file of many hosts.
const GROUPS: usize = 32;

/// A time of a host that another input has too: the host, from when until when.
type Skipped = (Option<String>, (i64, i64));

/// An input, as far as it is known before its rows are read.
struct Known {
    path: PathBuf,
    label: String,
    origins: Origins,
    span: (i64, i64),
    groups: usize,
    skipped: Vec<Skipped>,
}

/// All inputs.
pub(crate) struct Inputs {
    known: Vec<Known>,
    notes: Vec<String>,
}

fn interrupted() -> anyhow::Error {
    failure(Fault::Interrupted, "interrupted; nothing was printed")
}

/// A refusal of rows that name more than is kept of them.
pub(crate) fn too_many(what: &str, Bound { most, of }: Bound) -> anyhow::Error {
    let sentence = format!(
        "failed to read {what}: the rows name more than {most} {of}; name fewer inputs, or a \
         shorter time"
    );
    failure(Fault::Usage, sentence)
}

/// Everything, for what is asked of files alone.
fn everything() -> Query {
    let (kinds, without) = (Ledger::KINDS.to_vec(), Ledger::WITHOUT.to_vec());
    Query { from_unix_ns: i64::MIN, until_unix_ns: i64::MAX, kinds, without }
}

impl Inputs {
    /// Looks at what is named. What cannot be read is left out, with a note.
    /// Errors: a list that cannot be read; a path that is not there; interruption.
    pub(crate) fn open(named: &[PathBuf], control: &Control) -> anyhow::Result<Self> {
        let mut paths = Vec::new();
        for path in named {
            let found = matching(path);
            if found.is_empty() {
                let sentence = format!(
                    "failed to read {}: no such file or directory; name a history, a rollup, or a \
                     directory of these",
                    model::text::visible(&path.display().to_string())
                );
                return Err(failure(Fault::Usage, sentence));
            }
            paths.extend(found);
        }
        let paths = rollups_in(&paths)?;
        let (mut known, mut notes) = (Vec::new(), Vec::new());
        let look =
            |place: usize| if control.is_stopped() { Err(()) } else { Ok(seen(&paths[place])) };
        in_order(paths.len(), look, &mut |(one, said): (Option<Known>, Vec<String>)| {
            known.extend(one);
            notes.extend(said);
        })
        .map_err(|()| interrupted())?;
        let mut inputs = Self { known, notes };
        inputs.count_once();
        inputs.say_what_is_missing();
        Ok(inputs)
    }

    /// From when until when there are rows.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let spans = self.known.iter().map(|known| known.span);
        spans.reduce(|all, span| (all.0.min(span.0), all.1.max(span.1)))
    }

    /// What there is to say of them.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Finds the times of hosts that two inputs have: they count in the first one.
    fn count_once(&mut self) {
        type Times = Vec<((i64, i64), Option<String>, usize)>;
        let mut hosts: BTreeMap<Option<String>, Times> = BTreeMap::new();
        for place in 0..self.known.len() {
            let Some(known) = self.known.get(place) else { continue };
            let mut skipped: Vec<Skipped> = Vec::new();
            for (origin, span) in known.origins.iter() {
                let host = origin.host.clone().or_else(|| Some(known.label.clone()));
                let times = hosts.entry(host).or_default();
                for (other, run, first) in times.iter().filter(|(.., first)| *first != place) {
                    let shared = (span.0.max(other.0), span.1.min(other.1));
                    // Two watches may share a minute: one ended in it, and another one began.
                    if shared.1.saturating_sub(shared.0) > MINUTE_NS {
                        let said = (origin, shared, run == &origin.run);
                        self.notes.push(twice(said, &known.path, &self.known[*first].path));
                        skipped.push((origin.host.clone(), shared));
                    }
                }
                times.push((*span, origin.run.clone(), place));
            }
            self.known[place].skipped = skipped;
        }
    }

    fn say_what_is_missing(&mut self) {
        let mut all = Origins::default();
        let parts = self.known.iter().filter(|known| known.origins.has_parts());
        parts.for_each(|known| all.merge(&known.origins));
        let missing = all.missing_parts().into_iter();
        let said =
            missing.map(|(run, parts, all)| format!("{}.", Note::MissingParts { run, parts, all }));
        self.notes.extend(said);
    }
}

/// Whether two inputs tell of the same time of a host, or two hosts have one name.
fn twice(
    (origin, shared, is_same_run): (&model::history::Origin, (i64, i64), bool),
    path: &Path,
    first: &Path,
) -> String {
    let span = report::history::span(shared.0, shared.1);
    let host = origin.host.as_deref().unwrap_or("the host");
    let (path, first) = (path.display(), first.display());
    let why = match is_same_run {
        true => "",
        false => " (the boots differ: two hosts share the name, or a clock was set)",
    };
    format!("{host}, {span}, is in {first} and in {path}: counted once, from {first}{why}.")
}

/// An input, and what there is to say of it.
fn seen(path: &Path) -> (Option<Known>, Vec<String>) {
    let history = match History::open(path) {
        Ok(history) => history,
        Err(error) => {
            return (None, vec![format!("failed to {error}; all other inputs are read.")]);
        }
    };
    let mut notes: Vec<String> = history.notes().iter().map(|said| format!("{said}.")).collect();
    let Some(span) = history.span() else {
        notes.push(format!("{} contains no history and no rollup.", path.display()));
        return (None, notes);
    };
    let known = Known {
        path: path.to_owned(),
        label: label_of(path),
        origins: history.origins().clone(),
        span,
        groups: history.parts(&everything()).len(),
        skipped: Vec::new(),
    };
    (Some(known), notes)
}

/// Reads what is asked for: what it comes to, where the hosts are, and what there is to say.
/// Errors: interruption.
pub(crate) fn gather(
    inputs: &Inputs,
    asked: Asked,
    control: &Arc<Control>,
) -> anyhow::Result<(Fleet, Vec<Place>, Vec<String>)> {
    let pieces: Vec<(usize, usize)> = inputs
        .known
        .iter()
        .enumerate()
        .flat_map(|(place, known)| (0..known.groups.div_ceil(GROUPS)).map(move |of| (place, of)))
        .collect();
    let read = Arc::new(AtomicUsize::new(0));
    let (done, all) = (read.clone(), pieces.len());
    let _ticker =
        Ticker::reading(move || format!("{} of {all} parts", done.load(Ordering::Relaxed)));
    let query = Query {
        from_unix_ns: asked.from_unix_ns,
        until_unix_ns: asked.until_unix_ns,
        ..everything()
    };
    let one = |piece: usize| {
        if control.is_stopped() {
            return Err(());
        }
        let (place, of) = pieces[piece];
        let found = part(inputs, place, of, asked, &query);
        read.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    };
    let (mut ledger, mut notes) = (Ledger::new(asked), BTreeSet::new());
    in_order(pieces.len(), one, &mut |(found, said): (Ledger, Vec<String>)| {
        ledger.merge(found);
        notes.extend(said);
    })
    .map_err(|()| interrupted())?;
    if let Some(bound) = ledger.full() {
        return Err(too_many("a fleet", bound));
    }
    let place = |known: &Known| Place {
        path: known.path.clone(),
        hosts: known.origins.hosts().len().max(1),
        page: String::new(),
    };
    let places = inputs.known.iter().map(place).collect();
    let known: BTreeSet<&String> = inputs.notes.iter().collect();
    notes.retain(|said| !known.contains(said));
    let notes = inputs.notes.iter().cloned().chain(notes).collect();
    Ok((ledger.finish(), places, notes))
}

/// Some groups of an input.
fn part(
    inputs: &Inputs,
    place: usize,
    of: usize,
    asked: Asked,
    query: &Query,
) -> (Ledger, Vec<String>) {
    let (mut ledger, mut notes) = (Ledger::new(asked), Vec::new());
    let known = &inputs.known[place];
    let history = match History::open(&known.path) {
        Ok(history) => history,
        Err(error) => return (ledger, vec![format!("failed to {error}.")]),
    };
    let source = Source {
        number: place,
        label: &known.label,
        hosts: history.hosts(),
        skipped: &known.skipped,
    };
    for part in history.parts(query).iter().skip(of * GROUPS).take(GROUPS) {
        let done = history.each(part, query, |row| ledger.take(row, &source));
        notes.extend(done.err().map(|said| format!("{said}.")));
    }
    (ledger, notes)
}

//! The response experiment: a trace's rows through the analysis. Records of ours are read by
//! contiguous parts, one a core at a time, each beginning with what is in flight at its boundary; a
//! foreign trace comes row by row, in order.

use crate::import::{of_import, read_in_order};
use crate::inputs::Input;
use crate::trace::{REJECTED, TraceFile, device_name, open_requests, parquet_of};
use crate::{density, verdict};
use ::verdict::layers::Layers;
use ::verdict::parts::in_order;
use ::verdict::requests::{RowCounts, count_findings, summed_findings};
use ::verdict::response::{AreaMaps, InFlight, Names, Response, doubt};
use ::verdict::selection::Selection;
use ::verdict::{Known, Minutes, Told, Verdict};
use capture::gate::{Gate, Interrupted};
use cli::TraceOptions;
use formats::import::ImportError;
use messages::fault::{Fault, failure, of_records};
use messages::output::note;
use model::record::requests::{Provenance, RequestFile, STEPS};
use model::record::{CommandId, Commands, Context, Finding, RecordError, Request, Subject, Summed};
use model::units::{counted, show_seconds};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use trace::intake::{FanOut, ForEach};

/// Parts of a file: as many on each machine, so that the same file has the same figures, whatever
/// the number of its cores. More even the work out, fewer have fewer shard boundaries.
const PARTS: usize = 32;

/// What an outstanding request is known by, and what tells whether it arrived before.
const OF_CARRY: &[&[&str]] =
    &[&["request_id", "device", "op", "flags", "parent_id", "above_id"], STEPS];
/// What the analysis asks of a row.
const OF_ANALYSIS: &[&[&str]] = &[
    &["request_id", "device", "op", "flags", "offset_bytes", "length_bytes", "error", "pid"],
    STEPS,
    &["cgroup", "command", "parent_id", "above_id"],
];

/// A trace, analysed, or several beside each other.
pub struct Analysed {
    /// Its response times.
    pub response: Response,
    /// Where its rows come from.
    pub provenance: Provenance,
    commands: Commands,
    sources: Vec<Source>,
    /// Of several traces: whose each device is, and its number there, by the numbers here.
    devices: Vec<(usize, u32)>,
    /// What was selected, as findings.
    selected: Vec<Finding>,
    /// Of requests that have no rows.
    summed: Vec<Finding>,
}

/// What is told of a trace by itself.
struct Source {
    /// What its devices are told by from those of others; nothing where it is the only one.
    label: Option<String>,
    provenance: Provenance,
    verdict: Verdict,
    layers: Layers,
}

impl Source {
    fn device(&self, device: u32) -> String {
        labelled(self.label.as_deref(), device, &self.provenance)
    }
}

/// Whether the traces would have calls and waits, had there been any.
fn calls_told<'a>(mut traces: impl Iterator<Item = &'a Provenance>) -> Finding {
    let told = f64::from(u8::from(traces.all(Provenance::tells_calls)));
    Finding::new(&Subject::this_run(), "calls_told", Some(told), 1, "provenance")
}

/// That the traces are of named devices, and nothing of these was lost.
fn named_devices<'a>(mut traces: impl Iterator<Item = &'a Provenance>) -> Option<Finding> {
    let finding =
        || Finding::new(&Subject::this_run(), "named_devices_whole", Some(1.0), 1, "provenance");
    traces.all(Provenance::is_whole_of_named_devices).then(finding)
}

/// A device's name, behind its trace's label if there is one.
fn labelled(label: Option<&str>, device: u32, provenance: &Provenance) -> String {
    let name = device_name(device, provenance);
    label.map_or_else(|| name.clone(), |label| format!("{label}:{name}"))
}

impl Analysed {
    fn of(part: Part, provenance: Provenance, verdict: Verdict, layers: Layers) -> Self {
        let Part { response, commands, .. } = part;
        let source = Source { label: None, provenance: provenance.clone(), verdict, layers };
        let (sources, devices) = (vec![source], Vec::new());
        let (selected, summed) = (Vec::new(), Vec::new());
        Self { response, provenance, commands, sources, devices, selected, summed }
    }

    /// What the traces count, and what was found.
    pub fn findings(&mut self) -> Vec<Finding> {
        let Self { response, provenance, commands, sources, devices, .. } = self;
        let device = |number: u32| match (devices.get(number as usize), sources.as_slice()) {
            (Some((source, device)), _) => sources[*source].device(*device),
            (None, [source, ..]) => source.device(number),
            (None, []) => String::new(),
        };
        let mut analysed = response.findings(&Names {
            device: &device,
            cgroup: &|cgroup| cgroup_name(cgroup, provenance),
            commands,
        });
        let names: Vec<_> =
            sources.iter().map(|source| |device: u32| source.device(device)).collect();
        let told = sources.iter().zip(&names);
        let told: Vec<Told> =
            told.map(|(source, name)| Told { verdict: &source.verdict, name }).collect();
        analysed.extend(::verdict::findings(&told));
        for Source { label, provenance, layers, .. } in sources.iter_mut() {
            let name = |device| labelled(label.as_deref(), device, provenance);
            analysed.extend(layers.findings(&name));
        }
        doubt(&mut analysed, &provenance.counts, response.late());
        let mut findings = count_findings(provenance);
        let provenances = || sources.iter().map(|source| &source.provenance);
        findings.push(calls_told(provenances()));
        findings.extend(named_devices(provenances()));
        findings.extend(self.summed.iter().cloned());
        findings.extend(analysed);
        findings.extend(self.selected.iter().cloned());
        findings
    }

    /// The processes that have roles of their own, as these are called.
    pub fn processes(&self) -> Vec<String> {
        self.sources.iter().flat_map(|source| source.verdict.processes()).collect()
    }

    /// Of nothing, beside which others are put.
    fn nothing() -> Self {
        Self {
            response: Response::default(),
            provenance: Provenance::default(),
            commands: Commands::default(),
            sources: Vec::new(),
            devices: Vec::new(),
            selected: Vec::new(),
            summed: Vec::new(),
        }
    }

    /// Puts a trace beside the others.
    fn put_beside(&mut self, other: Self, label: String) {
        let numbers: Vec<CommandId> = {
            let names = other.commands.names().iter();
            names.map(|name| self.commands.number(name.as_bytes())).collect()
        };
        let number = |id: CommandId| numbers.get(id.0 as usize).copied().unwrap_or(id);
        let place = self.sources.len();
        let devices = std::cell::RefCell::new(std::mem::take(&mut self.devices));
        let device = |number: u32| {
            let mut devices = devices.borrow_mut();
            let known = devices.iter().position(|of| *of == (place, number));
            known.unwrap_or_else(|| {
                devices.push((place, number));
                devices.len() - 1
            }) as u32
        };
        self.response.beside(other.response, &number, &device);
        self.summed.extend(other.summed);
        self.devices = devices.into_inner();
        match self.sources.is_empty() {
            true => self.provenance = other.provenance,
            false => self.provenance.put_beside(&other.provenance),
        }
        let sources = other.sources.into_iter();
        self.sources.extend(sources.map(|of| Source { label: Some(label.clone()), ..of }));
    }
}

/// The user does not want the end.
fn stopped(_: Interrupted) -> anyhow::Error {
    failure(Fault::Interrupted, "interrupted; nothing was analysed")
}

/// Analyses the whole of a trace as it is named on the command line; `selection` selects no time.
/// Errors: a trace that cannot be read; interruption.
pub fn analyse(
    trace: &TraceOptions,
    selection: Selection,
    gate: &Gate,
) -> anyhow::Result<Analysed> {
    match parquet_of(trace)? {
        Some(path) => {
            let context = verdict::context_of(&path)?;
            of_file(&open_requests(&path)?, context, selection, &Response::default, gate)
        }
        None => of_foreign(trace, selection, gate),
    }
}

/// Analyses several traces, and puts them beside each other.
/// Errors: a trace that cannot be read; interruption.
pub fn analyse_several(
    inputs: &[Input],
    selection: &Selection,
    gate: &Gate,
) -> anyhow::Result<Analysed> {
    let one = |Input { label, path }: &Input| {
        let context = verdict::context_of(path)?;
        let file = open_requests(path)?;
        let one = of_file(&file, context, selection.clone(), &Response::default, gate)?;
        Ok((label.clone(), one))
    };
    together(inputs.iter().map(one))
}

/// Traces with their labels, beside each other.
/// Errors: the first one's.
pub(crate) fn together(
    traces: impl Iterator<Item = anyhow::Result<(String, Analysed)>>,
) -> anyhow::Result<Analysed> {
    let mut all = Analysed::nothing();
    let mut spans: Vec<(Option<i64>, Range<i64>)> = Vec::new();
    for trace in traces {
        let (label, one) = trace?;
        spans.extend(one.response.span().map(|span| (one.provenance.started_unix_ns, span)));
        all.put_beside(one, label);
    }
    all.response = all.response.with_span_ns(traced_ns(spans));
    Ok(all)
}

/// For how long any of some traces went on: by the clock on the wall where all tell it, else one
/// after the other.
fn traced_ns(spans: Vec<(Option<i64>, Range<i64>)>) -> f64 {
    let on_wall = |(started_unix_ns, span): &(Option<i64>, Range<i64>)| {
        let started_ns = i128::from((*started_unix_ns)?);
        Some(started_ns + i128::from(span.start)..started_ns + i128::from(span.end))
    };
    let Some(mut on_wall) = spans.iter().map(on_wall).collect::<Option<Vec<_>>>() else {
        let each = spans.iter().map(|(_, span)| i128::from(span.end) - i128::from(span.start));
        return each.sum::<i128>() as f64;
    };
    on_wall.sort_by_key(|span| span.start);
    let mut until_ns = i128::MIN;
    let mut whole_ns = 0;
    for span in on_wall {
        whole_ns += (span.end - span.start.max(until_ns)).max(0);
        until_ns = until_ns.max(span.end);
    }
    whole_ns as f64
}

/// Analyses all requests of a run, and keeps its devices over time.
/// Errors: records that cannot be read; interruption.
pub fn analyse_for_page(run: &Path, gate: &Gate) -> anyhow::Result<Analysed> {
    match parquet_of(&TraceOptions::own(run))? {
        Some(path) => {
            let context = verdict::context_of(&path)?;
            let file = open_requests(&path)?;
            let begin_ns = density::begin_ns(&file);
            let begun = || Response::default().with_over_time(begin_ns);
            of_file(&file, context, Selection::default(), &begun, gate)
        }
        None => Err(failure(Fault::Usage, format!("{} contains no requests", run.display()))),
    }
}

/// Analyses all requests of a run.
/// Errors: records that cannot be read; interruption.
pub fn analyse_run(run: &Path, gate: &Gate) -> anyhow::Result<Analysed> {
    analyse(&TraceOptions::own(run), Selection::default(), gate)
}

/// Analyses a part of a trace, whose rows can be read again and again.
/// Errors: nothing in it; a trace that cannot be read; interruption.
pub fn analyse_part(
    trace: TraceFile,
    selection: Selection,
    gate: &Gate,
) -> anyhow::Result<Analysed> {
    let end_ns = trace.end_ns()?;
    let (file, context, _held) = trace.into_parts();
    let analysed = of_file(&file, context, selection.clone(), &Response::default, gate)?;
    if analysed.provenance.counts.requests == 0 {
        let sentence = format!(
            "failed to find a request in the selected time; the trace spans 0 to {} s",
            show_seconds(end_ns as f64)
        );
        return Err(failure(Fault::Usage, sentence));
    }
    Ok(Analysed { selected: selection.findings(end_ns), ..analysed })
}

/// A cgroup's path, where it is noted; else its number.
fn cgroup_name(cgroup: u64, provenance: &Provenance) -> String {
    let noted = provenance.notes.get(&format!("cgroup.{cgroup}")).cloned();
    noted.unwrap_or_else(|| cgroup.to_string())
}

/// The parts of a file, as many at once as there are cores, each begun by `begun`.
fn of_file(
    file: &RequestFile,
    context: Context,
    selection: Selection,
    begun: &(dyn Fn() -> Response + Sync),
    gate: &Gate,
) -> anyhow::Result<Analysed> {
    let whole = match selection.is_whole() {
        true => None,
        false => Some(whole_verdict(file, context.clone(), &selection, gate)?),
    };
    let is_selected = |of: &&Summed| selection.time_ns.contains(&of.from_ns);
    let sums: Vec<Summed> = context.summed.iter().filter(is_selected).cloned().collect();
    let summed = summed_findings(&file.provenance(), &sums);
    let (known, layers) = verdict::known_of(file, context, selection.clone(), gate)?;
    let known = Arc::new(known);
    let parts = parts(file, &selection, PARTS);
    let minutes = verdict::minutes(file, &known, PARTS);
    let work = Work {
        file,
        selection: &selection,
        known: &known,
        maps: AreaMaps::of(&file.provenance()),
        begun,
        width_ns: AtomicI64::new(0),
        gate,
    };
    let mut all = Part { response: begun(), ..Part::default() };
    let mut verdict = Verdict::new(&known);
    // Minutes take longer, and where there is but one, it begins first.
    let piece = |number: usize| match number.checked_sub(minutes.len()) {
        None => work.minutes(minutes[number].clone()),
        Some(place) => work.part(parts[place].clone()),
    };
    in_order(minutes.len() + parts.len(), piece, &mut |piece| match piece {
        Piece::Minutes(minutes) => verdict.merge(*minutes),
        Piece::Part(part) => all.follow(*part, &work.width_ns),
    })?;
    sums.iter().for_each(|of| all.response.add_summed(of, &mut all.commands));
    let mut provenance = file.provenance();
    all.counts.tell(&mut provenance);
    if let Some(whole) = whole {
        all.counts.tell_instead(&mut provenance);
        verdict = verdict.with_calm_of(whole);
    }
    provenance.tell("unsorted", all.response.late());
    let analysed = Analysed::of(all, provenance, verdict, layers);
    Ok(Analysed { summed, ..analysed })
}

/// The verdict of the whole time of a trace of which a part is selected: what waits take in calm
/// is known by that.
fn whole_verdict(
    file: &RequestFile,
    context: Context,
    selection: &Selection,
    gate: &Gate,
) -> anyhow::Result<Verdict> {
    let selection = Selection { process: selection.process.clone(), ..Selection::default() };
    let (known, _) = verdict::known_of(file, context, selection, gate)?;
    let known = Arc::new(known.without_files());
    let minutes = verdict::minutes(file, &known, PARTS);
    let mut whole = Verdict::new(&known);
    let piece = |number: usize| {
        verdict::of_minutes(file, &known, minutes[number].clone(), gate).map(Box::new)
    };
    in_order(minutes.len(), piece, &mut |verdict| whole.merge(*verdict))?;
    Ok(whole)
}

/// What is done on all cores.
struct Work<'a> {
    file: &'a RequestFile,
    selection: &'a Selection,
    known: &'a Arc<Known>,
    maps: AreaMaps,
    begun: &'a (dyn Fn() -> Response + Sync),
    /// No part begins finer than another one has become.
    width_ns: AtomicI64,
    gate: &'a Gate,
}

/// What a piece of the work came to.
enum Piece {
    Minutes(Box<Verdict>),
    Part(Box<Part>),
}

impl Work<'_> {
    fn minutes(&self, numbers: Range<i64>) -> anyhow::Result<Piece> {
        let verdict = verdict::of_minutes(self.file, self.known, numbers, self.gate)?;
        Ok(Piece::Minutes(Box::new(verdict)))
    }

    fn part(&self, groups: Range<usize>) -> anyhow::Result<Piece> {
        let begun = (self.begun)().with_areas(self.maps.clone());
        let begun = begun.with_width_ns(self.width_ns.load(Ordering::Relaxed));
        let part = of_part(self.file, groups, self.selection, begun, self.gate)?;
        self.width_ns.fetch_max(part.response.width_ns(), Ordering::Relaxed);
        Ok(Piece::Part(Box::new(part)))
    }
}

/// Contiguous groups of rows that can be of the selection: at most so many parts; one where the
/// file does not tell how long its requests took, or whether they are in order.
fn parts(file: &RequestFile, selection: &Selection, most: usize) -> Vec<Range<usize>> {
    let meets = |group: &usize| file.arrivals_ns(*group).is_none_or(|ns| selection.meets(ns));
    let groups = 0..file.groups();
    let first = groups.clone().find(meets).unwrap_or(groups.end);
    let end = groups.clone().rfind(meets).map_or(first, |last| last + 1);
    let is_known = file.provenance().knows("unsorted")
        && groups.into_iter().all(|group| file.completed_ns_max(group).is_some());
    let each = if is_known { (end - first).div_ceil(most.max(1)) } else { end - first }.max(1);
    (first..end).step_by(each).map(|start| start..(start + each).min(end)).collect()
}

/// What a part of a file came to.
#[derive(Default)]
struct Part {
    response: Response,
    commands: Commands,
    counts: RowCounts,
}

impl Part {
    /// Puts the next part behind this one.
    fn follow(&mut self, part: Self, width_ns: &AtomicI64) {
        let names = part.commands.names().iter();
        let numbers: Vec<CommandId> =
            names.map(|name| self.commands.number(name.as_bytes())).collect();
        let number = |id: CommandId| numbers.get(id.0 as usize).copied().unwrap_or(id);
        self.response.follow(part.response, &number);
        self.counts.merge(&part.counts);
        width_ns.fetch_max(self.response.width_ns(), Ordering::Relaxed);
    }
}

fn of_part(
    file: &RequestFile,
    groups: Range<usize>,
    selection: &Selection,
    mut response: Response,
    gate: &Gate,
) -> anyhow::Result<Part> {
    let mut counts = RowCounts::default();
    let mut room = Vec::new();
    // What the footer tells of all rows is not counted again.
    let is_counted = !selection.is_whole() || !file.provenance().unknown.is_empty();
    if let Some(in_flight) = in_flight(file, groups.start, selection).map_err(of_records)? {
        response = response.after(&in_flight);
    }
    let mut reader = file.read(groups, &OF_ANALYSIS.concat()).map_err(of_records)?;
    while let Some(batch) = reader.next_batch().map_err(of_records)? {
        batch.for_each_chunk(|rows| {
            let rows = selection.of(rows, &mut room);
            response.add_all(rows);
            if is_counted {
                rows.iter().for_each(|row| counts.add(row));
            }
        });
        gate.pass(batch.len()).map_err(stopped)?;
    }
    Ok(Part { response, commands: reader.commands, counts })
}

/// What is outstanding where the selection's rows of a group begin; none at the trace's first.
fn in_flight(
    file: &RequestFile,
    group: usize,
    selection: &Selection,
) -> Result<Option<InFlight>, RecordError> {
    if group == 0 && selection.is_whole() {
        return Ok(None);
    }
    let Some(begin_ns) = first_arrival_ns(file, group, selection)? else { return Ok(None) };
    let mut in_flight = InFlight::new(begin_ns);
    let lasts = |group: &usize| file.completed_ns_max(*group).is_none_or(|ns| ns > begin_ns);
    let end = if selection.is_whole() { group } else { group + 1 };
    for place in (0..end).filter(lasts) {
        let is_earlier =
            |row: &&Request| place < group || row.arrival_ns().is_some_and(|ns| ns < begin_ns);
        let mut reader = file.read(place..place + 1, &OF_CARRY.concat())?;
        while let Some(batch) = reader.next_batch()? {
            batch.for_each_chunk(|rows| {
                rows.iter().filter(is_earlier).for_each(|row| in_flight.add(row));
            });
        }
    }
    Ok(Some(in_flight))
}

fn first_arrival_ns(
    file: &RequestFile,
    group: usize,
    selection: &Selection,
) -> Result<Option<i64>, RecordError> {
    let mut reader = file.read(group..group + 1, STEPS)?;
    while let Some(batch) = reader.next_batch()? {
        let selected = batch.rows().filter(|row| selection.has(row));
        if let Some(arrival_ns) = selected.filter_map(|row| row.arrival_ns()).next() {
            return Ok(Some(arrival_ns));
        }
    }
    Ok(None)
}

/// A foreign trace needs no file of ours: its rows come in order.
fn of_foreign(trace: &TraceOptions, selection: Selection, gate: &Gate) -> anyhow::Result<Analysed> {
    read_in_order(trace, &std::env::temp_dir(), gate.control(), |foreign| {
        let mut response = Response::default();
        let mut minutes = Minutes::all(Known::new(Context::default(), selection.clone()));
        let rows = FanOut(ForEach::new(|row| response.add(row)), verdict::Entries(&mut minutes));
        let read = foreign.read(FanOut(gate.clone(), rows), gate.control());
        // An interruption is told as what it is, and not as rows that could not be taken.
        gate.pass(0).map_err(stopped)?;
        let Some((provenance, commands, refused)) = read.map_err(of_import)? else {
            return Ok(None);
        };
        refused.map_or(Ok(()), |error| Err(of_import(ImportError::Rows(error))))?;
        if provenance.counts.rejected > 0 {
            note(&counted(provenance.counts.rejected, REJECTED));
        }
        let part = Part { response, commands, ..Part::default() };
        Ok(Some(Analysed::of(part, provenance, minutes.verdict(), Layers::default())))
    })
}

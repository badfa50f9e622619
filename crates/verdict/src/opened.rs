//! What happened in the worst storms of a trace, from a second look at its rows: who sent how much
//! in each, on which files, how long reads and writes took in it and outside of all storms of the
//! device, and how deep the queue was.
//!
//! A row is in a storm if it arrived between the storm's first arrival and its last completion, on
//! the storm's device. Memory is bounded: so many storms, and in each so many names.
//!
//! Non-goals: finding storms ([`crate::response`]), sentences.

use crate::merge::{Merge as _, merged};
use crate::names::{Called, FileNames};
use crate::response::StormSpan;
use crate::{Actors, RoleId};
use hashbrown::HashMap;
use model::histogram::CoarseHistogram;
use model::record::{CommandId, Commands, Context, Flags, Op, Request};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;

/// Storms that are opened.
pub const MOST_STORMS: usize = 12;
/// Processes and files of a storm that are told apart; the first ones are.
const MOST_NAMES: usize = 4096;
/// Processes and files that are told of, the most first.
const MOST_TOLD: usize = 8;

/// What somebody sent in a storm, or what was sent of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Reads, writes, flushes and all else.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Their responses, summed.
    pub held_ns: u64,
}

merged!(Sent { requests, read_bytes, write_bytes, held_ns });

impl Sent {
    fn add(&mut self, row: &Request, response_ns: u64) {
        let bytes = u64::from(row.length_bytes);
        self.requests += 1;
        self.held_ns = self.held_ns.saturating_add(response_ns);
        match row.op {
            Op::Read => self.read_bytes += bytes,
            Op::Write => self.write_bytes += bytes,
            _ => {}
        }
    }
}

/// Who sent how much, or which files it was of; those beyond the first so many are together.
#[derive(Debug)]
pub struct Senders<K> {
    known: HashMap<K, Sent>,
    others: Sent,
}

impl<K> Default for Senders<K> {
    fn default() -> Self {
        Self { known: HashMap::new(), others: Sent::default() }
    }
}

impl<K: Eq + Hash + Ord + Copy> Senders<K> {
    fn of(&mut self, key: K) -> &mut Sent {
        match self.known.len() < MOST_NAMES || self.known.contains_key(&key) {
            true => self.known.entry(key).or_default(),
            false => &mut self.others,
        }
    }

    /// Those that sent most, by name, and how many more there are.
    fn told(&self, name: impl Fn(&K) -> String) -> Told {
        let mut by_name: BTreeMap<String, Sent> = BTreeMap::new();
        for (key, sent) in &self.known {
            by_name.entry(name(key)).or_default().merge(*sent);
        }
        let mut rows: Vec<(String, Sent)> = by_name.into_iter().collect();
        rows.sort_by(|a, b| (Reverse(a.1.requests), &a.0).cmp(&(Reverse(b.1.requests), &b.0)));
        let more = rows.len().saturating_sub(MOST_TOLD) as u64;
        rows.truncate(MOST_TOLD);
        Told { rows, more, is_cut: self.others.requests > 0 }
    }
}

/// Who sent most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// By name, the most requests first.
    pub rows: Vec<(String, Sent)>,
    /// How many more names there are.
    pub more: u64,
    /// Whether there were more than could be told apart.
    pub is_cut: bool,
}

/// Responses by direction.
#[derive(Debug, Clone, Default)]
pub struct Responses {
    /// Of reads.
    pub reads: CoarseHistogram,
    /// Of writes.
    pub writes: CoarseHistogram,
    /// Of flushes.
    pub flushes: CoarseHistogram,
}

impl Responses {
    fn add(&mut self, row: &Request, response_ns: u64) {
        match row.op {
            Op::Read => self.reads.record(response_ns),
            Op::Write => self.writes.record(response_ns),
            Op::Flush => self.flushes.record(response_ns),
            _ => {}
        }
    }
}

/// Who queued a request: a thread with its command.
type Thread = (Option<u32>, Option<CommandId>);

#[derive(Debug, Default)]
struct Tally {
    requests: u64,
    responses: Responses,
    /// The number outstanding, summed over the storm's nanoseconds.
    depth_ns: u64,
    roles: Senders<RoleId>,
    threads: Senders<Thread>,
    files: Senders<Called>,
}

/// A storm and what happened in it.
#[derive(Debug, Clone)]
pub struct OpenedStorm {
    /// When and where.
    pub span: StormSpan,
    /// Requests of all kinds that arrived in it.
    pub requests: u64,
    /// How long they took.
    pub responses: Responses,
    /// The number outstanding, on average over its time.
    pub depth_mean: f64,
    /// Who was behind them: programs by what they are for.
    pub roles: Told,
    /// Which threads queued them.
    pub threads: Told,
    /// Which files they were of.
    pub files: Told,
}

/// What the tables are named by.
pub struct Names<'a> {
    /// A device's name.
    pub device: &'a dyn Fn(u32) -> String,
    /// Those of commands.
    pub commands: &'a Commands,
}

/// The worst storms of a trace while its rows pass by once more.
#[derive(Debug)]
pub struct Opener {
    actors: Actors,
    file_names: FileNames,
    /// All storms' times by device, in order, those that overlap as one.
    all: BTreeMap<u32, Vec<(i64, i64)>>,
    /// Those that are opened, the worst first.
    worst: Vec<(StormSpan, Tally)>,
    outside: BTreeMap<u32, Responses>,
}

impl Opener {
    /// Opens the worst of these storms: those behind which reads spent most time in all, and of
    /// those without reads, those with most requests.
    pub fn new(spans: &[StormSpan], context: &Context) -> Self {
        let mut worst = spans.to_vec();
        worst.sort_by_key(|span| (Reverse((span.behind_ns, span.requests)), span.start_ns));
        worst.truncate(MOST_STORMS);
        Self {
            actors: Actors::new(context, None),
            file_names: FileNames::new(&context.files),
            all: times(spans),
            worst: worst.into_iter().map(|span| (span, Tally::default())).collect(),
            outside: BTreeMap::new(),
        }
    }

    /// Takes a row; in any order, but whose kernel's writes are is known by what came before.
    pub fn add(&mut self, row: &Request, commands: &Commands) {
        let is_wanted = row.parent_id.is_none() && !row.flags.contains(Flags::OWN);
        let Some(arrival_ns) = row.arrival_ns().filter(|_| is_wanted) else { return };
        let Some(storms) = self.all.get(&row.device) else { return };
        let ended_ns = row.completed_ns.filter(|ns| *ns >= arrival_ns && !row.is_orphan());
        let response_ns = ended_ns.map(|ns| ns.abs_diff(arrival_ns));
        let next = storms.partition_point(|(_, end_ns)| *end_ns < arrival_ns);
        let is_inside = storms.get(next).is_some_and(|(start_ns, _)| *start_ns <= arrival_ns);
        if let Some(response_ns) = response_ns.filter(|_| !is_inside) {
            self.outside.entry(row.device).or_default().add(row, response_ns);
        }
        let lasted = arrival_ns..=ended_ns.unwrap_or(arrival_ns);
        for (span, tally) in self.worst.iter_mut().filter(|(span, _)| span.device == row.device) {
            let shared_ns = span.end_ns.min(*lasted.end()) - span.start_ns.max(arrival_ns);
            let shared_ns = u64::try_from(shared_ns).unwrap_or(0);
            tally.depth_ns = tally.depth_ns.saturating_add(shared_ns);
            if (span.start_ns..=span.end_ns).contains(&arrival_ns) {
                let role = self.actors.of_request(row, commands);
                tally.add(row, response_ns, role, self.file_names.of_request(row));
            }
        }
    }

    /// The storms, the worst first, and the responses outside of storms by device.
    pub fn finish(self, names: &Names<'_>) -> (Vec<OpenedStorm>, BTreeMap<u32, Responses>) {
        let Self { actors, file_names, worst, outside, .. } = self;
        let of = |(span, tally): (StormSpan, Tally)| OpenedStorm {
            requests: tally.requests,
            responses: tally.responses,
            depth_mean: tally.depth_ns as f64 / span.end_ns.abs_diff(span.start_ns).max(1) as f64,
            roles: tally.roles.told(|role| actors.name(*role).to_owned()),
            threads: tally.threads.told(|thread| thread_name(thread, names.commands)),
            files: tally.files.told(|called| file_names.text(*called, names.device)),
            span,
        };
        (worst.into_iter().map(of).collect(), outside)
    }
}

impl Tally {
    fn add(
        &mut self,
        row: &Request,
        response_ns: Option<u64>,
        role: RoleId,
        called: Option<Called>,
    ) {
        self.requests += 1;
        let held_ns = response_ns.unwrap_or(0);
        if let Some(response_ns) = response_ns {
            self.responses.add(row, response_ns);
        }
        self.roles.of(role).add(row, held_ns);
        if row.pid.is_some() || row.command.is_some() {
            self.threads.of((row.pid, row.command)).add(row, held_ns);
        }
        if let Some(called) = called {
            self.files.of(called).add(row, held_ns);
        }
    }
}

/// The storms' times by device, in order; those that overlap are one.
fn times(spans: &[StormSpan]) -> BTreeMap<u32, Vec<(i64, i64)>> {
    let mut sorted: Vec<&StormSpan> = spans.iter().collect();
    sorted.sort_by_key(|span| span.start_ns);
    let mut all: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for span in sorted {
        let own = all.entry(span.device).or_default();
        match own.last_mut() {
            Some((_, end_ns)) if span.start_ns <= *end_ns => *end_ns = span.end_ns.max(*end_ns),
            _ => own.push((span.start_ns, span.end_ns)),
        }
    }
    all
}

fn thread_name((pid, command): &Thread, commands: &Commands) -> String {
    let name = command.map_or("?", |command| commands.name(command));
    match pid {
        Some(pid) => format!("{name} ({pid})"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn span(start_s: i64, end_s: i64, behind_ns: u64) -> StormSpan {
        StormSpan {
            device: 0,
            kind: "background writes",
            start_ns: start_s * SECOND,
            end_ns: end_s * SECOND,
            requests: 9,
            depth_max: 3,
            behind_ns,
        }
    }

    fn row(op: Op, at_s: i64, response_s: i64, command: CommandId) -> Request {
        Request {
            op,
            queued_ns: Some(at_s * SECOND),
            completed_ns: Some((at_s + response_s) * SECOND),
            length_bytes: 4096,
            command: Some(command),
            ..Request::default()
        }
    }

    fn finished(opener: Opener, commands: &Commands) -> (Vec<OpenedStorm>, Responses) {
        let names = Names { device: &|_| "vda".into(), commands };
        let (storms, mut outside) = opener.finish(&names);
        (storms, outside.remove(&0).unwrap_or_default())
    }

    #[test]
    fn a_row_is_in_the_storm_that_it_arrived_in_or_outside_of_all() {
        let mut commands = Commands::default();
        let (dd, db) = (commands.number(b"dd"), commands.number(b"db"));
        let spans = [span(10, 20, 5), span(15, 30, 0)];
        let mut opener = Opener::new(&spans, &Context::default());
        for row in [
            row(Op::Read, 1, 1, db),
            row(Op::Write, 10, 10, dd),
            row(Op::Write, 12, 2, dd),
            row(Op::Read, 14, 4, db),
            row(Op::Read, 40, 3, db),
            Request { flags: Flags::OWN, ..row(Op::Read, 11, 1, db) },
            Request { device: 7, ..row(Op::Read, 11, 1, db) },
            // It took nobody knows how long.
            Request { queued_ns: None, ..row(Op::Read, 41, 1, db) },
        ] {
            opener.add(&row, &commands);
        }
        let (storms, outside) = finished(opener, &commands);
        let first = &storms[0];
        assert_eq!((first.span.start_ns, first.requests), (10 * SECOND, 3));
        assert!((first.depth_mean - 1.6).abs() < 1e-9, "{}", first.depth_mean);
        assert_eq!((first.responses.reads.count(), first.responses.writes.count()), (1, 2));
        let who: Vec<_> =
            first.threads.rows.iter().map(|(name, sent)| (name.as_str(), sent.requests)).collect();
        assert_eq!(who, [("dd", 2), ("db", 1)]);
        assert_eq!(first.threads.rows[0].1.write_bytes, 8192);
        assert_eq!(storms[1].requests, 0);
        assert_eq!(outside.reads.count(), 2);
        assert_eq!(outside.writes.count(), 0);
    }

    /// Two threads of one name are one row, and what is not in the list is counted.
    #[test]
    fn senders_of_one_name_are_summed_up() {
        let mut senders: Senders<u32> = Senders::default();
        for (key, requests) in [(1, 5), (2, 7), (3, 9)] {
            let sent = senders.of(key);
            (sent.requests, sent.read_bytes) = (requests, 4096);
        }
        let told = senders.told(|key| if *key == 3 { "db".into() } else { "dd".into() });
        let rows: Vec<_> = told.rows.iter().map(|(name, sent)| (name.as_str(), *sent)).collect();
        let dd = Sent { requests: 12, read_bytes: 8192, ..Sent::default() };
        assert_eq!(rows[0], ("dd", dd));
        assert_eq!((rows[1].0, rows[1].1.requests, told.more), ("db", 9, 0));
    }

    #[test]
    fn the_worst_are_opened_and_no_more_names_than_there_is_room_for() {
        let spans: Vec<StormSpan> =
            (0..100).map(|n| span(n * 10, n * 10 + 5, n.abs_diff(50))).collect();
        let mut commands = Commands::default();
        let command = commands.number(b"dd");
        let mut opener = Opener::new(&spans, &Context::default());
        for pid in 0..10_000 {
            opener.add(&Request { pid: Some(pid), ..row(Op::Write, 0, 1, command) }, &commands);
        }
        let (storms, _) = finished(opener, &commands);
        assert_eq!(storms.len(), MOST_STORMS);
        assert_eq!(storms[0].span.behind_ns, 50);
        let told = &storms[0].threads;
        assert_eq!((told.rows.len(), told.is_cut), (MOST_TOLD, true));
        assert_eq!(told.more, (MOST_NAMES - MOST_TOLD) as u64);
        assert_eq!((storms[0].roles.rows.len(), storms[0].roles.rows[0].1.requests), (1, 10_000));
    }
}

//! What is published of files: what was requested of each, and what was lost in waits for it.
//!
//! Non-goals: which file a loss is of (`crate::on_files`).

use super::{COUNTED, Told};
use crate::Verdict;
use crate::blame::Loss;
use crate::files::Requested;
use crate::merge::Merge as _;
use model::record::subject::File;
use model::record::{FileKey, FileKind, Finding, Subject};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Files that are told of one by one: those with most bytes or most time in calls.
const FILES_MOST: usize = 200;
/// And each that has more than this part of all that was lost.
const LOST_OF_ALL: f64 = 0.01;

#[derive(Default)]
struct OfFile {
    requested: Requested,
    calls: u64,
    /// Calls whose end is known, and their time.
    ended_calls: u64,
    calls_ns: f64,
    lost_ns: f64,
}

/// What was lost in waits for files, by device and name; in all, and where it is known for which.
#[derive(Default)]
pub(super) struct LostByFile {
    rows: BTreeMap<(String, String), f64>,
    all_ns: f64,
    known_ns: f64,
}

impl LostByFile {
    /// Who waits for a thread loses the same time again.
    pub(super) fn add(&mut self, loss: &Loss, device: &str, Told { verdict, name }: &Told<'_>) {
        if loss.victim.kind.waker().is_some() {
            return;
        }
        self.all_ns += loss.lost_ns;
        for (called, part) in verdict.on_files(loss) {
            let lost_ns = part * loss.lost_ns;
            self.known_ns += if called.is_known() { lost_ns } else { 0.0 };
            let file = verdict.known.file_names.text(called, name);
            *self.rows.entry((device.to_owned(), file)).or_default() += lost_ns;
        }
    }
}

/// What files were used for, in all and as far as it is known which they were.
#[derive(Default)]
struct OfFiles {
    /// By device and name.
    rows: BTreeMap<(String, String), OfFile>,
    all: Requested,
    known: Requested,
    all_calls: u64,
    known_calls: u64,
}

impl OfFiles {
    fn add(&mut self, Told { verdict, name }: &Told<'_>) {
        let Verdict { known, files, .. } = verdict;
        self.all.merge(files.unknown);
        for ((device, called), requested) in &files.known {
            self.all.merge(*requested);
            if called.is_known() {
                self.known.merge(*requested);
            }
            let of = (name(*device), known.file_names.text(*called, name));
            self.rows.entry(of).or_default().requested.merge(*requested);
        }
        for call in known.calls.all.iter().chain(&known.endless) {
            let number = call.file();
            // What is of all files (sync) is of none.
            if number.inode == 0 || !known.selection.time_ns.contains(&call.begin_ns) {
                continue;
            }
            let device = known.homes.get(number.file_system).unwrap_or(number.file_system);
            let key = FileKey { kind: FileKind::Regular, number };
            let called = known.file_names.at(&key, call.begin_ns);
            self.all_calls += 1;
            self.known_calls += u64::from(called.is_known());
            let of = (name(device), known.file_names.text(called, name));
            let of_file = self.rows.entry(of).or_default();
            of_file.calls += 1;
            if let Some(end_ns) = call.end_ns {
                of_file.ended_calls += 1;
                of_file.calls_ns += (end_ns - call.begin_ns) as f64;
            }
        }
    }
}

pub(super) fn of_files(all: &[Told<'_>], lost: &LostByFile) -> Vec<Finding> {
    let mut of_files = OfFiles::default();
    all.iter().for_each(|told| of_files.add(told));
    for (of, lost_ns) in &lost.rows {
        of_files.rows.entry(of.clone()).or_default().lost_ns = *lost_ns;
    }
    let OfFiles { rows, all, known, all_calls, known_calls } = of_files;
    let percent = |part: u64, all: u64| (all > 0).then(|| 100.0 * part as f64 / all as f64);
    let run = Subject::this_run();
    let found = |name, value, count| Finding::new(&run, name, value, count, COUNTED);
    let of_bytes = percent(known.bytes(), all.bytes());
    let mut findings = vec![
        found("files_known_percent", of_bytes, known.requests),
        found("file_calls_known_percent", percent(known_calls, all_calls), known_calls),
    ];
    let lost_percent = 100.0 * (lost.known_ns / lost.all_ns).min(1.0);
    let lost_known =
        (lost.all_ns > 0.0).then(|| found("file_lost_known_percent", Some(lost_percent), 1));
    findings.extend(lost_known);
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, of)| Reverse((of.requested.bytes(), of.calls)));
    let is_told =
        |place: usize, of: &OfFile| place < FILES_MOST || of.lost_ns > LOST_OF_ALL * lost.all_ns;
    let rows = rows.into_iter().enumerate().filter(|(place, (_, of))| is_told(*place, of));
    for ((device, file), of) in rows.map(|(_, row)| row) {
        let subject = Subject::File(File { device, file });
        let found = |name, value| Finding::new(&subject, name, Some(value), 1, COUNTED);
        findings.push(found("file_requests_count", of.requested.requests as f64));
        findings.push(found("file_read_bytes", of.requested.read_bytes as f64));
        findings.push(found("file_write_bytes", of.requested.write_bytes as f64));
        if of.calls > 0 {
            findings.push(found("file_calls_count", of.calls as f64));
        }
        if of.lost_ns > 0.0 {
            findings.push(found("file_lost_ns", of.lost_ns));
        }
        if of.ended_calls > 0 {
            findings.push(found("file_calls_mean_ns", of.calls_ns / of.ended_calls as f64));
        }
    }
    findings
}

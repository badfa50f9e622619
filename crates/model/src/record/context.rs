//! What a run keeps besides its requests: who made them, for which files, and which calls waited,
//! and what the CPUs did meanwhile.
//!
//! Non-goals: traces of other programs, which have none of it.

use super::{
    Call, CpuTime, CpuUse, JournalCommit, JournalUse, NamedFile, Pressure, Process, Record,
    RecordError, Stack, Summed, Wait, from_json, read, to_json, write,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The context: each record's name, type, how its moments are shifted, and meaning.
macro_rules! context {
    ($($name:ident: $record:ty $(, $counted_from:ident)? = $meaning:literal;)*) => {
        /// The eleven records, each in a file of its own next to `requests.parquet`.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Context {
            $(#[doc = $meaning] pub $name: Vec<$record>,)*
        }

        impl Context {
            /// The names of its files.
            pub const FILE_NAMES: [&str; 11] = [$(concat!(stringify!($name), ".parquet")),*];

            /// Writes what there is into a run's directory; `footer` is added to each file's own.
            /// Errors: what the file system or Parquet refuses.
            pub fn write(
                &self,
                directory: &Path,
                footer: &BTreeMap<String, String>,
            ) -> Result<(), RecordError> {
                $(if !self.$name.is_empty() {
                    let file = concat!(stringify!($name), ".parquet");
                    write(&directory.join(file), &self.$name, footer)?;
                })*
                Ok(())
            }

            /// Reads what there is in a run's directory.
            /// Errors: a file that is damaged, or of another schema.
            pub fn read(directory: &Path) -> Result<Self, RecordError> {
                Ok(Self { $($name: any(directory, concat!(stringify!($name), ".parquet"))?),* })
            }

            /// As JSON, where there is anything of it: how one part of this program hands it on.
            pub fn to_json(&self) -> Json {
                let mut all = serde_json::Map::new();
                $(if !self.$name.is_empty() {
                    all.insert(stringify!($name).to_owned(), to_json(&self.$name));
                })*
                Json::Object(all)
            }

            /// What such JSON says; none where it is something else.
            pub fn from_json(json: &Json) -> Option<Self> {
                $(let $name = match json.as_object()?.get(stringify!($name)) {
                    Some(rows) => from_json(rows)?,
                    None => Vec::new(),
                };)*
                Some(Self { $($name),* })
            }

            /// Adds what another part of the same trace tells.
            pub fn extend(&mut self, other: Self) {
                $(self.$name.extend(other.$name);)*
            }

            /// Times from a moment of the trace instead of its beginning.
            #[must_use]
            pub fn counted_from(mut self, zero_ns: i64) -> Self {
                $($(for row in &mut self.$name {
                    *row = std::mem::take(row).$counted_from(zero_ns);
                })?)*
                self
            }
        }
    };
}

context! {
    calls: Call, counted_from = "Calls that made a file durable, in the order of their begins.";
    waits: Wait, counted_from = "Waits of threads, in the order of their begins.";
    journal_use: JournalUse, counted_from = "Who changed metadata, in the order of time.";
    commits: JournalCommit, counted_from = "Commits of journals, in the order of their begins.";
    processes: Process = "Threads that made requests or calls, and processes that used the CPUs.";
    files: NamedFile, counted_from =
        "Files that requests or calls were of: of each file its names, in the order of time.";
    stacks: Stack = "Stacks of who made requests, where they were requested.";
    cpu_times: CpuTime, counted_from = "What the CPUs did, in the order of time.";
    cpu_uses: CpuUse, counted_from =
        "Who used the CPUs while all were busy, and who waited for one, in the order of time.";
    pressure: Pressure, counted_from =
        "What the kernel counted of cgroups, each in the order of time.";
    summed: Summed, counted_from =
        "Requests that have no rows because they were quick, in the order of time.";
}

impl Context {
    /// [`Self::to_json`] as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_json().to_string().into_bytes()
    }

    /// What such bytes say; none where they are something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::from_json(&serde_json::from_slice(bytes).ok()?)
    }

    /// Of what several parts told again, and later ones better, only the last; in order.
    pub fn settle(&mut self) {
        self.calls.reverse();
        self.calls.sort_by_key(|call| (call.begin_ns, call.pid, call.end_ns.is_none()));
        self.calls.dedup_by_key(|call| (call.begin_ns, call.pid));
        self.waits.sort_by_key(|wait| (wait.begin_ns, wait.pid));
        self.journal_use.sort_by_key(|one| (one.begin_ns, one.pid));
        let transaction = |one: &JournalCommit| (one.file_system, one.transaction);
        keep_last(&mut self.commits, transaction);
        self.commits.sort_by_key(|commit| commit.started_ns);
        keep_last(&mut self.processes, |process| process.pid);
        let mut writers = BTreeMap::new();
        let told = self.files.iter().filter(|file| !file.writers.is_empty());
        told.for_each(|file| drop(writers.insert(file.number(), file.writers.clone())));
        keep_last(&mut self.files, |file| (file.number(), file.path.is_some(), file.since_ns));
        let named: BTreeSet<_> =
            self.files.iter().filter(|file| file.path.is_some()).map(NamedFile::number).collect();
        self.files.retain(|file| file.path.is_some() || !named.contains(&file.number()));
        for file in &mut self.files {
            file.writers = writers.get(&file.number()).cloned().unwrap_or_default();
        }
    }

    /// Only what was not over before a moment of the trace; who and which files is left as it is.
    #[must_use]
    pub fn since(mut self, since_ns: i64) -> Self {
        self.calls.retain(|call| call.end_ns.unwrap_or(call.begin_ns) >= since_ns);
        self.waits.retain(|wait| wait.end_ns >= since_ns);
        self.journal_use.retain(|one| one.end_ns >= since_ns);
        self.commits.retain(|commit| commit.ended_ns.unwrap_or(commit.started_ns) >= since_ns);
        self.cpu_times.retain(|interval| interval.until_ns > since_ns);
        self.cpu_uses.retain(|one| one.until_ns > since_ns);
        self.pressure.retain(|interval| interval.until_ns > since_ns);
        self.summed.retain(|sum| sum.until_ns > since_ns);
        self
    }
}

/// Of rows of one key the last, in the order of keys.
fn keep_last<R, K: Ord>(rows: &mut Vec<R>, key: impl Fn(&R) -> K) {
    let by_key: BTreeMap<K, R> = rows.drain(..).map(|row| (key(&row), row)).collect();
    rows.extend(by_key.into_values());
}

fn any<R: Record>(directory: &Path, name: &str) -> Result<Vec<R>, RecordError> {
    match read(&directory.join(name)) {
        Err(RecordError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Vec::new())
        }
        rows => rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CallKind, WaitKind};

    fn throttled() -> Wait {
        Wait {
            kind: WaitKind::Throttling,
            file_system: 7,
            inode: 12,
            generation: 3,
            pid: 4,
            command: "dd".into(),
            begin_ns: -5,
            end_ns: 9,
            for_request: 1,
            holder: 5,
            in_transaction: 1,
            stack: 1 << 24,
        }
    }

    #[test]
    fn what_was_told_in_parts_is_what_the_last_of_them_says() {
        let call = |begin_ns, end_ns| Call { begin_ns, end_ns, pid: 4, ..Call::default() };
        let commit = |transaction, ended_ns| JournalCommit {
            transaction,
            started_ns: transaction as i64,
            ended_ns,
            ..JournalCommit::default()
        };
        let named = |inode, path: Option<&str>, writers: &[u64]| NamedFile {
            inode,
            path: path.map(str::to_owned),
            writers: writers.to_vec(),
            ..NamedFile::default()
        };
        let process =
            |pid, title: &str| Process { pid, title: Some(title.into()), ..Process::default() };
        let mut context = Context {
            calls: vec![call(7, None), call(1, Some(2))],
            commits: vec![commit(3, None), commit(4, None)],
            processes: vec![process(4, "sh x"), process(3, "a")],
            files: vec![named(1, Some("/x"), &[]), named(1, None, &[4]), named(2, None, &[3])],
            ..Context::default()
        };
        context.extend(Context {
            calls: vec![call(7, Some(9)), call(8, None)],
            commits: vec![commit(3, Some(30))],
            processes: vec![process(4, "x")],
            files: vec![named(1, None, &[5, 4])],
            ..Context::default()
        });
        context.settle();
        let expected = Context {
            calls: vec![call(1, Some(2)), call(7, Some(9)), call(8, None)],
            commits: vec![commit(3, Some(30)), commit(4, None)],
            processes: vec![process(3, "a"), process(4, "x")],
            files: vec![named(1, Some("/x"), &[5, 4]), named(2, None, &[3])],
            ..Context::default()
        };
        assert_eq!(context, expected);
    }

    fn example() -> Context {
        let call = Call {
            kind: CallKind::Fdatasync,
            file_system: 7,
            inode: 12,
            generation: 3,
            pid: 4,
            command: "dd".into(),
            begin_ns: -5,
            end_ns: Some(9),
            error: 5,
            transaction: Some(41),
        };
        let commit = JournalCommit {
            file_system: 7,
            transaction: 41,
            started_ns: 1,
            locking_ns: Some(2),
            flushing_ns: Some(3),
            logging_ns: Some(4),
            ended_ns: None,
        };
        let process = Process {
            pid: 4,
            process: Some(3),
            command: "dd".into(),
            title: Some("dd of=x".into()),
            thread: Some("writer".into()),
            unit: Some("/a.service".into()),
            main_process: Some(3),
            main_processes: Some(1),
            job: Some("build.sh".into()),
            waits_count: Some(3),
            waited_ns: Some(50),
            waited_for_requests_ns: Some(40),
        };
        let file = NamedFile {
            file_system: 7,
            inode: 12,
            generation: 3,
            path: Some("/x".into()),
            since_ns: Some(5),
            writers: vec![3],
            written_bytes: Some(4096),
            written_large_bytes: Some(0),
        };
        Context {
            calls: vec![call, Call::default()],
            waits: vec![throttled(), Wait::default()],
            journal_use: vec![JournalUse { blocks: 3, ..JournalUse::default() }],
            pressure: vec![Pressure { unit: "/a.service".into(), ..Pressure::default() }],
            commits: vec![commit],
            processes: vec![process, Process::default()],
            files: vec![file, NamedFile::default()],
            stacks: vec![Stack { stack: 3, functions: "main;write".into() }],
            cpu_times: vec![CpuTime {
                from_ns: -1,
                until_ns: 99,
                cpus: 2,
                idle_ns: 120,
                stolen_ns: 40,
                io_stalled_ns: Some(7),
            }],
            cpu_uses: vec![CpuUse { command: "busy".into(), ran_ns: 9, ..CpuUse::default() }],
            summed: vec![Summed { buckets: vec![7, 300], ..Summed::default() }],
        }
    }

    #[test]
    fn what_is_written_comes_back_and_what_is_not_there_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let read = || Context::read(directory.path()).unwrap();
        assert_eq!(read(), Context::default());
        let context = example();
        context.write(directory.path(), &BTreeMap::new()).unwrap();
        assert_eq!(read(), context);
        assert_eq!(Context::from_bytes(&context.to_bytes()).as_ref(), Some(&context));
        assert_eq!(Context::from_bytes(b"null").or(Context::from_bytes(b"{")), None);
        std::fs::write(directory.path().join("calls.parquet"), "PAR1").unwrap();
        assert!(Context::read(directory.path()).is_err());
    }

    #[test]
    fn a_later_beginning_leaves_out_what_was_over_and_shifts_the_rest() {
        let context = example();
        let later = context.clone().since(10);
        assert_eq!((later.calls.len(), later.commits.len(), later.cpu_times.len()), (0, 0, 1));
        assert_eq!(context.clone().since(0).calls.len(), 2);
        let shifted = context.clone().counted_from(2);
        assert_eq!((shifted.calls[0].begin_ns, shifted.calls[0].end_ns), (-7, Some(7)));
        assert_eq!([&shifted.files[0], &shifted.files[1]].map(|f| f.since_ns), [Some(3), None]);
        let of_commit = (shifted.commits[0].started_ns, shifted.commits[0].logging_ns);
        assert_eq!((of_commit, shifted.cpu_times[0].until_ns), ((-1, Some(2)), 97));
        assert_eq!(shifted.summed[0].until_ns, -2);
    }
}

//! What a run keeps besides its requests: who made them, for which files, and which calls waited,
//! and what the CPUs did meanwhile.
//!
//! Non-goals: traces of other programs, which have none of it.

use super::{
    Call, CpuTime, JournalCommit, JournalUse, NamedFile, Pressure, Process, Record, RecordError,
    Stack, Summed, Wait, read, write,
};
use std::collections::BTreeMap;
use std::path::Path;

/// The context: each record's name, type, how its moments are shifted, and meaning.
macro_rules! context {
    ($($name:ident: $record:ty $(, $counted_from:ident)? = $meaning:literal;)*) => {
        /// The ten records, each in a file of its own next to `requests.parquet`.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Context {
            $(#[doc = $meaning] pub $name: Vec<$record>,)*
        }

        impl Context {
            /// The names of its files.
            pub const FILE_NAMES: [&str; 10] = [$(concat!(stringify!($name), ".parquet")),*];

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
    processes: Process = "Threads that made requests or calls.";
    files: NamedFile, counted_from =
        "Files that requests or calls were of: of each file its names, in the order of time.";
    stacks: Stack = "Stacks of who made requests, where they were requested.";
    cpu_times: CpuTime, counted_from = "What the CPUs did, in the order of time.";
    pressure: Pressure, counted_from =
        "What the kernel counted of cgroups, each in the order of time.";
    summed: Summed, counted_from =
        "Requests that have no rows because they were quick, in the order of time.";
}

impl Context {
    /// Only what was not over before a moment of the trace; who and which files is left as it is.
    #[must_use]
    pub fn since(mut self, since_ns: i64) -> Self {
        self.calls.retain(|call| call.end_ns.unwrap_or(call.begin_ns) >= since_ns);
        self.waits.retain(|wait| wait.end_ns >= since_ns);
        self.journal_use.retain(|one| one.end_ns >= since_ns);
        self.commits.retain(|commit| commit.ended_ns.unwrap_or(commit.started_ns) >= since_ns);
        self.cpu_times.retain(|interval| interval.until_ns > since_ns);
        self.pressure.retain(|interval| interval.until_ns > since_ns);
        self.summed.retain(|sum| sum.until_ns > since_ns);
        self
    }
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
    fn what_is_written_comes_back_and_what_is_not_there_is_empty() {
        let directory = tempfile::tempdir().unwrap();
        let read = || Context::read(directory.path()).unwrap();
        assert_eq!(read(), Context::default());
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
        };
        let context = Context {
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
            summed: vec![Summed { buckets: vec![7, 300], ..Summed::default() }],
        };
        context.write(directory.path(), &BTreeMap::new()).unwrap();
        assert_eq!(read(), context);
        let later = context.clone().since(10);
        assert_eq!((later.calls.len(), later.commits.len(), later.cpu_times.len()), (0, 0, 1));
        assert_eq!(context.clone().since(0).calls.len(), 2);
        let shifted = context.clone().counted_from(2);
        assert_eq!((shifted.calls[0].begin_ns, shifted.calls[0].end_ns), (-7, Some(7)));
        assert_eq!([&shifted.files[0], &shifted.files[1]].map(|f| f.since_ns), [Some(3), None]);
        let of_commit = (shifted.commits[0].started_ns, shifted.commits[0].logging_ns);
        assert_eq!((of_commit, shifted.cpu_times[0].until_ns), ((-1, Some(2)), 97));
        assert_eq!(shifted.summed[0].until_ns, -2);
        std::fs::write(directory.path().join("calls.parquet"), "PAR1").unwrap();
        assert!(Context::read(directory.path()).is_err());
    }
}

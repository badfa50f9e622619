//! A workload as data: one *program* is what one process of the battery does to
//! its file, in fio's words. The battery of Kridle & McKusick (1983, appendix A)
//! is a list of programs, and so is a user's own TOML file.
//!
//! Non-goals: how a request gets to the device (engines), when to repeat (plans).

pub use crate::engine::EngineKind;
use crate::engine::Operation;
use crate::engine::names_where;
use crate::named::named;
use crate::units::{self, UnitError};
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

named! {
    /// What a program does to its file; fio's `--rw`, and the paper's `rewrite`.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
    )]
    #[serde(rename_all = "lowercase")]
    pub enum Access {
        /// Read an existing file from start to end (`open(f, O_RDONLY)`).
        #[default]
        Read = "read",
        /// Remove the file, create it anew and write it from start to end (`creat(f, 0666)`).
        Write = "write",
        /// Overwrite an existing file from start to end (`open(f, O_RDWR)`).
        Rewrite = "rewrite",
        /// Read and overwrite an existing file from start to end, mixed by `rwmixread`.
        Rw = "rw",
        /// Read the blocks of an existing file in random order, each once.
        RandRead = "randread",
        /// Overwrite the blocks of an existing file in random order, each once.
        RandWrite = "randwrite",
        /// As the two before it, mixed by `rwmixread`.
        RandRw = "randrw",
    }
}

impl Access {
    /// Whether anything is written.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::RandRead)
    }

    /// Whether anything is read.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Rw | Self::RandRead | Self::RandRw)
    }

    /// Whether the file is removed before each pass and made anew in it.
    pub fn creates(self) -> bool {
        self == Self::Write
    }

    /// Whether offsets are drawn at random.
    pub fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandRw)
    }
}

named! {
    /// What a compute-and-test loop computes with. Bucher & Hayes (1980, section 2) found the CPU
    /// overhead of I/O higher with vector loops, which lock the memory, than with scalar ones.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Arithmetic {
        /// Multiplications in registers alone.
        Register = "register",
        /// Multiplications of array elements one by one, in the first-level cache.
        Scalar = "scalar",
        /// Multiplications of whole vectors, in the second-level cache.
        Vector = "vector",
        /// Copying between arrays larger than the caches.
        Stream = "stream",
        /// Copying pages drawn at random from a large array into one place, as a read from the page
        /// cache does.
        Pages = "pages",
    }
}

/// How urgent a thread's requests are to the I/O scheduler (ioprio_set(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoPriority {
    /// Only where nobody else wants the device.
    Idle,
    /// The least of the usual ones.
    Lowest,
    /// Before all others.
    RealTime,
}

/// By what a writer sends its data on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sending {
    /// sync_file_range(2), which only begins.
    SyncFileRange,
    /// fdatasync(2).
    Fdatasync,
}

/// A writer that sends its data on in small portions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dribble {
    /// After so many bytes.
    pub every_bytes: u64,
    /// By what.
    pub by: Sending,
}

/// What a remedy changes in a writer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WriterChange {
    /// It sends its data on in portions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dribble: Option<Dribble>,
    /// It writes past the page cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// Its requests have another priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<IoPriority>,
}

named! {
    /// How a pass accounts for CPU time.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Account {
        /// All CPUs' time less idle, stolen and other programs' time; needs no pass of its own.
        #[default]
        Difference = "difference",
        /// Idle-priority loops on every CPU, in passes of their own.
        IdleLoad = "idle-load",
        /// A trace of every switch and interrupt, in passes of its own.
        Trace = "trace",
        /// No account of CPU time: the block layer's requests are captured, in passes of their own.
        Requests = "requests",
    }
}

/// One program: a stream of requests to one file a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What the row is called.
    pub name: String,
    /// What it does.
    pub rw: Access,
    /// Bytes a request.
    #[serde(default = "default_bs", deserialize_with = "size", serialize_with = "shown_size")]
    pub bs: u64,
    /// Bytes of each job's file; the plan's default where absent.
    #[serde(default, deserialize_with = "optional_size", serialize_with = "shown_optional_size")]
    pub size: Option<u64>,
    /// Requests that each job keeps outstanding.
    #[serde(default = "one")]
    pub iodepth: u32,
    /// Jobs at once on each drive, each with its own file.
    #[serde(default = "one")]
    pub numjobs: u32,
    /// O_DIRECT: past the page cache.
    #[serde(default)]
    pub direct: bool,
    /// fsync(2) after this many writes; 0 never (but see the plan's final fdatasync).
    #[serde(default)]
    pub fsync: u32,
    /// fdatasync(2) after this many writes; 0 never.
    #[serde(default)]
    pub fdatasync: u32,
    /// Stop after this time, even if the file is not done.
    #[serde(default, deserialize_with = "optional_time", serialize_with = "shown_optional_time")]
    pub runtime: Option<Duration>,
    /// Go on until `runtime` is over, starting anew at the file's end.
    #[serde(default)]
    pub time_based: bool,
    /// Per cent of a mixed program's requests that read.
    #[serde(default = "fifty")]
    pub rwmixread: u8,
    /// Requests a second of each job, sent on schedule whether or not the earlier ones are
    /// completed (open loop); as fast as possible where absent.
    #[serde(default)]
    pub rate_iops: Option<f64>,
    /// By which interface; `psync`, or `io_uring` where `iodepth` is above 1, where absent.
    #[serde(default)]
    pub ioengine: Option<EngineKind>,
}

fn default_bs() -> u64 {
    4096
}
fn one() -> u32 {
    1
}
fn fifty() -> u8 {
    50
}

/// A size as a number of bytes or as a text with its unit.
fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum NumberOrText {
        Number(u64),
        Text(String),
    }
    match NumberOrText::deserialize(deserializer)? {
        NumberOrText::Number(0) => Err(serde::de::Error::custom("a size of 0 is out of range")),
        NumberOrText::Number(bytes) => Ok(bytes),
        NumberOrText::Text(text) => {
            units::parse_size_above_zero(&text).map_err(serde::de::Error::custom)
        }
    }
}

fn optional_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    /// A size that is there.
    #[derive(Deserialize)]
    struct Size(#[serde(deserialize_with = "size")] u64);
    Ok(Option::<Size>::deserialize(deserializer)?.map(|size| size.0))
}

fn optional_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| units::parse_time(&text).map_err(serde::de::Error::custom)).transpose()
}

fn shown_size<S: serde::Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&units::show_size(*bytes))
}

fn shown_optional_size<S: serde::Serializer>(
    bytes: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    bytes.map(units::show_size).serialize(serializer)
}

fn shown_optional_time<S: serde::Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(|t| format!("{}ns", t.as_nanos())).serialize(serializer)
}

/// Why a program cannot be run as it is written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum WorkloadError {
    #[error("it is not a list of programs: {0}")]
    Syntax(String),
    #[error("program {program}: {option} {problem}")]
    Value { program: String, option: &'static str, problem: String },
    #[error(transparent)]
    Unit(#[from] UnitError),
}

/// Whether it is wrong, the option at fault, and what is wrong with it.
type Fault = (bool, &'static str, String);

impl Program {
    /// A program with fio's defaults: 4 KiB blocks, one job, depth 1, buffered.
    pub fn new(name: impl Into<String>, rw: Access) -> Self {
        Self {
            name: name.into(),
            rw,
            bs: default_bs(),
            size: None,
            iodepth: one(),
            numjobs: one(),
            direct: false,
            fsync: 0,
            fdatasync: 0,
            runtime: None,
            time_based: false,
            rwmixread: fifty(),
            rate_iops: None,
            ioengine: None,
        }
    }

    /// The engine that will serve it.
    pub fn engine(&self) -> EngineKind {
        self.ioengine.unwrap_or(if self.iodepth > 1 {
            EngineKind::IoUring
        } else {
            EngineKind::Psync
        })
    }

    /// The sync between its writes, and after how many of them; none where there is none.
    pub fn sync(&self) -> Option<(Operation, u32)> {
        let syncs = [(Operation::Fsync, self.fsync), (Operation::Fdatasync, self.fdatasync)];
        syncs.into_iter().find(|(_, writes)| *writes > 0)
    }

    /// Checks what the types cannot.
    /// Errors: the first value that makes no sense, with the remedy.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let mut faults = self.faults().into_iter().chain(self.engine_faults());
        match faults.find(|(wrong, _, _)| *wrong) {
            Some((_, option, problem)) => {
                Err(WorkloadError::Value { program: self.name.clone(), option, problem })
            }
            None => Ok(()),
        }
    }

    /// What can be wrong with the numbers.
    fn faults(&self) -> [Fault; 10] {
        [
            (self.name.trim().is_empty(), "name", "is empty; give the row a name".into()),
            (self.bs == 0 || self.bs > 1 << 30, "bs", "must be from 1 byte to 1g".into()),
            (
                self.direct && !self.bs.is_multiple_of(512),
                "bs",
                format!("is {}, but direct needs a multiple of 512", self.bs),
            ),
            (
                self.size.is_some_and(|size| size < self.bs),
                "size",
                format!("is smaller than one block of {}", units::show_size(self.bs)),
            ),
            (self.iodepth == 0 || self.iodepth > 4096, "iodepth", "must be from 1 to 4096".into()),
            (self.numjobs == 0 || self.numjobs > 512, "numjobs", "must be from 1 to 512".into()),
            (self.rwmixread > 100, "rwmixread", "must be a percentage from 0 to 100".into()),
            (
                self.rate_iops.is_some_and(|rate| !(rate > 0.0 && rate <= 1e8)),
                "rate_iops",
                "must be above 0 and at most 1e8".into(),
            ),
            (
                self.time_based && self.runtime.is_none(),
                "time_based",
                "needs a runtime, for example 10s".into(),
            ),
            (
                self.fsync > 0 && self.fdatasync > 0,
                "fdatasync",
                "and fsync are both given; leave one out or make two programs".into(),
            ),
        ]
    }

    /// Whether the engine fits what is asked of it, by the table of engines.
    fn engine_faults(&self) -> [Fault; 5] {
        let engine = self.engine().facts();
        let name = engine.name;
        let serves = |operation| engine.serves.contains(&operation);
        let because = |reason: Option<&str>| reason.unwrap_or_default().to_owned();
        [
            (
                !(serves(Operation::Read) && serves(Operation::Write)),
                "ioengine",
                format!("{name} only copies and cannot read or write; use psync"),
            ),
            (
                self.iodepth > 1 && !engine.overlaps,
                "iodepth",
                format!(
                    "above 1 needs an ioengine with overlapping requests ({}), not {name}",
                    names_where(|e| e.overlaps && e.kind != EngineKind::Null)
                ),
            ),
            (
                self.direct && engine.not_direct.is_some(),
                "ioengine",
                format!("{name} cannot be direct: {}", because(engine.not_direct)),
            ),
            (
                !self.direct && engine.not_buffered.is_some(),
                "ioengine",
                format!("{name} cannot be buffered: {}", because(engine.not_buffered)),
            ),
            (
                self.rw.creates() && engine.not_extending.is_some(),
                "ioengine",
                format!("{name} cannot make a file longer: {}", because(engine.not_extending)),
            ),
        ]
    }
}

/// A list of programs, and the order in which their rows are printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Battery {
    /// Names in the order of the printed rows; the order of running where empty.
    #[serde(default)]
    pub rows: Vec<String>,
    /// The programs in the order in which they run on each system.
    #[serde(rename = "program")]
    pub programs: Vec<Program>,
}

impl Battery {
    /// Reads and checks a battery in TOML.
    /// Errors: bad TOML, an unknown key, a value that makes no sense, two programs of one name,
    /// a row that names no program.
    pub fn from_toml(text: &str) -> Result<Self, WorkloadError> {
        let battery: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = 1 + before.map_or(0, |text| text.matches('\n').count());
            WorkloadError::Syntax(format!("line {line}: {}", error.message()))
        })?;
        battery.check()?;
        Ok(battery)
    }

    /// Checks each program, and that the names are unique and the rows exist.
    /// Errors: the first fault found.
    pub fn check(&self) -> Result<(), WorkloadError> {
        if self.programs.is_empty() {
            return Err(WorkloadError::Syntax("it contains no [[program]]".into()));
        }
        for (position, program) in self.programs.iter().enumerate() {
            program.check()?;
            if self.programs[..position].iter().any(|earlier| earlier.name == program.name) {
                return Err(WorkloadError::Value {
                    program: program.name.clone(),
                    option: "name",
                    problem: "is given twice; each row needs its own name".into(),
                });
            }
        }
        match self.rows.iter().find(|row| !self.programs.iter().any(|p| p.name == **row)) {
            Some(row) => {
                let problem =
                    format!("rows names \"{row}\", but there is no program with this name");
                Err(WorkloadError::Syntax(problem))
            }
            None => Ok(()),
        }
    }

    /// Program names in the order of the printed rows.
    pub fn row_order(&self) -> Vec<String> {
        if self.rows.is_empty() {
            self.programs.iter().map(|p| p.name.clone()).collect()
        } else {
            self.rows.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Battery::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn a_program_file_uses_fios_words() {
        let battery = Battery::from_toml(
            "[[program]]\nname = \"mixed\"\nrw = \"randrw\"\nbs = \"16KiB\"\niodepth = 8\n\
             runtime = \"5s\"\nrwmixread = 70\n",
        )
        .unwrap();
        let program = &battery.programs[0];
        assert_eq!((program.bs, program.iodepth, program.rwmixread), (16384, 8, 70));
        assert_eq!(program.engine(), EngineKind::IoUring);
        assert_eq!(program.runtime, Some(Duration::from_secs(5)));
        assert_eq!(battery.row_order(), ["mixed"]);
    }

    #[test]
    fn bad_files_name_the_key_and_the_remedy() {
        let unknown = problem("[[program]]\nname = \"a\"\nrw = \"read\"\nblocksize = 4096\n");
        assert!(unknown.contains("blocksize") && unknown.contains("line 4"), "{unknown}");
        assert!(problem("[[program]]\nname=\"a\"\nrw=\"scan\"\n").contains("randread"));
        assert!(problem("program = []").contains("no [[program]]"));
        assert!(problem("[[program]]\nname=\"a\"\nrw=\"read\"\nruntime=\"5\"\n").contains("5s"));
        assert!(problem("rows=[\"b\"]\n[[program]]\nname=\"a\"\nrw=\"read\"\n").contains("\"b\""));
        let twice = "[[program]]\nname=\"a\"\nrw=\"read\"\n";
        assert!(problem(&format!("{twice}{twice}")).contains("twice"));
    }

    #[test]
    fn each_senseless_value_is_refused() {
        let good = Program::new("p", Access::Read);
        assert_eq!(good.check(), Ok(()));
        type Edit = fn(&mut Program);
        let edits: [(&str, Edit); 15] = [
            ("name", |p| p.name.clear()),
            ("bs", |p| p.bs = 0),
            ("bs", |p| (p.direct, p.bs) = (true, 1000)),
            ("size", |p| p.size = Some(100)),
            ("iodepth", |p| p.iodepth = 0),
            ("iodepth", |p| (p.iodepth, p.ioengine) = (4, Some(EngineKind::Psync))),
            ("numjobs", |p| p.numjobs = 0),
            ("rwmixread", |p| p.rwmixread = 101),
            ("rate_iops", |p| p.rate_iops = Some(f64::NAN)),
            ("time_based", |p| p.time_based = true),
            ("fdatasync", |p| (p.fsync, p.fdatasync) = (1, 8)),
            ("ioengine", |p| p.ioengine = Some(EngineKind::CopyFileRange)),
            ("ioengine", |p| (p.direct, p.ioengine) = (true, Some(EngineKind::Stdio))),
            ("ioengine", |p| p.ioengine = Some(EngineKind::IoUringIopoll)),
            ("ioengine", |p| (p.rw, p.ioengine) = (Access::Write, Some(EngineKind::Mmap))),
        ];
        for (option, edit) in edits {
            let mut program = good.clone();
            edit(&mut program);
            let error = program.check().unwrap_err();
            assert!(
                matches!(&error, WorkloadError::Value { option: o, .. } if *o == option),
                "{error}"
            );
        }
    }

    #[test]
    fn names_are_those_of_the_files() {
        for (access, name) in Access::ALL.iter().copied() {
            assert_eq!(serde_json::to_value(access).unwrap(), name);
            assert_eq!(access.name(), name);
        }
        for (kind, name) in Arithmetic::ALL.iter().copied() {
            assert_eq!((serde_json::to_value(kind).unwrap(), kind.name()), (name.into(), name));
        }
    }
}

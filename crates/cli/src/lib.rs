//! The one definition of commands and options, from which the parser, `--help`, the man page, the
//! completions and docs/cli.md are made. Names are fio's (`--rw --bs`) and hyperfine's (`--runs`).
#![forbid(unsafe_code)]

mod calibrate;
mod capture;
mod compare;
mod curve;
mod device;
mod exit_codes;
mod explore;
pub mod fio;
mod fleet;
mod help;
mod history;
mod identity;
mod measure;
mod moment;
#[cfg(test)]
mod one_meaning;
mod output;
mod overview;
mod papers;
mod profile;
mod record;
mod replay;
mod report;
mod response;
mod rollup;
mod rounds;
mod runs;
mod simulate;
mod sql;
mod storm;
mod survey;
mod sync;
mod top;
mod trace;
mod watch;
mod whatif;

pub use self::capture::{CaptureMethod, CaptureOptions};
pub use ::capture::condition::Condition;
pub use calibrate::CalibrateOptions;
use clap::{Args, Parser, Subcommand};
pub use compare::CompareOptions;
pub use curve::CurveOptions;
pub use device::DeviceOptions;
pub use explore::ExploreOptions;
use fio::zero_or_one;
pub use fleet::FleetOptions;
use help::{DOCTOR_HELP, OVERHEAD_HELP, TARGET_HELP, export_help, import_help};
pub use history::{HistoryOptions, Point, PointSpan};
pub use identity::IdentityOptions;
pub use measure::MeasureOptions;
use model::engine::ENGINES;
use model::seam::Operation;
use model::units;
use model::workload::{Access, Arithmetic, Battery, EngineKind};
pub use moment::Moment;
pub use output::{Format, OutputOptions};
pub use papers::{Paper, PapersOptions};
pub use profile::{ProfileOptions, SynthesizeOptions};
pub use record::RecordOptions;
pub use replay::ReplayOptions;
pub use report::ReportOptions;
pub use response::ResponseOptions;
pub use rollup::{Part, RollupOptions};
pub use rounds::RoundsOptions;
pub use runs::{RunsCommand, RunsOptions};
pub use simulate::{Arrivals, ModelReplayOptions, SimulateOptions};
pub use sql::{SqlEngine, SqlOptions};
use std::path::PathBuf;
use std::time::Duration;
pub use storm::StormOptions;
pub use survey::SurveyOptions;
pub use sync::SyncOptions;
pub use top::TopOptions;
pub use trace::{ReadAs, TraceOptions};
pub use watch::WatchOptions;
pub use whatif::WhatifOptions;

/// A storage performance laboratory: measures a disk subsystem, traces its requests, explains where
/// their time went, and predicts what a change would do.
#[derive(Debug, Parser)]
#[command(name = "lbolt", version, arg_required_else_help = true, max_term_width = 100,
    override_help = overview::overview(), mut_subcommands(exit_codes::with_exit_codes))]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Five answers about this machine's storage, in 4 min.
    Survey(SurveyOptions),
    /// Throughput of files, and the CPU time it takes.
    Throughput(Box<ThroughputOptions>),
    /// CPU cost per call and per byte of 22 I/O interfaces.
    Overhead(Box<OverheadOptions>),
    /// Latency against IOPS, up to the knee and beyond.
    Curve(CurveOptions),
    /// Cost of a durable write, by the kernel's methods.
    Sync(SyncOptions),
    /// What others suffer during a sync, and what helps.
    Storm(Box<StormOptions>),
    /// Trace every request, and say who waited for whom.
    Record(RecordOptions),
    /// The same for weeks, minute by minute, with incidents.
    Watch(WatchOptions),
    /// Live: disk activity, and who waits for whom.
    Top(TopOptions),
    /// The part of `watch` and `top` that captures.
    #[command(hide = true)]
    CapturePart,
    /// Response times of a trace, and who waited for whom.
    Response(ResponseOptions),
    /// Minutes of many runs, watches or hosts in one file.
    Rollup(RollupOptions),
    /// Many hosts: which lost most, to what, since when.
    Fleet(FleetOptions),
    /// Views of traces and rollups, for DuckDB and Spark.
    Sql(SqlOptions),
    /// Replay a trace on a modelled disk subsystem.
    Simulate(Box<SimulateOptions>),
    /// Predict what a change would do to a trace.
    Whatif(Box<WhatifOptions>),
    /// Measure a device's profile, for the models.
    Calibrate(Box<CalibrateOptions>),
    /// Serve a modelled drive as a block device.
    Device(DeviceOptions),
    /// The part of `device` that serves.
    #[command(hide = true)]
    DevicePart,
    /// The part that cleans up where lbolt is killed.
    #[command(hide = true)]
    CaretakerPart,
    /// Repeat a trace's requests on a device or a file.
    Replay(Box<ReplayOptions>),
    /// Describe a trace in numbers: sizes, locality, bursts.
    Profile(ProfileOptions),
    /// Make a trace from such a description.
    Synthesize(SynthesizeOptions),
    /// The papers' tables beside what the models give.
    Papers(PapersOptions),
    /// Turn another program's trace into a run.
    Import(ImportOptions),
    /// Write a trace in another program's format.
    Export(ExportOptions),
    /// A run as one self-contained HTML page.
    Report(ReportOptions),
    /// Explore a trace in the browser, down to one request.
    Explore(ExploreOptions),
    /// What differs between runs, beyond the noise.
    Compare(CompareOptions),
    /// What a watch kept: what was bad, when, and why.
    History(Box<HistoryOptions>),
    /// List, show or remove kept runs.
    Runs(RunsOptions),
    /// What lbolt can do here, and how to enable the rest.
    Doctor(DoctorOptions),
}

/// `lbolt throughput`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = TARGET_HELP,
    mut_arg("all", |arg| arg.conflicts_with_all(["against", "abab"])))]
pub struct ThroughputOptions {
    /// What to measure: a directory, a block device,
    /// `fresh:FS[,block=…][,size=…][,drives=…][,at=…][,options=…]`, or
    /// `model:NAME[,drives=…][,block=…][,KEY=VALUE]…`.
    #[arg(required_unless_present = "against", value_name = "TARGET")]
    pub targets: Vec<String>,

    /// Access of each job; a list makes one row per access. Without --rw, the battery of 1983 runs.
    /// `write` creates its file; on a block device it overwrites in place, like `rewrite`.
    #[arg(long, value_delimiter = ',', value_parser = access(), help_heading = "Workload")]
    pub rw: Vec<Access>,
    /// Request size; a list makes one row per size [default: 4k].
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = size, requires = "rw",
        help_heading = "Workload")]
    pub bs: Vec<u64>,
    /// Size of each job's file [default: chosen from memory and free space, and printed].
    #[arg(long, value_parser = size, help_heading = "Workload")]
    pub size: Option<u64>,
    /// Why the size is what it is, where not the user chose it.
    #[arg(skip)]
    pub size_reason: Option<String>,
    /// Queue depth: requests that each job keeps outstanding; a list makes one row per depth
    /// [default: 1].
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        requires = "rw",
        help_heading = "Workload"
    )]
    pub iodepth: Vec<u32>,
    /// Concurrent jobs on each drive, each with its own file; a list makes one row per number
    /// [default: 1].
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        requires = "rw",
        help_heading = "Workload"
    )]
    pub numjobs: Vec<u32>,
    /// Use O_DIRECT: bypass the page cache.
    #[arg(long, value_name = "0|1", num_args = 0..=1, require_equals = true, default_value = "0",
        default_missing_value = "1", value_parser = zero_or_one, action = clap::ArgAction::Set,
        hide_default_value = true, hide_possible_values = true, help_heading = "Workload")]
    pub direct: bool,
    /// Call fsync(2) after every N writes of a job; sync latencies get rows of their own.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "rw", help_heading = "Workload")]
    pub fsync: u32,
    /// Call fdatasync(2) after every N writes of a job; otherwise like --fsync.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        requires = "rw",
        conflicts_with = "fsync",
        help_heading = "Workload"
    )]
    pub fdatasync: u32,
    /// Stop each pass after this time, for example 10s.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "rw",
        help_heading = "Workload")]
    pub runtime: Option<Duration>,
    /// Continue until --runtime is over; at the end of the file, start again from its beginning.
    #[arg(
        long = "time_based",
        visible_alias = "time-based",
        value_name = "0|1",
        num_args = 0..=1,
        require_equals = true,
        default_value = "0",
        default_missing_value = "1",
        value_parser = zero_or_one,
        action = clap::ArgAction::Set,
        hide_default_value = true,
        requires = "runtime",
        help_heading = "Workload"
    )]
    pub time_based: bool,
    /// Percentage of reads in randrw.
    #[arg(long, value_name = "PERCENT", default_value_t = 50,
        value_parser = clap::value_parser!(u8).range(0..=100), requires = "rw",
        help_heading = "Workload")]
    pub rwmixread: u8,
    /// IOPS of each job, sent on schedule (open loop); latency counts from the intended start.
    #[arg(
        long = "rate_iops",
        visible_alias = "rate-iops",
        value_name = "RATE",
        requires = "rw",
        help_heading = "Workload"
    )]
    pub rate_iops: Option<f64>,
    /// I/O interface [default: psync; io_uring if --iodepth is above 1; sync for the battery].
    #[arg(long, value_parser = engine(), requires = "rw", help_heading = "Workload")]
    pub ioengine: Option<EngineKind>,
    /// Your own list of programs (TOML), in place of the battery.
    #[arg(long, value_name = "FILE", conflicts_with = "rw", help_heading = "Workload")]
    pub programs: Option<PathBuf>,

    /// Warm-up passes, not counted [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000),
        help_heading = "Passes")]
    pub warmup: Option<u32>,
    /// Counted passes: exactly N, unless --max-time is over before [default: 5, then more until
    /// --precision or --max-time is reached; 10 with --abab].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Add passes to a cell until the half-width of its rate's 95 % confidence interval is at most
    /// this percentage of the rate. A rate with a wider interval is marked [default: 10%].
    #[arg(long, value_name = "PERCENT", value_parser = percent,
        conflicts_with_all = ["runs", "abab", "as_published"], help_heading = "Passes")]
    pub precision: Option<f64>,
    /// Passes that there are even when the time is over, where not all that are planned.
    #[arg(skip)]
    pub fewest: Option<u32>,
    /// Time per cell (a program on a target), not of the whole run: stop adding passes to a cell
    /// after it, but not before 5, or 1 with --runs; with --abab, stop the 10 pairs, but not before
    /// 2 [default: 60s; none with --abab].
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "as_published",
        help_heading = "Passes")]
    pub max_time: Option<Duration>,
    /// Do not empty the caches before each pass.
    #[arg(long, help_heading = "Passes")]
    pub no_cold: bool,
    /// Do not end writing passes with fdatasync.
    #[arg(long, help_heading = "Passes")]
    pub no_sync: bool,
    /// Use the paper's procedure: no fdatasync, no cold caches, 1 warm-up and 2 counted passes.
    #[arg(long, conflicts_with_all = ["warmup", "runs"], help_heading = "Passes")]
    pub as_published: bool,
    /// Exit with code 5 if a cell's passes drift or spread by more than PERCENT (if it is left out:
    /// 10%).
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, require_equals = true,
        default_missing_value = "10%", value_parser = percent, help_heading = "Passes")]
    pub steady: Option<f64>,
    /// Do not measure the ceiling (the highest rate of the path).
    #[arg(long, help_heading = "Passes")]
    pub no_ceiling: bool,
    /// Also trace the requests of the counted passes, and show where each operation's time went.
    #[arg(long, help_heading = "Passes")]
    pub trace: bool,

    /// Repeat the plan of this run, on its targets or on TARGET, and print the differences (lbolt
    /// compare).
    #[arg(long, value_name = "RUN", help_heading = "Comparison", conflicts_with_all =
        ["rw", "programs", "size", "direct", "no_cold", "no_sync", "as_published"])]
    pub against: Option<String>,
    /// Measure two TARGETs in alternating passes (ABAB) and compare them pair by pair. The same
    /// TARGET twice shows what differs by chance. A finished run cannot be interleaved: name its
    /// target again.
    #[arg(long, conflicts_with = "against", help_heading = "Comparison")]
    pub abab: bool,
    /// With --against or --abab: exit with code 4 if B is worse by this much or more, else with
    /// code 7 if that is not sure [default: 5%, without exit code 4 or 7].
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Comparison")]
    pub fail_on: Option<f64>,
    /// The programs of the run that is run again.
    #[arg(skip)]
    pub stored: Option<Battery>,

    /// Permission, seed, and what is printed.
    #[command(flatten)]
    pub measure: MeasureOptions,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// `lbolt overhead`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = OVERHEAD_HELP, mut_arg("min_runs", |arg| {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(help.replace("[default: 3]", "[default: 4]"))
}))]
pub struct OverheadOptions {
    /// Where to measure: a directory, a block device, or
    /// `fresh:FS[,block=…][,size=…][,at=…][,options=…]`.
    #[arg(value_name = "TARGET")]
    pub target: String,

    /// I/O interfaces [default: all].
    #[arg(long, value_delimiter = ',', value_parser = engine(), hide_possible_values = true,
        help_heading = "Sweep")]
    pub ioengine: Vec<EngineKind>,
    /// Access of each channel: read, rewrite, rw, randread, randwrite, randrw [default: randread
    /// and randwrite; randrw for copies].
    #[arg(long, value_delimiter = ',', value_parser = access(), hide_possible_values = true,
        help_heading = "Sweep")]
    pub rw: Vec<Access>,
    /// Through the page cache (0), with O_DIRECT (1), or both [default: 0,1].
    #[arg(long, value_name = "0|1", value_delimiter = ',', value_parser = zero_or_one,
        help_heading = "Sweep")]
    pub direct: Vec<bool>,
    /// B: request size [default: 512 to 1m; 4k to 1m with O_DIRECT].
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = size,
        help_heading = "Sweep")]
    pub bs: Vec<u64>,
    /// N: channels, each with one outstanding request [default: 1; also 4, 16 and 32 at 4k].
    #[arg(long, visible_alias = "channels", value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Sweep")]
    pub iodepth: Vec<u32>,
    /// Without computation during I/O (0), with the compute-and-test loop (1), or both [default:
    /// 0,1].
    #[arg(long, value_name = "0|1", value_delimiter = ',', value_parser = zero_or_one,
        help_heading = "Sweep")]
    pub overlap: Vec<bool>,
    /// Computing time between two tests of the channels [default: 10us and 20us; 2us to 1ms where
    /// the rate is followed].
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = time,
        help_heading = "Sweep")]
    pub test_interval: Vec<Duration>,
    /// Kind of computation.
    #[arg(long, value_delimiter = ',', value_parser = arithmetic(), default_value = "scalar",
        help_heading = "Sweep")]
    pub compute: Vec<Arithmetic>,
    /// Accounts of total CPU time, in addition to the difference account [default: both, at 4k].
    #[arg(long, value_name = "ACCOUNT", value_delimiter = ',',
        value_parser = ["idle-load", "trace", "none"], help_heading = "Sweep")]
    pub account: Vec<String>,
    /// Measure every interface with every access, size and number of channels, all three accounts,
    /// and computation with random access. --dry-run prints how long it takes.
    #[arg(long, help_heading = "Sweep")]
    pub full: bool,

    /// Size of the file that holds all requests; each path has one file.
    #[arg(long, value_parser = size, default_value = "64m", help_heading = "Passes")]
    pub size: u64,
    /// Warm-up rounds over all cells, not counted.
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=1000), help_heading = "Passes")]
    pub warmup: u32,
    /// How often the cells take turns, and count.
    #[command(flatten)]
    pub rounds: RoundsOptions,
    /// Time of each pass [default: 25ms through the page cache, 50ms with O_DIRECT, 60ms with
    /// idle-priority loops or a trace].
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Passes")]
    pub runtime: Option<Duration>,
    /// Also trace the requests, in separate passes, and show where each operation's time went (for
    /// CPU time use --account trace).
    #[arg(long, help_heading = "Passes")]
    pub trace: bool,
    /// Rotation speed of the disk in rev/min: times are then also printed as revolutions, as in
    /// 1980.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(60..=100_000))]
    pub rpm: Option<u32>,
    /// Permission, seed, and what is printed.
    #[command(flatten)]
    pub measure: MeasureOptions,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Of which files.
const TRACE_FILES: &str = "\
    Files of one trace, plain or compressed (gz, bz2, xz, zst). blktrace's files of several CPUs \
    are merged by time; other files are read in order";

/// `lbolt import`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = import_help(), mut_arg("traces", |arg| arg.help(TRACE_FILES)))]
pub struct ImportOptions {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Whose it is.
    #[command(flatten)]
    pub identity: IdentityOptions,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// `lbolt export`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = export_help())]
pub struct ExportOptions {
    /// The trace.
    #[command(flatten)]
    pub trace: TraceOptions,
    /// Format to write.
    #[arg(long, value_name = "FORMAT")]
    pub output_format: String,
    /// File to write, or the start of its name if the format has one file per CPU. The file appears
    /// when it is complete. It gets the trace's read permissions (less the umask).
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
    /// Include lbolt's own writes during the capture.
    #[arg(long)]
    pub with_own: bool,
}

/// `lbolt doctor`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = DOCTOR_HELP)]
pub struct DoctorOptions {
    /// More directories to search for leftovers of killed runs that no note records; the current
    /// directory and the directory of the runs are always searched.
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// Only remove the leftovers of killed runs.
    #[arg(long)]
    pub clean: bool,
    /// Directory that holds the runs.
    #[arg(long, value_name = "RUNS", default_value = "lbolt-runs", env = "LBOLT_RUNS")]
    pub runs_dir: PathBuf,
}

fn size(text: &str) -> Result<u64, String> {
    units::parse_size_above_zero(text).map_err(|e| e.to_string())
}

/// `5%` or `5`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let percent = number.parse().ok().filter(|p: &f64| p.is_finite() && *p > 0.0);
    percent.ok_or_else(|| format!("\"{text}\" is not a percentage above 0; write 10% or 2.5%"))
}

fn time(text: &str) -> Result<Duration, String> {
    units::parse_time(text).map_err(|e| e.to_string())
}

/// A parser of the names in a table, which clap lists in the help and suggests from.
fn named<T: Copy + Send + Sync + 'static>(
    table: &'static [(T, &'static str)],
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(table.iter().map(|(_, name)| *name)).try_map(move |name| {
        let found = table.iter().find(|(_, known)| *known == name);
        found.map(|(value, _)| *value).ok_or(format!("unknown name \"{name}\""))
    })
}

fn access() -> impl clap::builder::TypedValueParser<Value = Access> {
    named(Access::ALL)
}

/// The engines, each with its line in the long help. One that neither reads nor writes is known, so
/// that the check can say what is wrong with it, and not shown.
fn engine() -> impl clap::builder::TypedValueParser<Value = EngineKind> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
    let values = ENGINES.iter().map(|engine| {
        let is_hidden = !engine.kind.serves(Operation::Read);
        PossibleValue::new(engine.name).help(engine.meaning).hide(is_hidden)
    });
    PossibleValuesParser::new(values).try_map(|name| {
        let found = ENGINES.iter().find(|engine| engine.name == name);
        found.map(|engine| engine.kind).ok_or(format!("unknown name \"{name}\""))
    })
}

fn arithmetic() -> impl clap::builder::TypedValueParser<Value = Arithmetic> {
    named(Arithmetic::ALL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(words: &str) -> Result<Cli, String> {
        Cli::try_parse_from(words.split_whitespace()).map_err(|e| e.to_string())
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_is_understood() {
        let cli = parse(
            "lbolt throughput /tmp --rw read,randrw --bs 4k,8KiB --size 1g --iodepth 1,32 \
             --numjobs 2 --direct --fsync 8 --runtime 5s --time_based --rwmixread 70 --rate_iops \
             1000 --ioengine io_uring --warmup 0 --runs 3 --no-cold --no-sync --steady=5% \
             --no-ceiling --seed 3 --destroy /dev/x --dry-run --format json -o out --runs-dir r",
        )
        .unwrap();
        let Command::Throughput(options) = cli.command else { panic!() };
        assert_eq!(options.rw, [Access::Read, Access::RandRw]);
        assert_eq!(options.bs, [4096, 8192]);
        assert_eq!((options.rwmixread, options.fsync, options.steady), (70, 8, Some(5.0)));
        assert_eq!(options.fdatasync, 0);
        assert_eq!(options.runtime, Some(Duration::from_secs(5)));
        let words = "lbolt throughput . --steady --precision 2.5 --max-time 90s";
        let Command::Throughput(bare) = parse(words).unwrap().command else { panic!() };
        assert_eq!((bare.steady, bare.precision), (Some(10.0), Some(2.5)));
        assert_eq!(bare.max_time, Some(Duration::from_secs(90)));
    }

    #[test]
    fn bad_options_are_refused_with_the_option_and_the_remedy() {
        for (words, sentence) in [
            ("throughput", "TARGET"),
            ("throughput . --rw scan", "randread"),
            ("throughput . --rw read --bs 4q", "KiB"),
            ("throughput . --rw read --bs 0", "out of range"),
            ("throughput . --rw read --runtime 5", "5s"),
            ("throughput . --rw read --rwmixread 101", "--rwmixread"),
            ("throughput . --runs 0", "--runs"),
            ("throughput . --warmup 4294967295", "--warmup"),
            ("throughput . --steady=nan", "percentage above 0"),
            ("throughput . --steady=-5", "percentage above 0"),
            ("throughput . --steady=%", "percentage above 0"),
            ("throughput . --bs 4k", "--rw"),
            ("throughput . --rw write --fsync 1 --fdatasync 8", "cannot be used with"),
            ("throughput . --rw read --time_based", "--runtime"),
            ("throughput . --as-published --runs 3", "--runs"),
            ("throughput . --precision 5% --runs 3", "--runs"),
            ("throughput . --precision 0", "percentage above 0"),
            ("throughput . --max-time 5 --rw read", "5s"),
            ("throughput . --rw read --programs x", "--programs"),
            ("throughput . --size 4KB4", "unknown unit"),
            ("throughput . --format xml", "markdown"),
            ("throughput . --rw read --ioengine io_urng", "similar value exists: 'io_uring'"),
        ] {
            let error = parse(&format!("lbolt {words}")).unwrap_err();
            assert!(error.contains(sentence), "{words}: {error}");
        }
    }
}

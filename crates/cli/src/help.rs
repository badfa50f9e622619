//! What `--help` says at its end: what can be named where, and the exit codes.

/// Where notes lie.
pub(super) const DOCTOR_HELP: &str = "\
Notes record what a running lbolt must clean up, so that the leftovers of a killed run are found.
Only the writer of a note can change it: notes of root are in /var/lib/lbolt, notes of a user in
$XDG_STATE_HOME/lbolt or ~/.local/state/lbolt, otherwise in $XDG_RUNTIME_DIR/lbolt. LBOLT_STATE
names another directory. It must belong to you, and nobody else may be able to write to it or to
any directory above it.";

/// What the overhead experiment does, for `--help`.
pub(super) const OVERHEAD_HELP: &str = "\
A list replaces the values of its axis in every sweep of the plan. `lbolt throughput --help`
describes the interfaces and the targets.

Kinds of computation (--compute): register (multiplications in registers), scalar (single array
elements, in the L1 cache), vector (whole vectors, in the L2 cache), stream (copies in memory),
pages (copies of random pages in 64 MiB).

Accounts of CPU time: own (the job's thread), difference (all CPUs minus idle time, stolen time and
other programs), idle-load (idle-priority loops on every CPU, in separate passes), trace (every
context switch and interrupt, by BPF, in separate passes), loops (equation 2 of Bucher & Hayes,
1980).";

/// What `record` does, for `--help`.
pub(super) const RECORD_HELP: &str = "\
Each request is one row of requests.parquet: process, device, sector, size, and the times when it
was queued, allocated, issued to the driver and completed. With BPF, steps are matched by the
kernel's pointer to the request, never by sector. The parts of a flush sequence share one parent.
Lost events are counted, also in the file's footer.

lbolt record -- fio job.fio              while fio runs
lbolt record -d vda --duration 10s       one disk, for ten seconds
lbolt record --keep 60s --when 'p99>50ms'
                                         flight recorder: in memory, until the p99 of one second
                                         exceeds 50 ms";

/// What `watch` does, for `--help`.
pub(super) const WATCH_HELP: &str = "\
For each minute, the history keeps counts and latencies of requests and calls by device, operation,
role and file system; the time that each role lost, and to which role; and the kernel's counters of
each disk. `lbolt history` shows the minutes, `lbolt history --incidents` the incidents.

lbolt watch                              all devices, until stopped, in /var/lib/lbolt/history
lbolt watch --when 'p99(fsync)>20ms'     also keep the seconds around each such second, as a run
lbolt watch --prometheus 127.0.0.1:9184  also serve histograms for Prometheus
lbolt watch --otlp http://127.0.0.1:4318 also export metrics to an OpenTelemetry Collector";

/// Help with each paragraph as one line, which clap wraps to the terminal. Examples and lists keep
/// their lines: they have columns, or begin with a command or a space.
pub(super) fn paragraphs(help: &str) -> String {
    let is_listed = |line: &str| line.starts_with(' ') || line.starts_with("lbolt ");
    let one = |part: &str| match part.lines().any(|line| is_listed(line) || line.contains("  ")) {
        true => part.to_owned(),
        false => part.replace('\n', " "),
    };
    help.split("\n\n").map(one).collect::<Vec<_>>().join("\n\n")
}

/// The formats of the help, each with its line.
fn formats(lines: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    lines.map(|(name, meaning)| format!("  {name:18}{meaning}\n")).collect()
}

/// What can be exported to, for `--help`.
pub(super) fn export_help() -> String {
    let known = formats(formats::export::FORMATS.iter().map(|f| (f.name(), f.meaning())));
    let note = "Data that the format cannot represent is left out, counted, and reported.";
    format!("Formats:\n{known}\n{note}")
}

/// What can be imported, for `--help`.
pub(super) fn import_help() -> String {
    let known = formats(formats::import::FORMATS.iter().map(|f| (f.name(), f.meaning())));
    let note = "Fields that a format does not have are null in the records, never zero. Unreadable \
                lines and\nrecords are counted and skipped.";
    format!("Formats:\n{known}\n{note}")
}

/// For `lbolt response --help`.
pub(super) const RESPONSE_HELP: &str = "\
lbolt's own writes during the capture are left out. Data that the trace does not have is printed as
n.m. (not measured).";

/// What a target can be, for `--help`.
pub(super) const TARGET_HELP: &str = "\
Targets:
  DIR           files in a scratch directory of lbolt; caches are emptied with fsync and
                POSIX_FADV_DONTNEED
  /dev/…        a block device; it is written only if --destroy repeats its name, and never while
                mounted, held or used for swap
  fresh:FS      a new file system on a loop device with direct I/O over an image file; everything
                is removed at the end. FS is ext4, ext4-bigalloc, xfs or btrfs, followed by any of
                  block=4k       block size of the file system
                  size=4g        size of each drive's image
                  drives=2       number of drives that run concurrently, one job each
                  at=DIR         directory of the image; at=DIR1+DIR2 gives each drive its own
                  options=a+b    mount options
                A repeated key makes one column per value:
                  fresh:xfs,block=4k,block=8k,drives=1,drives=2
  model:NAME    a modelled machine, in virtual time: a name of lbolt simulate --list-models or the
                path of a profile, followed by any of
                  drives=2       number of drives that run concurrently, one job each
                  block=4k       block size of the file system
                  KEY=VALUE      another value for a key of the model (lbolt simulate --show-model)

Sizes: k, m, g and Ki, KiB … are powers of two. kB, MB and GB are refused: they are powers of two in
fio, but powers of ten in the SI. Times need a unit. If an option of fio has another name here, the
error names it.";

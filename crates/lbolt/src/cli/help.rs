//! What `--help` says at its end: what can be named where, and the exit codes.

/// Where notes lie.
pub(super) const DOCTOR_HELP: &str = "\
What killed runs left is known by notes that lie where only their writer can write: root's in
/var/lib/lbolt, a user's in $XDG_STATE_HOME/lbolt or ~/.local/state/lbolt, else in
$XDG_RUNTIME_DIR/lbolt. LBOLT_STATE names another place, which must belong to the user, and where
nobody else may write in any directory above.";

/// What the overhead experiment does, for `--help`.
pub(super) const OVERHEAD_HELP: &str = "\
A list takes the place of that axis in every sweep of the plan. `lbolt throughput --help` lists the
interfaces with their meaning, and the targets.

Compute with: register (multiplications in registers), scalar (array elements one by one, in the
first-level cache), vector (whole vectors, in the second-level cache), stream (copies in memory), \
pages
(copies of pages from anywhere in 64 MiB).

Accounts of CPU time: own (the job's thread), difference (all CPUs less idle, stolen and other
programs), idle-load (loops of idle priority on every CPU in passes of their own), trace (every \
switch and interrupt by BPF, in passes of its own), loops (equation 2 of Bucher & Hayes, 1980).

Exit codes: 0 fine, 1 I/O error, 2 usage, 3 refused by the guard, 6 output not printed, 130 \
interrupted.";

/// What `record` does, for `--help`.
pub(super) const RECORD_HELP: &str = "\
Each request is one row of requests.parquet: when it was queued, allocated, handed to the driver \
and completed, by whom, where
and how much. Steps are matched by the kernel's own pointer to the request, never by sector. A \
flush sequence is rows of
one parent. What was lost is counted, in the file's footer too.

lbolt record -- fio job.fio              while fio runs
lbolt record -d vda --duration 10s       one disk, for ten seconds
lbolt record --keep 60s --when 'p99>50ms'
                                         in memory, until the 99th percentile of a second is above \
                                         50 ms

Exit codes: 0 fine, 1 I/O error or the command's failure, 2 usage, 6 output not printed, 130 \
interrupted.";

/// What `watch` does, for `--help`.
pub(super) const WATCH_HELP: &str = "\
Each minute is kept: how many requests and calls, how long they took, by device, operation, role \
and file system; who lost how much time to whom; what the kernel counts of each disk. `lbolt \
history` shows it, `lbolt history --incidents` what happened.

lbolt watch                              all devices, for good, into /var/lib/lbolt/history
lbolt watch --when 'p99(fsync)>20ms'     and the seconds around each second like that, as runs
lbolt watch --prometheus 127.0.0.1:9184  and histograms for Prometheus

Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed, 130 interrupted.";

/// The formats of the help, each with its line.
fn formats(lines: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    lines.map(|(name, meaning)| format!("  {name:18}{meaning}\n")).collect()
}

/// What can be exported to, for `--help`.
pub(super) fn export_help() -> String {
    let known = formats(trace::export::FORMATS.iter().map(|f| (f.name(), f.meaning())));
    format!(
        "Formats:\n{known}\nWhat a format cannot say is left out, counted and reported.\n\
         Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed, 130 interrupted."
    )
}

/// What can be imported, for `--help`.
pub(super) fn import_help() -> String {
    let known = formats(trace::import::FORMATS.iter().map(|f| (f.name(), f.meaning())));
    format!(
        "Formats:\n{known}\nWhat a format cannot tell is null in the records, never zero. Lines \
         and records that are not \
         understood are counted\nand passed over.\nExit codes: 0 fine, 1 I/O error, 2 usage, 6 \
         output not printed, 130 interrupted."
    )
}

/// For `lbolt response --help`.
pub(super) const RESPONSE_HELP: &str = "\
What lbolt itself wrote while it captured is left out. What a trace does not tell is n.m. (not \
measured).
Exit codes: 0 fine, 1 I/O error, 2 usage, 6 output not printed, 130 interrupted.";

/// What a target can be, for `--help`.
pub(super) const TARGET_HELP: &str = "\
Targets:
  DIR           files in a scratch directory of lbolt's own; caches are emptied by fsync and
                POSIX_FADV_DONTNEED
  /dev/…        a block device; it is written only when named again by --destroy, and never while
                mounted, held or used for swap
  fresh:FS      an image file, a loop device with direct I/O, mkfs, mount; nothing is left behind.
                FS is ext4, ext4-bigalloc, xfs or btrfs, followed by any of
                  block=4k       block size of the file system
                  size=4g        size of each drive's image
                  drives=2       drives that run at once, one job each
                  at=DIR         where the image lies; at=DIR1+DIR2 gives each drive its own
                  options=a+b    mount options
                A key that is given twice makes a column for each value:
                  fresh:xfs,block=4k,block=8k,drives=1,drives=2
  model:NAME    a modelled machine, in virtual time: a name of lbolt simulate --list-models or the \
  path of a
                profile, followed by any of
                  drives=2       drives that run at once, one job each
                  block=4k       block size of the file system
                  KEY=VALUE      another value for a key of the model (lbolt simulate --show-model)

Sizes: k, m, g and Ki, KiB … are powers of two; kB, MB, GB, which are powers of two to fio and of \
ten by the
SI, are refused. Times need a unit. Options of fio that have another name here are named in the \
error.
Exit codes: 0 fine, 1 I/O error, 2 usage, 3 refused by the guard, 5 not steady,
6 output not printed, 130 interrupted.";

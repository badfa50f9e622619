//! The remedies, a row each: its name, what it changes, what it does in a line, and how.

use super::{AS_IT_IS, Change, Kind, MountOption, NOTHING, PAGES_LEAST, Remedy, limit, numbers};
use Change::{Queue, Scheduler, Vm};
use model::workload::{Dribble, IoPriority, Sending, WriterChange};

macro_rules! remedies {
    ($($name:literal $kind:ident $meaning:literal { $($field:ident: $value:expr),* $(,)? })*) => {
        /// All remedies, those of the disk's queue first.
        pub const REMEDIES: [Remedy; 23] = [$(Remedy {
            name: $name,
            kind: Kind::$kind,
            meaning: $meaning,
            $($field: $value,)*
            ..NOTHING
        }),*];
    };
}

/// A writer that sends its data on in small portions.
const fn dribbling(by: Sending) -> WriterChange {
    WriterChange { dribble: Some(Dribble { every_bytes: 256 << 10, by }), ..AS_IT_IS }
}

remedies! {
    // The device alone orders its requests.
    "none-scheduler" Scheduler "no I/O scheduler: requests go to the device in arrival order" {
        settings: &[Scheduler("none")],
    }
    // Reads first, with a limit for writes: the 1986 paper's second suggestion.
    "mq-deadline" Scheduler "I/O scheduler mq-deadline: reads first, writes wait at most 5 s" {
        settings: &[Scheduler("mq-deadline")],
    }
    // Its two tunables decide how long a read waits for writes.
    "mq-deadline-strict" Scheduler "I/O scheduler mq-deadline: one write after every 16 reads" {
        settings: &[
            Scheduler("mq-deadline"),
            Queue("iosched/writes_starved", 16),
            Queue("iosched/fifo_batch", 1),
        ],
    }
    // Token pools by kind of request, sized by the latencies that are met.
    "kyber" Scheduler "I/O scheduler kyber: holds writes back to keep read latency low" {
        settings: &[Scheduler("kyber")],
    }
    // Budgets for processes, in sectors.
    "bfq" Scheduler "I/O scheduler bfq: gives each process a share of the device" {
        settings: &[Scheduler("bfq")],
    }
    // A short queue: nobody waits behind many, and nobody orders many.
    "few-requests" QueueLength "limit the disk's queue to 8 requests (nr_requests)" {
        settings: &[Queue("nr_requests", 8)],
    }
    // It counts as set by hand from then on, for which there is no undoing but the device's end.
    "wbt-tight" Throttling "throttle writeback to keep read latency at 1 ms (wbt_lat_usec)" {
        settings: &[Queue("wbt_lat_usec", 1000)],
    }
    // Some set it for the sake of throughput. It too counts as set by hand from then on.
    "wbt-off" Throttling "no writeback throttling (wbt_lat_usec 0)" {
        settings: &[Queue("wbt_lat_usec", 0)],
    }
    // Dribbling by the kernel: the 1986 paper's first suggestion.
    "dirty-early" DirtyPages
        "start writeback at a sixteenth of a period's dirty pages, or after 1 s" {
        settings: &[
            Vm("dirty_background_bytes", |place| (place.dirty_bytes / 16).max(PAGES_LEAST)),
            Vm("dirty_expire_centisecs", |_| 100),
            Vm("dirty_writeback_centisecs", |_| 50),
        ],
    }
    // The writer is held to the speed of the disk.
    "dirty-limit" DirtyPages "block the writer at a quarter of a period's dirty pages" {
        settings: &[
            Vm("dirty_background_bytes", |place| (place.dirty_bytes / 8).max(PAGES_LEAST)),
            Vm("dirty_bytes", |place| (place.dirty_bytes / 4).max(2 * PAGES_LEAST)),
        ],
    }
    // The kernel looks for old dirty pages often; how many there may be stays as it is.
    "writeback-often" DirtyPages
        "run writeback every half second, and write pages that are dirty for 1 s" {
        settings: &[Vm("dirty_expire_centisecs", |_| 100), Vm("dirty_writeback_centisecs", |_| 50)],
    }
    // Nothing is read that nobody requested: what is random gains, what is read in order loses.
    "read-ahead-off" ReadAhead "buffered reads use no read-ahead (read_ahead_kb 0)" {
        settings: &[Queue("read_ahead_kb", 0)],
    }
    // Fewer and larger reads of what is read in order.
    "read-ahead-large" ReadAhead
        "buffered reads use up to 2 MiB of read-ahead (read_ahead_kb 2048)" {
        settings: &[Queue("read_ahead_kb", 2048)],
    }
    // It is held by itself: its sync is stretched.
    "cgroup-limit" Group "limit the writer's cgroup to twice the rate at which it dirties pages" {
        group: |place| {
            let bytes_per_s = place.dirty_bytes as f64 * 2e9 / place.period_ns.max(1) as f64;
            let bytes_per_s = (bytes_per_s as u64).max(PAGES_LEAST);
            let limit_of = format!("{} {bytes_per_s}", numbers(place)?);
            limit("blkio.throttle.write_bps_device", limit_of)
        },
        by_hand: Some(
            "run the writer with: systemd-run -p IOWriteBandwidthMax=\"DEVICE RATE\" WRITER"
        ),
    }
    // A hundredth of the usual share. It needs a scheduler of its own.
    "cgroup-weight" Scheduler "give the writer's cgroup the lowest weight (I/O scheduler bfq)" {
        settings: &[Scheduler("bfq")],
        group: |_| limit("blkio.bfq.weight", "1".into()),
        by_hand: Some(
            "set the I/O scheduler bfq, and run the writer with: systemd-run -p IOWeight=1 WRITER"
        ),
    }
    // Each commit is smaller.
    "commit-often" Mount "commit the journal every second (mount -o commit=1)" {
        mount: Some(MountOption { set: "commit=1", otherwise: "commit=5" }),
        by_hand: Some("add commit=1 to the file system's options in /etc/fstab"),
    }
    // It is committed when a program asks for it, and seldom else.
    "commit-seldom" Mount "commit the journal every minute (mount -o commit=60)" {
        mount: Some(MountOption { set: "commit=60", otherwise: "commit=5" }),
        by_hand: Some("add commit=60 to the file system's options in /etc/fstab"),
    }
    // Times of files are written with something else, and not by themselves.
    "lazytime" Mount "keep file timestamps in memory (mount -o lazytime)" {
        mount: Some(MountOption { set: "lazytime", otherwise: "nolazytime" }),
        by_hand: Some("add lazytime to the file system's options in /etc/fstab"),
    }
    // ext4 has it from its mount on, and refuses to change it later: then it is not measured, with
    // the kernel's own words.
    "data-writeback" Mount "journal commits do not wait for file data (mount -o data=writeback)" {
        mount: Some(MountOption { set: "data=writeback", otherwise: "data=ordered" }),
        by_hand: Some("add data=writeback to the file system's options in /etc/fstab"),
    }
    // Dribbling by the writer: it begins, and waits for nothing. Data only: no metadata, no flush.
    "sync-file-range" Writer "the writer starts writeback after every 256 KiB" {
        writer: dribbling(Sending::SyncFileRange),
        in_program: Some(
            "call sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) after every 256 KiB"
        ),
    }
    // Small syncs in the place of a large one.
    "fdatasync-often" Writer "the writer calls fdatasync after every 256 KiB" {
        writer: dribbling(Sending::Fdatasync),
        in_program: Some("call fdatasync(fd) after every 256 KiB"),
    }
    // No dirty pages: each write goes to the disk when it is made.
    "direct" Writer "the writer bypasses the page cache (O_DIRECT)" {
        writer: WriterChange { direct: true, ..AS_IT_IS },
        in_program: Some("open the file with O_DIRECT"),
    }
    // bfq and mq-deadline heed it, and only for requests of its own.
    "ioprio-idle" Priority "the writer's requests wait until the disk is idle (ioprio)" {
        writer: WriterChange { priority: Some(IoPriority::Idle), ..AS_IT_IS },
        in_program: Some("start the writer with: ionice -c idle"),
    }
}

//! The engines: by which interfaces requests can reach the kernel, as one table of facts. Names are
//! fio's (`--ioengine`); variants that fio keeps in options of an engine (`--hipri`,
//! `--sqthread_poll`, `--fixedbufs`) have names of their own here, so that each is a row.
//!
//! Non-goals: the interfaces themselves (crate `host`).

use crate::named::Named;
use serde::{Deserialize, Serialize};

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Read `length_bytes` at `offset_bytes`.
    Read,
    /// Write `length_bytes` at `offset_bytes`.
    Write,
    /// Copy `length_bytes` from `offset_bytes` to the same place in the second half of the
    /// placement's file.
    Copy,
    /// Make the file's data durable.
    Fdatasync,
    /// Make the file's data and all of its metadata durable.
    Fsync,
    /// Write the file's dirty pages to the device and wait for them; nothing is flushed.
    SyncFileRange,
    /// Begin to write the file's dirty pages to the device, and wait for none of them.
    StartWriteback,
    /// Open the job's file read-only.
    OpenRead,
    /// Open the job's file for reading and writing, as it is.
    OpenReadWrite,
    /// Make the job's file anew: `creat(file, 0666)`.
    Create,
    /// Close the job's file.
    Close,
    /// Remove the job's file; no error if there is none (`rm -f`).
    Unlink,
}

/// What is to be known of an engine before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineFacts {
    /// Which one.
    pub kind: EngineKind,
    /// The name in options, files and records.
    pub name: &'static str,
    /// What it is, in one line for the help.
    pub meaning: &'static str,
    /// More than one request can be outstanding.
    pub overlaps: bool,
    /// The operations that move data with it; opening and closing are plain calls with all.
    pub serves: &'static [Operation],
    /// Why it makes no sense through the page cache, where it does not.
    pub not_buffered: Option<&'static str>,
    /// Why it makes no sense with O_DIRECT, where it does not.
    pub not_direct: Option<&'static str>,
    /// Why it cannot write past a file's end, where it cannot.
    pub not_extending: Option<&'static str>,
    /// What a request's EOPNOTSUPP means, with the remedy.
    pub unsupported: &'static str,
}

const TRANSFERS: &[Operation] = &[Operation::Read, Operation::Write];

/// An engine that reads and writes, one request at a time, in every way that a file allows.
const PLAIN: EngineFacts = EngineFacts {
    kind: EngineKind::Psync,
    name: "",
    meaning: "",
    overlaps: false,
    serves: TRANSFERS,
    not_buffered: None,
    not_direct: None,
    not_extending: None,
    unsupported: "the file system or device does not support this interface; use psync",
};

const OVERLAPPING: EngineFacts = EngineFacts { overlaps: true, ..PLAIN };

const STDIO: EngineFacts = EngineFacts {
    not_direct: Some("the C library's buffer is not aligned for O_DIRECT; use psync"),
    ..PLAIN
};

const NEEDS_POLLING: &str = "only direct requests can be polled; give --direct";
const NO_POLLING: &str = "the device has no poll queues (nvme needs the module parameter \
                          poll_queues), or the file system cannot poll";

/// The engines: the facts that a row begins with, its kind, name, meaning, and what is otherwise.
macro_rules! engines {
    ($(
        $(#[$meta:meta])* $base:ident $kind:ident $name:literal $meaning:literal
        $(;)? $({ $($field:ident: $value:expr,)* })?
    )*) => {
        /// By which interface requests reach the kernel.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs, reason = "the table says what each is")]
        pub enum EngineKind { $($(#[$meta])* $kind),* }

        /// Every engine, in the order of the enumeration.
        pub const ENGINES: [EngineFacts; 23] = [$(EngineFacts {
            kind: EngineKind::$kind,
            name: $name,
            meaning: $meaning,
            $($($field: $value,)*)?
            ..$base
        }),*];

        impl Named for EngineKind {
            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$kind, $name)),*];
        }
    };
}

engines! {
    PLAIN Sync "sync" "read(2) and write(2) at the file position, lseek(2) if the position differs";
    #[default]
    PLAIN Psync "psync" "pread(2) and pwrite(2)";
    PLAIN Vsync "vsync" "readv(2) and writev(2) at the file position, one buffer per call";
    PLAIN Pvsync "pvsync" "preadv(2) and pwritev(2), one buffer per call";
    PLAIN Pvsync2 "pvsync2" "preadv2(2) and pwritev2(2) without flags";
    PLAIN Pvsync2Nowait "pvsync2_nowait"
        "with RWF_NOWAIT, and again without it if the call would block" {
        unsupported: "the file system has no RWF_NOWAIT for this operation (ext4 and block \
             devices: not for buffered writes; tmpfs: never); use pvsync2",
    }
    PLAIN Pvsync2Hipri "pvsync2_hipri"
        "with RWF_HIPRI, which current kernels accept and ignore; needs --direct" {
        not_buffered: Some(NEEDS_POLLING),
        unsupported: NO_POLLING,
    }
    STDIO StdioQuarter "stdio_quarter"
        "fread(3) and fwrite(3) with a buffer of a quarter of the request";
    STDIO StdioHalf "stdio_half" "fread(3) and fwrite(3) with a buffer of half the request";
    STDIO Stdio "stdio" "fread(3) and fwrite(3) with a buffer as large as the request";
    STDIO StdioDouble "stdio_double" "fread(3) and fwrite(3) with a buffer of twice the request";
    PLAIN Mmap "mmap" "memory copies from and to a shared mapping of the file" {
        not_direct: Some("a mapping uses the page cache; use psync"),
        not_extending: Some("a mapping cannot extend the file; use rewrite"),
        unsupported: "the file system cannot map files; use psync",
    }
    PLAIN Splice "splice"
        "splice(2) to /dev/null, vmsplice(2) and splice(2) from memory, through a pipe" {
        not_direct: Some("splice moves pages of the page cache; use psync"),
        unsupported: "the file system cannot splice; use psync",
    }
    PLAIN CopyFileRange "copy_file_range" "copy_file_range(2) within the file; only for copies" {
        serves: &[Operation::Copy],
        unsupported: "the file system cannot copy inside the kernel; use another engine",
    }
    OVERLAPPING Libaio "libaio" "io_submit(2); without --direct the call blocks";
    OVERLAPPING Posixaio "posixaio"
        "aio_read(3) and aio_write(3); glibc uses one thread per file, musl one thread per \
         request";
    OVERLAPPING Threads "threads" "as many threads as --iodepth, each with pread(2) and pwrite(2)";
    OVERLAPPING IoUring "io_uring" "one ring per job, each request submitted immediately";
    OVERLAPPING IoUringFixed "io_uring_fixed" "io_uring with registered file and buffers";
    OVERLAPPING IoUringSqpoll "io_uring_sqpoll"
        "io_uring with a kernel thread that polls for requests (costs a CPU)";
    OVERLAPPING IoUringDefer "io_uring_defer"
        "io_uring that completes requests only when asked (DEFER_TASKRUN)";
    OVERLAPPING IoUringIopoll "io_uring_iopoll"
        "io_uring that polls the device for completions; needs --direct" {
        not_buffered: Some(NEEDS_POLLING),
        unsupported: NO_POLLING,
    }
    OVERLAPPING Null "null" "no I/O: measures the cost of the harness" {
        serves: &[Operation::Read, Operation::Write, Operation::Copy],
    }
}

impl EngineKind {
    /// What is to be known of it.
    pub fn facts(self) -> &'static EngineFacts {
        &ENGINES[self as usize]
    }

    /// The name in options, files and records.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether more than one request can be outstanding.
    pub fn overlaps(self) -> bool {
        self.facts().overlaps
    }

    /// Whether it has this operation.
    pub fn serves(self, operation: Operation) -> bool {
        self.facts().serves.contains(&operation)
    }
}

/// The names of the engines for which something holds, as a list for a sentence.
pub fn names_where(holds: impl Fn(&EngineFacts) -> bool) -> String {
    let names: Vec<_> = ENGINES.iter().filter(|e| holds(e)).map(|e| e.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_names_are_those_of_the_files() {
        for (place, facts) in ENGINES.iter().enumerate() {
            assert_eq!(facts.kind as usize, place, "{}", facts.name);
            assert_eq!(serde_json::to_value(facts.kind).unwrap(), facts.name);
            assert!(!facts.meaning.is_empty() && !facts.serves.is_empty());
            assert!(facts.not_buffered.is_none() || facts.not_direct.is_none(), "{}", facts.name);
        }
    }

    #[test]
    fn facts_can_be_asked_for_by_kind() {
        assert!(EngineKind::Libaio.overlaps() && !EngineKind::Mmap.overlaps());
        assert!(EngineKind::CopyFileRange.serves(Operation::Copy));
        assert!(!EngineKind::CopyFileRange.serves(Operation::Read));
        assert_eq!(names_where(|e| e.not_extending.is_some()), "mmap");
    }

    #[test]
    fn a_kind_has_the_name_of_its_facts() {
        assert_eq!(EngineKind::Null.name(), "null");
        assert_eq!(EngineKind::IoUringSqpoll.name(), "io_uring_sqpoll");
    }
}

//! What a capture can tell on this kernel and what not: a table, each row with what it needs, what
//! is lost without it, and the remedy. `doctor` prints it; a capture says which rows its kernel
//! lacks.
//!
//! Non-goals: rights (`bpf`), which may be lacking where the kernel lacks nothing.

use super::{Kernel, functions};

/// What a capability needs of a kernel.
#[derive(Debug, Clone, Copy)]
enum Need {
    /// One of these tracepoints.
    Tracepoint(&'static [&'static str]),
    /// One of these facts, by its name in `struct facts`.
    Fact(&'static [&'static str]),
    /// An enumerator.
    Enumerator(&'static str),
    /// Such a struct's field of one of these names.
    Field(&'static str, &'static [&'static str]),
    /// The addresses of its functions.
    Addresses,
}

/// When a capture says that its kernel lacks something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Always,
    /// Where calls are captured, too.
    WithCalls,
    /// Never: it makes the capture dearer, and leaves nothing out.
    InDoctor,
}

/// A row of the table.
#[derive(Debug)]
pub struct Capability {
    /// What it is, in the field's words.
    pub name: &'static str,
    needs: &'static [Need],
    /// The file system without which nobody needs it.
    of_file_system: Option<&'static str>,
    /// When a capture says that it is missing.
    said: Said,
    /// What a trace cannot tell without it.
    pub lost: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// How a capability stands on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// The kernel has all that it needs.
    Has,
    /// The kernel lacks something, and no such file system is mounted that it could tell of; its
    /// module may not be loaded.
    NotMounted(&'static str),
    /// The first thing that the kernel lacks.
    Lacks(String),
}

use Need::{Addresses, Enumerator, Fact, Field, Tracepoint};

/// What shows functions their addresses.
const KALLSYMS: &str = "run as root or with CAP_SYSLOG, and set kernel.kptr_restrict to 1 or 0";

/// What is to be done where a kernel is not known to lack it.
const REPORT: &str = "report this with the kernel's version";

/// A row of what nobody needs a file system for, and of which a capture says that it is missing.
const ROW: Capability = Capability {
    name: "",
    needs: &[],
    of_file_system: None,
    said: Said::Always,
    lost: "",
    remedy: REPORT,
};

/// A row of a file system's calls, by the tracepoints and facts that tell them.
const fn calls_of(
    name: &'static str,
    file_system: &'static str,
    needs: &'static [Need],
    lost: &'static str,
) -> Capability {
    let remedy = "trace system calls with --syscalls";
    let of_file_system = Some(file_system);
    Capability { name, needs, of_file_system, said: Said::WithCalls, lost, remedy }
}

/// All rows.
const TABLE: [Capability; 17] = [
    Capability {
        name: "typed programs",
        needs: &[Tracepoint(&["block_io_start"])],
        said: Said::InDoctor,
        lost: "recording each step costs more CPU time, and driver commands have no start time",
        remedy: "use Linux 6.5 or later",
        ..ROW
    },
    Capability {
        name: "request steps",
        needs: &[
            Tracepoint(&["block_io_start", "block_getrq"]),
            Tracepoint(&["block_rq_issue"]),
            Tracepoint(&["block_rq_complete"]),
            Fact(&["op_read"]),
            Fact(&["op_flush"]),
        ],
        lost: "requests are captured only by perf and paired by sector",
        remedy: "use Linux 5.10 or later",
        ..ROW
    },
    Capability {
        name: "flush sequences",
        needs: &[Fact(&["in_flush_sequence", "mq_flush_data_end_io"])],
        lost: "the data and the flushes of an fsync are not grouped, and count as separate \
               requests",
        remedy: KALLSYMS,
        ..ROW
    },
    Capability {
        name: "sync and meta flags",
        needs: &[Enumerator("__REQ_SYNC"), Enumerator("__REQ_META"), Enumerator("__REQ_FUA")],
        lost: "synchronous requests are not marked",
        ..ROW
    },
    Capability {
        name: "files of direct I/O",
        needs: &[Fact(&["iomap_dio_bio_end_io"])],
        lost: "direct requests have no file",
        remedy: KALLSYMS,
        ..ROW
    },
    Capability {
        name: "layers",
        needs: &[Tracepoint(&["block_bio_remap"]), Fact(&["remapped_bio"])],
        lost: "requests of stacked devices are matched only by sector and time",
        ..ROW
    },
    Capability {
        name: "throttling by cgroups",
        needs: &[Fact(&["throttled"])],
        lost: "requests throttled by a cgroup limit are not marked",
        remedy: "use a kernel with CONFIG_BLK_CGROUP",
        ..ROW
    },
    Capability {
        name: "evicted pages",
        needs: &[Tracepoint(&["mm_filemap_delete_from_page_cache"])],
        lost: "reads of pages that had been evicted are not marked",
        ..ROW
    },
    calls_of(
        "calls of ext4",
        "ext4",
        &[Tracepoint(&["ext4_sync_file_enter"]), Tracepoint(&["ext4_sync_file_exit"])],
        "fsync and fdatasync on ext4 are not traced",
    ),
    Capability {
        name: "commits of ext4's journal",
        needs: &[
            Tracepoint(&["jbd2_start_commit"]),
            Fact(&["journal_device"]),
            Fact(&["transaction_number"]),
            Fact(&["ext4_sync_tid"]),
        ],
        of_file_system: Some("ext4"),
        said: Said::WithCalls,
        lost: "which commit an fsync waited for is not known",
        remedy: "use a kernel with type information of modules (Linux 5.11 or later, with \
                 CONFIG_DEBUG_INFO_BTF_MODULES)",
    },
    calls_of(
        "calls of xfs",
        "xfs",
        &[Tracepoint(&["xfs_file_fsync"]), Fact(&["xfs_vnode"])],
        "fsync and fdatasync on xfs are not traced",
    ),
    calls_of(
        "calls of btrfs",
        "btrfs",
        &[Tracepoint(&["btrfs_sync_file", "btrfs_sync_file_enter"])],
        "fsync and fdatasync on btrfs are not traced",
    ),
    calls_of(
        "calls of f2fs",
        "f2fs",
        &[Tracepoint(&["f2fs_sync_file_enter"])],
        "fsync and fdatasync on f2fs are not traced",
    ),
    Capability {
        name: "who changed a file",
        needs: &[Tracepoint(&["writeback_mark_inode_dirty"])],
        said: Said::WithCalls,
        lost: "writeback is not attributed to the process that wrote the data",
        ..ROW
    },
    Capability {
        name: "names of files",
        needs: &[Field("inode", &["i_dentry"]), Field("dentry", &["d_u", "d_alias"])],
        said: Said::WithCalls,
        lost: "file names are looked up later, and may differ from the name at the time of the \
               request or call",
        ..ROW
    },
    Capability {
        name: "waits of threads",
        needs: &[Tracepoint(&["sched_switch"]), Addresses],
        said: Said::WithCalls,
        lost: "waits of threads without a request or call are not traced",
        remedy: KALLSYMS,
        ..ROW
    },
    Capability {
        name: "holders of locks",
        needs: &[
            Tracepoint(&["contention_begin"]),
            Field("mutex", &["owner"]),
            Field("rw_semaphore", &["owner"]),
        ],
        said: Said::InDoctor,
        lost: "a lock wait is attributed to processes with requests in flight, not to the lock's \
               holder",
        remedy: "use Linux 5.19 or later, without PREEMPT_RT",
        ..ROW
    },
];

impl Capability {
    /// What is lost for lack of something, and the remedy.
    fn sentence(&self, lacking: &str) -> String {
        let Self { name, lost, remedy, .. } = self;
        format!("this kernel lacks {name} ({lacking}): {lost}; {remedy}")
    }

    /// Whether the kernel, as it is now, has it.
    fn status(&self, kernel: &Kernel) -> Status {
        let missing = self.needs.iter().find_map(|need| need.missing(kernel));
        match (missing, self.of_file_system) {
            (None, _) => Status::Has,
            (Some(_), Some(name)) if !is_mounted(name) => Status::NotMounted(name),
            (Some(what), _) => Status::Lacks(what),
        }
    }
}

impl Need {
    /// What there is not, in words.
    fn missing(self, kernel: &Kernel) -> Option<String> {
        let (is_there, kind, names): (_, _, &[&str]) = match self {
            Tracepoint(names) => {
                (names.iter().any(|name| kernel.has_tracepoint(name)), "tracepoint", names)
            }
            Fact(names) => {
                (names.iter().any(|name| kernel.knows(name)), "known place or value of", names)
            }
            Enumerator(name) => {
                return kernel.enumerator(name).is_none().then(|| format!("no value of {name}"));
            }
            Addresses => {
                return (!functions::are_told())
                    .then(|| "no addresses in /proc/kallsyms".to_owned());
            }
            Field(of, names) => {
                (names.iter().any(|name| kernel.offset(of, name).is_some()), "field", names)
            }
        };
        (!is_there).then(|| format!("no {kind} {}", names.join(" or ")))
    }
}

/// Whether a file system of this type is mounted anywhere that we see.
fn is_mounted(file_system: &str) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| line.split_whitespace().nth(2) == Some(file_system))
}

impl Kernel {
    /// The whole table, as it stands on this machine.
    pub fn capabilities(&self) -> impl Iterator<Item = (&'static Capability, Status)> {
        static ROWS: [Capability; TABLE.len()] = TABLE;
        ROWS.iter().map(|row| (row, row.status(self)))
    }

    /// What a capture on this kernel cannot tell, each with the reason and the remedy as a
    /// sentence; `with_calls` tells whether it is to capture calls, too.
    pub(crate) fn untold(&self, with_calls: bool) -> Vec<String> {
        let is_said = |said: Said| match said {
            Said::Always => true,
            Said::WithCalls => with_calls,
            Said::InDoctor => false,
        };
        let asked_for = self.capabilities().filter(|(row, _)| is_said(row.said));
        let lacking = asked_for.filter_map(|(row, status)| match status {
            Status::Lacks(what) => Some(row.sentence(&what)),
            Status::Has | Status::NotMounted(_) => None,
        });
        lacking.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::facts::FACTS;

    #[test]
    fn each_row_needs_facts_that_there_are_and_says_what_is_lost() {
        for row in &TABLE {
            for need in row.needs {
                let Fact(names) = need else { continue };
                for name in *names {
                    assert!(FACTS.iter().any(|(known, _)| known == name), "{name}");
                }
            }
            assert!(!row.lost.is_empty() && !row.remedy.is_empty(), "{}", row.name);
            assert!(!row.lost.ends_with('.') && !row.remedy.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn this_kernel_is_told_whole() {
        let Ok(kernel) = Kernel::look() else { return println!("skipped: no types here") };
        assert_eq!(kernel.capabilities().count(), TABLE.len());
        // The enumerators have had these names since Linux 4.10.
        assert!(kernel.knows("op_read") && kernel.knows("op_flush"));
        assert_eq!(kernel.enumerator("no such enumerator"), None);
    }
}

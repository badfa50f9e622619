//! What a thread waits for, by the functions of the kernel on its stack.
//!
//! The table has a row for each kind, most telling first: a stack is of the first row of which it
//! has a function, wherever in the stack. A throttled write ends in a sleep as a lock does, but for
//! `balance_dirty_pages` above it; and a page that is awaited is read, written back or swapped in,
//! by who awaits it. Compilers add endings (`.isra.0`, `.constprop.0`, `.cold`), which are cut off;
//! a name that ends in `*` begins so.
//!
//! The kernel leaves the scheduler's own functions out of a sleeping thread's stack, and those of
//! locks are among them (`in_sched_functions`, kernel/stacktrace.c). So what sleeps in a function
//! of a file system and is in no row waits for a block of metadata (a directory, an inode) if the
//! kernel counts it as a wait for a request, else for a lock. For the same reason a lock of a page
//! may be all that a stack tells of it: who does not read the page waits for its writeback.
//!
//! Source: mm/page-writeback.c, filemap.c, vmscan.c, memory.c; fs/jbd2; fs/xfs/xfs_log.c; fs/btrfs;
//! kernel/locking; block/blk-mq-tag.c, blk-rq-qos.c, blk-throttle.c, blk-iocost.c of Linux 5.10 to
//! 7.2.
//!
//! Non-goals: functions of modules that are loaded later: their waits are *other*.

use super::functions;
use model::record::WaitKind;
use std::io::BufRead;

/// A kind, and the functions that tell it.
type Row = (WaitKind, &'static [&'static str]);

const TABLE: [Row; 12] = [
    (WaitKind::Network, &["nfs_*", "nfs4_*", "rpc_wait_*", "fuse_*", "cifs_*", "smb2_*"]),
    (
        WaitKind::Call,
        &[
            "vfs_fsync_range",
            "do_fsync",
            "ext4_sync_file",
            "xfs_file_fsync",
            "btrfs_sync_file",
            "f2fs_sync_file",
            "blkdev_fsync",
            "ksys_sync",
            "sync_filesystem",
            "ksys_sync_file_range",
            "__do_sys_msync",
        ],
    ),
    (WaitKind::Swap, &["do_swap_page", "swap_read_folio", "swap_readpage", "swapin_readahead"]),
    (
        WaitKind::Reclaim,
        &[
            "try_to_free_pages",
            "try_to_free_mem_cgroup_pages",
            "do_try_to_free_pages",
            "shrink_node",
            "throttle_direct_reclaim",
            "mem_cgroup_handle_over_high",
        ],
    ),
    (WaitKind::Throttling, &["balance_dirty_pages", "balance_dirty_pages_ratelimited_flags"]),
    (
        WaitKind::Limit,
        &[
            "blk_throtl_*",
            "__blk_throtl_bio",
            "ioc_rqos_throttle",
            "blkcg_maybe_throttle_current",
            "blkcg_iolatency_throttle",
        ],
    ),
    (
        WaitKind::Journal,
        &[
            "start_this_handle",
            "wait_transaction_locked",
            "wait_transaction_switching",
            "add_transaction_credits",
            "jbd2_log_wait_for_space",
            "__jbd2_log_wait_for_space",
            "do_get_write_access",
            "jbd2_log_wait_commit",
            "xlog_grant_head_wait",
            "xlog_grant_head_check",
            "xfs_log_reserve",
            "xfs_log_force",
            "xfs_log_force_seq",
            "xfs_log_force_lsn",
            "wait_current_trans",
            "btrfs_commit_transaction",
            "wait_for_commit",
            "f2fs_balance_fs",
        ],
    ),
    (
        WaitKind::Request,
        &[
            "blk_mq_get_tag",
            "wbt_wait",
            "rq_qos_wait",
            "__rq_qos_throttle",
            "blk_queue_enter",
            "__bio_queue_enter",
            "submit_bio_wait",
            "blkdev_issue_flush",
            "__wait_on_buffer",
            "bh_read",
            "ext4_read_bh",
            "ext4_bread",
            "xfs_buf_iowait",
            "read_extent_buffer_pages",
        ],
    ),
    (
        WaitKind::Writeback,
        &[
            "folio_wait_writeback",
            "folio_wait_stable",
            "wait_on_page_writeback",
            "wait_for_stable_page",
            "folio_wait_writeback_killable",
        ],
    ),
    (
        WaitKind::PageRead,
        &[
            "filemap_fault",
            "filemap_get_pages",
            "filemap_read",
            "filemap_update_page",
            "generic_file_buffered_read",
            "generic_file_read_iter",
            "do_read_cache_page",
            "do_read_cache_folio",
            "read_cache_page",
            "__lock_page_killable",
            "__lock_page_or_retry",
            "folio_wait_bit_common",
        ],
    ),
    (
        WaitKind::DirectIo,
        &[
            "__iomap_dio_rw",
            "iomap_dio_rw",
            "blkdev_direct_IO",
            "__blkdev_direct_IO_simple",
            "read_events",
            "io_cqring_wait",
        ],
    ),
    (WaitKind::Writeback, &["__folio_lock", "__lock_page"]),
];

/// Functions of file systems and the block layer: a lock or a sleep there is one for storage.
const OF_STORAGE: [&str; 26] = [
    "ext4_*",
    "__ext4_*",
    "jbd2_*",
    "xfs_*",
    "btrfs_*",
    "f2fs_*",
    "vfs_*",
    "do_renameat2",
    "do_unlinkat",
    "do_mkdirat",
    "do_rmdir",
    "do_linkat",
    "filename_create",
    "path_openat",
    "lookup_slow",
    "walk_component",
    "iterate_dir",
    "do_truncate",
    "evict",
    "filemap_*",
    "generic_perform_write",
    "iomap_*",
    "blk_mq_*",
    "blkdev_*",
    "submit_bio*",
    "writeback_*",
];

/// Where functions of the table are.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// By address: the first one, the one behind the last, and the row; no two overlap.
    ranges: Vec<(u64, u64, u8)>,
    /// Where interrupts enter the kernel: the first address, and the one behind the last.
    interrupts: [u64; 2],
}

/// What stands around the functions by which interrupts enter (include/asm-generic/sections.h).
const INTERRUPTS: [&str; 2] = ["__irqentry_text_start", "__irqentry_text_end"];

/// Where functions are in which a thread sleeps for a request of its own: `own_requests` of wait.h,
/// from one address to another, zeroes where there are no more.
pub(crate) type OwnRequests = [u64; 16];

/// What is no row of the table, but of storage.
const STORAGE: u8 = TABLE.len() as u8;

impl Functions {
    /// Those of the running kernel and its modules; none where it hides them.
    pub(crate) fn read() -> Self {
        Self::found(functions::list())
    }

    /// Those that sleep for direct requests.
    pub(crate) fn own_requests(&self) -> OwnRequests {
        let mut words = OwnRequests::default();
        let is_direct = |row: u8| {
            TABLE.get(usize::from(row)).is_some_and(|(kind, _)| *kind == WaitKind::DirectIo)
        };
        let of = self.ranges.iter().filter(|(.., row)| is_direct(*row));
        for (pair, (from, until, _)) in words.chunks_exact_mut(2).zip(of) {
            pair.copy_from_slice(&[*from, *until]);
        }
        words
    }

    /// Where interrupts enter: `interrupts` of wait.h; zeroes where that is not known.
    pub(crate) fn interrupts(&self) -> [u64; 2] {
        match self.interrupts {
            [from, until] if from < until => [from, until],
            _ => [0, 0],
        }
    }

    pub(crate) fn found(lines: impl BufRead) -> Self {
        // By address; of what is in no row the address alone, where the one before ends.
        let mut all: Vec<(u64, u8)> = Vec::new();
        let mut interrupts = [0; 2];
        functions::each(lines, |address, kind, name| {
            if matches!(kind, "t" | "T" | "w" | "W") {
                all.push((address, row_of(name).unwrap_or(u8::MAX)));
                let bound = INTERRUPTS.iter().position(|bound| *bound == name);
                bound.into_iter().for_each(|bound| interrupts[bound] = address);
            }
            false
        });
        all.sort_unstable();
        // Of several names of one function the first row is its.
        all.dedup_by_key(|(address, _)| *address);
        let ends = all.iter().skip(1).map(|(address, _)| *address).chain([u64::MAX]);
        let with_ends = all.iter().zip(ends);
        let ranges = with_ends.filter(|((_, row), _)| *row != u8::MAX);
        let ranges = ranges.map(|((from, row), until)| (*from, until, *row)).collect();
        Self { ranges, interrupts }
    }

    /// What a stack waits for, by the addresses of its functions; `is_for_request` as the kernel
    /// says. None: nothing that has to do with storage, as far as is known.
    pub(crate) fn kind_of(&self, addresses: &[u64], is_for_request: bool) -> Option<WaitKind> {
        let rows = addresses.iter().filter_map(|address| self.row_at(*address));
        kind_of(&rows.collect::<Vec<_>>(), is_for_request)
    }

    /// The same by the functions' names, where these are known.
    pub(crate) fn kind_of_names<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<WaitKind> {
        kind_of(&names.filter_map(row_of).collect::<Vec<_>>(), false)
    }

    /// An address on a stack is one behind a call, which may be the function's last instruction.
    fn row_at(&self, address: u64) -> Option<u8> {
        let at = address.checked_sub(1)?;
        let behind = self.ranges.partition_point(|(from, ..)| *from <= at);
        let (_, until, row) = self.ranges.get(behind.checked_sub(1)?)?;
        (at < *until).then_some(*row)
    }
}

fn kind_of(rows: &[u8], is_for_request: bool) -> Option<WaitKind> {
    let of_table = rows.iter().filter(|row| **row != STORAGE).map(|row| usize::from(*row));
    let known = of_table.filter_map(|row| Some((row, TABLE.get(row)?)));
    let first = known.min_by_key(|(row, _)| *row).map(|(_, (kind, _))| *kind);
    let by_place = match (is_for_request, rows.contains(&STORAGE)) {
        (true, true) => Some(WaitKind::Request),
        (true, false) => Some(WaitKind::Other),
        (false, true) => Some(WaitKind::Lock),
        (false, false) => None,
    };
    first.or(by_place)
}

fn row_of(name: &str) -> Option<u8> {
    let name = name.split('.').next().unwrap_or(name);
    let is_it = |known: &&str| match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == *known,
    };
    let row = TABLE.iter().position(|(_, names)| names.iter().any(is_it));
    let row = row.map(|row| row as u8);
    row.or_else(|| OF_STORAGE.iter().any(is_it).then_some(STORAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "ffffffff81000000 T _text\n\
        ffffffff81000100 t __schedule\n\
        ffffffff81000200 t balance_dirty_pages.isra.0\n\
        ffffffff81000300 T schedule\n\
        ffffffff81000400 t rwsem_down_write_slowpath\n\
        ffffffff81000500 T kernel_clone\n\
        ffffffff81000600 t folio_wait_bit_common\n\
        ffffffff81000700 T folio_wait_writeback\n\
        ffffffff81000800 T io_schedule\n\
        ffffffff81000900 T iterate_dir\n\
        ffffffff81000a00 T __folio_lock\n\
        ffffffff81000b00 T iomap_page_mkwrite\n\
        ffffffff81000c00 T filemap_fault\n\
        ffffffffc0000100 t start_this_handle\t[jbd2]\n\
        ffffffffc0000200 t ext4_rename\t[ext4]\n\
        0000000000000000 t hidden\nno\n";

    fn kind(at: &[u64], is_for_request: bool) -> Option<WaitKind> {
        let functions = Functions::found(SYMBOLS.as_bytes());
        let addresses: Vec<u64> = at.iter().map(|low| 0xffff_ffff_0000_0000 | low).collect();
        functions.kind_of(&addresses, is_for_request)
    }

    #[test]
    fn the_most_telling_function_says_what_is_waited_for() {
        let sleep = [0x8100_0110, 0x8100_0350];
        let of = |more: &[u64]| kind(&[&sleep[..], more].concat(), false);
        assert_eq!(of(&[0x8100_0250]), Some(WaitKind::Throttling));
        assert_eq!(of(&[0x8100_0650, 0x8100_0750]), Some(WaitKind::Writeback));
        assert_eq!(of(&[0x8100_0650]), Some(WaitKind::PageRead));
        assert_eq!(of(&[0xc000_0150, 0xc000_0210]), Some(WaitKind::Journal), "of a module");
        // The return address of a last call lies in the next function.
        assert_eq!(of(&[0x8100_0300]), Some(WaitKind::Throttling));
    }

    #[test]
    fn who_changes_a_page_waits_for_its_writeback_and_who_reads_it_for_its_read() {
        let of = |at: &[u64]| kind(at, true);
        assert_eq!(of(&[0x8100_0a50, 0x8100_0b50]), Some(WaitKind::Writeback));
        assert_eq!(of(&[0x8100_0a50, 0x8100_0c50]), Some(WaitKind::PageRead));
        assert_eq!(of(&[0x8100_0a50, 0xc000_0150]), Some(WaitKind::Journal));
    }

    #[test]
    fn a_lock_is_one_for_storage_only_in_a_file_system() {
        assert_eq!(kind(&[0x8100_0450, 0x8100_0550], false), None);
        assert_eq!(kind(&[0x8100_0450, 0xc000_0250], false), Some(WaitKind::Lock));
        assert_eq!(kind(&[0x8100_0450, 0x8100_0950], false), Some(WaitKind::Lock));
        assert_eq!(kind(&[0x8100_0850], true), Some(WaitKind::Other));
        assert_eq!(kind(&[0x8100_0850, 0xc000_0250], true), Some(WaitKind::Request), "metadata");
        assert_eq!(kind(&[0x8100_0550], true), Some(WaitKind::Other), "what the kernel counts");
        assert_eq!(kind(&[0xc000_0250], false), Some(WaitKind::Lock), "whose functions are hidden");
        assert_eq!(kind(&[], false), None);
    }

    #[test]
    fn no_function_is_in_two_rows_and_hidden_ones_are_none() {
        let mut seen = std::collections::BTreeSet::new();
        for (_, names) in TABLE {
            names.iter().for_each(|name| assert!(seen.insert(*name), "{name}"));
        }
        let hidden = Functions::found("0000000000000000 t balance_dirty_pages\n".as_bytes());
        assert!(hidden.ranges.is_empty());
        assert_eq!(hidden.interrupts(), [0, 0]);
        let entries = "81000000 T __irqentry_text_start\n81000f00 T __irqentry_text_end\n";
        assert_eq!(Functions::found(entries.as_bytes()).interrupts(), [0x8100_0000, 0x8100_0f00]);
    }
}

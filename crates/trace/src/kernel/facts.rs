//! What the programs in the kernel need to know of it: one word each, found by name.
//!
//! The words are `struct facts` of capture/block.h, in its order. What is not found is
//! [`UNKNOWN`], and no program guesses in its place: it leaves out what depends on it, which
//! `capability` says in words.
//!
//! Source: include/linux/blk-mq.h, blk_types.h, block/blk-flush.c, fs/ext4/ext4.h,
//! fs/xfs/xfs_inode.h, include/linux/jbd2.h, include/trace/events/block.h of Linux 5.10 to 7.2.
//!
//! Non-goals: fields of the kernel's own types, which the loader moves.

use super::Kernel;

/// What is not known; so block.h has it, too.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// How a word is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The value of an enumerator.
    Value(&'static str),
    /// The mask of the bit that one of these enumerators numbers: the first that there is.
    Mask(&'static [&'static str]),
    /// Which argument of a tracepoint is a pointer to such a struct.
    Argument(&'static str, &'static str),
    /// Where a function begins.
    Function(&'static str),
    /// Where a struct has a field, in the types of the kernel or of a module.
    Offset(&'static str, &'static str),
}

/// `struct facts`: the words' names, and how each is found.
pub(crate) const FACTS: [(&str, Fact); 28] = [
    ("op_read", Fact::Value("REQ_OP_READ")),
    ("op_flush", Fact::Value("REQ_OP_FLUSH")),
    ("in_flush_sequence", Fact::Mask(&["__RQF_FLUSH_SEQ"])),
    ("throttled", Fact::Mask(&["BIO_BPS_THROTTLED", "BIO_THROTTLED"])),
    ("swapped_page", Fact::Mask(&["PG_swapbacked"])),
    ("queued_bio", Fact::Argument("block_bio_queue", "bio")),
    ("split_bio", Fact::Argument("block_split", "bio")),
    ("remapped_bio", Fact::Argument("block_bio_remap", "bio")),
    ("getrq_bio", Fact::Argument("block_getrq", "bio")),
    ("inserted_request", Fact::Argument("block_rq_insert", "request")),
    ("issued_request", Fact::Argument("block_rq_issue", "request")),
    ("merged_request", Fact::Argument("block_rq_merge", "request")),
    ("requeued_request", Fact::Argument("block_rq_requeue", "request")),
    ("iomap_dio_bio_end_io", Fact::Function("iomap_dio_bio_end_io")),
    ("blkdev_bio_end_io", Fact::Function("blkdev_bio_end_io")),
    ("blkdev_bio_end_io_async", Fact::Function("blkdev_bio_end_io_async")),
    ("end_bio_bh_io_sync", Fact::Function("end_bio_bh_io_sync")),
    ("journal_end_buffer_io_sync", Fact::Function("journal_end_buffer_io_sync")),
    ("xlog_bio_end_io", Fact::Function("xlog_bio_end_io")),
    ("xfs_buf_bio_end_io", Fact::Function("xfs_buf_bio_end_io")),
    ("bio_chain_endio", Fact::Function("bio_chain_endio")),
    ("mq_flush_data_end_io", Fact::Function("mq_flush_data_end_io")),
    ("ext4_vfs_inode", Fact::Offset("ext4_inode_info", "vfs_inode")),
    ("ext4_sync_tid", Fact::Offset("ext4_inode_info", "i_sync_tid")),
    ("ext4_datasync_tid", Fact::Offset("ext4_inode_info", "i_datasync_tid")),
    ("xfs_vnode", Fact::Offset("xfs_inode", "i_vnode")),
    ("journal_device", Fact::Offset("journal_s", "j_fs_dev")),
    ("transaction_number", Fact::Offset("transaction_s", "t_tid")),
];

/// The words, as a program in the kernel gets them.
pub(crate) type Words = [u64; FACTS.len()];

impl Kernel {
    /// All words.
    pub(crate) fn words(&self) -> Words {
        FACTS.map(|(_, fact)| self.find(fact).unwrap_or(UNKNOWN))
    }

    /// Whether a word of this name is known.
    pub(crate) fn knows(&self, name: &str) -> bool {
        let fact = FACTS.iter().find(|(known, _)| *known == name);
        fact.is_some_and(|(_, fact)| self.find(*fact).is_some())
    }

    fn find(&self, fact: Fact) -> Option<u64> {
        match fact {
            Fact::Value(name) => self.enumerator(name),
            Fact::Mask(names) => {
                let bit = names.iter().find_map(|name| self.enumerator(name))?;
                1u64.checked_shl(u32::try_from(bit).ok()?)
            }
            Fact::Argument(tracepoint, of) => self.argument(tracepoint, of),
            Fact::Function(name) => self.function(name),
            Fact::Offset(of, field) => self.offset(of, field),
        }
    }
}

/// The functions whose addresses are needed.
pub(super) fn functions() -> impl Iterator<Item = &'static str> {
    FACTS.iter().filter_map(|(_, fact)| match fact {
        Fact::Function(name) => Some(*name),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_header() {
        const HEADER: &str = include_str!("../capture/block.h");
        let begin = HEADER.find("volatile const struct facts {").unwrap();
        let body = &HEADER[begin..begin + HEADER[begin..].find('}').unwrap()];
        let word =
            |line: &str| Some(line.trim().strip_prefix("u64 ")?.strip_suffix(';')?.to_owned());
        let words: Vec<String> = body.lines().filter_map(word).collect();
        assert_eq!(words, FACTS.map(|(name, _)| name));
        assert!(HEADER.contains(&format!("#define UNKNOWN {UNKNOWN:#x}\n")));
    }
}

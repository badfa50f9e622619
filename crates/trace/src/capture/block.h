/*
 * The block layer's types, of each only the fields that are read, and only in
 * the names: the loader finds them wherever the running kernel has them.
 * Source: include/linux/blkdev.h, blk-mq.h, blk_types.h, blk-cgroup.h.
 */
#ifndef LBOLT_BLOCK_H
#define LBOLT_BLOCK_H

struct bio;

struct block_device_operations {
	void (*submit_bio)(struct bio *bio); /* where there are no requests, but bios alone */
} RELOCATED;

struct gendisk {
	int major;
	int first_minor;
	int minors; /* of its partitions and itself, where they have numbers next to its own */
	struct block_device_operations *fops;
} RELOCATED;

struct block_device {
	struct gendisk *bd_disk;
	u32 bd_dev;
} RELOCATED;

struct kernfs_node {
	u64 id;
} RELOCATED;

struct cgroup_root {
	int hierarchy_id; /* 0: the default one, version 2 */
} RELOCATED;

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
} RELOCATED;

struct css_set {
	struct cgroup *dfl_cgrp;
} RELOCATED;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} RELOCATED;

struct blkcg {
	struct cgroup_subsys_state css;
} RELOCATED;

struct blkcg_gq {
	struct blkcg *blkcg;
} RELOCATED;

struct address_space;

struct page {
	struct address_space *mapping; /* the two low bits are not of the address */
	unsigned long index;
	unsigned long compound_head;
} RELOCATED;

struct page___6 { /* since 6.16 under another name */
	unsigned long __folio_index;
} RELOCATED;

struct page___7 { /* since 7.0 under another name, and the rest may be a mask */
	unsigned long compound_info;
} RELOCATED;

struct bio_vec {
	struct page *bv_page;
} RELOCATED;

struct bvec_iter {
	u64 bi_sector;
	u32 bi_size;
} RELOCATED;

struct bio {
	struct bio *bi_next; /* of the same request */
	struct block_device *bi_bdev;
	u32 bi_opf;
	u16 bi_flags;
	u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
	struct bio_vec *bi_io_vec;
} RELOCATED;

struct bio___5_10 { /* before 5.12 */
	struct gendisk *bi_disk;
} RELOCATED;

struct request_queue {
	struct gendisk *disk;
} RELOCATED;

struct request {
	struct request_queue *q;
	struct blk_mq_hw_ctx *mq_hctx;
	u32 cmd_flags;
	u32 rq_flags;
	int tag;
	int internal_tag;
	u32 __data_len;
	u64 __sector;
	struct bio *bio;
	struct block_device *part;
	void *end_io;
	u64 start_time_ns;    /* 0: not taken */
	u64 io_start_time_ns; /* 0: not taken */
} RELOCATED;

struct request___5_10 { /* before 5.17 */
	struct gendisk *rq_disk;
} RELOCATED;

struct blk_mq_hw_ctx {
	struct blk_mq_tags *tags;
	struct blk_mq_tags *sched_tags; /* none where there is no scheduler */
} RELOCATED;

struct blk_mq_tags {
	struct request **static_rqs; /* by tag */
} RELOCATED;

/* The part of cmd_flags and bi_opf that is the operation: REQ_OP_MASK, in all kernels. */
#define OPERATION 0xff

/*
 * What user space knows of the running kernel when it loads the programs, by name: from its
 * types, those of its modules, and /proc/kallsyms. The words of kernel/facts.rs, in its
 * order; what is not found is UNKNOWN, and a capability that is missing there.
 */
#define UNKNOWN 0xffffffffffffffff

volatile const struct facts {
	/* enum req_op */
	u64 op_read;
	u64 op_flush;
	/* request.rq_flags of what the flush machinery has: a mask (since 6.11 a name tells) */
	u64 in_flush_sequence;
	/* bio.bi_flags of what has been through the throttling of cgroups: a mask */
	u64 throttled;
	/* page.flags of memory that may be swapped, the first word: a mask */
	u64 swapped_page;
	/* which argument is the bio or the request: the queue was the first one before 5.11 */
	u64 queued_bio;
	u64 split_bio;
	u64 remapped_bio;
	u64 getrq_bio;
	u64 inserted_request;
	u64 issued_request;
	u64 merged_request;
	u64 requeued_request;
	/* who is told of the end of a bio or a request (file.h, is_in_sequence) */
	u64 iomap_dio_bio_end_io;
	u64 blkdev_bio_end_io;
	u64 blkdev_bio_end_io_async;
	u64 end_bio_bh_io_sync;
	u64 journal_end_buffer_io_sync;
	u64 xlog_bio_end_io;
	u64 xfs_buf_bio_end_io;
	u64 bio_chain_endio;
	u64 mq_flush_data_end_io;
	/* where in a file system's own types a field is (sync.h) */
	u64 ext4_vfs_inode;
	u64 ext4_sync_tid;
	u64 ext4_datasync_tid;
	u64 xfs_vnode;
	u64 journal_device;
	u64 transaction_number;
} facts;

/* An argument that is loaded just there: the compiler would make one load of two, at a place that
 * it computes, and the verifier allows of none but those that it knows. */
#define LOAD(place)                                                                                \
	({                                                                                         \
		u64 loaded;                                                                        \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                              \
			     : "=r"(loaded)                                                        \
			     : "r"(context), "i"((place) * 8));                                    \
		loaded;                                                                            \
	})

/* What is `behind` an argument whose place changes by kernel: the first or the second. */
#define BEHIND(fact, behind) (facts.fact == 1 ? LOAD(1 + (behind)) : LOAD(behind))
#define ARGUMENT(type, fact) ((type *)BEHIND(fact, 0))

/* Multipliers of a hash's words: odd numbers without any pattern, from the digits of pi. */
#define PI_0 0x243f6a8885a308d3
#define PI_1 0x13198a2e03707345
#define PI_2 0xa4093822299f31d1
#define PI_3 0x082efa98ec4e6c89
#define PI_4 0x452821e638d01377
#define PI_5 0xbe5466cf34e90c6d
#define PI_6 0xc0ac29b7c97c50dd
#define PI_7 0x3f84d5b5b5470917

/* page.mapping: memory of a process's own, include/linux/page-flags.h. */
#define PAGE_MAPPING_ANON 1
#define PAGE_MAPPING_FLAGS 3

#endif

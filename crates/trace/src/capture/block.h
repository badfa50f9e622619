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
	const struct block_device_operations *fops;
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
	unsigned long compound_head;
} RELOCATED;

struct bio_vec {
	struct page *bv_page;
} RELOCATED;

struct bvec_iter {
	u64 bi_sector;
	u32 bi_size;
} RELOCATED;

struct bio {
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

struct request_queue {
	struct gendisk *disk;
} RELOCATED;

struct blk_mq_hw_ctx;

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
} RELOCATED;

/* Bits of rq_flags; an enum since Linux 6.11, the fourth bit before. */
enum rqf_flags {
	__RQF_FLUSH_SEQ,
};
#define RQF_FLUSH_SEQ_BEFORE 4

/* req_op: these have had their numbers since Linux 4.10, under changing names of the type. */
#define OPERATION 0xff
#define READ 0
#define FLUSH 2

/* Bits of cmd_flags: their numbers change from kernel to kernel. */
enum req_flag_bits {
	__REQ_SYNC,
	__REQ_META,
	__REQ_IDLE,
	__REQ_FUA,
	__REQ_PREFLUSH,
	__REQ_RAHEAD,
	__REQ_BACKGROUND,
	__REQ_SWAP,
};

/* page.mapping: memory of a process's own, include/linux/page-flags.h. */
#define PAGE_MAPPING_ANON 1
#define PAGE_MAPPING_FLAGS 3

#endif

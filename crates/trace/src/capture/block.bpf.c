/*
 * The capture of requests: at each step of one a record goes into the CPU's ring
 * (ring.h). What a step costs is what counts here, so that nothing is looked up in a
 * hash map, no lock is taken, and numbers are translated in user space.
 *
 * A bio that enters the block layer is remembered, with its time, in a table by its
 * address, and no record is made. The request that is allocated for it takes
 * the time from there. The table has a fixed size and no lock: what was
 * overwritten, or written by two CPUs at once, is found by its check word to be
 * another's, and is counted as missed.
 *
 * Source: block/blk-core.c (submit_bio_noacct_nocheck), blk-mq.c (blk_mq_submit_bio,
 * blk_mq_start_request, blk_update_request), blk-merge.c, blk-flush.c of Linux 6.18.
 *
 * Non-goals: pairing steps (user space); kernels without block_io_start (before 6.5).
 */
#include "../bpf/kernel.h"
#include "../bpf/self.h"
#include "block.h"
#include "event.h"
#include "ring.h"

/* Written before the programs are loaded, so that what is not asked for costs nothing. */
#define FILTERS 16
volatile const u32 filters_used;		  /* 0: every device is traced */
volatile const struct filter {
	u32 device; /* a whole disk or a partition */
	u32 disk;   /* the whole disk that it is on */
} filters[FILTERS];

/*
 * An address as a number to reckon with, which the verifier allows of none but a
 * difference of two. It is the same in all programs.
 */
INLINE u64 number_of(const volatile void *address)
{
	u64 number = (u64)address;

	asm volatile("%0 -= %1" : "+r"(number) : "r"(&filters_used));
	return number;
}

#include "file.h"
#include "stack.h"

/* --- The table of bios ------------------------------------------------------ */

#define SETS (1 << 14)
#define WAYS 4

/* A bio. A slot that holds none holds zeroes. */
struct slot {
	u64 time_ns;
	u64 thread; /* its number, and its process's in the high half */
	u64 check;  /* of the bio's address, the time and the thread */
};

struct set {
	struct slot slots[WAYS];
};

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, SETS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct set);
} queued SEC(".maps");

/* A multiplier whose high bits are all of them moved by each bit of the address: 2^64 / phi. */
INLINE u64 hash_of(u64 number)
{
	return number * 0x9e3779b97f4a7c15;
}

INLINE struct set *set_of(u64 hash)
{
	u32 place = hash >> 50;

	return bpf_map_lookup_elem(&queued, &place);
}

INLINE int holds(const volatile struct slot *slot, u64 hash)
{
	return (slot->check ^ slot->time_ns ^ slot->thread) == hash;
}

/* In the slot that it has, if it was never taken out; else in the one that is oldest. */
INLINE void remember(u64 bio, u64 time_ns, u64 thread)
{
	u64 hash = hash_of(bio), oldest_ns = ~0ull;
	struct set *set = set_of(hash);
	volatile struct slot *slot, *into;

	if (!set)
		return;
	into = &set->slots[0];
#pragma unroll
	for (int way = 0; way < WAYS; way++) {
		slot = &set->slots[way];
		if (holds(slot, hash)) {
			into = slot;
			break;
		}
		if (slot->time_ns < oldest_ns) {
			oldest_ns = slot->time_ns;
			into = slot;
		}
	}
	into->time_ns = time_ns;
	into->thread = thread;
	into->check = hash ^ time_ns ^ thread;
}

/* What is remembered of a bio; its time is 0 if nothing is. */
INLINE struct slot recall(u64 bio, int and_forget)
{
	u64 hash = hash_of(bio);
	struct set *set = set_of(hash);
	struct slot copy = {};
	volatile struct slot *slot;

	if (!set)
		return copy;
#pragma unroll
	for (int way = 0; way < WAYS; way++) {
		slot = &set->slots[way];
		copy.time_ns = slot->time_ns;
		copy.thread = slot->thread;
		copy.check = slot->check;
		if (copy.time_ns && holds(&copy, hash)) {
			if (and_forget)
				slot->time_ns = slot->thread = slot->check = 0;
			return copy;
		}
	}
	copy.time_ns = 0;
	return copy;
}

/* --- Which devices ---------------------------------------------------------- */

INLINE u32 device_of(struct gendisk *disk)
{
	return (u32)disk->major << 20 | (u32)disk->first_minor;
}

/* `part` is 0 where it is not known, as of a flush: that is for the whole disk. */
INLINE int is_asked_for(u32 disk, u32 part)
{
	for (u32 i = 0; i < FILTERS && i < filters_used; i++) {
		if (filters[i].device == disk || filters[i].device == part)
			return 1;
		if (!part && filters[i].disk == disk)
			return 1;
	}
	return !filters_used;
}

/* The whole disk of a request that is to be traced; 0 if it is not. */
INLINE u32 traced_device(struct request *request)
{
	struct gendisk *disk = request->q->disk;
	struct block_device *part;
	u32 device;

	if (!disk)
		return 0; /* a command to what is no disk, or not yet one */
	device = device_of(disk);
	if (!filters_used)
		return device;
	part = request->bio ? request->bio->bi_bdev : request->part;
	return is_asked_for(device, part ? part->bd_dev : 0) ? device : 0;
}

INLINE u32 traced_device_of_bio(struct bio *bio)
{
	struct block_device *part = bio->bi_bdev;
	u32 device = device_of(part->bd_disk);

	return !filters_used || is_asked_for(device, part->bd_dev) ? device : 0;
}

/* Whether it goes past requests: zram, device mapper, md. */
INLINE int has_bios_alone(struct gendisk *disk)
{
	return disk->fops->submit_bio != 0;
}

/* --- Records ---------------------------------------------------------------- */

INLINE void describe(struct step *step, enum kind kind, struct request *request, u32 device)
{
	step->time_ns = bpf_ktime_get_ns();
	step->identity = (u64)request;
	step->sector = request->__sector;
	step->length_bytes = request->__data_len;
	step->command_flags = request->cmd_flags;
	step->device = device;
	step->cpu = bpf_get_smp_processor_id();
	step->kind = kind;
	step->marks = 0;
}

/*
 * Where in the queue's tags a request is; 0 if nowhere. A flush is given the tag of
 * the request that it is for: the scheduler's if there is one, else the hardware's
 * (blk_kick_flush). A tag is below 2^14, and a hardware queue lies at a multiple of 64.
 */
INLINE u64 tag_of(struct request *request)
{
	int tag = request->internal_tag;
	struct blk_mq_hw_ctx *queue = request->mq_hctx;

	if (tag < 0)
		tag = request->tag;
	return tag < 0 || !queue ? 0 : (number_of(queue) << 8) + (u32)tag + 1;
}

/* Whether the flush machinery has the request, whose steps are then its data's (blk-flush.c). */
INLINE u8 is_in_sequence(struct request *request)
{
	u64 bit = RQF_FLUSH_SEQ_BEFORE;

	if ((request->cmd_flags & OPERATION) == FLUSH)
		return 0;
	if (__builtin_preserve_enum_value(*(enum rqf_flags *)__RQF_FLUSH_SEQ, 0))
		bit = __builtin_preserve_enum_value(*(enum rqf_flags *)__RQF_FLUSH_SEQ, 1);
	return request->rq_flags >> bit & 1 ? MARK_IN_SEQUENCE : 0;
}

INLINE u64 this_thread(struct task_struct *task)
{
	return (u64)(u32)task->tgid << 32 | (u32)task->pid;
}

/*
 * The cgroup (version 2) that a bio is charged to, which is that of a file's owner
 * when its pages are written back. Where the block controller is of version 1, the
 * thread's own, unless that is the root, in which all are that nobody put anywhere.
 */
INLINE u64 cgroup_of(struct bio *bio, struct task_struct *task)
{
	struct cgroup *cgroup;

	if (__builtin_preserve_field_info(bio->bi_blkg, FIELD_EXISTS)) {
		cgroup = bio->bi_blkg->blkcg->css.cgroup;
		if (cgroup && cgroup->root->hierarchy_id == 0)
			return cgroup->kn->id;
	}
	if (task->flags & PF_KTHREAD)
		return 0;
	cgroup = task->cgroups->dfl_cgrp;
	return cgroup->level > 0 ? cgroup->kn->id : 0;
}

/* Which file it is of, and whether its first page is a process's own. */
INLINE void describe_file(struct start *start, struct bio *bio)
{
	u64 mapping = mapping_of(bio);
	struct identity file = file_of(bio, mapping);

	start->inode = file.inode;
	start->generation = file.generation;
	start->file_system = file.file_system;
	start->file_kind = file.kind;
	if ((bio->bi_opf & OPERATION) == READ && mapping & PAGE_MAPPING_ANON)
		start->step.marks |= MARK_ANONYMOUS;
}

/* Two words; a name that changes meanwhile may be of both halves. */
INLINE void copy_command(u8 *into, struct task_struct *task)
{
	((u64 *)into)[0] = *(u64 *)&task->comm[0];
	((u64 *)into)[1] = *(u64 *)&task->comm[8];
}

/* The bits of bio.bi_flags, of an enum without a name: user space finds it (bio_flag.rs). */
volatile const u32 throttled_flag;

/*
 * Whether it has been through the throttling of cgroups. If a workqueue's thread queues
 * it, it was held back there (block/blk-throttle.c, throtl_pending_timer_fn); written back
 * by one, it may not have been.
 */
INLINE int is_throttled(struct bio *bio)
{
	return (bio->bi_flags & throttled_flag) != 0;
}

/* Who asked; `thread` is who queued it. */
INLINE void sign(struct start *start, struct bio *bio, u64 thread, void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();

	start->kernel_stack = start->user_stack = 0;
	if (stacks_wanted)
		sign_with_stacks(start, task, context);
	start->cgroup = cgroup_of(bio, task);
	if (task->flags & PF_WQ_WORKER && is_throttled(bio))
		start->step.marks |= MARK_THROTTLED;
	start->pid = thread;
	start->tgid = thread >> 32;
	describe_file(start, bio);
	copy_command(start->command, task);
}

/* --- The steps of a request ------------------------------------------------- */

SEC("tp_btf/block_io_start") int block_io_start(u64 *context)
{
	struct request *request = (struct request *)context[0];
	struct bio *bio = request->bio;
	u32 device = traced_device(request);
	struct slot queued;
	struct start *start;
	struct room room;

	if (!device)
		return 0;
	queued = recall(number_of(bio), 1);
	if (!queued.time_ns) {
		queued.thread = this_thread(bpf_get_current_task_btf());
		if (bio) /* a driver's command has none */
			count_missed_time();
	}
	if (!reserve(&room))
		return 0;
	start = &room.cell->start;
	describe(&start->step, START, request, device);
	start->queued_ns = queued.time_ns;
	start->tag = tag_of(request);
	sign(start, bio, queued.thread, context);
	commit(&room);
	return 0;
}

SEC("tp_btf/block_rq_issue") int block_rq_issue(u64 *context)
{
	struct request *request = (struct request *)context[0];
	u32 device = traced_device(request);
	struct issue *issue;
	struct room room;

	if (!device || !reserve(&room))
		return 0;
	issue = &room.cell->issue;
	describe(&issue->step, ISSUE, request, device);
	issue->step.marks = is_in_sequence(request);
	issue->serves = (request->cmd_flags & OPERATION) == FLUSH ? tag_of(request) : 0;
	commit(&room);
	return 0;
}

SEC("tp_btf/block_rq_complete") int block_rq_complete(u64 *context)
{
	struct request *request = (struct request *)context[0];
	u32 device = traced_device(request);
	struct complete *complete;
	struct room room;

	if (!device || !reserve(&room))
		return 0;
	complete = &room.cell->complete;
	describe(&complete->step, COMPLETE, request, device);
	complete->step.marks = is_in_sequence(request);
	complete->status = (int)context[1];
	complete->done_bytes = (u32)context[2];
	commit(&room);
	return 0;
}

/* A step that has nothing to say but that it happened. */
INLINE int bare(struct request *request, enum kind kind)
{
	u32 device = traced_device(request);
	struct room room;

	if (!device || !reserve(&room))
		return 0;
	describe(&room.cell->step, kind, request, device);
	commit(&room);
	return 0;
}

SEC("tp_btf/block_rq_requeue") int block_rq_requeue(u64 *context)
{
	return bare((struct request *)context[0], REQUEUE);
}

SEC("tp_btf/block_rq_merge") int block_rq_merge(u64 *context)
{
	return bare((struct request *)context[0], MERGE);
}

/* --- Bios ------------------------------------------------------------------- */

INLINE void describe_bio(struct step *step, enum kind kind, struct bio *bio, u32 device)
{
	step->identity = (u64)bio;
	step->sector = bio->bi_iter.bi_sector;
	step->length_bytes = bio->bi_iter.bi_size;
	step->command_flags = bio->bi_opf;
	step->device = device;
	step->cpu = bpf_get_smp_processor_id();
	step->kind = kind;
	step->marks = 0;
}

SEC("tp_btf/block_bio_queue") int block_bio_queue(u64 *context)
{
	struct bio *bio = (struct bio *)context[0];
	u32 device = traced_device_of_bio(bio);
	u64 now_ns, thread;
	struct start *start;
	struct room room = {};

	if (!device)
		return 0;
	if (has_bios_alone(bio->bi_bdev->bd_disk) && !reserve(&room))
		room.cell = 0;
	now_ns = bpf_ktime_get_ns(); /* after the room is taken: see ring.h */
	thread = this_thread(bpf_get_current_task_btf());
	remember(number_of(bio), now_ns, thread);
	if (!room.cell)
		return 0;
	start = &room.cell->start;
	describe_bio(&start->step, WHOLE_START, bio, device);
	start->step.time_ns = start->queued_ns = now_ns;
	start->tag = 0;
	sign(start, bio, thread, context);
	commit(&room);
	return 0;
}

/*
 * A bio is split: what comes first gets a bio of its own, linked to the whole, and goes
 * ahead; it was queued when the whole was.
 */
SEC("tp_btf/block_split") int block_split(u64 *context)
{
	struct bio *first = (struct bio *)context[0];
	u64 base = bpf_get_current_task() - number_of(bpf_get_current_task_btf());
	struct slot whole;

	if (!traced_device_of_bio(first) || has_bios_alone(first->bi_bdev->bd_disk))
		return 0;
	whole = recall((u64)first->bi_private - base, 0);
	if (whole.time_ns)
		remember(number_of(first), whole.time_ns, whole.thread);
	return 0;
}

/* Of a device without requests; elsewhere its request told all. What was split off is not told. */
SEC("tp_btf/block_bio_complete") int block_bio_complete(u64 *context)
{
	struct bio *bio = (struct bio *)context[1];
	struct complete *complete;
	struct room room;
	u32 device;

	if (!has_bios_alone(bio->bi_bdev->bd_disk))
		return 0;
	device = traced_device_of_bio(bio);
	if (!device || !recall(number_of(bio), 1).time_ns || !reserve(&room))
		return 0;
	complete = &room.cell->complete;
	describe_bio(&complete->step, COMPLETE, bio, device);
	complete->step.time_ns = bpf_ktime_get_ns();
	complete->status = bio->bi_status;
	complete->done_bytes = ALL_BYTES;
	commit(&room);
	return 0;
}

#include "sync.h"
#include "syscall.h"

/* --- What the numbers mean -------------------------------------------------- */

/* The words of mod.rs's Learnt: where in command_flags this kernel has each. */
struct bits {
	u64 sync, meta, idle, fua, preflush, readahead, background, swap;
	u64 process_1_switches; /* away from its threads, where programs run then: second.rs */
};

struct bits bits;

#define BIT(name) __builtin_preserve_enum_value(*(enum req_flag_bits *)name, 1)

/* Runs only while the capture is loaded. */
SEC("tp_btf/sched_switch") int find_bits(void *context)
{
	bits.sync = BIT(__REQ_SYNC);
	bits.meta = BIT(__REQ_META);
	bits.idle = BIT(__REQ_IDLE);
	bits.fua = BIT(__REQ_FUA);
	bits.preflush = BIT(__REQ_PREFLUSH);
	bits.readahead = BIT(__REQ_RAHEAD);
	bits.background = BIT(__REQ_BACKGROUND);
	bits.swap = BIT(__REQ_SWAP);
	if (bpf_get_current_task_btf()->tgid == 1)
		__sync_fetch_and_add(&bits.process_1_switches, 1);
	return 0;
}

/* Some helpers are for programs under the GPL only; this one is under both. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

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
 * Before 6.5 no tracepoint tells of a request's allocation but block_getrq, and that names
 * the bio alone. There the bio starts, and its request is told at the first step that has
 * both (BECAME).
 *
 * Of a bio that a device made of others hands on (device mapper, md), it is remembered where
 * it was there, and told after its start on the device beneath (ABOVE).
 *
 * Source: block/blk-core.c (submit_bio_noacct_nocheck), blk-mq.c (blk_mq_submit_bio,
 * blk_mq_start_request, blk_update_request), blk-merge.c, blk-flush.c, drivers/md/dm.c,
 * raid1.c of Linux 5.10, 6.1, 6.12, 6.18.
 *
 * Non-goals: pairing steps (user space).
 */
#include "../bpf/kernel.h"
#include "../bpf/self.h"
#include "block.h"
#include "event.h"
#include "ring.h"
#include "device.h"
#include "twice.h"
#include "file.h"
#include "evicted.h"
#include "name.h"
#include "stack.h"
#include "flight.h"
#include "summed.h"

/* --- The table of bios ------------------------------------------------------ */

INLINE u64 this_thread(struct task_struct *task)
{
	return (u64)(u32)GET(task, tgid) << 32 | (u32)GET(task, pid);
}

#define SETS (1 << 14)
#define WAYS 4

/* A bio. A slot that holds none holds zeroes. */
struct slot {
	u64 time_ns;
	u64 thread; /* its number, and its process's in the high half; and marks */
	u64 check;  /* of the bio's address, the time and the thread */
};

/* Marks of a thread, which no process's number reaches. */
#define MARKS (3ull << 62)
#define WHOLE (1ull << 63)   /* told as a bio, and not as a request */
#define STARTED (1ull << 62) /* told as a bio that becomes a request (before 6.5) */

INLINE int is_whole(const struct slot *slot)
{
	return (slot->thread & WHOLE) != 0;
}

struct set {
	struct slot slots[WAYS];
};

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, SETS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct set);
} queued SEC(".maps");

INLINE struct set *set_of(u64 hash)
{
	u32 place = hash >> 50;

	return bpf_map_lookup_elem(&queued, &place);
}

INLINE int holds(const volatile struct slot *slot, u64 hash)
{
	return (slot->check ^ slot->time_ns ^ slot->thread) == hash;
}

/*
 * In the slot that it has, if it was never taken out; else in the one that is oldest. What is there
 * of a later bio with the same address stays.
 */
INLINE void put(u64 hash, u64 time_ns, u64 thread)
{
	u64 oldest_ns = ~0ull;
	struct set *set = set_of(hash);
	volatile struct slot *slot, *into;

	if (!set)
		return;
	into = &set->slots[0];
#pragma unroll
	for (int way = 0; way < WAYS; way++) {
		slot = &set->slots[way];
		if (holds(slot, hash)) {
			if (slot->time_ns > time_ns)
				return;
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

INLINE void remember(u64 bio, u64 time_ns, u64 thread)
{
	put(hash_of(bio), time_ns, thread);
}

/* What recall forgets. */
enum forgets { NOTHING, OF_REQUESTS, OF_WHOLES };

/* What a slot has of a bio, which it then forgets if it is to; its time is 0 if that is nothing. */
INLINE struct slot take(volatile struct slot *slot, u64 hash, enum forgets forgets)
{
	struct slot copy = {slot->time_ns, slot->thread, slot->check}, none = {};

	if (!copy.time_ns || !holds(&copy, hash))
		return none;
	if (forgets && is_whole(&copy) == (forgets == OF_WHOLES))
		slot->time_ns = slot->thread = slot->check = 0;
	return copy;
}

INLINE struct slot recall_from_table(u64 hash, enum forgets forgets)
{
	struct set *set = set_of(hash);
	struct slot none = {};

	if (!set)
		return none;
#pragma unroll
	for (int way = 0; way < WAYS; way++) {
		struct slot copy = take(&set->slots[way], hash, forgets);

		if (copy.time_ns)
			return copy;
	}
	return none;
}

#ifdef PLAIN
INLINE void remember_last(u64 bio, u64 time_ns, u64 thread)
{
	remember(bio, time_ns, thread);
}

INLINE struct slot recall(u64 bio, enum forgets forgets)
{
	return recall_from_table(hash_of(bio), forgets);
}
#else
/*
 * The bio that was queued last on each CPU, which most often becomes a request there before the
 * next one is queued: so it stays in this CPU's cache. The next one puts it into the table.
 */
struct last {
	struct slot slot;
	u64 apart[5];
};

/* Its size is set before it is loaded. */
struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct last);
} last_queued SEC(".maps");

/* As many as the verifier follows; what was queued on another one is looked for in the table. */
#define CPUS_MOST 1024

INLINE void remember_last(u64 bio, u64 time_ns, u64 thread)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct last *last = bpf_map_lookup_elem(&last_queued, &cpu);
	volatile struct slot *slot;

	if (!last)
		return remember(bio, time_ns, thread);
	slot = &last->slot;
	if (slot->time_ns)
		put(slot->check ^ slot->time_ns ^ slot->thread, slot->time_ns, slot->thread);
	slot->time_ns = time_ns;
	slot->thread = thread;
	slot->check = hash_of(bio) ^ time_ns ^ thread;
}

/* On which CPU a bio was queued last; CPUS_MOST if on none. Its thread has gone on at another. */
APART u32 cpu_of_last(u64 hash)
{
	u32 found = CPUS_MOST;
	u64 latest_ns = 0;

	for (u32 cpu = 0; cpu < CPUS_MOST; cpu++) {
		u32 key = cpu;
		struct last *last = bpf_map_lookup_elem(&last_queued, &key);

		if (!last)
			break;
		if (last->slot.time_ns > latest_ns && holds(&last->slot, hash)) {
			latest_ns = last->slot.time_ns;
			found = cpu;
		}
	}
	return found;
}

/*
 * What is remembered of a bio; its time is 0 if nothing is. One that was told as a bio is
 * remembered until it is complete, even if a device hands it on as it is to another one.
 */
INLINE struct slot recall(u64 bio, enum forgets forgets)
{
	u64 hash = hash_of(bio);
	u32 cpu = bpf_get_smp_processor_id();
	struct last *last = bpf_map_lookup_elem(&last_queued, &cpu);
	struct slot copy = {}, kept;

	/* A bio that was merged is there for good: its address may be another thread's by now. */
	if (last && last->slot.thread == this_thread(this_task()))
		copy = take(&last->slot, hash, forgets);
	if (copy.time_ns)
		return copy;
	cpu = cpu_of_last(hash);
	last = bpf_map_lookup_elem(&last_queued, &cpu);
	if (last)
		copy = take(&last->slot, hash, forgets);
	/* Looked at later than the slots: what left one meanwhile is there. The later one is the bio's. */
	kept = recall_from_table(hash, forgets);
	return copy.time_ns > kept.time_ns ? copy : kept;
}
#endif

#include "above.h"

/* --- Records ---------------------------------------------------------------- */

INLINE void describe(struct step *step, enum kind kind, struct request *request, u32 device)
{
	step->time_ns = bpf_ktime_get_ns();
	step->identity = (u64)request;
	step->sector = GET(request, __sector);
	step->length_bytes = GET(request, __data_len);
	step->command_flags = GET(request, cmd_flags);
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
	int tag = GET(request, internal_tag);
	struct blk_mq_hw_ctx *queue = GET(request, mq_hctx);

	if (tag < 0)
		tag = GET(request, tag);
	return tag < 0 || !queue ? 0 : (number_of(queue) << 8) + (u32)tag + 1;
}

INLINE int is_flush(struct request *request)
{
	return (GET(request, cmd_flags) & OPERATION) == facts.op_flush;
}

/*
 * Whether the flush machinery has the request, whose steps are then its data's (blk-flush.c):
 * by its flag, or by who is told of its end.
 */
INLINE u8 is_in_sequence(struct request *request)
{
	if (is_flush(request))
		return 0;
	if (facts.in_flush_sequence != UNKNOWN)
		return GET(request, rq_flags) & facts.in_flush_sequence ? MARK_IN_SEQUENCE : 0;
	return (u64)FIELD_OF(number_of(request) + base_of_numbers(), struct request, end_io) ==
			       facts.mq_flush_data_end_io ?
		       MARK_IN_SEQUENCE :
		       0;
}

/*
 * The cgroup (version 2) that a bio is charged to, which is that of a file's owner
 * when its pages are written back. Where the block controller is of version 1, the
 * thread's own, unless that is the root, in which all are that nobody put anywhere.
 */
INLINE u64 cgroup_of(struct bio *bio, struct task_struct *task)
{
	struct cgroup *cgroup;
	struct blkcg_gq *group;

	if (HAS(struct bio, bi_blkg)) {
		group = GET(bio, bi_blkg);
		cgroup = GET(GET(group, blkcg), css.cgroup);
		if (cgroup && GET(GET(cgroup, root), hierarchy_id) == 0)
			return GET(GET(cgroup, kn), id);
	}
	if (GET(task, flags) & PF_KTHREAD)
		return 0;
	cgroup = GET(GET(task, cgroups), dfl_cgrp);
	return GET(cgroup, level) > 0 ? GET(GET(cgroup, kn), id) : 0;
}

/* Of which file a bio is, whose name is told. */
INLINE struct whose whose_is(struct bio *bio)
{
	struct whose whose = {};

	if (bio) {
		if (find_whose(bio, &whose))
			find_whose_page(bio, &whose);
		tell_name(&whose.file, 0);
	}
	return whose;
}

/* Which file it is of; and of a read, whose flags do not tell, how it goes by the page cache. */
INLINE void describe_file(struct start *start, struct bio *bio, struct whose *whose)
{
	start->inode = whose->file.inode;
	start->generation = whose->file.generation;
	start->file_system = whose->file.file_system;
	start->file_kind = whose->file.kind;
	if ((GET(bio, bi_opf) & OPERATION) != facts.op_read)
		return;
	if (whose->is_direct)
		start->step.marks |= MARK_DIRECT;
	start->step.marks |= was_evicted(whose->page, GET(this_task(), tgid));
}

/* Two words; a name that changes meanwhile may be of both halves. */
INLINE void copy_command(u8 *into, struct task_struct *task)
{
#ifdef PLAIN
	bpf_probe_read_kernel(into, sizeof(task->comm), &task->comm);
#else
	((u64 *)into)[0] = *(u64 *)&task->comm[0];
	((u64 *)into)[1] = *(u64 *)&task->comm[8];
#endif
}

/*
 * Whether it has been through the throttling of cgroups. If a workqueue's thread queues
 * it, it was held back there (block/blk-throttle.c, throtl_pending_timer_fn); written back
 * by one, it may not have been.
 */
INLINE int is_throttled(struct bio *bio)
{
	return facts.throttled != UNKNOWN && GET(bio, bi_flags) & facts.throttled;
}

/* Who asked; `thread` is who queued it. */
INLINE void sign(struct start *start, struct bio *bio, struct whose *whose, u64 thread,
		 void *context)
{
	struct task_struct *task = this_task();

	start->kernel_stack = start->user_stack = 0;
	if (stacks_wanted)
		sign_with_stacks(start, task, context);
	start->cgroup = cgroup_of(bio, task);
	if (GET(task, flags) & PF_WQ_WORKER && is_throttled(bio))
		start->step.marks |= MARK_THROTTLED;
	start->pid = thread;
	start->tgid = (thread & ~MARKS) >> 32;
	describe_file(start, bio, whose);
	copy_command(start->command, task);
}

INLINE void describe_bio(struct step *step, enum kind kind, struct bio *bio, u32 device)
{
	step->identity = (u64)bio;
	step->sector = GET(bio, bi_iter.bi_sector);
	step->length_bytes = GET(bio, bi_iter.bi_size);
	step->command_flags = GET(bio, bi_opf);
	step->device = device;
	step->cpu = bpf_get_smp_processor_id();
	step->kind = kind;
	step->marks = 0;
}

/* After the start of what has this identity: where its bio came from. */
INLINE void tell_above(const void *identity, struct bio *bio, u32 device)
{
	struct place above;
	struct room room;

	if (!remaps_seen)
		return;
	above = take_above(number_of(bio));
	if (!above.device || !reserve(&room))
		return;
	describe_bio(&room.cell->issue.step, ABOVE, bio, device);
	room.cell->issue.step.time_ns = bpf_ktime_get_ns();
	room.cell->issue.step.identity = (u64)identity;
	room.cell->issue.step.sector = above.sector;
	room.cell->issue.serves = above.device;
	commit(&room);
}

/* --- The course of most requests (flight.h) ----------------------------------- */

#ifdef PLAIN
INLINE void touch_place(struct request *request)
{
}

INLINE int begin_on_way(struct request *request, u32 device, struct slot *queued,
			struct whose *whose, void *context)
{
	return 0;
}

INLINE int issue_on_way(struct request *request)
{
	return 0;
}

INLINE int complete_on_way(struct request *request, u32 status, u32 done_bytes, u32 again)
{
	return 0;
}

INLINE void merge_on_way(struct request *request)
{
}

INLINE void leave_way(struct request *request)
{
}
#else
/* From now on it is told by its steps. */
INLINE void leave_way(struct request *request)
{
	struct on_way *way = find_on_way(request);

	if (way)
		unfold(way, 0);
}

/* Whether its start is kept until it is complete; else it is to be told. */
INLINE int begin_on_way(struct request *request, u32 device, struct slot *queued,
			struct whose *whose, void *context)
{
	struct bio *bio = GET(request, bio);
	struct on_way *way;
	u64 waited_ns;

	if (steps_wanted || GET(request, cmd_flags) & sequence_flags || is_flush(request) ||
	    (remaps_seen && own_place(number_of(bio)))) {
		leave_way(request);
		return 0;
	}
	way = take_place(number_of(request));
	if (!way)
		return 0;
	describe(&way->known.step, FINISHED, request, device);
	waited_ns = way->known.step.time_ns - queued->time_ns;
	if (waited_ns >> 32) {
		leave_place(way);
		return 0;
	}
	way->known.started_after_ns = way->started_after_ns = waited_ns;
	way->known.queued_ns = way->queued_ns = queued->time_ns;
	way->known.tag = way->issued_ns = 0;
	way->length_bytes = way->known.step.length_bytes;
	sign(&way->known, bio, whose, queued->thread, context);
	way->sums = sums_of(&way->known);
	return 1;
}

/* Most are as they began: to write that again would take the cache line from where it is. */
INLINE void see_changes(struct on_way *way, struct request *request)
{
	struct step *step = &way->known.step;
	u32 bytes = GET(request, __data_len), flags = GET(request, cmd_flags);
	u64 sector = GET(request, __sector);

	if (sector != step->sector)
		step->sector = sector;
	if ((!bytes || bytes == step->length_bytes) && !(flags & ~step->command_flags))
		return;
	if (bytes > step->length_bytes)
		step->marks |= MARK_GREW;
	if (bytes)
		way->length_bytes = step->length_bytes = bytes;
	step->command_flags |= flags;
	way->sums = sums_of(&way->known);
}

/* Whether its issue is kept. One that is issued again, and was not given back, is another one. */
INLINE int issue_on_way(struct request *request)
{
	struct on_way *way = find_on_way(request);

	if (!way)
		return 0;
	if (way->issued_ns) {
		unfold(way, 0);
		return 0;
	}
	see_changes(way, request);
	way->issued_ns = bpf_ktime_get_ns();
	return 1;
}

/* When the kernel says that it was issued, where no program ran then; 0: it does not say. */
INLINE u64 issued_unseen(struct request *request, struct on_way *way)
{
	u64 issued_ns = GET(request, io_start_time_ns);
	u64 started_ns = way->queued_ns + way->started_after_ns;

	/* It may have read its clock before that (blk_time_get_ns). */
	return issued_ns && issued_ns < started_ns ? started_ns : issued_ns;
}

/* Whether all of it is told, or lost. */
INLINE int complete_on_way(struct request *request, u32 status, u32 done_bytes, u32 again)
{
	struct on_way *way = find_on_way(request);
	struct room room;

	if (!way)
		return 0;
	if (done_bytes < GET(request, __data_len)) {
		unfold(way, 0);
		return 0;
	}
	if (!way->issued_ns)
		way->issued_ns = issued_unseen(request, way);
	if (way->sums && !status && sum_up(way, again)) {
		leave_place(way);
		return 1;
	}
	if (reserve_for(&room, way->issued_ns ? 3 : 2)) {
		room.cell->start = way->known;
		room.cell->start.tag = way->issued_ns;
		room.cell->start.status = status;
		room.cell->start.step.time_ns = bpf_ktime_get_ns();
		commit(&room);
	}
	leave_place(way);
	return 1;
}

/* What became a part of another is told of no more. */
INLINE void merge_on_way(struct request *request)
{
	struct on_way *way = find_on_way(request);

	if (way)
		leave_place(way);
}
#endif

/* --- The steps of a request ------------------------------------------------- */

TRACEPOINT(block_io_start)
{
	struct request *request = (struct request *)context[0];
	struct bio *bio = GET(request, bio);
	u32 device = traced_device(request);
	struct slot queued;
	struct start *start;
	struct whose whose;
	struct room room;

	if (!device)
		return 0;
	touch_place(request);
	queued = recall(number_of(bio), OF_REQUESTS);
	if (!queued.time_ns) {
		queued.thread = this_thread(this_task());
		if (bio) /* a driver's command has none */
			count_missed_time();
	}
	whose = whose_is(bio);
	if (bio && queued.time_ns && begin_on_way(request, device, &queued, &whose, context))
		return 0;
	if (!reserve(&room))
		return 0;
	start = &room.cell->start;
	describe(&start->step, START, request, device);
	start->queued_ns = queued.time_ns;
	start->tag = tag_of(request);
	sign(start, bio, &whose, queued.thread, context);
	commit(&room);
	if (bio)
		tell_above(request, bio, device);
	return 0;
}

#ifdef PLAIN
/* The start of a bio that is about to become a request (before 6.5). */
TRACEPOINT(block_getrq)
{
	struct bio *bio = ARGUMENT(struct bio, getrq_bio);
	u32 device = traced_device_of_bio(bio);
	struct slot queued;
	struct start *start;
	struct whose whose;
	struct room room;

	if (!device)
		return 0;
	/* It is forgotten when it is known what it became. */
	queued = recall(number_of(bio), NOTHING);
	if (!queued.time_ns) {
		queued.thread = this_thread(this_task());
		count_missed_time();
	}
	remember(number_of(bio), queued.time_ns ?: bpf_ktime_get_ns(), queued.thread | STARTED);
	whose = whose_is(bio);
	if (!reserve(&room))
		return 0;
	start = &room.cell->start;
	describe_bio(&start->step, START, bio, device);
	start->step.time_ns = bpf_ktime_get_ns();
	start->queued_ns = queued.time_ns;
	start->tag = 0;
	sign(start, bio, &whose, queued.thread, context);
	commit(&room);
	tell_above(bio, bio, device);
	return 0;
}

/* Whether it is known at its start which request a bio becomes. */
volatile const u32 starts_are_requests;

/* Bios that were merged in front of the one that a request was, and are looked at. */
#define FRONT_MOST 8

/* The bio that a request was when it started; 0 if that was told. */
INLINE struct bio *started_bio(struct request *request)
{
	struct bio *bio = GET(request, bio);

	for (int place = 0; place < FRONT_MOST; place++) {
		if (!bio)
			return 0;
		if (recall(number_of(bio), NOTHING).thread & STARTED)
			return bio;
		bio = GET(bio, bi_next);
	}
	return 0;
}

/* Tells which bio a request was, at the first step at which both are known. */
INLINE void tell_become(struct request *request, u32 device)
{
	struct bio *bio;
	struct room room;

	if (starts_are_requests)
		return;
	bio = started_bio(request);
	if (!bio || !recall(number_of(bio), OF_REQUESTS).time_ns || !reserve(&room))
		return;
	describe(&room.cell->issue.step, BECAME, request, device);
	room.cell->issue.step.sector = (u64)bio;
	room.cell->issue.serves = tag_of(request);
	commit(&room);
}

/* A flush is issued for a request that has done no step of its own yet, and has its tag. */
INLINE void tell_become_served(struct request *flush, u32 device)
{
	int tag = GET(flush, internal_tag);
	struct blk_mq_hw_ctx *queue = GET(flush, mq_hctx);
	struct blk_mq_tags *tags;
	struct request *served = 0;

	if (starts_are_requests || !queue)
		return;
	tags = tag < 0 ? GET(queue, tags) : GET(queue, sched_tags);
	if (tag < 0)
		tag = GET(flush, tag);
	if (tag < 0 || !tags)
		return;
	bpf_probe_read_kernel(&served, sizeof(served), GET(tags, static_rqs) + tag);
	if (served)
		tell_become(served, device);
}

TRACEPOINT(block_rq_insert)
{
	struct request *request = ARGUMENT(struct request, inserted_request);
	u32 device = traced_device(request);

	if (device)
		tell_become(request, device);
	return 0;
}
#else
INLINE void tell_become(struct request *request, u32 device)
{
}

INLINE void tell_become_served(struct request *flush, u32 device)
{
}
#endif

TRACEPOINT(block_rq_issue)
{
	struct request *request = ARGUMENT(struct request, issued_request);
	struct issue *issue;
	struct room room;
	u32 device;

	if (issue_on_way(request))
		return 0;
	device = traced_device(request);
	if (!device)
		return 0;
	if (is_flush(request))
		tell_become_served(request, device);
	else
		tell_become(request, device);
	if (!reserve(&room))
		return 0;
	issue = &room.cell->issue;
	describe(&issue->step, ISSUE, request, device);
	issue->step.marks = is_in_sequence(request);
	issue->serves = is_flush(request) ? tag_of(request) : 0;
	commit(&room);
	return 0;
}

TRACEPOINT_OF_INTERRUPTS(block_rq_complete)
{
	struct request *request = (struct request *)context[0];
	struct complete *complete;
	struct room room;
	u32 device;

	touch_place(request);
	if (complete_on_way(request, context[1], context[2], again))
		return 0;
	device = traced_device(request);
	if (!device)
		return 0;
	tell_become(request, device);
	if (!reserve(&room))
		return 0;
	complete = &room.cell->complete;
	describe(&complete->step, COMPLETE, request, device);
	complete->step.marks = is_in_sequence(request);
	complete->status = (int)context[1];
	complete->done_bytes = (u32)context[2];
	complete->started_ns = GET(request, start_time_ns);
	complete->issued_ns = GET(request, io_start_time_ns);
	commit(&room);
	return 0;
}

/* A step that has nothing to say but that it happened. */
INLINE int bare(struct request *request, enum kind kind)
{
	u32 device = traced_device(request);
	struct room room;

	if (!device)
		return 0;
	tell_become(request, device);
	if (!reserve(&room))
		return 0;
	describe(&room.cell->step, kind, request, device);
	commit(&room);
	return 0;
}

TRACEPOINT(block_rq_requeue)
{
	struct request *request = ARGUMENT(struct request, requeued_request);

	leave_way(request);
	return bare(request, REQUEUE);
}

TRACEPOINT(block_rq_merge)
{
	struct request *request = ARGUMENT(struct request, merged_request);

	merge_on_way(request);
	return bare(request, MERGE);
}

/* --- Bios ------------------------------------------------------------------- */

/* Until the first one, completions of bios cost nothing. */
u32 wholes_seen;

/* A bio is the request where there are no others. Its time is read after the room is taken (ring.h). */
INLINE void start_whole(struct bio *bio, u32 device, void *context)
{
	u64 thread = this_thread(this_task());
	struct whose whose = whose_is(bio);
	struct start *start;
	struct room room;

	if (!reserve(&room)) {
		remember(number_of(bio), bpf_ktime_get_ns(), thread);
		return;
	}
	wholes_seen = 1;
	start = &room.cell->start;
	describe_bio(&start->step, WHOLE_START, bio, device);
	start->step.time_ns = start->queued_ns = bpf_ktime_get_ns();
	remember(number_of(bio), start->queued_ns, thread | WHOLE);
	start->tag = 0;
	sign(start, bio, &whose, thread, context);
	commit(&room);
	tell_above(bio, bio, device);
}

TRACEPOINT(block_bio_queue)
{
	struct bio *bio = ARGUMENT(struct bio, queued_bio);
	u32 device = traced_device_of_bio(bio);

	see_queued(number_of(bio));
	if (!device)
		return 0;
	if (has_bios_alone(disk_of_bio(bio)))
		start_whole(bio, device, context);
	else
		remember_last(number_of(bio), bpf_ktime_get_ns(), this_thread(this_task()));
	return 0;
}

/*
 * A bio is split: what comes first gets a bio of its own, linked to the whole, and goes
 * ahead; it was queued when the whole was, and comes from where it did.
 */
TRACEPOINT(block_split)
{
	struct bio *first = ARGUMENT(struct bio, split_bio);
	u64 number;
	struct slot whole;

	if (!traced_device_of_bio(first) || has_bios_alone(disk_of_bio(first)))
		return 0;
	/* Not GET: a void pointer that the verifier knows as such is no number to it (6.17). */
	number = (u64)READ(first, bi_private) - base_of_numbers();
	whole = recall(number, NOTHING);
	if (whole.time_ns)
		remember(number_of(first), whole.time_ns, whole.thread);
	copy_above(number_of(first), number);
	return 0;
}

/*
 * Whether a bio comes from a partition of its own disk, which is no device above that. It is
 * named as the bio's own; before 5.12 it is known by its number, which is next to the disk's
 * or, of disks with many partitions, of a major number of their own (uapi/linux/major.h).
 */
#define BLOCK_EXT_MAJOR 259

INLINE int is_from_partition(struct bio *bio, u32 from)
{
#ifdef PLAIN
	struct gendisk *disk = disk_of_bio(bio);

	if (!HAS(struct bio, bi_bdev))
		return from >> 20 == BLOCK_EXT_MAJOR ||
		       from - device_of(disk) < (u32)GET(disk, minors);
#endif
	return from == part_of_bio(bio);
}

/* A device made of others hands a bio on: with the device and the place that it had there. */
TRACEPOINT(block_bio_remap)
{
	struct bio *bio = ARGUMENT(struct bio, remapped_bio);
	struct place above;

	above.device = BEHIND(remapped_bio, 1);
	above.sector = BEHIND(remapped_bio, 2);
	if (!is_from_partition(bio, above.device))
		remember_above(number_of(bio), above);
	return 0;
}

/*
 * Of what was told as a bio; elsewhere its request told all. It may be on another device by now
 * (bcache hands its bios on as they are). What was split off is not told.
 */
TRACEPOINT_OF_INTERRUPTS(block_bio_complete)
{
	struct bio *bio = (struct bio *)context[1];
	struct complete *complete;
	struct slot queued;
	struct room room;

	if (!wholes_seen)
		return 0;
	queued = recall_from_table(hash_of(number_of(bio)), OF_WHOLES);
	if (!queued.time_ns || !is_whole(&queued) || !reserve(&room))
		return 0;
	complete = &room.cell->complete;
	describe_bio(&complete->step, COMPLETE, bio, device_of(disk_of_bio(bio)));
	complete->step.time_ns = bpf_ktime_get_ns();
	complete->status = GET(bio, bi_status);
	complete->done_bytes = ALL_BYTES;
	complete->started_ns = complete->issued_ns = 0;
	commit(&room);
	return 0;
}

#include "sync.h"
#include "syscall.h"
#include "wait.h"

/* --- Whether programs run in process 1 (second.rs) --------------------------- */

/* How often a thread of process 1 was switched out. */
struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} process_1 SEC(".maps");

/* Runs only while the capture is loaded. */
AT_SWITCH int see_process_1(void *context)
{
	u32 zero = 0;
	u64 *switches = bpf_map_lookup_elem(&process_1, &zero);

	if (switches && GET(this_task(), tgid) == 1)
		__sync_fetch_and_add(switches, 1);
	return 0;
}

/* Some helpers are for programs under the GPL only; this one is under both. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

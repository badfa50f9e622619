/*
 * Requests on their way, by their addresses. What is known of one waits here from its start, and
 * one record at its completion tells all of it (FINISHED): a third of the records that its steps
 * would be, and what one CPU writes and another one reads is a third, too. What is summed up is
 * known by the first cache line of its place: the others stay with the CPU at which it began.
 *
 * Who takes another course is told by steps: those that it has taken so far are told when it leaves
 * that course, and the others as they come (unfold). So is from the beginning who has no place
 * here, who is of a flush sequence, and who serves a device above: their steps concern others.
 *
 * A place is taken by an exchange, for two requests may begin at once; all else happens to one
 * request after the other. What is still here when the capture ends is read by user space.
 *
 * Non-goals: kernels without atomic operations with a result (PLAIN): all are told by steps.
 */
#ifndef LBOLT_FLIGHT_H
#define LBOLT_FLIGHT_H

/* As many requests as a machine has in flight; where there are more, they are told by steps. */
#define FLIGHT_BITS 12
#define FLIGHT_WAYS 2

/* Written before the programs are loaded: whether all are told by steps. */
volatile const u32 steps_wanted;
/* The command flags of flush sequences: a mask. */
volatile const u32 sequence_flags;

struct on_way {
	u64 request;   /* its number; 0: nobody's place */
	u64 sums;      /* by what it is named (summed.h); 0: it is told */
	u64 queued_ns;
	u64 issued_ns; /* 0: not yet */
	u32 started_after_ns;
	u32 length_bytes;
	u64 touched;   /* nobody reads it */
	u64 apart[2];
	struct start known; /* but for its issue */
};

struct flight_set {
	struct on_way ways[FLIGHT_WAYS];
};

#ifndef PLAIN
struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(map_flags, MAPPABLE);
	MAP_NUMBER(max_entries, 1 << FLIGHT_BITS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct flight_set);
} flight SEC(".maps");

INLINE struct flight_set *flight_set_of(u64 number)
{
	u32 place = hash_of(number) >> (64 - FLIGHT_BITS);

	return bpf_map_lookup_elem(&flight, &place);
}

/* Where a request is; 0 if it is told by steps. */
INLINE struct on_way *find_on_way(struct request *request)
{
	u64 number = number_of(request);
	struct flight_set *set = flight_set_of(number);

	if (!set)
		return 0;
#pragma unroll
	for (int way = 0; way < FLIGHT_WAYS; way++)
		if (*(volatile u64 *)&set->ways[way].request == number)
			return &set->ways[way];
	return 0;
}

/*
 * Asks for the cache line of a request's place, which another CPU had last: it comes while something
 * else is done. To read it would bring it once to be read, and once more to be written.
 */
INLINE void touch_place(struct request *request)
{
	struct flight_set *set = flight_set_of(number_of(request));

	if (set)
		*(volatile u64 *)&set->ways[0].touched = 0;
}

static APART int unfold(struct on_way *way, u32 is_over);

/*
 * A place for it; 0 if there is none. An earlier one with its address, whose end was not seen, is
 * told.
 */
INLINE struct on_way *take_place(u64 number)
{
	struct flight_set *set = flight_set_of(number);
	struct on_way *taken = 0;

	if (!set)
		return 0;
#pragma unroll
	for (int way = 0; way < FLIGHT_WAYS; way++) {
		u64 *owner = &set->ways[way].request, was;

		was = taken ? *(volatile u64 *)owner :
			      __sync_val_compare_and_swap(owner, 0, number);
		if (was == number)
			unfold(&set->ways[way], 1);
		else if (!was && !taken)
			taken = &set->ways[way];
	}
	return taken;
}

/* On no processor may the place be seen as nobody's before it is read. */
INLINE void leave_place(struct on_way *way)
{
	if (stores_in_order) {
		asm volatile("" ::: "memory");
		*(volatile u64 *)&way->request = 0;
	} else {
		__sync_lock_test_and_set(&way->request, 0);
	}
}

/* Tells the steps that it has taken, and that it is over if it is, and leaves the place. */
static APART int unfold(struct on_way *way, u32 is_over)
{
	struct start *start;
	struct issue *issue;
	struct room room;
	u64 issued_ns = way->issued_ns;

	if (reserve(&room)) {
		start = &room.cell->start;
		*start = way->known;
		start->step.kind = START;
		start->step.marks &= ~MARK_GREW;
		start->step.time_ns = way->known.queued_ns + way->known.started_after_ns;
		commit(&room);
	}
	if (issued_ns && reserve(&room)) {
		issue = &room.cell->issue;
		issue->step = way->known.step;
		issue->step.kind = ISSUE;
		issue->step.marks = way->known.step.marks & MARK_GREW;
		issue->step.time_ns = issued_ns;
		issue->serves = 0;
		commit(&room);
	}
	if (is_over && reserve(&room)) {
		room.cell->step = way->known.step;
		room.cell->step.kind = OVER;
		room.cell->step.time_ns = bpf_ktime_get_ns();
		commit(&room);
	}
	leave_place(way);
	return 0;
}
#endif

#endif

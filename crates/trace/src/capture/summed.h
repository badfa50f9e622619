/*
 * Requests that have a name (repeated.h) and were quicker than a threshold, as sums: they make no
 * record. By CPU, and by what user space has put together: how many they are, their bytes and
 * times, and a histogram of their response times, whose buckets are those of model::histogram. User
 * space maps the sums (summed.rs).
 *
 * What is told singly all the same: what failed, what lbolt itself requested, what is told by its
 * steps.
 *
 * Only one program adds to a row of sums: each CPU has two, one for each of the two programs at a
 * completion (twice.h), which no other run of the same program interrupts.
 *
 * Non-goals: what has a name; kernels without atomic operations with a result (PLAIN).
 */
#ifndef LBOLT_SUMMED_H
#define LBOLT_SUMMED_H

/* Written before the programs are loaded: where a bucket begins; 0 if all requests are told. */
volatile const u64 slower_than_ns;
/* How many buckets there are below it. */
volatile const u32 summed_buckets = 1;

#ifndef PLAIN
/* Places of a row. */
#define SUMMED_BITS 4
/* A bit of a time in which some were in flight is of so much, as a power of two: 2 ms. */
#define BUSY_BITS 21

struct summed {
	u64 last; /* in which BUSY_BITS of time the last one was completed; 0: there was none */
	u64 bytes;
	u64 admission_ns; /* queued to started */
	u64 queue_ns;	  /* queued to issued */
	u64 response_ns;  /* queued to completed */
	u64 most_ns;
	u64 below_ns; /* by how much the quickest one was quicker than the threshold */
	u64 busy; /* a bit for that time, and each one before it, in which some were in flight */
};

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(map_flags, MAPPABLE);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct summed);
} summed SEC(".maps");

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(map_flags, MAPPABLE);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} summed_counts SEC(".maps");

/* Our own processes in the first PID namespace, which are known when the programs are loaded. */
struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64); /* one << 32 | the other; 0: none */
} summed_not SEC(".maps");

/* The bucket of a time: 128 to the octave. */
INLINE u32 bucket_of(u64 ns)
{
	u64 rest = ns >> 8;
	u32 shift = 0;

#pragma unroll
	for (u32 bits = 32; bits; bits /= 2)
		if (rest >> bits) {
			shift += bits;
			rest >>= bits;
		}
	shift += rest != 0;
	return (shift << 7) + (u32)(ns >> shift);
}

INLINE int is_own(u32 tgid)
{
	u32 zero = 0;
	u64 *own = bpf_map_lookup_elem(&summed_not, &zero);

	return !own || (tgid && (tgid == (u32)*own || tgid == *own >> 32));
}

#include "repeated.h"

/* By what it is named, if that sums it up; 0: it is told. */
INLINE u64 sums_of(const struct start *known)
{
	if (!slower_than_ns || known->step.marks & MARK_THROTTLED || is_own(known->tgid))
		return 0;
	return repeated_hash(known);
}

/* Nobody else adds: what reads it meanwhile sees the one or the other. */
INLINE void add(u64 *sum, u64 value)
{
	*(volatile u64 *)sum = *(volatile u64 *)sum + value;
}

INLINE void raise(u64 *most, u64 value)
{
	if (*(volatile u64 *)most < value)
		*(volatile u64 *)most = value;
}

/* It was quicker than two of these times, and so in flight in three at the most. */
INLINE void keep_busy(struct summed *sum, u64 queued_ns, u64 now_ns)
{
	u64 now = now_ns >> BUSY_BITS, since = now - *(volatile u64 *)&sum->last;
	u64 busy = since < 64 ? *(volatile u64 *)&sum->busy << since : 0;

	*(volatile u64 *)&sum->busy = busy | ((2ull << (now - (queued_ns >> BUSY_BITS))) - 1);
	*(volatile u64 *)&sum->last = now;
}

/* When all else is added, on all processors. */
INLINE void count_it(u64 *count)
{
	if (stores_in_order) {
		asm volatile("" ::: "memory");
		add(count, 1);
	} else {
		__sync_lock_test_and_set(count, *(volatile u64 *)count + 1);
	}
}

/* Whether it is added to the sums; else it is to be told. */
INLINE int sum_up(struct on_way *way, u32 again)
{
	u64 now_ns = bpf_ktime_get_ns(), took_ns = now_ns - way->queued_ns;
	u32 cpu = bpf_get_smp_processor_id(), row = cpu * 2 + again, place, bucket;
	struct summed *sum;
	u64 *count;

	if (took_ns >= slower_than_ns || cpu >= cells_cpus)
		return 0;
	place = repeated_place(row, way);
	if (!place--)
		return 0;
	sum = bpf_map_lookup_elem(&summed, &place);
	bucket = place * summed_buckets + bucket_of(took_ns);
	count = bpf_map_lookup_elem(&summed_counts, &bucket);
	if (!sum || !count)
		return 0;
	add(&sum->bytes, way->length_bytes);
	add(&sum->admission_ns, way->started_after_ns);
	if (way->issued_ns)
		add(&sum->queue_ns, way->issued_ns - way->queued_ns);
	add(&sum->response_ns, took_ns);
	raise(&sum->most_ns, took_ns);
	raise(&sum->below_ns, slower_than_ns - took_ns);
	keep_busy(sum, way->queued_ns, now_ns);
	count_it(count);
	return 1;
}
#endif

#endif

/*
 * Requests that were quicker than a threshold, as sums: they make no record. By CPU, and by device
 * and operation (record --slower-than) or by what user space has named (repeated.h): how many they
 * are, their bytes and times, and a histogram of their response times, whose buckets are those of
 * model::histogram. User space maps the sums (summed.rs).
 *
 * What is told singly all the same: what failed, what lbolt itself requested, what is told by its
 * steps, and what finds no place here: more devices and operations than there are places.
 *
 * Only one program adds to a row of sums: each CPU has two, one for each of the two programs at a
 * completion (twice.h), which no other run of the same program interrupts.
 *
 * Non-goals: sums by anything else; kernels without atomic operations with a result (PLAIN).
 */
#ifndef LBOLT_SUMMED_H
#define LBOLT_SUMMED_H

/* Written before the programs are loaded: 0 if all requests are told. */
volatile const u64 slower_than_ns;
/* How many buckets there are below it. */
volatile const u32 summed_buckets = 1;

#ifndef PLAIN
/* Places of a row, and those of them that a device and operation can have. */
#define SUMMED_BITS 4
#define SUMMED_WAYS 4
/* A bit of a time in which some were in flight is of so much, as a power of two: 2 ms. */
#define BUSY_BITS 21

struct summed {
	u64 key; /* operation << 32 | device, and bit 63; 0: nobody's place. Of what is named: in
		    which BUSY_BITS of time the last one was completed */
	u64 bytes;
	u64 admission_ns; /* queued to started */
	u64 queue_ns;	  /* queued to issued */
	u64 response_ns;  /* queued to completed */
	u64 most_ns;
	u64 below_ns; /* by how much the quickest one was quicker than the threshold */
	u64 busy; /* of what is named: a bit for that time, and each one before it, in which some
		     of it was in flight */
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

/* One more than the place that a device and operation have; 0: none. */
INLINE u32 summed_place(u32 row, u64 key)
{
	u32 first = hash_of(key) >> (64 - SUMMED_BITS);

#pragma unroll
	for (u32 way = 0; way < SUMMED_WAYS; way++) {
		u32 place = (row << SUMMED_BITS) + ((first + way) & ((1 << SUMMED_BITS) - 1));
		struct summed *at = bpf_map_lookup_elem(&summed, &place);
		u64 owner;

		if (!at)
			return 0;
		owner = *(volatile u64 *)&at->key;
		if (!owner)
			owner = __sync_val_compare_and_swap(&at->key, 0, key) ?: key;
		if (owner == key)
			return place + 1;
	}
	return 0;
}

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

/* Of which sums it is, if it is quick; 0: of none. */
INLINE u64 sums_of(const struct start *known)
{
	if (!slower_than_ns || is_own(known->tgid))
		return 0;
	if (repeated_alone)
		return known->step.marks & MARK_THROTTLED ? 0 : repeated_hash(known);
	return 1ull << 63 | (u64)(known->step.command_flags & OPERATION) << 32 |
	       known->step.device;
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

/* What is named is quicker than two of these times: it was in flight in three at the most. */
INLINE void keep_busy(struct summed *sum, u64 queued_ns, u64 now_ns)
{
	u64 now = now_ns >> BUSY_BITS, since = now - *(volatile u64 *)&sum->key;
	u64 busy = since < 64 ? *(volatile u64 *)&sum->busy << since : 0;

	*(volatile u64 *)&sum->busy = busy | ((2ull << (now - (queued_ns >> BUSY_BITS))) - 1);
	*(volatile u64 *)&sum->key = now;
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
	place = repeated_alone ? repeated_place(row, way) : summed_place(row, way->sums);
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
	if (repeated_alone)
		keep_busy(sum, way->queued_ns, now_ns);
	count_it(count);
	return 1;
}
#endif

#endif

/*
 * A ring of records for each CPU, in memory that user space maps (ring.rs). The
 * kernel's own ring buffer has one lock for all CPUs; here a record costs an addition
 * and an exchange within the CPU's own cache.
 *
 * A cell is taken by counting one up, which is atomic because an interrupt may take
 * the next one between any two instructions. It is filled, and at last given its
 * number, which says that it is whole. A record's time is read after its cell was
 * taken: who reads the time and then the counts, knows that nothing earlier can
 * still turn up. An interrupt between the two takes later cells and has earlier
 * times, so that the reader puts a CPU's records in order.
 *
 * Where the kernel has no atomic operations with a result (PLAIN), a cell is a record of the
 * kernel's own ring, with its lock; what it had no space for is counted in `rings` all the same.
 *
 * Non-goals: waking the reader; records of several sizes.
 */
#ifndef LBOLT_RING_H
#define LBOLT_RING_H

struct cell {
	u64 number; /* its record's, from 1 on; 0: none yet */
	union {
		struct step step;
		struct start start;
		struct issue issue;
		struct complete complete;
		struct sync sync;
		struct name name;
		struct frames frames;
	};
};

/* Of a CPU. What the reader writes has a cache line of its own, and so have the counts of losses. */
struct ring {
	u64 taken; /* cells so far */
	u64 apart[7];
	u64 given_back; /* by the reader */
	u64 apart_too[7];
	/* The words of mod.rs's Losses. */
	u64 records;	 /* steps for which the ring was full */
	u64 queue_times; /* not found any more */
	u64 apart_as_well[6];
};

/* Both sizes are set before they are loaded. */
struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(map_flags, MAPPABLE);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct ring);
} rings SEC(".maps");

#ifdef PLAIN
struct {
	MAP_NUMBER(type, RING_BUFFER);
	MAP_NUMBER(max_entries, 4096);
} cells SEC(".maps");
#else
struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(map_flags, MAPPABLE);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct cell);
} cells SEC(".maps");
#endif

/*
 * Written before the programs are loaded: CPUs that have cells, those present then; cells of each,
 * a power of two; and whether all see stores in their order. A CPU that comes later loses all, which is counted.
 */
volatile const u32 cells_cpus = 1;
volatile const u32 cells_each = 1;
volatile const u32 stores_in_order;

/* Who looked and found room may be interrupted so many times over by others who did, too. */
#define SPARE 8

/* A cell that was taken. */
struct room {
	struct cell *cell;
	u64 number;
};

INLINE struct ring *ring_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

INLINE void count_lost(u32 steps)
{
	struct ring *ring = ring_here();

	if (ring)
		__sync_fetch_and_add(&ring->records, steps);
}

#ifdef PLAIN
/* Without room that many steps are counted as lost. */
INLINE int reserve_for(struct room *room, u32 steps)
{
	room->cell = bpf_ringbuf_reserve(&cells, sizeof(struct cell), 0);
	if (!room->cell) {
		count_lost(steps);
		return 0;
	}
	return 1;
}

INLINE void commit(struct room *room)
{
	bpf_ringbuf_submit(room->cell, NO_WAKEUP);
}
#else
/* Without room that many steps are counted as lost. */
INLINE int reserve_for(struct room *room, u32 steps)
{
	u32 cpu = bpf_get_smp_processor_id(), place;
	struct ring *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!ring)
		return 0;
	if (cpu >= cells_cpus ||
	    ring->taken - *(volatile u64 *)&ring->given_back + SPARE >= cells_each) {
		count_lost(steps);
		return 0;
	}
	room->number = __sync_fetch_and_add(&ring->taken, 1);
	place = cpu * cells_each + ((u32)room->number & (cells_each - 1));
	room->cell = bpf_map_lookup_elem(&cells, &place);
	return room->cell != 0;
}

/*
 * On no processor may the number be seen before what it stands for. Where stores are
 * seen in their order anyway (x86), nothing has to wait for the cell to get into the
 * cache; elsewhere an exchange sees to it.
 */
INLINE void commit(struct room *room)
{
	if (stores_in_order) {
		asm volatile("" ::: "memory");
		*(volatile u64 *)&room->cell->number = room->number + 1;
	} else {
		__sync_lock_test_and_set(&room->cell->number, room->number + 1);
	}
}
#endif

INLINE int reserve(struct room *room)
{
	return reserve_for(room, 1);
}

INLINE void count_missed_time(void)
{
	struct ring *ring = ring_here();

	if (ring)
		__sync_fetch_and_add(&ring->queue_times, 1);
}

#endif

/*
 * The kernel lets no program interrupt itself: its run at a step is left out while another
 * step on the same CPU has it running. Bios complete in threads and in interrupts, and requests
 * of one disk in an interrupt while those of another complete; and since Linux 7.0 tracepoints
 * leave preemption on, so that any step may come between. There a point has a second program,
 * which is run after the first at the same step, and does what the first was left out for.
 *
 * Which steps the first one did is known by where their arguments are: on the stack of
 * whoever takes the step, in the same place for both programs, and nobody else's meanwhile.
 *
 * Source: kernel/trace/bpf_trace.c (__bpf_trace_run); include/linux/tracepoint.h since
 * a46023d5616e ("Guard __DECLARE_TRACE() use of __DO_TRACE_CALL() with SRCU-fast").
 *
 * Non-goals: steps that both were left out for. They are counted (cost.rs).
 */
#ifndef LBOLT_TWICE_H
#define LBOLT_TWICE_H

/* Whether all points have two programs. Written before they are loaded. */
volatile const u32 twice;

/*
 * Where the arguments of steps are that the first program did, and the second one has not come to
 * yet: for whoever takes a step may be preempted between the two, go on at another CPU, and many
 * others take theirs meanwhile. A place is taken by another one's step in so large a table so
 * seldom that it does not count; the step would be told twice.
 */
#define DONE_BITS 16

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1 << DONE_BITS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} done SEC(".maps");

/* Steps that the second programs did, by the points' names, which user space writes there. */
#define POINT_NAME 32

struct point {
	char name[POINT_NAME];
};

struct {
	MAP_NUMBER(type, HASH);
	MAP_NUMBER(max_entries, 64);
	MAP_TYPE(key, struct point);
	MAP_TYPE(value, u64);
} made_good SEC(".maps");

/* Where the arguments are, as a number: the difference of two addresses is one to the verifier. */
INLINE u64 place_of_arguments(u64 *context)
{
	u64 place = (u64)context;

	asm volatile("%0 -= %1" : "+r"(place) : "r"(&twice));
	return place;
}

INLINE u64 *slot_of(u64 place)
{
	u32 index = hash_of(place) >> (64 - DONE_BITS);

	return bpf_map_lookup_elem(&done, &index);
}

/* At the end of the first program. */
INLINE void note_done(u64 *context)
{
	u64 place = place_of_arguments(context), *slot = slot_of(place);

	if (slot)
		*slot = place;
}

/* In the second one. */
INLINE int was_done(u64 *context, const struct point *point)
{
	u64 place = place_of_arguments(context), *slot = slot_of(place), *count;

	if (slot && *slot == place) {
		*slot = 0;
		return 1;
	}
	count = bpf_map_lookup_elem(&made_good, point);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

#define TWICE(at, program, is_twice)                                                               \
	INLINE int program##_step(u64 *context, u32 again);                                        \
	at(program) int program(u64 *context)                                                      \
	{                                                                                          \
		program##_step(context, 0);                                                        \
		if (is_twice)                                                                      \
			note_done(context);                                                        \
		return 0;                                                                          \
	}                                                                                          \
	at(program) int program##_again(u64 *context)                                              \
	{                                                                                          \
		struct point name = {#program};                                                    \
                                                                                                   \
		return was_done(context, &name) ? 0 : program##_step(context, 1);                  \
	}                                                                                          \
	INLINE int program##_step(u64 *context, u32 again)

#define TRACEPOINT(name) TWICE(AT_TRACEPOINT, name, twice)
#define TRACEPOINT_OF_INTERRUPTS(name) TWICE(AT_TRACEPOINT, name, 1)
#define TRACEPOINT_OF_MODULE(name) TWICE(AT_RAW_TRACEPOINT, name, twice)

#endif

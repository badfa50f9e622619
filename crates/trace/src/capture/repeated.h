/*
 * Requests that repeat: those that differ in nothing but their times and places on the device, or
 * in a file. User space names some of them by a hash of all that they have in common, and these are
 * summed up (summed.h): the sums tell what their records would, but for when each one was. Several
 * names may have the same sums.
 *
 * User space has named them until a moment: what is queued later is told, until it has read the
 * sums and names them anew. So it knows to which span of time they belong, to the last request.
 *
 * Non-goals: which are named, and when (user space).
 */
#ifndef LBOLT_REPEATED_H
#define LBOLT_REPEATED_H

/* Written before the programs are loaded: whether those of different files differ. */
volatile const u32 repeated_files;

/* Places by a hash's first bits, or the one beside it; those in the sums are SUMMED_BITS. */
#define REPEATED_BITS 10

struct repeated {
	u64 hash;     /* 0: nobody's place */
	u64 place;    /* among the sums of a CPU */
	u64 until_ns; /* what is queued from then on is told */
};

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1 << REPEATED_BITS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct repeated);
} repeated SEC(".maps");

/* All that it has in common with others. */
INLINE u64 repeated_hash(const struct start *known)
{
	const u64 *command = (const u64 *)known->command;
	u64 device = (u64)known->step.device << 32 | known->step.length_bytes;
	u64 flags = (u64)known->step.command_flags << 32 | known->step.marks << 8 | known->file_kind;
	u64 file = repeated_files ? known->inode * PI_3 + ((u64)known->generation << 32) * PI_4 : 0;

	return device * PI_0 + flags * PI_1 + ((u64)known->tgid << 32 | known->pid) * PI_2 + file +
	       known->file_system * PI_4 + known->cgroup * PI_5 + command[0] * PI_6 +
	       command[1] * PI_7;
}

/* One more than the place of what is named, of those in `row`; 0: it is to be told. */
INLINE u32 repeated_place(u32 row, const struct on_way *way)
{
	u32 at = way->sums >> (64 - REPEATED_BITS);
	volatile struct repeated *named = bpf_map_lookup_elem(&repeated, &at);

	if (named && named->hash != way->sums) {
		at ^= 1;
		named = bpf_map_lookup_elem(&repeated, &at);
	}
	if (!named || named->hash != way->sums || way->queued_ns >= named->until_ns)
		return 0;
	return (row << SUMMED_BITS) + ((u32)named->place & ((1 << SUMMED_BITS) - 1)) + 1;
}

#endif

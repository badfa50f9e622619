/*
 * Where in a device above a bio was before it was handed on, by the bio's address: from
 * block_bio_remap until the bio starts on the device beneath. A table without a lock: who
 * finds another's word there finds nothing, and user space joins by place and time instead.
 *
 * A bio that is merged into another one never starts, and its address is used again. So a
 * bio that is queued a second time since it was handed on is another one (block_bio_queue is
 * fired once in a bio's life: BIO_TRACE_COMPLETION, block/blk-core.c).
 *
 * Non-goals: more than the device directly above, which has told of its own.
 */
#ifndef LBOLT_ABOVE_H
#define LBOLT_ABOVE_H

#define PLACES_BITS 14

/* A place in a device above; its device is 0 if there is none. */
struct place {
	u64 sector;
	u32 device;
	u32 is_queued; /* since it was handed on */
	u64 check;     /* of the bio's address, and the place */
};

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1 << PLACES_BITS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct place);
} places SEC(".maps");

/* Until the first one, nobody pays for looking. */
u32 remaps_seen;

INLINE struct place *place_at(u64 hash)
{
	u32 index = hash >> (64 - PLACES_BITS);

	return bpf_map_lookup_elem(&places, &index);
}

INLINE u64 check_of(u64 hash, struct place *place)
{
	return hash ^ place->sector ^ (u64)place->device << 32;
}

/* The place that is kept for a bio; 0 if that is another's. */
INLINE struct place *own_place(u64 bio)
{
	u64 hash = hash_of(bio);
	struct place *place = place_at(hash);

	if (!place || !place->device || place->check != check_of(hash, place))
		return 0;
	return place;
}

INLINE void remember_above(u64 bio, struct place above)
{
	u64 hash = hash_of(bio);
	struct place *place = place_at(hash);

	if (!place)
		return;
	place->sector = above.sector;
	place->device = above.device;
	place->is_queued = 0;
	place->check = check_of(hash, place);
	remaps_seen = 1;
}

INLINE void see_queued(u64 bio)
{
	struct place *place;

	if (!remaps_seen)
		return;
	place = own_place(bio);
	if (!place)
		return;
	if (place->is_queued)
		place->device = 0;
	place->is_queued = 1;
}

INLINE struct place take_above(u64 bio)
{
	struct place none = {}, *place = own_place(bio), copy;

	if (!place)
		return none;
	copy = *place;
	place->device = 0;
	return copy;
}

/* What is split off comes from where the whole does. */
INLINE void copy_above(u64 first, u64 whole)
{
	struct place *place;

	if (!remaps_seen)
		return;
	place = own_place(whole);
	if (place)
		remember_above(first, *place);
}

#endif

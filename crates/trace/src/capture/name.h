/*
 * What a file is called, at the moment of a call or a request for it: told when it is seen
 * first, and again when it is not true any more. A name that was told is true until the next one.
 *
 * An inode lists its entries in directories. The first one that can still be reached by its name
 * is taken, and else the first one: of a file that was removed while it is open. The names
 * from there up to the file system's root go out one by one, the file's own first; where the file
 * system is mounted, user space knows. A rename changes an entry in place: sequence counts
 * say whether that happened while it was read, and then nothing is told this time.
 *
 * What was told last of an inode is remembered by the hashes that the entries of the path have
 * of their names and parents. A call compares the whole path. A request, which has to cost
 * less, compares the file's own entry: it notices a directory's new name at the next call.
 *
 * Source: include/linux/dcache.h, fs/dcache.c (__d_move, __d_drop, d_path) of Linux 5.10 to 7.2.
 *
 * Non-goals: which of its names a file with several was opened by; mounts; an inode without
 * entries, as of a file that was opened by its handle.
 */
#ifndef LBOLT_NAME_H
#define LBOLT_NAME_H

/* Whether names are asked for. Written before the programs are loaded. */
volatile const u32 names_wanted;

struct hlist_bl_node {
	struct hlist_bl_node **pprev; /* none of what is not in a list */
} RELOCATED;

struct qstr {
	u64 hash_len; /* the length in the upper half */
	const unsigned char *name;
} RELOCATED;

struct seqcount {
	u32 sequence; /* odd while it is changed */
} RELOCATED;

struct seqcount_spinlock {
	struct seqcount seqcount;
} RELOCATED;

union dentry_list {
	struct hlist_node d_alias;
} RELOCATED;

struct dentry {
	struct seqcount_spinlock d_seq;
	struct hlist_bl_node d_hash; /* in which a path finds it */
	struct dentry *d_parent;     /* the root's is itself */
	struct qstr d_name;
	union dentry_list d_u;
} RELOCATED;

struct dentry___7 { /* since 7.1 the union has no name */
	struct hlist_node d_alias;
} RELOCATED;

/* Names of a file that are looked at, and entries of a path. */
#define NAMES_MOST 4
#define LEVELS_MOST 24
/* Parts of a path that are told: a name is one, or as many as its length needs. */
#define PARTS_MOST 32

/* What was told last, by a hash of the file. */
#define TOLD_BITS 14

struct told {
	u64 own;  /* of the file and the name in its directory */
	u64 path; /* of the file and the whole path */
};

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1 << TOLD_BITS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct told);
} told SEC(".maps");

/* An entry's first bytes, read at once: all that is asked of it lies there (6.18: within 48). */
struct entry {
	u64 address;
	u64 words[8];
};

#define IN_ENTRY(entry, field) IN_COPY(entry, struct dentry, field)

INLINE void read_entry(struct entry *entry, u64 address)
{
	entry->address = address;
	bpf_probe_read_kernel(entry->words, sizeof(entry->words), (void *)address);
}

/* The entry that a node of an inode's list is in; 0 where its place there is not known. */
INLINE u64 entry_of_node(u64 node)
{
	if (HAS(struct dentry, d_u.d_alias))
		return node - __builtin_preserve_field_info(((struct dentry *)0)->d_u.d_alias,
							    FIELD_OFFSET);
	if (HAS(struct dentry___7, d_alias))
		return node - __builtin_preserve_field_info(((struct dentry___7 *)0)->d_alias,
							    FIELD_OFFSET);
	return 0;
}

/*
 * What follows is not static, and gets and returns numbers alone: so the verifier looks at each
 * loop once, and not for each way that leads to it. All that are called at once have 512 bytes of
 * stack together (kernel/bpf/verifier.c, check_max_stack_depth), so whoever calls others keeps no
 * entry of its own.
 */

/* Where the entry lies that an inode is named by; 0 if there is none. */
APART u64 entry_of(u64 inode)
{
	u64 node = (u64)FIELD_OF(inode, struct inode, i_dentry.first), first = 0;

	for (int place = 0; place < NAMES_MOST && node; place++) {
		u64 address = entry_of_node(node);

		if (!address || FIELD_OF(address, struct dentry, d_hash.pprev))
			return address;
		first = first ?: address;
		node = (u64)FIELD_OF(node, struct hlist_node, next);
	}
	return first;
}

/* The names of a path as one number. */
APART u64 path_of(u64 address)
{
	struct entry entry;
	u64 path = 0;

	for (int level = 0; level < LEVELS_MOST; level++) {
		u64 parent;

		read_entry(&entry, address);
		parent = (u64)IN_ENTRY(&entry, d_parent);
		if (parent == address)
			break;
		path = hash_of(path ^ IN_ENTRY(&entry, d_name.hash_len));
		address = parent;
	}
	return path;
}

/* The changes that the entries of a path have been through as one number; 0 while one changes. */
APART u64 changes_of(u64 address)
{
	struct entry entry;
	u64 changes = 1;

	for (int level = 0; level < LEVELS_MOST; level++) {
		u64 parent;
		u32 sequence;

		read_entry(&entry, address);
		sequence = IN_ENTRY(&entry, d_seq.seqcount.sequence);
		if (sequence & 1)
			return 0;
		changes = hash_of(changes ^ sequence) | 1;
		parent = (u64)IN_ENTRY(&entry, d_parent);
		if (parent == address)
			break;
		address = parent;
	}
	return changes;
}

/* A part of what a file is called; `telling` is the same in all that belong together. */
INLINE struct name *begin_part(struct room *room, u64 telling, u64 inode, u32 file_system,
			       u32 generation)
{
	struct name *name;

	if (!reserve(room))
		return 0;
	name = &room->cell->name;
	name->step.time_ns = bpf_ktime_get_ns();
	name->step.identity = telling;
	name->step.sector = 0;
	name->step.length_bytes = name->step.command_flags = 0;
	name->step.device = file_system;
	name->step.cpu = bpf_get_smp_processor_id();
	name->step.kind = NAMED;
	name->inode = inode;
	name->generation = generation;
	return name;
}

/* Of a path that is deeper than can be told. */
#define TOO_DEEP (PARTS_MOST + 1)

/* Tells the names from an entry up to the root; one more than there are, and 0 if one was lost. */
APART u32 tell_parts(u64 address, u64 telling, u64 inode, u32 file_system, u32 generation)
{
	struct entry entry;
	struct room room;
	u64 left = 0; /* bytes of the name at hand, which are no constant to the verifier */

	for (u32 part = 0; part < PARTS_MOST; part++) {
		u64 parent, bytes;
		struct name *name;

		read_entry(&entry, address);
		parent = (u64)IN_ENTRY(&entry, d_parent);
		if (parent == address)
			return part + 1;
		name = begin_part(&room, telling, inode, file_system, generation);
		if (!name)
			return 0;
		name->part = part;
		bytes = IN_ENTRY(&entry, d_name.hash_len) >> 32;
		left = left ?: bytes;
		bpf_probe_read_kernel_str(name->text, NAME_BYTES,
					  IN_ENTRY(&entry, d_name.name) + bytes - left);
		if (left >= NAME_BYTES) {
			name->step.marks = MARK_MORE;
			left -= NAME_BYTES - 1;
		} else {
			name->step.marks = 0;
			left = 0;
			address = parent;
		}
		commit(&room);
	}
	return TOO_DEEP;
}

/* Of the inode that lies at an address, for a call or a request. */
APART int tell_changed_name(u64 address, u64 inode, u32 file_system, u32 generation, u32 is_call)
{
	u64 number, own, path, telling, changes, entry = entry_of(address);
	struct told *last;
	struct name *name;
	struct room room;
	u32 place, parts;
	u8 deleted;

	if (!entry)
		return 0;
	deleted = FIELD_OF(entry, struct dentry, d_hash.pprev) ? 0 : MARK_DELETED;
	number = hash_of(inode ^ (u64)generation << 32) ^ file_system;
	place = hash_of(number) >> (64 - TOLD_BITS);
	own = hash_of(number ^ FIELD_OF(entry, struct dentry, d_name.hash_len) ^ deleted);
	last = bpf_map_lookup_elem(&told, &place);
	if (!last || (last->own == own && !is_call))
		return 0;
	path = own ^ path_of(entry);
	if (last->own == own && last->path == path)
		return 0;
	changes = changes_of(entry);
	if (!changes)
		return 0;
	telling = bpf_ktime_get_ns() << 8 | (u8)bpf_get_smp_processor_id();
	parts = tell_parts(entry, telling, inode, file_system, generation);
	if (!parts || changes_of(entry) != changes)
		return 0;
	/* What is too deep has no name, and is not tried again each time. */
	if (parts < TOO_DEEP) {
		name = begin_part(&room, telling, inode, file_system, generation);
		if (!name)
			return 0;
		name->part = parts - 1;
		name->text[0] = 0;
		/* No directory has an entry of a root. */
		name->step.marks = MARK_WHOLE | (parts > 1 ? deleted : 0);
		commit(&room);
	}
	/* After the records: whoever sees it, and tells nothing, has a later time than they. */
	last->path = path;
	last->own = own;
	return 0;
}

/* Tells what a file is called, unless that is what was told of it last. */
INLINE void tell_name(struct identity *file, u32 is_call)
{
	if (names_wanted && file->address)
		tell_changed_name(file->address, file->inode, file->file_system, file->generation,
				  is_call);
}

#endif

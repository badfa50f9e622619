/*
 * What the ring carries from the kernel to user space; raw.rs has the same, and
 * a test there compares the two. Every record begins with a step, whose kind
 * tells what follows it.
 *
 * Non-goals: what the numbers mean to a user (decode.rs).
 */
#ifndef LBOLT_EVENT_H
#define LBOLT_EVENT_H

enum kind {
	START = 1,
	WHOLE_START = 2, /* a bio that is queued, started and issued at once */
	ISSUE = 3,
	REQUEUE = 4,
	MERGE = 5,
	COMPLETE = 6,
};

/* Whether a read goes to memory of a program's own. */
#define MARK_ANONYMOUS 1
/* A step of the data of a flush sequence, which goes on after it. */
#define MARK_IN_SEQUENCE 2

/* How many bytes are answered for is not told. */
#define ALL_BYTES 0xffffffff

struct step {
	u64 time_ns;
	u64 identity; /* the kernel's pointer to the request, or to the bio */
	u64 sector;
	u32 length_bytes;
	u32 command_flags; /* the operation and its REQ_ bits */
	u32 device;	   /* the kernel's dev_t of the whole disk */
	u16 cpu;
	u8 kind;
	u8 marks;
};

struct start {
	struct step step;
	u64 queued_ns; /* 0: not known */
	u64 tag;       /* 0: not known */
	u64 cgroup;    /* 0: not known */
	u32 pid;       /* a thread's number in the first PID namespace */
	u32 tgid;      /* its process's */
	u8 command[16];
};

struct issue {
	struct step step;
	u64 serves; /* a flush: the tag of the request that it is for; else 0 */
};

struct complete {
	struct step step;
	u32 done_bytes;
	int status; /* blk_status_t; below 0 an errno */
};

#endif

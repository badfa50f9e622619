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
	SYNC_BEGIN = 7, /* a call that makes a file durable: fsync, fdatasync, msync, O_DSYNC */
	SYNC_END = 8,
	COMMIT = 9, /* a stage of a journal's commit */
	CHANGED = 10, /* a process changed a file's data, which may be written later by others */
	CALLED = 11, /* a system call that makes files durable; its result is which (syscall.h) */
	RETURNED = 12,
	/*
	 * Where in a device above a request or a bio came from, after its start: a struct issue
	 * whose sector is the place there, and which serves that device, by its dev_t.
	 */
	ABOVE = 13,
	/*
	 * Which request a bio became, where none is known at its start (before 6.5): a struct issue
	 * whose sector is the bio, and which serves as the request's tag.
	 */
	BECAME = 14,
	NAMED = 15, /* a part of what a file is called from now on: a struct name (name.h) */
	STACK = 16, /* a part of the stack of the wait that follows (wait.h) */
	/*
	 * A thread waited: a struct sync whose step's identity is when it began, and whose sector
	 * who held the lock that it waited for: tgid << 32 | pid; 0: not known.
	 */
	WAITED = 17,
	/*
	 * A thread changed blocks of metadata: a struct sync whose step's identity is when the first
	 * of these handles ended, and whose sector is how many blocks.
	 */
	JOURNALED = 18,
	/*
	 * A thread slept while who woke it waited: a struct sync whose step's identity is since when
	 * both did, whose transaction until when, and whose sector who that was: tgid << 32 | pid.
	 */
	WOKEN = 19,
	/*
	 * A request from its start to its completion: a struct start whose step's time is that of its
	 * completion, whose tag is when it was issued (0: not seen), and whose length is that of the issue.
	 */
	FINISHED = 20,
	/* A request that was told by its steps so far is over: its place in memory is another's now. */
	OVER = 21,
};

/* What a request's data belongs to; 0: not known. */
enum file_kind {
	FILE_REGULAR = 1,
	FILE_JOURNAL = 2,
	FILE_METADATA = 3,
	FILE_DEVICE = 4, /* written through the device's own page cache: metadata, or by name */
};

/* The stages of a commit of jbd2, each from its tracepoint to the next one. */
enum stage {
	STAGE_STARTED = 0,
	STAGE_LOCKING = 1,
	STAGE_FLUSHING = 2,
	STAGE_LOGGING = 3,
	STAGE_ENDED = 4,
};

/* Whether a read goes past the page cache. */
#define MARK_DIRECT 1
/* A step of the data of a flush sequence, which goes on after it. */
#define MARK_IN_SEQUENCE 2
/* Of a call: metadata that nobody needs to read the data is not asked for. */
#define MARK_DATASYNC 4
/* Of a start: a read, of a page that had been evicted from memory. */
#define MARK_REFAULTED 4
/* The same, by the process itself that reads it. */
#define MARK_BY_ITSELF 8
/* Of a call: what it asks for, and when it ends, is not told. */
#define MARK_UNTOLD 8
/* Of a start: a limit of a cgroup held the bio back before it was queued. */
#define MARK_THROTTLED 16
/* Of a part of a name: the same component goes on in the next part. */
#define MARK_MORE 32
/* Of an issue, and of what is finished: it is longer than at its start. */
#define MARK_GREW 32
/* Nothing follows: all parts before it are the name. */
#define MARK_WHOLE 64
/* Of what is whole: the file was removed, and has no name any more. */
#define MARK_DELETED 128

/* Of a wait: for a request, as the kernel counts it (in_iowait). */
#define MARK_FOR_REQUEST 1
/* Of a wait: meanwhile it held a transaction of a journal open. */
#define MARK_IN_TRANSACTION 2
/* Of a sleep that was a wait: no longer than the thread's usual ones. */
#define MARK_USUAL 4

/* A part's text, with the zero behind it. */
#define NAME_BYTES 64

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
	u64 inode;     /* of a regular file; else 0 */
	u32 generation; /* its; 0 where the file system keeps none */
	u32 file_system; /* the kernel's dev_t, as stat(2) has it; 0: not known */
	u8 file_kind;
	u8 status; /* of what is finished: blk_status_t */
	u16 apart;
	u32 kernel_stack; /* by number, one more than the kernel's; 0: none */
	u32 user_stack;
	u32 started_after_ns; /* of what is finished: after it was queued, which is known */
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
	u64 started_ns; /* as the kernel itself has noted it; 0: it has not */
	u64 issued_ns;	/* the same */
};

/*
 * A call, or a stage of a commit. Of the step it has time, CPU, kind and marks; the device
 * is the file system's.
 */
struct sync {
	struct step step;
	u64 inode;
	u64 transaction; /* of a call's end, of ext4: i_datasync_tid << 32 | i_sync_tid; 0: not known */
	u64 cgroup;
	u32 pid;
	u32 tgid;
	u32 result; /* at the end: 0 or errno; of a commit: its stage */
	u32 generation;
	u8 command[16];
};

/*
 * A part of a path within its file system, whose components come from its end. The step's identity
 * is the same in all parts that belong together, and its device the file system's.
 */
struct name {
	struct step step;
	u64 inode;
	u32 generation;
	u32 part; /* from 0 on */
	u8 text[64];
};

/*
 * A part of a stack, the innermost function first. The step's identity is when its wait began, its
 * sector the thread; its length is that of the whole stack, and its flags which part it is.
 */
#define FRAMES_EACH 10

struct frames {
	struct step step;
	u64 addresses[10];
};

#endif

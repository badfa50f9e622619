/*
 * Calls that make files durable by their system calls: also those that no file system tells
 * of (sync_file_range, syncfs), or whose end it does not tell (xfs).
 *
 * Every system call of the machine passes here, so that it is only on request; of all others
 * nothing is done but to compare a number. Which numbers, user space says: each kind of
 * machine has others (syscalls.rs).
 *
 * Source: include/trace/events/syscalls.h, fs/sync.c, mm/msync.c of Linux 6.18; arguments:
 * arch/x86/include/asm/ptrace.h, arch/arm64/include/asm/ptrace.h.
 *
 * Non-goals: calls of 32-bit programs on a 64-bit kernel, whose numbers are others.
 */
#ifndef LBOLT_SYSCALL_H
#define LBOLT_SYSCALL_H

/* The words of syscalls.rs, in its order: those with a file's descriptor first. */
#define WAITING_CALLS 6
#define WITH_DESCRIPTOR 4
volatile const u64 waiting_calls[WAITING_CALLS];

/* The first argument, and at the end which call it was. */
struct pt_regs {
	unsigned long di;
	unsigned long orig_ax;
	unsigned long cs;
} RELOCATED;

/* pt_regs.cs of a 64-bit program, arch/x86/include/asm/segment.h */
#define USER_CODE 0x33

struct pt_regs___arm64 {
	u64 regs[31];
	int syscallno;
} RELOCATED;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} RELOCATED;

struct files_struct {
	struct fdtable *fdt;
} RELOCATED;

INLINE u64 first_argument(u64 regs)
{
	if (__builtin_preserve_field_info(((struct pt_regs *)0)->di, FIELD_EXISTS))
		return FIELD_OF(regs, struct pt_regs, di);
	return FIELD_OF(regs, struct pt_regs___arm64, regs[0]);
}

INLINE u64 number_at_end(u64 regs)
{
	if (__builtin_preserve_field_info(((struct pt_regs *)0)->orig_ax, FIELD_EXISTS))
		return FIELD_OF(regs, struct pt_regs, orig_ax);
	return FIELD_OF(regs, struct pt_regs___arm64, syscallno);
}

/* The place of a system call among those that are asked for; beyond the last if it is none. */
INLINE u32 place_of(u64 number)
{
	u32 place = 0;

#pragma unroll
	for (int i = 0; i < WAITING_CALLS; i++)
		place += place == i && waiting_calls[i] != number;
	return place;
}

/* The inode that a descriptor of this thread is of, as a number; 0 if it is none. */
INLINE u64 inode_of(struct task_struct *task, u32 descriptor)
{
	struct fdtable *table = GET(GET(task, files), fdt);
	u64 file = 0;

	if (descriptor >= GET(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), GET(table, fd) + descriptor);
	return file ? (u64)FIELD_OF(file, struct file, f_inode) : 0;
}

/* A call without a descriptor is of every file system. */
INLINE struct sync *begin_waiting(struct room *room, struct task_struct *task, u32 place, u64 regs)
{
	struct sync *sync;
	u64 inode;

	if (place < WITH_DESCRIPTOR) {
		inode = inode_of(task, first_argument(regs));
		sync = inode ? begin_call(room, CALLED, inode) : 0;
	} else {
		sync = step_of_call(room, CALLED, 0, 0);
	}
	if (sync)
		sync->result = place;
	return sync;
}

TRACEPOINT(sys_enter)
{
	u32 place = place_of(context[1]);
	struct room room;

	if (place < WAITING_CALLS && begin_waiting(&room, this_task(), place, context[0]))
		commit(&room);
	return 0;
}

TRACEPOINT(sys_exit)
{
	long result = (long)context[1];
	struct room room;
	struct sync *sync;

	if (place_of(number_at_end(context[0])) >= WAITING_CALLS)
		return 0;
	sync = step_of_call(&room, RETURNED, 0, 0);
	if (!sync)
		return 0;
	sync->result = result < 0 ? -result : 0;
	commit(&room);
	return 0;
}

#endif

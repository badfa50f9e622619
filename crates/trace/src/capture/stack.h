/*
 * By which functions a thread came to queue a request: the kernel's and its own, each kept
 * once in a table by a hash of it (kernel/bpf/stackmap.c). The table is read at the end.
 *
 * Non-goals: names of functions (user space); stacks without frame pointers.
 */
#ifndef LBOLT_STACK_H
#define LBOLT_STACK_H

/* Whether stacks are kept, which is set before the programs are loaded. */
volatile const u32 stacks_wanted;

#define FRAMES 127

struct {
	MAP_NUMBER(type, STACK_TRACE);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_NUMBER(value_size, FRAMES * sizeof(u64));
} stacks SEC(".maps");

/* A stack's number, one more than the kernel's: 0 where there is none, or its place is taken. */
INLINE u32 stack_here(void *context, u64 flags)
{
	long number = bpf_get_stackid(context, &stacks, flags);

	return number < 0 ? 0 : number + 1;
}

INLINE void sign_with_stacks(struct start *start, struct task_struct *task, void *context)
{
	start->kernel_stack = stack_here(context, 0);
	if (!(GET(task, flags) & PF_KTHREAD))
		start->user_stack = stack_here(context, USER_STACK);
}

#endif

/*
 * The CPU account: each CPU's time since its last event is charged to the class
 * of what it was doing. An event is whatever may change the class: a switch of
 * threads, the beginning and end of an interrupt or of a work item.
 *
 * Nothing is lost and nothing counted twice, whatever interrupts what: a stretch
 * runs from stamp to stamp, and a stamp is set by compare-and-swap.
 * What ran is classified at the end of its stretch, so that there is no state to
 * go stale but two depths of interrupts, which each switch of threads sets right.
 *
 * Non-goals: which function, which thread, which request. The instructions
 * between an interrupt and its tracepoint are charged to what it interrupted.
 */
#include "../bpf/kernel.h"
#include "../bpf/self.h"

/* In the order of CpuTime's fields in mod.rs; a test there compares the two. */
enum class {
	IDLE,
	JOBS,
	HARNESS,
	WORK_ITEMS,
	KERNEL_THREADS,
	PROGRAMS,
	HARD_INTERRUPTS,
	SOFT_INTERRUPTS,
	CLASSES,
};

/* Written by user space. The words of mod.rs's Control. */
struct control {
	u64 run;     /* which run is counted; 0: none, and programs return at once */
	u64 reading; /* which reading is asked for: a CPU publishes once for each */
	u64 tgid;    /* our process as the kernel numbers it */
};

volatile struct control control;

/* A CPU's account. */
struct state {
	u64 run;
	u64 reading;
	u64 begun_ns;
	u64 last_ns;
	u64 hard, soft; /* depths */
	u64 events;
	u64 ns[CLASSES];
};

/* What user space reads: whole, because only a switch of threads writes it. mod.rs's Published. */
struct published {
	u64 reading;
	u64 covered_ns;
	u64 events;
	u64 ns[CLASSES];
};

struct {
	MAP_NUMBER(type, PER_CPU_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct state);
} states SEC(".maps");

struct {
	MAP_NUMBER(type, PER_CPU_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct published);
} published SEC(".maps");

/* In which run a kernel thread began the work item that it executes; 0: it executes none. */
struct {
	MAP_NUMBER(type, TASK_STORAGE);
	MAP_NUMBER(map_flags, NO_PREALLOC);
	MAP_TYPE(key, int);
	MAP_TYPE(value, u64);
} at_work SEC(".maps");

INLINE int begins_with(const char *name, const char *prefix)
{
#pragma unroll
	for (int i = 0; i < 15; i++) {
		if (!prefix[i])
			break;
		if (name[i] != prefix[i])
			return 0;
	}
	return 1;
}

/* Threads that run a job, as crate host names them, and io_uring's workers, as the kernel does. */
INLINE int works_for_a_job(struct task_struct *task)
{
	return begins_with(task->comm, "lbolt-job") || begins_with(task->comm, "iou-");
}

INLINE enum class class_of(struct task_struct *task)
{
	u64 *run;

	if (task->pid == 0)
		return IDLE;
	if (task->flags & PF_KTHREAD) {
		if (!(task->flags & PF_WQ_WORKER))
			return KERNEL_THREADS;
		run = bpf_task_storage_get(&at_work, task, 0, 0);
		return run && *run == control.run ? WORK_ITEMS : KERNEL_THREADS;
	}
	if ((u32)task->tgid != control.tgid)
		return PROGRAMS;
	return works_for_a_job(task) ? JOBS : HARNESS;
}

INLINE struct state *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&states, &zero);
}

/* This CPU's account if it is counted: a run begins on a CPU with a switch of threads. */
INLINE struct state *counted(void)
{
	struct state *state;

	if (!control.run)
		return 0;
	state = this_cpu();
	return state && state->run == control.run ? state : 0;
}

/* Charges the time since the last event to what this CPU was doing: the only function called. */
static __attribute__((noinline)) void charge(struct state *state)
{
	enum class class = state->hard ? HARD_INTERRUPTS
			 : state->soft ? SOFT_INTERRUPTS
				       : class_of(bpf_get_current_task_btf());
	u64 last, now;

	state->events++; /* an interrupt here may lose one: they are for an estimate of the cost */
	/*
	 * An interrupt in between charges up to its own end: then again, from there. After a
	 * second one the rest is left to the next event.
	 */
#pragma unroll
	for (int i = 0; i < 2; i++) {
		last = *(volatile u64 *)&state->last_ns;
		now = bpf_ktime_get_ns();
		if (now <= last)
			return;
		if (__sync_val_compare_and_swap(&state->last_ns, last, now) == last) {
			__sync_fetch_and_add(&state->ns[class], now - last);
			return;
		}
	}
}

INLINE void begin(struct state *state)
{
	state->begun_ns = state->last_ns = bpf_ktime_get_ns();
	state->events = 0;
	for (int i = 0; i < CLASSES; i++)
		state->ns[i] = 0;
	state->run = control.run;
}

INLINE void publish(struct state *state)
{
	u32 zero = 0;
	struct published *out = bpf_map_lookup_elem(&published, &zero);

	if (!out)
		return;
	out->covered_ns = state->last_ns - state->begun_ns;
	out->events = state->events;
	for (int i = 0; i < CLASSES; i++)
		out->ns[i] = state->ns[i];
	out->reading = state->reading = control.reading;
}

/* Interrupts are off here, and no interrupt is being handled, neither hard nor soft. */
SEC("tp_btf/sched_switch") int sched_switch(void *context)
{
	struct state *state;

	if (!control.run)
		return 0;
	state = this_cpu();
	if (!state)
		return 0;
	state->hard = state->soft = 0;
	if (state->run == control.run)
		charge(state);
	else
		begin(state);
	if (state->reading != control.reading)
		publish(state);
	return 0;
}

/* A pair of programs around an interrupt. */
#define INTERRUPT(name, depth)                                                                     \
	SEC("tp_btf/" #name "_entry") int name##_entry(void *context)                              \
	{                                                                                          \
		struct state *state = counted();                                                   \
                                                                                                   \
		if (state) {                                                                       \
			charge(state);                                                             \
			state->depth++;                                                            \
		}                                                                                  \
		return 0;                                                                          \
	}                                                                                          \
	SEC("tp_btf/" #name "_exit") int name##_exit(void *context)                                \
	{                                                                                          \
		struct state *state = counted();                                                   \
                                                                                                   \
		if (state) {                                                                       \
			charge(state);                                                             \
			if (state->depth)                                                          \
				state->depth--;                                                    \
		}                                                                                  \
		return 0;                                                                          \
	}

INTERRUPT(irq_handler, hard)
INTERRUPT(softirq, soft)

/* On x86 these interrupts have tracepoints of their own. */
INTERRUPT(local_timer, hard)
INTERRUPT(reschedule, hard)
INTERRUPT(call_function, hard)
INTERRUPT(call_function_single, hard)
INTERRUPT(irq_work, hard)

/* A work item begins or ends; one that runs in a soft interrupt is charged as such. */
INLINE int work_item(u64 run)
{
	struct state *state = counted();
	struct task_struct *task = bpf_get_current_task_btf();
	u64 *since;

	if (!state)
		return 0;
	charge(state);
	if (state->soft || !(task->flags & PF_WQ_WORKER))
		return 0;
	since = bpf_task_storage_get(&at_work, task, 0, CREATE);
	if (since)
		*since = run;
	return 0;
}

SEC("tp_btf/workqueue_execute_start") int workqueue_execute_start(void *context)
{
	return work_item(control.run);
}

SEC("tp_btf/workqueue_execute_end") int workqueue_execute_end(void *context)
{
	return work_item(0);
}

/* Some helpers are for programs under the GPL only; this one is under both. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

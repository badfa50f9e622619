/*
 * Threads that wait without being able to be interrupted: for storage, or for whoever waits
 * for it. A thread that leaves its CPU so is noted with the time; when it comes back after a
 * time that is worth telling, its stack says what it waited for, and its system call for
 * which file. So a switch without a wait costs a look at two words, and a short wait no
 * stack.
 *
 * Source: kernel/sched/core.c (__schedule), include/linux/sched.h, include/trace/events/
 * sched.h of Linux 5.10 to 7.2. Of the kernel's own threads those are told that wait for a
 * request (in_iowait): as the kernel's account of pressure counts them (kernel/sched/psi.c).
 *
 * Where a thread has its registers: arch/x86/include/asm/thread_info.h and processor.h,
 * arch/arm64/include/asm/processor.h.
 *
 * Who finds a lock taken says whose it is (contention_begin, kernel/locking/mutex.c and rwsem.c,
 * since 5.19): who holds a mutex, or an rw_semaphore for writing, when the wait begins. Of readers,
 * and with PREEMPT_RT, the kernel does not know.
 *
 * A thread that sleeps and can be interrupted (a pipe, a socket, a futex) waits for whoever wakes
 * it. If that one has waited for long meanwhile, and the sleep was not much longer, the sleeper has
 * waited for the same (sched_waking): a client for its server, a commit for the one that is written
 * with it. A sleep that was no longer than usual only passes on what it was for. Who slept before
 * that for another one's wait continues that: a commit is written when the one before it has been.
 *
 * Non-goals: what the functions of a stack mean (wait.rs); whom an interrupt wakes.
 */
#ifndef LBOLT_WAIT_H
#define LBOLT_WAIT_H

/* task_struct.__state */
#define INTERRUPTIBLE 0x1
#define UNINTERRUPTIBLE 0x2
#define IDLE 0x400 /* of the kernel's threads: for work, and for no load */

struct task_struct___5_13 { /* before 5.14 */
	long state;
} RELOCATED;

/* Bits of a word: how far up, and then down, they are shifted. */
struct task_struct___bits {
	unsigned in_iowait : 1;
} RELOCATED;

#define FIELD_BYTES 1
#define FIELD_UP 4
#define FIELD_DOWN 5

/* Shorter waits are not told; set before the programs are loaded. */
volatile const u64 wait_ns_least = 1000000;
/* System calls whose first argument is a file's descriptor, a bit each (wait.rs). */
#define NUMBERS_MOST 512
volatile const u64 with_descriptor[NUMBERS_MOST / 64];

/*
 * Functions in which a thread sleeps for a request of its own, which is told as that: a direct
 * one, of which there may be as many a second as of requests.
 */
#define OWN_REQUESTS 8
volatile const struct code {
	u64 from;
	u64 behind;
} own_requests[OWN_REQUESTS];

/*
 * Where interrupts enter the kernel (asm-generic/sections.h): what lies further in on a stack was
 * not called by the thread.
 */
volatile const struct code interrupts;

/*
 * What is known of a thread, by its number's last bits: as many as numbers have where nobody has
 * asked for more (kernel.pid_max); else of two with the same bits the later's.
 */
#define WAITING_BITS 15

/* Sleeps by what they are: for a request or a time, and in a futex, for a thread of its own. */
#define SLEEPS 2
#define SLEEP_OF_THREADS 1
volatile const u64 number_of_futex;

/*
 * In lines of the cache (64 bytes): who sleeps and is woken again, mostly by another CPU, needs the
 * first one only.
 */
#define CACHE_LINE 64

struct waiting {
	u32 pid;   /* who waits; 0: nobody */
	u32 owner; /* whose all else is */
	u32 asleep_jiffies; /* since when by the kernel's clock, which is cheap to read */
	u16 is_asleep;      /* and is not told of */
	u16 sleep_kind;     /* what its last sleep is: of SLEEPS */
	/* When it fell asleep last, so that it can be interrupted; 0: that was long, for no thread. */
	u64 asleep_ns;
	/* How long from one time to the next, for half of the time (usual_after), by what it is; 0: not
	 * known. */
	u64 usual_ns[SLEEPS];
	u64 registers; /* where they are; 0: not known */
	/* Its waits, as long as it was at work between them for no longer than they take. */
	u64 from_ns;
	u64 until_ns;
	/* The second line. */
	u64 since_ns;
	u64 longest_ns; /* of its waits; of each that came before another one, the half */
	u64 before_ns; /* since when those who woke it meanwhile had waited, or it itself */
	/* Who held the lock that was found taken last, and when that was. */
	u64 contended_ns;
	u32 holder; /* 0: nobody is known */
	u32 holder_tgid;
	u32 begun; /* waits so far: only to count them is of use (note_block) */
	/* Blocks of metadata that it has changed and that are not told, where, and since when. */
	u32 blocks;
	u64 handled_ns;
	u64 journal;
	/* The third: all waits that have ended: for something else, and for a request (in_iowait). */
	struct {
		u64 count;
		u64 sum_ns;
	} totals[2];
} __attribute__((aligned(CACHE_LINE)));

/* Who finds a lock taken and sleeps, sleeps at once; and again, if he was woken too early. */
#define AT_ONCE_NS 100000

/* include/trace/events/lock.h */
#define LOCK_SPIN 1
#define LOCK_WRITE 4
#define LOCK_READ 2
#define LOCK_PERCPU 16
#define LOCK_MUTEX 32

/* A word that threads change: atomic_long_t. */
struct shared_word {
	long counter;
} RELOCATED;

struct mutex {
	struct shared_word owner; /* its last three bits are no part of the address */
} RELOCATED;

struct rw_semaphore {
	struct shared_word owner; /* its last bit: readers hold it */
} RELOCATED;

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(map_flags, MAPPABLE);
	MAP_NUMBER(max_entries, 1 << WAITING_BITS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct waiting);
} waiting SEC(".maps");

/*
 * Whether somebody has begun to wait in a block of that table since it was looked at last: who
 * looks clears it first, and sets it again where somebody waits. So most of the table lies still.
 */
#define BLOCK_BITS 10
#define BLOCKS (1 << (WAITING_BITS - BLOCK_BITS))

struct waited_in {
	u8 blocks[BLOCKS];
};

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(map_flags, MAPPABLE);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct waited_in);
} waited_in SEC(".maps");

/* A stack while it is told: its innermost functions. */
#define TOLD_FRAMES (3 * FRAMES_EACH)

struct wait_stack {
	u64 addresses[TOLD_FRAMES];
};

struct {
	MAP_NUMBER(type, PER_CPU_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct wait_stack);
} wait_stacks SEC(".maps");

static u64 (*bpf_jiffies64)(void) = (void *)118;
static long (*bpf_get_stack)(void *context, void *into, u32 size, u64 flags) = (void *)67;
static long (*bpf_get_task_stack)(struct task_struct *task, void *into, u32 size,
				  u64 flags) = (void *)141;

INLINE struct waiting *waiting_of(u32 pid)
{
	u32 place = pid & ((1 << WAITING_BITS) - 1);

	return bpf_map_lookup_elem(&waiting, &place);
}

/* The same, which is this thread's from now on. */
INLINE struct waiting *own_waiting(u32 pid)
{
	struct waiting *waits = waiting_of(pid);

	if (waits && waits->owner != pid) {
		waits->owner = pid;
		waits->holder = 0;
		waits->totals[0].count = waits->totals[0].sum_ns = 0;
		waits->totals[1].count = waits->totals[1].sum_ns = 0;
		waits->blocks = 0;
		waits->from_ns = waits->until_ns = waits->longest_ns = waits->before_ns = 0;
		waits->asleep_ns = waits->usual_ns[0] = waits->usual_ns[1] = waits->is_asleep = 0;
		waits->registers = 0;
	}
	return waits;
}

INLINE int waits_for_a_request(struct task_struct *task)
{
	struct task_struct___bits *bits = (void *)task;
	u64 word = 0;

	bpf_probe_read_kernel(&word, __builtin_preserve_field_info(bits->in_iowait, FIELD_BYTES),
			      (void *)task + __builtin_preserve_field_info(bits->in_iowait,
									   FIELD_OFFSET));
	word <<= __builtin_preserve_field_info(bits->in_iowait, FIELD_UP);
	return word >> __builtin_preserve_field_info(bits->in_iowait, FIELD_DOWN) != 0;
}

INLINE u64 state_of(struct task_struct *task)
{
	if (HAS(struct task_struct, __state))
		return GET(task, __state);
	return GET((struct task_struct___5_13 *)task, state);
}

/* The registers of a thread at its system call, or where it was interrupted; 0: not known. */
INLINE u64 registers_of(struct task_struct *task)
{
	u64 stack = (u64)READ(task, stack), end = stack + (1 << 14), at;

	if (!__builtin_preserve_field_info(((struct pt_regs *)0)->cs, FIELD_EXISTS))
		return end - __builtin_preserve_type_info(*(struct pt_regs___arm64 *)0, TYPE_SIZE);
	at = end - __builtin_preserve_type_info(*(struct pt_regs *)0, TYPE_SIZE);
	if ((u16)FIELD_OF(at, struct pt_regs, cs) == USER_CODE)
		return at;
	/* Since 6.9 there may be two words behind them (FRED). */
	at -= 2 * sizeof(u64);
	return (u16)FIELD_OF(at, struct pt_regs, cs) == USER_CODE ? at : 0;
}

/* The file that a thread's system call is for, where its first argument tells it. */
INLINE u64 inode_of_call(struct task_struct *task)
{
	u64 registers = registers_of(task), number;

	if (!registers)
		return 0;
	number = number_at_end(registers);
	if (number >= NUMBERS_MOST || !(with_descriptor[number / 64] >> number % 64 & 1))
		return 0;
	return inode_of(task, first_argument(registers));
}

/* A return address lies behind the call, which may be a function's last instruction. */
INLINE int is_for_own_request(u64 address)
{
#pragma unroll
	for (int i = 0; i < OWN_REQUESTS; i++)
		if (address > own_requests[i].from && address <= own_requests[i].behind)
			return 1;
	return 0;
}

INLINE void tell_stack(struct task_struct *task, u64 since_ns, struct wait_stack *stack, long bytes)
{
	struct room room;

#pragma unroll
	for (int part = 0; part < TOLD_FRAMES / FRAMES_EACH; part++) {
		struct frames *frames;

		if (bytes <= (long)(part * FRAMES_EACH * sizeof(u64)) || !reserve(&room))
			return;
		frames = &room.cell->frames;
		frames->step.time_ns = bpf_ktime_get_ns();
		frames->step.identity = since_ns;
		frames->step.sector = GET(task, pid);
		frames->step.length_bytes = bytes / sizeof(u64);
		frames->step.command_flags = part;
		frames->step.device = 0;
		frames->step.cpu = bpf_get_smp_processor_id();
		frames->step.kind = STACK;
		frames->step.marks = 0;
#pragma unroll
		for (int i = 0; i < FRAMES_EACH; i++)
			frames->addresses[i] = stack->addresses[part * FRAMES_EACH + i];
		commit(&room);
	}
}

/* Which file an inode is, if its file system is asked for. */
static APART int find_file(u64 inode, struct identity *file)
{
	struct head head = head_of(inode);

	if (!is_file_system_asked_for((u64)IN_HEAD(&head, i_sb)))
		return 0;
	identify(file, &head);
	if (!file->kind)
		number_file(file, &head);
	return 1;
}

/*
 * A wait has ended: its stack, the name of its file, and then the wait itself. What is known of the
 * thread is looked up late: what is kept across the calls costs some of the little stack.
 */
static APART int tell_wait(struct task_struct *task)
{
	u32 zero = 0;
	struct wait_stack *stack = bpf_map_lookup_elem(&wait_stacks, &zero);
	struct identity file = {};
	struct waiting *waits;
	struct sync *sync;
	struct room room;
	u64 inode = 0;
	long bytes;

	if (!task || !stack)
		return 0;
	bytes = bpf_get_task_stack(task, stack->addresses, sizeof(stack->addresses), 0);
	if (bytes > 0 && is_for_own_request(stack->addresses[0]))
		return 0;
	if (!(GET(task, flags) & PF_KTHREAD))
		inode = inode_of_call(task);
	if (inode) {
		if (!find_file(inode, &file))
			return 0;
		tell_name(&file, 1);
	}
	waits = waiting_of(GET(task, pid));
	if (!waits)
		return 0;
	tell_stack(task, waits->since_ns, stack, bytes);
	sync = step_of_thread(&room, WAITED, file.file_system, file.inode, task);
	if (!sync)
		return 0;
	sync->step.identity = waits->since_ns;
	if (waits->holder)
		sync->step.sector = (u64)waits->holder_tgid << 32 | waits->holder;
	sync->generation = file.generation;
	if (waits_for_a_request(task))
		sync->step.marks |= MARK_FOR_REQUEST;
	if (GET(task, journal_info))
		sync->step.marks |= MARK_IN_TRANSACTION;
	commit(&room);
	return 0;
}

/*
 * Who waits is in the table before the block is looked at, by every processor's view: else who
 * clears it meanwhile might see neither. So the addition is a locked one. A store that changes
 * nothing would take the blocks' cache line from all other CPUs.
 */
INLINE void note_block(struct waiting *waits, u32 pid)
{
	u32 zero = 0;
	volatile struct waited_in *in = bpf_map_lookup_elem(&waited_in, &zero);
	u32 block = (pid >> BLOCK_BITS) & (BLOCKS - 1);

	__sync_fetch_and_add(&waits->begun, 1);
	if (in && !in->blocks[block])
		in->blocks[block] = 1;
}

INLINE void begin_wait(struct task_struct *task)
{
	u32 pid = GET(task, pid);
	struct waiting *waits = own_waiting(pid);

	if (!waits)
		return;
	waits->since_ns = bpf_ktime_get_ns();
	waits->is_asleep = 0;
	if (waits->holder && waits->since_ns - waits->contended_ns > AT_ONCE_NS)
		waits->holder = 0;
	*(volatile u32 *)&waits->pid = pid;
	note_block(waits, pid);
}

/*
 * What is usual grows or shrinks by as much of it as the time is of 69 s, so that half of the time
 * goes by in longer ones: what takes long for half a minute is not usual yet. A thread whose work
 * has become much quicker is soon known anew.
 */
#define USUAL_MUCH 4

INLINE u64 usual_after(u64 usual_ns, u64 since_ns)
{
	u64 by_ns = usual_ns * (since_ns >> 16) >> 20, most_ns;

	if (!usual_ns)
		return since_ns;
	if (since_ns >= usual_ns) {
		most_ns = (since_ns - usual_ns) / 8;
		return usual_ns + (by_ns < most_ns ? by_ns : most_ns);
	}
	most_ns = (usual_ns - since_ns) / 8;
	if (since_ns < usual_ns / USUAL_MUCH || by_ns > most_ns)
		by_ns = most_ns;
	return usual_ns - by_ns;
}

/*
 * What is usual for a server's thread that waits for a client is not so where it waits for others.
 * Apart: what it needs of the stack is not needed beside what tell_wait does.
 */
static APART int fall_asleep(struct task_struct *task, struct waiting *waits)
{
	u64 now_ns = bpf_ktime_get_ns();
	u64 *usual_ns = &waits->usual_ns[waits->sleep_kind & SLEEP_OF_THREADS];

	if (waits->asleep_ns)
		*usual_ns = usual_after(*usual_ns, now_ns - waits->asleep_ns);
	if (!waits->registers)
		waits->registers = registers_of(task);
	waits->sleep_kind = waits->registers && number_at_end(waits->registers) == number_of_futex;
	waits->asleep_ns = now_ns;
	waits->asleep_jiffies = bpf_jiffies64();
	waits->is_asleep = 1;
	return 0;
}

/* A thread leaves its CPU. */
INLINE void leave(struct task_struct *task)
{
	u64 state = state_of(task);
	int is_kernels;

	if (!(state & (UNINTERRUPTIBLE | INTERRUPTIBLE)) || state & IDLE)
		return;
	is_kernels = (GET(task, flags) & PF_KTHREAD) != 0;
	if (state & UNINTERRUPTIBLE) {
		if (!is_kernels || waits_for_a_request(task))
			begin_wait(task);
	} else if (!is_kernels) {
		struct waiting *waits = own_waiting(GET(task, pid));

		if (waits)
			fall_asleep(task, waits);
	}
}

/* A wait is over. */
INLINE void waited(struct waiting *waits, u64 from_ns, u64 until_ns)
{
	u64 ns = until_ns - from_ns, longest_ns = waits->longest_ns > ns ? waits->longest_ns : ns;

	if (from_ns > waits->until_ns && from_ns - waits->until_ns > longest_ns) {
		waits->from_ns = waits->before_ns = from_ns;
		longest_ns = ns;
	}
	waits->until_ns = until_ns;
	waits->longest_ns = longest_ns / 2 > ns ? longest_ns / 2 : ns;
}

INLINE void end_wait(struct task_struct *task, struct waiting *waits)
{
	u64 now_ns = bpf_ktime_get_ns(), since_ns = waits->since_ns;
	u32 kind = waits_for_a_request(task) & 1;

	waits->pid = 0;
	waits->contended_ns = now_ns;
	waits->totals[kind].count++;
	waits->totals[kind].sum_ns += now_ns - since_ns;
	waited(waits, since_ns, now_ns);
	if (now_ns - since_ns >= wait_ns_least)
		tell_wait(task);
}

/* Interrupts are off at a switch, so that no step comes between, and one program is enough. */
SEC("tp_btf/sched_switch") int see_waits(u64 *context)
{
	struct task_struct *task = (struct task_struct *)context[1];
	struct waiting *waits;
	u32 pid;

	/* Who is preempted is not off: its state will be looked at again. */
	if (!context[0])
		leave(task);
	task = (struct task_struct *)context[2];
	pid = GET(task, pid);
	waits = waiting_of(pid);
	if (pid && waits && waits->pid == pid)
		end_wait(task, waits);
	return 0;
}

/* Whether it is the thread on the CPU that wakes another one, and no interrupt of it. */
INLINE int wakes_by_itself(u64 *context)
{
	u32 zero = 0;
	struct wait_stack *stack = bpf_map_lookup_elem(&wait_stacks, &zero);
	long bytes;

	if (!stack || !interrupts.behind)
		return 0;
	bytes = bpf_get_stack(context, stack->addresses, sizeof(stack->addresses), 0);
#pragma unroll
	for (int i = 0; i < TOLD_FRAMES; i++)
		if ((long)(i * sizeof(u64)) < bytes && stack->addresses[i] > interrupts.from &&
		    stack->addresses[i] <= interrupts.behind)
			return 0;
	return bytes > 0;
}

static APART int tell_woken(struct task_struct *task, u64 from_ns, u64 until_ns, u64 waker,
			    u8 marks)
{
	struct room room;
	struct sync *sync;

	if (!task)
		return 0;
	sync = step_of_thread(&room, WOKEN, 0, 0, task);
	if (!sync)
		return 0;
	sync->step.identity = from_ns;
	sync->step.sector = waker;
	sync->transaction = until_ns;
	sync->step.marks = marks;
	commit(&room);
	return 0;
}

/*
 * Since when a thread that is woken has slept for what its waker waited for; 0: not for that. A
 * sleep that began long before, or ends long after, has another reason.
 */
INLINE u64 slept_since(struct waiting *waits, struct waiting *behind, u64 now_ns)
{
	u64 from_ns = behind->before_ns, until_ns = behind->until_ns, both_ns;

	if (waits->asleep_ns >= until_ns)
		return 0;
	if (waits->asleep_ns > from_ns)
		from_ns = waits->asleep_ns;
	both_ns = until_ns - from_ns;
	if (both_ns < wait_ns_least || both_ns < from_ns - waits->asleep_ns)
		return 0;
	return both_ns < now_ns - until_ns ? 0 : from_ns;
}

/*
 * Who wakes a thread has waited itself: so has the thread, while it slept. It has, from then on, a
 * wait of its own, behind which others may have slept: also where its sleep was no longer than
 * usual, of a proxy that sleeps as long for who asks it. What took long until a timer or a device
 * woke a thread, a pause or a packet, is no usual sleep for another one.
 */
SEC("tp_btf/sched_waking") int sched_waking(u64 *context)
{
	struct task_struct *waker = this_task(), *task = (struct task_struct *)context[0];
	u32 waker_pid = GET(waker, pid), pid = GET(task, pid);
	struct waiting *behind = waiting_of(waker_pid), *waits = waiting_of(pid);
	u64 usual_ns, now_ns, from_ns = 0;
	int is_long, is_usual;

	if (!waits || waits->owner != pid || !waits->is_asleep || !behind)
		return 0;
	is_long = (u32)bpf_jiffies64() - waits->asleep_jiffies > 1;
	if (behind->owner != waker_pid || behind->until_ns - behind->from_ns < wait_ns_least)
		behind = 0;
	if (!is_long && !behind)
		return 0;
	now_ns = bpf_ktime_get_ns();
	usual_ns = waits->usual_ns[waits->sleep_kind & SLEEP_OF_THREADS];
	is_long = is_long && now_ns - waits->asleep_ns > usual_ns;
	/* Who waits for a program's end has started it. */
	if (behind && !(GET(waker, flags) & (PF_KTHREAD | PF_EXITING)))
		from_ns = slept_since(waits, behind, now_ns);
	if (!is_long && !from_ns)
		return 0;
	if (GET(waker, flags) & PF_KTHREAD || !wakes_by_itself(context)) {
		if (is_long)
			waits->asleep_ns = waits->is_asleep = 0;
		return 0;
	}
	if (!from_ns || !behind)
		return 0;
	is_usual = !usual_ns || behind->until_ns - from_ns <= usual_ns;
	waits->is_asleep = 0;
	waited(waits, from_ns, behind->until_ns);
	if (behind->from_ns < waits->before_ns)
		waits->before_ns = behind->from_ns;
	return tell_woken(task, from_ns, behind->until_ns, (u64)READ(waker, tgid) << 32 | waker_pid,
			  is_usual ? MARK_USUAL : 0);
}

/* The owner of a lock, which cannot go while it holds it; 0: not known. */
INLINE u64 owner_of(u64 lock, u64 flags)
{
	long owner;

	if (flags & LOCK_MUTEX)
		return FIELD_OF(lock, struct mutex, owner.counter) & ~7L;
	if (!(flags & (LOCK_READ | LOCK_WRITE)) || flags & LOCK_PERCPU)
		return 0;
	owner = FIELD_OF(lock, struct rw_semaphore, owner.counter);
	return owner & 1 ? 0 : owner & ~7L;
}

SEC("tp_btf/contention_begin") int contention_begin(u64 *context)
{
	u32 flags = context[1];
	struct task_struct *task;
	struct waiting *waits;
	u64 owner;

	if (flags & LOCK_SPIN)
		return 0;
	task = this_task();
	owner = owner_of(context[0], flags);
	waits = own_waiting(READ(task, pid));
	if (!waits)
		return 0;
	waits->holder = owner ? FIELD_OF(owner, struct task_struct, pid) : 0;
	waits->holder_tgid = owner ? FIELD_OF(owner, struct task_struct, tgid) : 0;
	waits->contended_ns = bpf_ktime_get_ns();
	return 0;
}

/* How often a thread's changes of metadata are told. */
#define TOLD_EVERY_NS 100000000

static APART int tell_journaled(struct task_struct *task, struct waiting *waits)
{
	struct room room;
	struct sync *sync;

	if (!task || !waits)
		return 0;
	sync = step_of_thread(&room, JOURNALED, waits->journal, 0, task);
	if (!sync)
		return 0;
	sync->step.identity = waits->handled_ns;
	sync->step.sector = waits->blocks;
	commit(&room);
	return 0;
}

/* A handle of ext4's journal has ended: its device, ..., how many blocks it asked for and changed. */
TRACEPOINT_OF_MODULE(jbd2_handle_stats)
{
	struct task_struct *task = this_task();
	u32 journal = context[0], blocks = context[7];
	struct waiting *waits;
	u64 now_ns;

	if (!blocks)
		return 0;
	waits = own_waiting(READ(task, pid));
	if (!waits)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (waits->blocks &&
	    (waits->journal != journal || now_ns - waits->handled_ns >= TOLD_EVERY_NS)) {
		tell_journaled(task, waits);
		waits->blocks = 0;
	}
	if (!waits->blocks) {
		waits->journal = journal;
		waits->handled_ns = now_ns;
	}
	waits->blocks += blocks;
	return 0;
}

#endif

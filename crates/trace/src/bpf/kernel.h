/*
 * What a BPF program needs of the kernel: its types, of each only the fields
 * that are read (the loader moves every access to where the running kernel has
 * the field), and its helpers by number (include/uapi/linux/bpf.h).
 *
 * Non-goals: the whole of vmlinux.h; anything that one program alone needs.
 */
#ifndef LBOLT_KERNEL_H
#define LBOLT_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define RELOCATED __attribute__((preserve_access_index))
#define INLINE static inline __attribute__((always_inline))
/* Has a stack frame of its own; all frames of a call together may have 512 bytes. */
#define APART __attribute__((noinline))

/* What __builtin_preserve_field_info tells of a field, enum bpf_core_relo_kind */
#define FIELD_OFFSET 0
#define FIELD_EXISTS 2
/* the same of __builtin_preserve_type_info */
#define TYPE_SIZE 1

/* Whether the running kernel's type has the field. */
#define HAS(type, field) __builtin_preserve_field_info(((type *)0)->field, FIELD_EXISTS)

/* A field of what is no pointer to the verifier, but a number; 0 where there is no such field. */
#define FIELD_OF(number, type, field)                                                              \
	({                                                                                         \
		typeof(((type *)0)->field) value = 0;                                              \
		if (HAS(type, field))                                                              \
			bpf_probe_read_kernel(&value, sizeof(value),                               \
					      (void *)(number) + __builtin_preserve_field_info(    \
								 ((type *)0)->field,               \
								 FIELD_OFFSET));                   \
		value;                                                                             \
	})

/* The same of a pointer to a type that has the field. */
#define READ(pointer, field)                                                                       \
	({                                                                                         \
		typeof((pointer)->field) got;                                                      \
		bpf_probe_read_kernel(&got, sizeof(got), &(pointer)->field);                       \
		got;                                                                               \
	})

/*
 * The capture is built twice. PLAIN (block_plain.bpf.o) runs on every kernel since 5.8: its
 * programs are raw tracepoints, whose arguments are numbers to the verifier, so that each
 * field costs a call. The arguments of the other one have the kernel's types, whose fields
 * it loads itself, and it counts by atomic operations with a result (5.12).
 */
#ifdef PLAIN
#define AT_TRACEPOINT(name) AT_RAW_TRACEPOINT(name)
#define GET(pointer, field) READ(pointer, field)
#else
#define AT_TRACEPOINT(name) SEC("tp_btf/" #name)
#define GET(pointer, field) ((pointer)->field)
#endif
/* Of a file system, which may be a module: tp_btf knows the kernel's own tracepoints alone. */
#define AT_RAW_TRACEPOINT(name) SEC("raw_tp/" #name)

/* A map is described by the types of a struct's members. */
#define MAP_NUMBER(name, value) int(*name)[value]
#define MAP_TYPE(name, type) type *name

/* enum bpf_map_type */
#define HASH 1
#define ARRAY 2
#define PER_CPU_ARRAY 6
#define STACK_TRACE 7
#define RING_BUFFER 27
#define TASK_STORAGE 29
/* map_flags */
#define NO_PREALLOC 1
#define MAPPABLE 1024
/* flags of bpf_task_storage_get */
#define CREATE 1
/* flags of bpf_ringbuf_submit */
#define NO_WAKEUP 1
/* flags of bpf_get_stackid */
#define USER_STACK 256

/* task_struct.flags, include/linux/sched.h */
#define PF_EXITING 0x00000004
#define PF_MEMALLOC 0x00000800
#define PF_WQ_WORKER 0x00000020
#define PF_KSWAPD 0x00020000
#define PF_KTHREAD 0x00200000

struct task_struct {
	unsigned int __state; /* since 5.14 */
	void *stack;
	unsigned int flags;
	int pid;  /* a thread's number, in the first PID namespace */
	int tgid; /* its process's */
	char comm[16];
	struct css_set *cgroups;
	struct files_struct *files;
	void *journal_info; /* of a file system's transaction, while the thread holds one open */
} RELOCATED;

struct bpf_pidns_info {
	u32 pid;
	u32 tgid;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static long (*bpf_get_stackid)(void *context, void *map, u64 flags) = (void *)27;
static u64 (*bpf_get_current_task)(void) = (void *)35;
static long (*bpf_probe_read_kernel)(void *into, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *into, u32 size, const void *from) = (void *)115;
static long (*bpf_get_ns_current_pid_tgid)(u64 dev, u64 ino, struct bpf_pidns_info *info,
					   u32 size) = (void *)120;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*bpf_task_storage_get)(void *map, struct task_struct *task, void *value,
				     u64 flags) = (void *)156;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;

/* The thread on the CPU; its type is known to the verifier since 5.11. */
INLINE struct task_struct *this_task(void)
{
#ifdef PLAIN
	return (struct task_struct *)bpf_get_current_task();
#else
	return bpf_get_current_task_btf();
#endif
}

#endif

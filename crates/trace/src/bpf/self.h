/*
 * Our process's number in the first PID namespace, which it may not know itself.
 * Included by a probe's program; whoami.rs attaches find_self, and removes it when it
 * has seen a thread of ours.
 */
#ifndef LBOLT_SELF_H
#define LBOLT_SELF_H

/* The words of whoami.rs. */
struct self {
	u64 namespace_dev, namespace_ino, tgid_within; /* our process as it numbers itself */
	u64 tgid;				       /* as the kernel does; 0 before it is found */
};

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct self);
} self SEC(".maps");

#define AT_SWITCH AT_TRACEPOINT(sched_switch)

AT_SWITCH int find_self(void *context)
{
	struct task_struct *task = this_task();
	struct bpf_pidns_info within = {};
	u32 zero = 0;
	struct self *own = bpf_map_lookup_elem(&self, &zero);

	if (own &&
	    !bpf_get_ns_current_pid_tgid(own->namespace_dev, own->namespace_ino, &within,
					 sizeof(within)) &&
	    within.tgid == own->tgid_within)
		own->tgid = (u32)GET(task, tgid);
	return 0;
}

#endif

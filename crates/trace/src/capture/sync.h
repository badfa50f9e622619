/*
 * Calls that make a file durable, the commits of journals that they wait for, and who
 * changed the files that others write.
 *
 * By the file systems' own tracepoints, which cost other system calls nothing. ext4 tells a
 * call's begin and end; xfs tells its begin alone, and not what it asks for. Which
 * transaction a call of ext4 waited for stands in its inode (fs/ext4/fsync.c,
 * ext4_fsync_journal); with fast commits it may have waited for less.
 *
 * Their types are a module's own on most machines, and not in the kernel's: user space says
 * where a field is (facts), and their arguments are numbers.
 *
 * Source: include/trace/events/ext4.h, jbd2.h, btrfs.h, f2fs.h; fs/xfs/xfs_trace.h of Linux
 * 6.18.
 *
 * Non-goals: which requests were made for a call; system calls (syscall.h); a program at the
 * exit of xfs's function, for which not every kernel gives leave.
 */
#ifndef LBOLT_SYNC_H
#define LBOLT_SYNC_H

INLINE struct sync *step_of_thread(struct room *room, enum kind kind, u32 file_system, u64 inode,
				   struct task_struct *task)
{
	struct cgroup *cgroup = GET(GET(task, cgroups), dfl_cgrp);
	struct sync *sync;

	if (!reserve(room))
		return 0;
	sync = &room->cell->sync;
	sync->step.time_ns = bpf_ktime_get_ns();
	sync->step.identity = sync->step.sector = 0;
	sync->step.length_bytes = sync->step.command_flags = 0;
	sync->step.device = file_system;
	sync->step.cpu = bpf_get_smp_processor_id();
	sync->step.kind = kind;
	sync->step.marks = 0;
	sync->inode = inode;
	sync->transaction = 0;
	sync->cgroup = GET(cgroup, level) > 0 ? GET(GET(cgroup, kn), id) : 0;
	sync->pid = GET(task, pid);
	sync->tgid = GET(task, tgid);
	sync->result = sync->generation = 0;
	copy_command(sync->command, task);
	return sync;
}

/* A step of the thread on the CPU. */
INLINE struct sync *step_of_call(struct room *room, enum kind kind, u32 file_system, u64 inode)
{
	return step_of_thread(room, kind, file_system, inode, this_task());
}

/*
 * Whether the file system of a super block lies on a device that is asked for. One on several
 * devices names none: user space asks for it by its own number.
 */
INLINE int is_file_system_asked_for(u64 super)
{
	u64 device = (u64)FIELD_OF(super, struct super_block, s_bdev);
	u32 number = FIELD_OF(super, struct super_block, s_dev);
	u64 disk;

	if (!device)
		return is_asked_for(number, number);
	disk = (u64)FIELD_OF(device, struct block_device, bd_disk);
	return is_asked_for(device_of_number(disk), FIELD_OF(device, struct block_device, bd_dev));
}

/* A call for a file or a directory, by its inode's address, after its name; at its end that is told. */
INLINE struct sync *begin_call(struct room *room, enum kind kind, u64 inode)
{
	struct head head = head_of(inode);
	struct identity file = {};
	struct sync *sync;

	if (!is_file_system_asked_for((u64)IN_HEAD(&head, i_sb)))
		return 0;
	identify(&file, &head);
	if (!file.kind)
		number_file(&file, &head);
	if (kind != SYNC_END)
		tell_name(&file, 1);
	sync = step_of_call(room, kind, file.file_system, file.inode);
	if (sync)
		sync->generation = file.generation;
	return sync;
}

/* The begin of a call of which the tracepoint tells the file and what is asked for. */
INLINE int begin_of_file(u64 file, u64 is_datasync)
{
	struct room room;
	struct sync *sync = begin_call(&room, SYNC_BEGIN, (u64)FIELD_OF(file, struct file, f_inode));

	if (!sync)
		return 0;
	sync->step.marks = is_datasync ? MARK_DATASYNC : 0;
	commit(&room);
	return 0;
}

TRACEPOINT_OF_MODULE(ext4_sync_file_enter)
{
	return begin_of_file(context[0], context[1]);
}

TRACEPOINT_OF_MODULE(ext4_sync_file_exit)
{
	u64 own = context[0] - facts.ext4_vfs_inode;
	struct room room;
	u32 of_all = 0, of_data = 0;
	struct sync *sync = begin_call(&room, SYNC_END, context[0]);

	if (!sync)
		return 0;
	/* User space knows which of the two the call was for. */
	if (facts.ext4_vfs_inode != UNKNOWN) {
		bpf_probe_read_kernel(&of_all, sizeof(of_all), (void *)own + facts.ext4_sync_tid);
		bpf_probe_read_kernel(&of_data, sizeof(of_data),
				      (void *)own + facts.ext4_datasync_tid);
	}
	sync->transaction = (u64)of_data << 32 | of_all;
	sync->result = -(int)context[1];
	commit(&room);
	return 0;
}

/* The end of a call of which nothing is told but the inode and the result. */
INLINE int end_untold(u64 inode, u64 result)
{
	struct room room;
	struct sync *sync = begin_call(&room, SYNC_END, inode);

	if (!sync)
		return 0;
	sync->result = -(int)result;
	commit(&room);
	return 0;
}

/* Newer kernels (7.2) have two points in its place. */
TRACEPOINT_OF_MODULE(btrfs_sync_file)
{
	return begin_of_file(context[0], context[1]);
}

TRACEPOINT_OF_MODULE(btrfs_sync_file_enter)
{
	return begin_of_file(context[0], context[1]);
}

TRACEPOINT_OF_MODULE(btrfs_sync_file_exit)
{
	return end_untold((u64)FIELD_OF(context[0], struct file, f_inode), context[1]);
}

/* The begin of a call of which nothing is told but the inode. */
INLINE int begin_untold(u64 inode)
{
	struct room room;
	struct sync *sync = begin_call(&room, SYNC_BEGIN, inode);

	if (!sync)
		return 0;
	sync->step.marks = MARK_UNTOLD;
	commit(&room);
	return 0;
}

TRACEPOINT_OF_MODULE(f2fs_sync_file_enter)
{
	return begin_untold(context[0]);
}

TRACEPOINT_OF_MODULE(f2fs_sync_file_exit)
{
	return end_untold(context[0], context[3]);
}

TRACEPOINT_OF_MODULE(xfs_file_fsync)
{
	return begin_untold(context[0] + facts.xfs_vnode);
}

TRACEPOINT_OF_MODULE(xfs_dir_fsync)
{
	return begin_untold(context[0] + facts.xfs_vnode);
}

/* Who changed which file last, by a hash: each is told of once while it stays there. */
#define CHANGES_BITS 10

struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1 << CHANGES_BITS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} changes SEC(".maps");

/* Fired for each page that becomes dirty, so that it must cost next to nothing. */
TRACEPOINT(writeback_mark_inode_dirty)
{
	struct task_struct *task = this_task();
	struct inode *inode = (struct inode *)context[0];
	u64 key = hash_of(number_of(inode) ^ (u64)(u32)GET(task, tgid) << 32 ^
			  GET(inode, i_generation));
	u64 *known;
	u32 place = key >> (64 - CHANGES_BITS);
	struct room room;

	known = bpf_map_lookup_elem(&changes, &place);
	if (!known || *known == key || GET(task, flags) & PF_KTHREAD)
		return 0;
	*known = key;
	if ((GET(inode, i_mode) & MODE_KIND) != MODE_REGULAR)
		return 0;
	if (begin_call(&room, CHANGED, number_of(inode) + base_of_numbers()))
		commit(&room);
	return 0;
}

/* Of a stage of a commit: the journal's device, and the transaction's number. */
INLINE int commit_stage(u64 *context, enum stage stage)
{
	u64 device = 0, disk;
	u32 transaction = 0, number;
	struct room room;
	struct sync *sync;

	bpf_probe_read_kernel(&device, sizeof(device), (void *)context[0] + facts.journal_device);
	bpf_probe_read_kernel(&transaction, sizeof(transaction),
			      (void *)context[1] + facts.transaction_number);
	disk = (u64)FIELD_OF(device, struct block_device, bd_disk);
	number = FIELD_OF(device, struct block_device, bd_dev);
	if (!is_asked_for(device_of_number(disk), number))
		return 0;
	sync = step_of_call(&room, COMMIT, number, 0);
	if (!sync)
		return 0;
	sync->transaction = transaction;
	sync->result = stage;
	commit(&room);
	return 0;
}

TRACEPOINT_OF_MODULE(jbd2_start_commit)
{
	return commit_stage(context, STAGE_STARTED);
}

TRACEPOINT_OF_MODULE(jbd2_commit_locking)
{
	return commit_stage(context, STAGE_LOCKING);
}

TRACEPOINT_OF_MODULE(jbd2_commit_flushing)
{
	return commit_stage(context, STAGE_FLUSHING);
}

TRACEPOINT_OF_MODULE(jbd2_commit_logging)
{
	return commit_stage(context, STAGE_LOGGING);
}

TRACEPOINT_OF_MODULE(jbd2_end_commit)
{
	return commit_stage(context, STAGE_ENDED);
}

#endif

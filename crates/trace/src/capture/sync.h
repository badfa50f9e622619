/*
 * Calls that make a file durable, the commits of journals that they wait for, and who
 * changed the files that others write.
 *
 * By the file systems' own tracepoints, which cost other system calls nothing. ext4 tells a
 * call's begin and end; xfs tells its begin alone, and not what it asks for. Which
 * transaction a call of ext4 waited for stands in its inode (fs/ext4/fsync.c,
 * ext4_fsync_journal); with fast commits it may have waited for less.
 *
 * Source: include/trace/events/ext4.h, jbd2.h; fs/xfs/xfs_trace.h of Linux 6.18.
 *
 * Non-goals: which requests were made for a call; system calls (syscall.h); a program at the
 * exit of xfs's function, for which not every kernel gives leave.
 */
#ifndef LBOLT_SYNC_H
#define LBOLT_SYNC_H

struct ext4_inode_info {
	struct inode vfs_inode;
	u32 i_sync_tid;
	u32 i_datasync_tid;
} RELOCATED;

struct xfs_inode {
	struct inode i_vnode;
} RELOCATED;

struct journal_s {
	struct block_device *j_fs_dev;
} RELOCATED;

struct transaction_s {
	u32 t_tid;
} RELOCATED;

INLINE struct sync *step_of_call(struct room *room, enum kind kind, u32 file_system, u64 inode)
{
	struct task_struct *task = bpf_get_current_task_btf();
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
	sync->cgroup = task->cgroups->dfl_cgrp->level > 0 ? task->cgroups->dfl_cgrp->kn->id : 0;
	sync->pid = task->pid;
	sync->tgid = task->tgid;
	sync->result = sync->generation = 0;
	copy_command(sync->command, task);
	return sync;
}

INLINE struct sync *begin_sync(struct room *room, enum kind kind, struct block_device *device,
			       u32 file_system, u64 inode)
{
	if (!is_asked_for(device_of(device->bd_disk), device->bd_dev))
		return 0;
	return step_of_call(room, kind, file_system, inode);
}

INLINE struct sync *begin_call(struct room *room, enum kind kind, struct inode *inode)
{
	struct super_block *super = inode->i_sb;
	struct sync *sync = begin_sync(room, kind, super->s_bdev, super->s_dev, inode->i_ino);

	if (sync)
		sync->generation = inode->i_generation;
	return sync;
}

SEC("tp_btf/ext4_sync_file_enter") int ext4_sync_file_enter(u64 *context)
{
	struct inode *inode = ((struct file *)context[0])->f_inode;
	struct room room;
	struct sync *sync = begin_call(&room, SYNC_BEGIN, inode);

	if (!sync)
		return 0;
	sync->step.marks = context[1] ? MARK_DATASYNC : 0;
	commit(&room);
	return 0;
}

SEC("tp_btf/ext4_sync_file_exit") int ext4_sync_file_exit(u64 *context)
{
	struct inode *inode = (struct inode *)context[0];
	u64 base = bpf_get_current_task() - number_of(bpf_get_current_task_btf()), own;
	struct room room;
	struct sync *sync = begin_call(&room, SYNC_END, inode);

	if (!sync)
		return 0;
	own = number_of(inode) + base -
	      __builtin_preserve_field_info(((struct ext4_inode_info *)0)->vfs_inode, FIELD_OFFSET);
	/* User space knows which of the two the call was for. */
	sync->transaction = (u64)FIELD_OF(own, struct ext4_inode_info, i_datasync_tid) << 32 |
			    FIELD_OF(own, struct ext4_inode_info, i_sync_tid);
	sync->result = -(int)context[1];
	commit(&room);
	return 0;
}

INLINE int begin_of_xfs(u64 *context)
{
	struct inode *inode = &((struct xfs_inode *)context[0])->i_vnode;
	struct room room;
	struct sync *sync = begin_call(&room, SYNC_BEGIN, inode);

	if (!sync)
		return 0;
	sync->step.marks = MARK_UNTOLD;
	commit(&room);
	return 0;
}

SEC("tp_btf/xfs_file_fsync") int xfs_file_fsync(u64 *context)
{
	return begin_of_xfs(context);
}

SEC("tp_btf/xfs_dir_fsync") int xfs_dir_fsync(u64 *context)
{
	return begin_of_xfs(context);
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
SEC("tp_btf/writeback_mark_inode_dirty") int writeback_mark_inode_dirty(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = (struct inode *)context[0];
	u64 key = hash_of(number_of(inode) ^ (u64)(u32)task->tgid << 32 ^ inode->i_generation);
	u64 *known;
	u32 place = key >> (64 - CHANGES_BITS);
	struct room room;

	known = bpf_map_lookup_elem(&changes, &place);
	if (!known || *known == key || task->flags & PF_KTHREAD)
		return 0;
	*known = key;
	if ((inode->i_mode & MODE_KIND) != MODE_REGULAR || !inode->i_sb->s_bdev)
		return 0;
	if (begin_call(&room, CHANGED, inode))
		commit(&room);
	return 0;
}

INLINE int commit_stage(u64 *context, enum stage stage)
{
	struct journal_s *journal = (struct journal_s *)context[0];
	struct transaction_s *transaction = (struct transaction_s *)context[1];
	struct room room;
	struct sync *sync = begin_sync(&room, COMMIT, journal->j_fs_dev,
				       journal->j_fs_dev->bd_dev, 0);

	if (!sync)
		return 0;
	sync->transaction = transaction->t_tid;
	sync->result = stage;
	commit(&room);
	return 0;
}

SEC("tp_btf/jbd2_start_commit") int jbd2_start_commit(u64 *context)
{
	return commit_stage(context, STAGE_STARTED);
}

SEC("tp_btf/jbd2_commit_locking") int jbd2_commit_locking(u64 *context)
{
	return commit_stage(context, STAGE_LOCKING);
}

SEC("tp_btf/jbd2_commit_flushing") int jbd2_commit_flushing(u64 *context)
{
	return commit_stage(context, STAGE_FLUSHING);
}

SEC("tp_btf/jbd2_commit_logging") int jbd2_commit_logging(u64 *context)
{
	return commit_stage(context, STAGE_LOGGING);
}

SEC("tp_btf/jbd2_end_commit") int jbd2_end_commit(u64 *context)
{
	return commit_stage(context, STAGE_ENDED);
}

#endif

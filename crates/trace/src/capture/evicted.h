/*
 * Pages of files that the kernel took from memory because it needed memory, not long ago: a read
 * that begins with one of them had been spared before. A table by a hash of a page's file and its
 * number there; what has the place of another is that one's end.
 *
 * Who needs memory reclaims it, or lets kswapd do so: such a thread has PF_MEMALLOC. What is
 * truncated, dropped by request, made invalid by a direct write, or taken by another thread of the
 * kernel (DAMON) is no eviction.
 *
 * Source: mm/filemap.c (__filemap_remove_folio), mm/vmscan.c (__remove_mapping) of Linux 5.10 to
 * 7.2. Each page that is evicted runs this program once: of a huge one, its first page tells.
 *
 * What is read in from swap space had been evicted in any case.
 *
 * Whether it was the reader's own process that needed memory, is known: at a limit of its cgroup it
 * evicts its own pages, whatever others read. kswapd does it for anybody.
 *
 * Non-goals: for whom else it was evicted (user space, by who fills memory).
 */
#ifndef LBOLT_EVICTED_H
#define LBOLT_EVICTED_H

#define EVICTED_BITS 19
/* So long ago at the most, in units of 2^30 ns. */
#define EVICTED_MOST 60

/* The lower half of a page's hash; the last bits of the process by which it was evicted, 0: kswapd;
 * and when, in such units. */
struct {
	MAP_NUMBER(type, ARRAY);
	MAP_NUMBER(max_entries, 1 << EVICTED_BITS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} evicted SEC(".maps");

INLINE volatile u64 *evicted_at(u64 hash)
{
	u32 at = hash >> (64 - EVICTED_BITS);

	return bpf_map_lookup_elem(&evicted, &at);
}

/* How a page that a process is about to read had been evicted: a mark, or 0. */
INLINE u8 was_evicted(u64 hash, u32 tgid)
{
	volatile u64 *place = hash > SWAPPED ? evicted_at(hash) : 0;
	u64 known = place ? *place : 0;

	if (hash == SWAPPED)
		return MARK_REFAULTED;
	if (!known || known >> 32 != (u32)hash)
		return 0;
	if ((u16)((u16)(bpf_ktime_get_ns() >> 30) - (u16)known) > EVICTED_MOST)
		return 0;
	known = (u16)(known >> 16);
	return known && known == (u16)tgid ? MARK_REFAULTED | MARK_BY_ITSELF : MARK_REFAULTED;
}

SEC("tp_btf/mm_filemap_delete_from_page_cache") int see_evictions(u64 *context)
{
	struct task_struct *task = this_task();
	struct page_head head = {context[0]};
	volatile u64 *place;
	u32 flags = GET(task, flags);
	struct head file;
	u64 mapping, hash, by;

	if (!(flags & PF_MEMALLOC) || (flags & PF_KTHREAD && !(flags & PF_KSWAPD)))
		return 0;
	bpf_probe_read_kernel(head.words, sizeof(head.words), (void *)head.address);
	mapping = (u64)IN_COPY(&head, struct page, mapping);
	file = head_of((u64)FIELD_OF(mapping, struct address_space, host));
	hash = hash_of_page(&file, index_of(&head));
	place = evicted_at(hash);
	by = flags & PF_KTHREAD ? 0 : (u16)GET(task, tgid);
	if (place)
		*place = hash << 32 | by << 16 | (u16)(bpf_ktime_get_ns() >> 30);
	return 0;
}

#endif

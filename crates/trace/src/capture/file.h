/*
 * To which file a bio's data belongs, by who is told of its end.
 *
 * - Direct: the bio belongs to a struct iomap_dio, which has the file, or is a block device's. The
 *   page is the program's own buffer and says nothing; to look at it costs 80 ns.
 * - Of a bio that was split, the parts are linked to the whole.
 * - A journal's: its end is the log's (xfs), or the journal's (jbd2), or its buffer's is
 *   (before 7.0).
 * - Else the first page's mapping has its host. What has no such page, as a flush or a
 *   driver's buffer, is found by the inode not having that mapping, and has no file.
 *
 * Source: block/fops.c, fs/iomap/direct-io.c, fs/buffer.c, fs/jbd2/commit.c, fs/xfs/xfs_log.c,
 * xfs_buf.c, include/linux/fs.h, page-flags.h of Linux 5.10 to 7.2. Where the functions
 * are, user space says (facts); what is not known is never found.
 *
 * Non-goals: the files of what is merged later; names (name.h).
 */
#ifndef LBOLT_FILE_H
#define LBOLT_FILE_H

struct super_block {
	u32 s_dev;
	struct block_device *s_bdev; /* none where it lies on several */
} RELOCATED;

struct hlist_node {
	struct hlist_node *next;
} RELOCATED;

struct hlist_head {
	struct hlist_node *first;
} RELOCATED;

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	u32 i_rdev;
	u32 i_generation;
	struct hlist_head i_dentry; /* its entries in directories */
} RELOCATED;

struct address_space {
	struct inode *host;
} RELOCATED;

struct file {
	struct inode *f_inode;
} RELOCATED;

struct kiocb {
	struct file *ki_filp;
} RELOCATED;

struct iomap_dio {
	struct kiocb *iocb;
} RELOCATED;

struct buffer_head {
	void *b_end_io;
} RELOCATED;

/* i_mode, include/uapi/linux/stat.h */
#define MODE_KIND 0170000
#define MODE_BLOCK_DEVICE 0060000
#define MODE_REGULAR 0100000

/*
 * An inode's first bytes, read at once: all that is asked of it lies there (6.18: within
 * 128), and each reading costs as much as the other. What does not is read by itself.
 */
#define HEAD_BYTES 128

struct head {
	u64 address;
	u64 words[HEAD_BYTES / sizeof(u64)];
};

INLINE struct head head_of(u64 inode)
{
	struct head head = {inode};

	bpf_probe_read_kernel(head.words, sizeof(head.words), (void *)inode);
	return head;
}

/* A field of a struct whose first bytes were copied from where it is. */
#define IN_COPY(copy, type, field)                                                                 \
	({                                                                                         \
		u64 at = __builtin_preserve_field_info(((type *)0)->field, FIELD_OFFSET);          \
		typeof(((type *)0)->field) part = 0;                                               \
		if (at + sizeof(part) <= sizeof((copy)->words))                                    \
			part = *(typeof(part) *)((void *)(copy)->words + at);                      \
		else                                                                               \
			bpf_probe_read_kernel(&part, sizeof(part), (void *)(copy)->address + at);  \
		part;                                                                              \
	})
#define IN_HEAD(head, field) IN_COPY(head, struct inode, field)

struct identity {
	u64 address; /* of its inode; 0: there is none to name it by */
	u64 inode;
	u32 file_system;
	u32 kind;
	u32 generation;
};

/* What a file is known by that lies in a file system. */
INLINE void number_file(struct identity *found, struct head *head)
{
	u64 super = (u64)IN_HEAD(head, i_sb);

	found->address = head->address;
	found->inode = IN_HEAD(head, i_ino);
	found->generation = IN_HEAD(head, i_generation);
	found->file_system = FIELD_OF(super, struct super_block, s_dev);
}

/* What a regular file or a block device is known by; of what is neither, nothing. */
INLINE void identify(struct identity *found, struct head *head)
{
	u32 mode = IN_HEAD(head, i_mode) & MODE_KIND;

	if (mode == MODE_BLOCK_DEVICE) {
		found->kind = FILE_DEVICE;
		found->file_system = IN_HEAD(head, i_rdev);
	} else if (mode == MODE_REGULAR) {
		found->kind = FILE_REGULAR;
		number_file(found, head);
	}
}

/*
 * The first page of a huge one, by what another page of it says: where that is; or, since 7.0,
 * which bits of the page's own address are its, as a mask (compound_info_has_mask). Each mask
 * has an upper half of ones, and no page such an address.
 */
INLINE u64 first_page(u64 page, u64 word)
{
	return word >> 32 == 0xffffffff ? page & word : word - 1;
}

/* A page's first bytes, as of an inode (6.18: within 40). */
struct page_head {
	u64 address;
	u64 words[5];
};

/* The number of a page in its file. */
INLINE u64 index_of(const struct page_head *head)
{
	if (HAS(struct page, index))
		return (u64)IN_COPY(head, struct page, index);
	return (u64)IN_COPY(head, struct page___6, __folio_index);
}

/*
 * A bio's first page, as its first bytes tell it; and what it is mapped by: an address with two
 * low bits. A bio holds its pages.
 */
INLINE u64 mapping_of(struct bio *bio, struct page_head *head)
{
	struct page *page = GET(GET(bio, bi_io_vec), bv_page);
	u64 word;

	head->address = number_of(page) + base_of_numbers();
	bpf_probe_read_kernel(head->words, sizeof(head->words), (void *)head->address);
	if (HAS(struct page, compound_head))
		word = (u64)IN_COPY(head, struct page, compound_head);
	else
		word = (u64)IN_COPY(head, struct page___7, compound_info);
	if (word & 1) {
		head->address = first_page(head->address, word);
		bpf_probe_read_kernel(head->words, sizeof(head->words), (void *)head->address);
	}
	return (u64)IN_COPY(head, struct page, mapping);
}

/* In the place of a hash: what had been swapped out. */
#define SWAPPED 1

/*
 * A page by its file and its number there. Where the file's inode lies in memory says nothing: it
 * may be freed with its last page, and another one have its place.
 */
INLINE u64 hash_of_page(const struct head *file, u64 index)
{
	u64 inode = (u64)IN_HEAD(file, i_sb) ^ (u64)IN_HEAD(file, i_ino) * PI_1;

	return (inode ^ (u64)IN_HEAD(file, i_generation) * PI_2 ^ index * PI_3) * PI_0;
}

/* Which file a bio is of, and whether its data goes past the page cache, as far as it tells. */
struct whose {
	struct identity file;
	u64 is_direct;
	u64 page; /* a hash of its first page, if that is a regular file's; or SWAPPED */
};

/*
 * By a bio's page. The stacks of a program and of what it calls are 512 bytes together, and before
 * 6.9 each counts in steps of 32: so this is apart from find_whose, and one thing after the other.
 */
static APART int find_whose_page(struct bio *bio, struct whose *whose)
{
	u64 mapping, index;

	{
		struct page_head page;

		mapping = mapping_of(bio, &page);
		index = index_of(&page);
		/* A page of memory that is read in has no mapping yet. */
		if (!mapping && facts.swapped_page != UNKNOWN && page.words[0] & facts.swapped_page)
			whose->page = SWAPPED;
	}
	if (mapping & PAGE_MAPPING_ANON)
		whose->is_direct = 1;
	if (!GET(bio, bi_end_io) || !mapping || mapping & PAGE_MAPPING_FLAGS)
		return 0;
	{
		struct head head = head_of((u64)FIELD_OF(mapping, struct address_space, host));

		if ((u64)IN_HEAD(&head, i_mapping) == mapping)
			identify(&whose->file, &head);
		if (whose->file.kind == FILE_REGULAR)
			whose->page = hash_of_page(&head, index);
	}
	return 0;
}

/* Whether its page is to tell it. `whose` is all zeroes before. */
static APART int find_whose(struct bio *bio, struct whose *whose)
{
	u64 end = (u64)GET(bio, bi_end_io), own = (u64)GET(bio, bi_private);
	struct head head;

	/* What was split off from a bio is linked to it, which knows whose it is. */
	if (end == facts.bio_chain_endio) {
		u64 whole = own;

		end = (u64)FIELD_OF(whole, struct bio, bi_end_io);
		own = (u64)FIELD_OF(whole, struct bio, bi_private);
	}
	if (end == facts.blkdev_bio_end_io_async || end == facts.blkdev_bio_end_io) {
		whose->is_direct = 1;
		return 0;
	}
	if (end == facts.iomap_dio_bio_end_io) {
		u64 iocb = (u64)FIELD_OF(own, struct iomap_dio, iocb);
		u64 file = (u64)FIELD_OF(iocb, struct kiocb, ki_filp);

		head = head_of((u64)FIELD_OF(file, struct file, f_inode));
		identify(&whose->file, &head);
		whose->is_direct = 1;
		return 0;
	}
	if (end == facts.xlog_bio_end_io)
		whose->file.kind = FILE_JOURNAL;
	if (end == facts.xfs_buf_bio_end_io)
		whose->file.kind = FILE_METADATA;
	if (end == facts.journal_end_buffer_io_sync ||
	    (end == facts.end_bio_bh_io_sync &&
	     (u64)FIELD_OF(own, struct buffer_head, b_end_io) == facts.journal_end_buffer_io_sync))
		whose->file.kind = FILE_JOURNAL;
	if (whose->file.kind) {
		whose->file.file_system = part_of_bio(bio);
		return 0;
	}
	return 1;
}

#endif

/*
 * Which devices are traced; and addresses as numbers, by which bios, requests and files are known.
 */
#ifndef LBOLT_DEVICE_H
#define LBOLT_DEVICE_H

/* Written before the programs are loaded, so that what is not asked for costs nothing. */
#define FILTERS 16
volatile const u32 filters_used;		  /* 0: every device is traced */
volatile const struct filter {
	u32 device; /* a whole disk or a partition */
	u32 disk;   /* the whole disk that it is on */
} filters[FILTERS];

#ifdef PLAIN
/* Where the device's part of a disk is, in sectors, by the places of `filters`. */
volatile const struct extent {
	u64 first;
	u64 behind;
} filter_extents[FILTERS];
#endif

/*
 * An address as a number to reckon with, which the verifier allows of none but a
 * difference of two. It is the same in all programs. With what is between them it is the
 * address.
 */
INLINE u64 number_of(const volatile void *address)
{
	u64 number = (u64)address;

#ifndef PLAIN
	asm volatile("%0 -= %1" : "+r"(number) : "r"(&filters_used));
#endif
	return number;
}

INLINE u64 base_of_numbers(void)
{
#ifdef PLAIN
	return 0;
#else
	return bpf_get_current_task() - number_of(bpf_get_current_task_btf());
#endif
}

/* A multiplier whose high bits are all of them moved by each bit of the address: 2^64 / phi. */
INLINE u64 hash_of(u64 number)
{
	return number * 0x9e3779b97f4a7c15;
}

/* --- Which devices ---------------------------------------------------------- */

INLINE u32 device_of(struct gendisk *disk)
{
	return (u32)GET(disk, major) << 20 | (u32)GET(disk, first_minor);
}

INLINE u32 device_of_number(u64 disk)
{
	return (u32)FIELD_OF(disk, struct gendisk, major) << 20 |
	       (u32)FIELD_OF(disk, struct gendisk, first_minor);
}

/* `part` is 0 where it is not known, as of a flush: that is for the whole disk. */
INLINE int is_asked_for(u32 disk, u32 part)
{
	for (u32 i = 0; i < FILTERS && i < filters_used; i++) {
		if (filters[i].device == disk || filters[i].device == part)
			return 1;
		if (!part && filters[i].disk == disk)
			return 1;
	}
	return !filters_used;
}

#ifdef PLAIN
/* The same where a bio knows its disk and not its partition (before 5.12): by its place. */
INLINE int is_asked_for_at(u32 disk, u64 sector, u32 bytes)
{
	for (u32 i = 0; i < FILTERS && i < filters_used; i++) {
		if (filters[i].device == disk)
			return 1;
		if (filters[i].disk == disk && (!bytes || (sector >= filter_extents[i].first &&
							   sector < filter_extents[i].behind)))
			return 1;
	}
	return !filters_used;
}
#endif

INLINE struct gendisk *disk_of_bio(struct bio *bio)
{
#ifdef PLAIN
	if (!HAS(struct bio, bi_bdev))
		return GET((struct bio___5_10 *)bio, bi_disk);
#endif
	return GET(GET(bio, bi_bdev), bd_disk);
}

/* The partition that a bio is for, by its number; the disk where it does not tell. */
INLINE u32 part_of_bio(struct bio *bio)
{
#ifdef PLAIN
	if (!HAS(struct bio, bi_bdev))
		return device_of(disk_of_bio(bio));
#endif
	return GET(GET(bio, bi_bdev), bd_dev);
}

INLINE struct gendisk *disk_of_request(struct request *request)
{
#ifdef PLAIN
	if (!HAS(struct request_queue, disk))
		return GET((struct request___5_10 *)request, rq_disk);
#endif
	return GET(GET(request, q), disk);
}

/* The whole disk of a request that is to be traced; 0 if it is not. */
INLINE u32 traced_device(struct request *request)
{
	struct gendisk *disk = disk_of_request(request);
	struct block_device *part;
	struct bio *bio;
	u32 device;

	if (!disk)
		return 0; /* a command to what is no disk, or not yet one */
	device = device_of(disk);
	if (!filters_used)
		return device;
#ifdef PLAIN
	if (!HAS(struct bio, bi_bdev))
		return is_asked_for_at(device, GET(request, __sector), GET(request, __data_len)) ?
			       device :
			       0;
#endif
	bio = GET(request, bio);
	part = bio ? GET(bio, bi_bdev) : GET(request, part);
	return is_asked_for(device, part ? GET(part, bd_dev) : 0) ? device : 0;
}

INLINE u32 traced_device_of_bio(struct bio *bio)
{
	u32 device = device_of(disk_of_bio(bio));

	if (!filters_used)
		return device;
#ifdef PLAIN
	if (!HAS(struct bio, bi_bdev))
		return is_asked_for_at(device, GET(bio, bi_iter.bi_sector),
				       GET(bio, bi_iter.bi_size)) ?
			       device :
			       0;
#endif
	return is_asked_for(device, part_of_bio(bio)) ? device : 0;
}

/* Whether it goes past requests: zram, device mapper, md. */
INLINE int has_bios_alone(struct gendisk *disk)
{
	return GET(GET(disk, fops), submit_bio) != 0;
}

#endif

//! Placement against strides and switches worked out by hand from the kernel's arithmetic.

use super::*;

const EAGLE: Shape = Shape {
    sectors: 48,
    cylinder_sectors: 960,
    cylinders: 842,
    revolutions_per_s: 65,
    sector_bytes: 512,
};

const SETTINGS: Settings = Settings {
    block_bytes: 8192,
    fragment_bytes: 1024,
    rotational_delay_ms: 4,
    blocks_per_group: 256,
    cylinders_per_group: 16,
    bytes_per_inode: 2048,
};

fn system(block_bytes: u64, rotational_delay_ms: u64) -> FastFileSystem {
    FastFileSystem::new(Settings { block_bytes, rotational_delay_ms, ..SETTINGS }, EAGLE)
}

fn file(system: &mut FastFileSystem, blocks: u64) -> File {
    let mut file = File { group: system.group_for_file(), ..File::default() };
    for logical in 0..blocks {
        while file.missing_indirect(logical, system.addresses_per_block()) > 0 {
            file.add_indirect(system).unwrap();
        }
        file.add_block(system).unwrap();
    }
    file
}

/// From the beginning of one block of a file to that of the next.
fn stride_sectors(system: &FastFileSystem) -> u64 {
    system.stride_blocks * system.block_sectors()
}

#[test]
fn the_stride_is_the_rotational_delay_rounded_up_to_blocks() {
    // 4 ms at 65 revolutions of 24 fragments: 6 fragments; 2 ms: 3. An 8K block is 8 fragments, a
    // 4K block 4.
    let strides = [(8192, 4), (4096, 4), (8192, 2), (4096, 2), (8192, 0), (4096, 0)]
        .map(|(block_bytes, delay_ms)| stride_sectors(&system(block_bytes, delay_ms)));
    assert_eq!(strides, [32, 24, 32, 16, 16, 8]);
    // RA81: 51 sectors at 60 revolutions a second: 6 and 3 fragments.
    let ra81 = Shape { sectors: 51, cylinder_sectors: 714, revolutions_per_s: 60, ..EAGLE };
    let settings = system(4096, 4).settings;
    assert_eq!(stride_sectors(&FastFileSystem::new(settings, ra81)), 24);
}

#[test]
fn a_file_lies_at_its_stride_and_goes_to_another_group_after_256_blocks() {
    let mut system = system(8192, 4);
    let file = file(&mut system, 1024);
    let groups: Vec<usize> = file.blocks.iter().map(|block| system.group_of(*block)).collect();
    assert!(groups[..12].iter().all(|group| *group == 1));
    // Behind the indirect block, runs of 256 begin, each in the next group.
    for (run, blocks) in file.blocks[12..].chunks(256).enumerate() {
        assert!(blocks.iter().all(|block| system.group_of(*block) == 2 + run), "run {run}");
        assert!(blocks.windows(2).all(|pair| pair[1] == pair[0] + 2), "run {run}");
    }
    assert_eq!(file.indirect.len(), 1);
    assert_eq!(system.group_of(file.indirect[0]), 2);
}

#[test]
fn blocks_beyond_the_first_indirect_one_have_two_on_their_way() {
    let addresses = system(4096, 4).addresses_per_block();
    assert_eq!(addresses, 1024);
    let at = |logical| File::path(logical, addresses);
    assert_eq!((at(11).indirect, at(11).index), ([None, None], 11));
    assert_eq!((at(12).indirect, at(12).index), ([Some(0), None], 0));
    assert_eq!((at(1035).indirect, at(1035).index), ([Some(0), None], 1023));
    assert_eq!((at(1036).indirect, at(1036).index), ([Some(1), Some(2)], 0));
    assert_eq!((at(2060).indirect, at(2060).index), ([Some(1), Some(3)], 0));
    // What is read ahead stands in the same table.
    assert!(!File::is_next_at_hand(11, addresses) && File::is_next_at_hand(12, addresses));
    assert!(!File::is_next_at_hand(1035, addresses));
    let file = file(&mut system(4096, 4), 2048);
    assert_eq!(file.indirect.len(), 3);
}

#[test]
fn what_is_given_back_is_free_again_and_nothing_is_given_twice() {
    let mut system = system(8192, 4);
    let before = system.data_blocks();
    let free = |system: &FastFileSystem| system.groups.iter().map(Group::free_blocks).sum::<u64>();
    let first = file(&mut system, 600);
    let second = file(&mut system, 600);
    let mut all: Vec<u64> = [&first, &second].iter().flat_map(|f| f.blocks.clone()).collect();
    all.extend(first.indirect.iter().chain(&second.indirect));
    let count = all.len() as u64;
    assert_eq!(free(&system), before - count);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len() as u64, count);
    all.iter().for_each(|block| system.free(*block));
    assert_eq!(free(&system), before);
    assert_eq!(file(&mut system, 600), first);
}

#[test]
fn a_full_drive_says_so() {
    let settings = system(8192, 4).settings;
    let mut system = FastFileSystem::new(settings, Shape { cylinders: 32, ..EAGLE });
    let blocks = system.data_blocks();
    assert_eq!(blocks, 2 * (960 - 3 - 32));
    assert!((0..blocks).all(|_| system.allocate(0).is_some()));
    assert_eq!(system.allocate(0), None);
}

#[test]
fn a_drive_with_zones_holds_its_whole_file_system() {
    let profile = crate::CATALOG.load("atlas10k").unwrap();
    let mechanics = sim::drive::Mechanics::read(&profile.reader().below("drive")).unwrap();
    let shape = Shape::of(&mechanics.layout, 10_000);
    let system = FastFileSystem::new(SETTINGS, shape);
    let end_sector = (system.groups.len() as u64) * SETTINGS.group_blocks(&shape) * 16;
    assert!(end_sector <= mechanics.layout.blocks, "{end_sector} of {}", mechanics.layout.blocks);
    // And no less than whole groups of cylinders as long as the first.
    assert!(end_sector + 16 * shape.cylinder_sectors + 16 > mechanics.layout.blocks);
}

#[test]
fn what_no_file_system_can_have_is_refused() {
    let profile = crate::CATALOG.load("4.2bsd").unwrap();
    let reader = profile.reader().below("file_system");
    let refused = |block_bytes: u64, shape: Shape| {
        let settings = Settings { block_bytes, fragment_bytes: block_bytes / 8, ..SETTINGS };
        let error = settings.check(&reader, &shape).unwrap_err();
        (error.key, error.reason)
    };
    assert_eq!(SETTINGS.check(&reader, &EAGLE), Ok(()));
    let (key, reason) = refused(2048, EAGLE);
    assert_eq!(key, "file_system.fragment_size");
    assert!(reason.contains("no multiple of a sector's 512 bytes"), "{reason}");
    let (key, reason) = refused(8192, Shape { cylinder_sectors: 2, ..EAGLE });
    assert_eq!(key, "file_system.cylinders_per_group");
    assert!(reason.contains("no room for data"), "{reason}");
}

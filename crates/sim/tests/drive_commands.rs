//! A drive's commands, cache and bus on cases counted by hand: 100 sectors a track at 6,000 rpm are
//! 0.1 ms each.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use sim::drive::{Access, CachedDrive, Operation};
use sim::profile::CATALOG;
use sim::replay::ReplayMachine;

/// 2 heads, 20 cylinders; every seek takes 1 ms.
const MECHANICS: &str = "kind = 'drive'\n[rotation]\nassumed = 'x'\nspeed = '6000 rpm'\n\
    [layout]\nassumed = 'x'\nsector_size = '512 B'\nheads = 2\ncylinders = 20\nsectors_per_track = \
    100\n\
    track_skew = 10\n[seek]\nassumed = 'x'\npoints_ms = [[1, 1.0], [19, 1.0]]\nhead_switch = '0.5 \
    ms'\n";
const OVERHEADS: &str = "[overhead]\nassumed = 'x'\nread_hit_after_read = '0.2 \
    ms'\nread_hit_after_write = '0.2 ms'\n\
    read_miss_after_read = '0.5 ms'\nread_miss_after_write = '0.7 ms'\nwrite_after_read = '0.3 \
    ms'\n\
    write_after_write = '0.4 ms'\n[bus]\nassumed = 'x'\nread_block = '0.01 ms'\nwrite_block = \
    '0.01 ms'\n";
const CACHE: &str = "[cache]\nassumed = 'x'\nsegments = 2\nsegment_blocks = 50\nread_ahead = \
    'blocks'\nread_ahead_blocks = 40\n\
    hits_on_written = true\ncombines_writes = true\n";

/// A drive with its times in ms.
struct InMs(CachedDrive);

impl InMs {
    fn new(text: &str) -> Self {
        let profile = CATALOG.load_text("d", "d.toml", text).unwrap();
        let reader = profile.reader();
        let drive = CachedDrive::read(&reader.below("drive")).unwrap();
        ReplayMachine::read(&reader).unwrap();
        reader.finish().unwrap();
        Self(drive)
    }

    fn read(&mut self, at_ms: f64, block: u64, blocks: u64) -> f64 {
        self.request(at_ms, Access::read(block, blocks))
    }

    fn write(&mut self, at_ms: f64, block: u64, blocks: u64) -> f64 {
        self.request(at_ms, Access::write(block, blocks))
    }

    fn request(&mut self, at_ms: f64, request: Access) -> f64 {
        self.0.serve(at_ms * 1e6, request).unwrap() / 1e6
    }
}

fn drive(cache: &str) -> InMs {
    InMs::new(&format!("{MECHANICS}{OVERHEADS}{cache}"))
}

fn assert_near(ms: f64, expected: f64) {
    assert!((ms - expected).abs() < 1e-5, "{ms} for {expected}");
}

#[test]
fn a_miss_takes_command_rotation_media_and_bus() {
    // The head stands over sector 5 when the command is understood; sector 20 comes at 2 ms, its
    // tenth ends at 3.
    assert_near(drive("").read(0.0, 20, 10), 3.01);
    // The arm moves for 1 ms; cylinder 2 begins 20 sectors late, so that its sector 0 comes at 2
    // ms.
    assert_near(drive("").read(0.0, 400, 1), 2.11);
}

#[test]
fn a_track_is_left_for_the_next_without_a_lost_revolution() {
    // Sector 95 passes at 9.5 ms; the next head begins 10 sectors late, at 11 ms, and is chosen in
    // time.
    assert_near(drive("").read(0.0, 95, 10), 11.51);
    // Without a skew of so much it is not: a revolution more.
    let text = format!("{MECHANICS}{OVERHEADS}").replace("track_skew = 10", "track_skew = 4");
    let mut drive = InMs::new(&text);
    assert_near(drive.read(0.0, 95, 10), 9.5 + 0.5 + 0.4 + 10.0 + 0.5 + 0.01);
}

#[test]
fn what_was_read_on_is_sent_from_the_cache() {
    let mut drive = drive(CACHE);
    assert_near(drive.read(0.0, 20, 10), 3.01);
    // Read on to block 70 by 7 ms, but the segment holds 50: 20 to 69.
    assert_near(drive.read(20.0, 60, 10), 20.3);
    assert_near(drive.read(30.0, 20, 10), 30.3);
    // One block too low, and it turns: at 40.5 ms sector 5 is there, sector 19 comes at 41.9.
    assert_near(drive.read(40.0, 19, 2), 42.11);
}

#[test]
fn a_hit_on_what_is_being_read_waits_for_it() {
    let mut drive = drive(CACHE);
    assert_near(drive.read(0.0, 20, 10), 3.01);
    // At 3.55 ms blocks up to 34 are there; the last that is wanted passes until 4.2.
    assert_near(drive.read(3.55, 32, 10), 4.21);
    // The read-ahead goes on behind the new request: 42 to 81, of which the last 50 are kept.
    assert_near(drive.read(20.0, 75, 7), 20.27);
    assert_near(drive.read(30.0, 31, 1), 33.21);
}

#[test]
fn what_is_just_being_read_is_a_miss_unless_the_drive_knows_better() {
    let mut plain = drive(CACHE);
    plain.read(0.0, 20, 10);
    // Block 35 passes from 3.5 to 3.6 ms. It is not there; the sector in progress is ended, at 3.6,
    // the command takes until 4.05, and both delays add up: 4.1 ms. Sector 35 comes again at 13.5.
    assert_near(plain.read(3.55, 35, 5), 14.01);
    let mut knows = drive(&format!("{CACHE}hits_on_next = true\n"));
    knows.read(0.0, 20, 10);
    assert_near(knows.read(3.55, 35, 5), 4.01);
}

#[test]
fn the_least_recently_used_segment_is_taken() {
    let mut drive = drive(&CACHE.replace("read_ahead = 'blocks'\nread_ahead_blocks = 40\n", ""));
    drive.read(0.0, 20, 10);
    drive.read(20.0, 420, 10);
    assert_near(drive.read(40.0, 20, 10), 40.3);
    // The second segment was used before the first was used again: it goes.
    drive.read(60.0, 820, 10);
    assert_near(drive.read(80.0, 20, 10), 80.3);
    assert!(drive.read(100.0, 420, 10) > 100.5);
}

#[test]
fn a_write_is_completed_when_written_or_when_in_the_buffer() {
    // Sector 20 at 2 ms, the tenth written at 3.
    assert_near(drive(CACHE).write(0.0, 20, 10), 3.0);
    let mut behind = drive(&format!("{CACHE}writes_behind = true\n"));
    assert_near(behind.write(0.0, 20, 10), 0.4);
    // A read waits until all is written, at 3 ms, though it is in the cache.
    assert_near(behind.read(1.0, 20, 10), 3.1);
    // What continues the write joins it; its last block is written at 4 ms.
    let mut joins = drive(&format!("{CACHE}writes_behind = true\n"));
    joins.write(0.0, 20, 10);
    assert_near(joins.write(1.0, 30, 10), 1.5);
    assert_near(joins.read(2.0, 30, 10), 4.1);
    // What does not, waits.
    let mut waits = drive(&format!("{CACHE}writes_behind = true\n"));
    waits.write(0.0, 20, 10);
    assert_near(waits.write(1.0, 60, 10), 3.1);
}

#[test]
fn written_data_are_read_from_the_cache_where_the_drive_does_so() {
    let mut keeps = drive(CACHE);
    keeps.write(0.0, 20, 10);
    assert_near(keeps.read(20.0, 20, 10), 20.3);
    let mut drops = drive(&CACHE.replace("hits_on_written = true\n", ""));
    drops.write(0.0, 20, 10);
    // After a write a miss takes 0.7 ms; sector 20 comes at 22.
    assert_near(drops.read(20.0, 20, 10), 23.01);
}

#[test]
fn a_write_makes_what_was_read_old() {
    let mut drive = drive(&CACHE.replace("hits_on_written = true\n", ""));
    drive.read(0.0, 20, 10);
    drive.write(20.0, 25, 1);
    assert_near(drive.read(40.0, 20, 10), 43.01);
}

#[test]
fn a_write_that_waits_for_its_data_loses_a_revolution() {
    // 0.3 ms a block: the first is there at 0.6 ms and sector 6 comes just then, the second comes
    // too late.
    let text = format!("{MECHANICS}{OVERHEADS}")
        .replace("write_block = '0.01 ms'", "write_block = '0.3 ms'");
    let mut drive = InMs::new(&text);
    assert_near(drive.write(0.0, 6, 2), 10.8);
}

#[test]
fn a_drive_may_read_and_write_a_track_from_anywhere() {
    // The head lands at sector 5, in the middle of 0 to 9: one revolution and no more.
    assert_near(drive("").read(0.0, 0, 10), 11.01);
    let mut any = drive(&format!("{CACHE}reads_any_order = true\nwrites_any_order = true\n"));
    // All but the first five are there by then, and the bus takes them behind the fifth.
    assert_near(any.read(0.0, 0, 10), 10.5 + 0.06);
    // At 20.3 ms sector 3 begins, but its data are not there: from 0 on, as usual.
    assert_near(any.write(20.0, 0, 10), 31.0);
    any.0.bus.write_block_ns = 0.0;
    // At 40.4 ms, after a write, sector 4 begins: 0 to 3 are written last, until 50.4.
    assert_near(any.write(40.0, 0, 10), 50.4);
    let mut free = drive(&format!("{CACHE}reads_free_blocks = true\n"));
    // From sector 5 on nothing is wanted until sector 2 comes: 0 and 1 pass before it, and are
    // kept.
    assert_near(free.read(0.0, 2, 1), 10.31);
    assert_near(free.read(40.0, 0, 2), 40.22);
}

#[test]
fn waiting_for_room_takes_no_longer_to_reckon_the_longer_it_is() {
    let small = CACHE
        .replace("segment_blocks = 50", "segment_blocks = 4")
        .replace("read_ahead_blocks = 40", "read_ahead_blocks = 4");
    // The bus is requested when the data are prepared, which takes the most of a day: millions of
    // revolutions.
    let slow = OVERHEADS.replace("[bus]", "data_preparation = '80000 s'\n[bus]");
    let completion_ms = InMs::new(&format!("{MECHANICS}{slow}{small}")).read(0.0, 20, 10);
    assert!((8e7..8.1e7).contains(&completion_ms), "{completion_ms}");
}

#[test]
fn a_bus_that_is_slower_than_the_drive_can_wait_is_refused() {
    for key in ["read_block", "write_block"] {
        let slow = OVERHEADS.replace(&format!("{key} = '0.01 ms'"), &format!("{key} = '10.1 ms'"));
        let profile = CATALOG.load_text("d", "d.toml", &format!("{MECHANICS}{slow}")).unwrap();
        let error = CachedDrive::read(&profile.reader().below("drive")).unwrap_err().to_string();
        assert!(error.contains(&format!("d.toml: drive.bus.{key}: is slower")), "{error}");
    }
}

#[test]
fn requests_larger_than_their_segment_are_read_as_room_is() {
    let small = CACHE
        .replace("segment_blocks = 50", "segment_blocks = 4")
        .replace("_blocks = 40", "_blocks = 4");
    // The bus keeps up: nothing is lost.
    assert_near(drive(&small).read(0.0, 20, 10), 3.01);
    let slow = format!("{MECHANICS}{OVERHEADS}{small}")
        .replace("read_block = '0.01 ms'", "read_block = '1 ms'");
    let mut drive = InMs::new(&slow);
    // The first is sent from 2.1 to 3.1 ms: the fifth, at 2.4, finds no room, and passes again at
    // 12.4.
    assert!(drive.read(0.0, 20, 10) > 20.0);
}

/// Times of giving the bus back and asking for it again, as the HP C2247A has them.
const HANDSHAKES: &str = "[overhead]\nassumed = 'x'\nread_miss_after_read = '0.5 \
    ms'\nwrite_after_read = '0.3 ms'\n\
    write_after_write = '0.4 ms'\nread_disconnect_after_read = '0.02 ms'\nwrite_disconnect = '0.02 \
    ms'\n\
    data_preparation = '0.05 ms'\nreselect = '0.1 ms'\nother_reselect = '0.2 ms'\nwrite_complete = \
    '0.03 ms'\n\
    read_complete = '0.04 ms'\n[bus]\nassumed = 'x'\nread_block = '0.1 ms'\nwrite_block = '0.01 \
    ms'\n";

#[test]
fn a_read_asks_for_the_bus_when_enough_is_there() {
    let text = format!("{MECHANICS}{HANDSHAKES}{CACHE}");
    // The first block is there at 2.1 ms; the bus is requested, and has all blocks one behind the
    // other.
    assert_near(InMs::new(&text).read(0.0, 20, 10), 2.1 + 0.15 + 1.0 + 0.04);
    // Half of them are there at 2.5 ms.
    let waits = format!("{text}read_water = '50 %'\n");
    assert_near(InMs::new(&waits).read(0.0, 20, 10), 2.5 + 0.15 + 1.0 + 0.04);
}

#[test]
fn a_write_after_one_elsewhere_gives_the_bus_back_once_more() {
    let extra = "[overhead.extra_disconnect]\nassumed = 'x'\ncommand = '0.45 ms'\ndisconnect = \
        '0.05 ms'\n\
        pause = '0.2 ms'\nlast_disconnect = '0.04 ms'\nseek_delta = '0.25 ms'\n";
    let minimum = HANDSHAKES.replace("[bus]", "minimum_write_seek = '0.6 ms'\n[bus]");
    let text = format!("{MECHANICS}{minimum}{extra}{CACHE}write_segment = true\n");
    let mut drive = InMs::new(&text);
    // Written at 3 ms, the bus requested, completed.
    assert_near(drive.write(0.0, 20, 10), 3.0 + 0.1 + 0.03);
    // From 20.7 ms the arm, which takes 0.6 at the least; sectors 50 to 59 pass from 25 to 26.
    assert_near(drive.write(20.0, 50, 10), 26.0 + 0.2 + 0.03);
    // At 41.3 ms the arm is there, just behind sector 12, which comes again at 51.2.
    assert_near(drive.write(40.0, 12, 10), 51.2 + 1.0 + 0.2 + 0.03);
    // What follows directly does not.
    assert_near(drive.write(60.0, 22, 10), 62.2 + 1.0 + 0.1 + 0.03);
}

#[test]
fn a_write_may_wait_until_so_much_is_there() {
    let slow = HANDSHAKES.replace("write_block = '0.01 ms'", "write_block = '0.1 ms'");
    let text = format!("{MECHANICS}{slow}{CACHE}");
    // The first block is there at 0.45 ms, its sector comes at 0.5, and so on.
    assert_near(InMs::new(&text).write(0.0, 5, 10), 1.5 + 0.1 + 0.03);
    // All ten are there at 1.35 ms: the sector comes again at 10.5.
    let waits = format!("{text}write_waits_for = [[44, 10]]\n");
    assert_near(InMs::new(&waits).write(0.0, 5, 10), 11.5 + 0.1 + 0.03);
}

#[test]
fn a_flush_waits_for_what_was_written_behind() {
    let behind = || drive(&format!("{CACHE}writes_behind = true\n"));
    // The data are in the buffer at 0.4 ms; sector 20 passes at 2 ms, and the tenth ends at 3.
    let mut drive_behind = behind();
    assert_near(drive_behind.write(0.0, 20, 10), 0.4);
    assert_near(drive_behind.request(0.5, Access::FLUSH), 3.0);
    // Nothing is left: a command's time.
    assert_near(drive_behind.request(5.0, Access::FLUSH), 5.4);
    // A durable write does not end before.
    let durable = Access { block: 20, blocks: 10, operation: Operation::Write { fua: true } };
    assert_near(behind().request(0.0, durable), 3.0);
    // A drive that writes through has nothing to flush.
    let mut through = drive(CACHE);
    assert_near(through.write(0.0, 20, 10), 3.0);
    assert_near(through.request(3.5, Access::FLUSH), 3.9);
    assert_near(through.request(23.0 - 3.0, durable), 23.0);
}

//! Tests of decoding: records as event.h declares them, byte by byte.

use super::*;
use crate::intake::{Collected, ForEach, Intake, ToldName};
use model::record::CommandId;
use proptest::prelude::*;

/// The bits as Linux 6.18 has them.
const BITS_6_18: [u64; BITS.len()] = [11, 12, 15, 17, 18, 19, 20, 24];
/// The operations as it has them, by their places; it has no WRITE_SAME.
const OPERATIONS_6_18: [Option<u64>; OPERATIONS.len()] =
    [Some(0), Some(1), Some(2), Some(3), Some(5), Some(7), None, Some(9)];

fn of_6_18(name: &str) -> Option<u64> {
    let bit = BITS.iter().position(|known| *known == name).map(|place| BITS_6_18[place]);
    let op = || OPERATIONS.iter().position(|(known, _)| *known == name);
    bit.or_else(|| OPERATIONS_6_18[op()?])
}

fn decoder() -> Decoder {
    Decoder::by(of_6_18, [OWN, 0])
}
const OWN: u32 = 4711;

/// None of what is malformed.
fn decode(bytes: &[u8]) -> Option<Vec<Event>> {
    let mut steps = Collected::default();
    let told = decoder().decode(bytes, &mut steps).ok()?;
    assert_eq!(told, (steps.events.len() + steps.durability.len() + steps.names) as u64);
    Some(steps.events)
}

/// A step's bytes, written as event.h declares them.
fn step(kind: u8, sector: u64, command_flags: u32, marks: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [1_000u64, 0xffff_8881_0000_0040, sector] {
        bytes.extend(word.to_ne_bytes());
    }
    for half in [4096u32, command_flags, 7 << 20 | 3] {
        bytes.extend(half.to_ne_bytes());
    }
    bytes.extend(5u16.to_ne_bytes());
    bytes.extend([kind, marks]);
    bytes
}

fn start(kind: u8, command_flags: u32, tgid: u32, command: &[u8]) -> Vec<u8> {
    let mut bytes = step(kind, 8, command_flags, 0);
    for word in [900u64, 0x77, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(4712u32.to_ne_bytes());
    bytes.extend(tgid.to_ne_bytes());
    bytes.extend(12u64.to_ne_bytes());
    for half in [3u32, 7 << 20, 1, 41, 0, 0] {
        bytes.extend(half.to_ne_bytes());
    }
    let mut name = [0; 16];
    name[..command.len()].copy_from_slice(command);
    bytes.extend(name);
    bytes
}

fn complete(done_bytes: u32, status: i32) -> Vec<u8> {
    let mut bytes = step(kind::COMPLETE, 8, 0, 0);
    bytes.extend(done_bytes.to_ne_bytes());
    bytes.extend(status.to_ne_bytes());
    bytes.extend([STARTED_NS, ISSUED_NS].map(u64::to_ne_bytes).concat());
    bytes
}

/// What the kernel has noted of a request that is completed at 1000.
const STARTED_NS: u64 = 700;
const ISSUED_NS: u64 = 800;

/// The bytes of a record of an issue, or of those that are like it.
fn issue(kind: u8, sector: u64, command_flags: u32, serves: u64) -> Vec<u8> {
    let mut bytes = step(kind, sector, command_flags, 0);
    bytes.extend(serves.to_ne_bytes());
    bytes
}

#[test]
fn what_is_finished_is_told_step_by_step() {
    const STATUS: usize = 89;
    let mut bytes = start(kind::FINISHED, 0, 1, b"dd");
    bytes[STATUS] = 10;
    let events = decode(&bytes).unwrap();
    let told: Vec<_> = events.iter().map(|event| (event.time_ns, event.step.rank())).collect();
    assert_eq!(told, [(900, 1), (0x77, 4), (1000, 6)]);
    let Step::Start { queued_ns, tag, .. } = events[0].step else { panic!() };
    assert_eq!((queued_ns, tag), (Some(900), None));
    let Step::Complete { error, remaining_bytes, .. } = events[2].step else { panic!() };
    assert_eq!((error, remaining_bytes), (Errno::IO.raw_os_error(), 0));
}

#[test]
fn a_number_means_what_the_running_kernel_calls_it() {
    // Linux 5.10: 7 is a write of the same block; 6.18: an append to a zone; both write.
    let of_5_10 = |name: &str| match name {
        "REQ_OP_WRITE_SAME" => Some(7),
        "REQ_OP_ZONE_APPEND" => Some(13),
        _ => of_6_18(name),
    };
    let op = |decoder: Decoder, number: u32| {
        let mut steps = Collected::default();
        decoder.decode(&step(kind::MERGE, 8, number, 0), &mut steps).unwrap();
        steps.events[0].extent.op
    };
    let old = Decoder::by(of_5_10, [OWN, 0]);
    assert_eq!([op(old, 7), op(old, 13), op(decoder(), 7)], [Op::Write; 3]);
    assert_eq!([op(decoder(), 13), op(decoder(), 34)], [Op::Other; 2]);
}

#[test]
fn where_a_bio_came_from_and_what_it_became_are_told_after_its_start() {
    let of = |bytes: Vec<u8>| decode(&bytes).unwrap()[0].step;
    let above = |offset_bytes| Step::Above { device: 9 << 20 | 1, offset_bytes };
    assert_eq!(of(issue(kind::ABOVE, 16, 1, 9 << 20 | 1)), above(Some(8192)));
    assert_eq!(of(issue(kind::ABOVE, 16, 2, 9 << 20 | 1)), above(None));
    assert_eq!(decode(&issue(kind::ABOVE, 16, 1, 1 << 32)), None, "no device");
    let became = Step::Became { bio: 0xffff_8881_0000_1000, tag: Some(5) };
    assert_eq!(of(issue(kind::BECAME, 0xffff_8881_0000_1000, 1, 5)), became);
}

#[test]
fn a_start_tells_who_asked_and_for_what() {
    let events = decode(&start(kind::START, 1 | 1 << 11 | 1 << 15, OWN, b"fio")).unwrap();
    let number = FileNumber { file_system: 7 << 20, inode: 12, generation: 3 };
    let file = Some(FileKey { kind: FileKind::Regular, number });
    let stacks = Stacks { kernel: 41, user: 0 };
    let origin =
        Origin { pid: Some(4712), command: Some(CommandId(0)), file, stacks, ..Origin::UNKNOWN };
    let expected = Event {
        time_ns: 1_000,
        identity: Some(0xffff_8881_0000_0040),
        device: 7 << 20 | 3,
        cpu: Some(5),
        extent: Extent {
            op: Op::Write,
            flags: Flags::SYNC | Flags::DIRECT | Flags::OWN,
            offset_bytes: Some(4096),
            length_bytes: 4096,
        },
        step: Step::Start { queued_ns: Some(900), origin, tag: Some(0x77) },
    };
    assert_eq!(events, [expected]);
}

const FILE: FileNumber = FileNumber { file_system: 7 << 20 | 3, inode: 12, generation: 3 };

/// A call's, a stage's or a change's bytes, as event.h declares them.
fn sync(kind: u8, marks: u8, transaction: u64, result: u32) -> Vec<u8> {
    let mut bytes = step(kind, 0, 0, marks);
    for word in [12u64, transaction, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    for word in [4712u32, 4710, result, 3] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(*b"postgres\0\0\0\0\0\0\0\0");
    bytes
}

#[test]
fn calls_commits_and_changes_are_steps_of_their_own() {
    let told = |bytes: &[u8]| {
        let mut steps = Collected::default();
        let told = decoder().decode(bytes, &mut steps);
        told.ok().map(|_| steps.durability[0])
    };
    let begin = told(&sync(kind::SYNC_BEGIN, raw::MARK_DATASYNC, 0, 0)).unwrap();
    assert_eq!((begin.file, begin.pid), (FILE, 4712));
    assert_eq!(begin.step, Durability::Begin { kind: CallKind::Fdatasync });
    let untold = told(&sync(kind::SYNC_BEGIN, raw::MARK_UNTOLD, 0, 0)).unwrap();
    assert_eq!(untold.step, Durability::Begin { kind: CallKind::Untold });
    let end = told(&sync(kind::SYNC_END, 0, 7 << 32 | 8, 5)).unwrap();
    assert_eq!(end.step, Durability::End { error: 5, transactions: Some((8, 7)) });
    let stage = told(&sync(kind::COMMIT, 0, 41, 4)).unwrap();
    assert_eq!(stage.step, Durability::Commit { transaction: 41, stage: Stage::Ended });
    assert_eq!(told(&sync(kind::COMMIT, 0, 41, 5)), None, "there is no such stage");
    assert_eq!(told(&sync(kind::CHANGED, 0, 0, 0)).unwrap().step, Durability::Changed);
    let called = told(&sync(kind::CALLED, 0, 0, 2)).unwrap();
    assert_eq!(called.step, Durability::Called { kind: CallKind::SyncFileRange });
    assert_eq!(told(&sync(kind::CALLED, 0, 0, 6)), None, "there is no such call");
    let returned = told(&sync(kind::RETURNED, 0, 0, 5)).unwrap();
    assert_eq!(returned.step, Durability::Returned { error: 5 });
}

#[test]
fn a_bio_is_started_and_issued_at_once() {
    let events = decode(&start(kind::WHOLE_START, 0, 1, b"0123456789abcdef")).unwrap();
    assert_eq!(events.len(), 2);
    assert!(matches!(events[0].step, Step::Start { .. }));
    assert_eq!(
        events[1],
        Event {
            step: Step::Issue { serves: None, in_sequence: false, origin: Origin::default() },
            ..events[0]
        }
    );
    assert!(!events[0].extent.flags.contains(Flags::OWN));
}

#[test]
fn a_thread_is_of_a_requests_cgroup_if_it_requests_for_itself() {
    let cgroup = |command_flags| {
        let mut bytes = start(kind::START, command_flags, 9, b"dd");
        bytes[56..64].copy_from_slice(&7u64.to_ne_bytes());
        let mut steps = Collected::default();
        decoder().decode(&bytes, &mut steps).ok()?;
        let [SeenThread { pid: 4712, process: 9, name: Some(_), cgroup }] = steps.threads[..]
        else {
            panic!("{:?}", steps.threads);
        };
        cgroup
    };
    let (write, sync, idle) = (1, 1 << 11, 1 << 15);
    assert_eq!(cgroup(0), Some(7));
    assert_eq!(cgroup(write | sync | idle), Some(7), "direct");
    assert_eq!(cgroup(write | sync), None, "whose pages these are is not known");
}

#[test]
fn a_flush_has_no_place_and_names_whom_it_serves() {
    let mut bytes = step(kind::ISSUE, 0, 2 | 1 << 18, 0);
    bytes.extend(0x77u64.to_ne_bytes());
    let events = decode(&bytes).unwrap();
    let origin = Origin::default();
    assert_eq!(events[0].step, Step::Issue { serves: Some(0x77), in_sequence: false, origin });
    assert_eq!(events[0].extent.op, Op::Flush);
    assert_eq!(events[0].extent.offset_bytes, None);
    assert_eq!(events[0].extent.flags, Flags::PREFLUSH);
}

#[test]
fn a_completion_tells_what_is_still_to_come() {
    let of = |done, status| decode(&complete(done, status)).unwrap()[0].step;
    let step = |error, done_bytes, remaining_bytes| Step::Complete {
        error,
        done_bytes,
        remaining_bytes,
        in_sequence: false,
        unseen: None,
    };
    assert_eq!(of(4096, 0), step(0, Some(4096), 0));
    assert_eq!(of(512, 0), step(0, Some(512), 3584));
    assert_eq!(of(u32::MAX - 1, 0), step(0, Some(u32::MAX - 1), 0));
    assert_eq!(of(u32::MAX, 10), step(5, None, 0));
}

#[test]
fn what_the_kernel_noted_stands_in_for_a_begin_that_may_not_have_been_seen() {
    let unseen = |began_ns, is_lost: bool| {
        let mut decoder = decoder();
        decoder.see_no_begins_of(42, b"init", began_ns);
        if is_lost {
            decoder.forget_who_is_unseen();
        }
        let mut steps = Collected::default();
        decoder.decode(&complete(4096, 0), &mut steps).unwrap();
        match steps.events[0].step {
            Step::Complete { unseen, .. } => unseen,
            _ => panic!(),
        }
    };
    let of = unseen(700, false).unwrap();
    assert_eq!((of.started_ns, of.issued_ns, of.origin.pid), (700, Some(800), Some(42)));
    // Its start may be one of those that were lost.
    let of = unseen(700, true).unwrap();
    assert_eq!((of.started_ns, of.origin), (700, Origin::UNKNOWN));
    // It may have begun before the trace.
    assert_eq!(unseen(701, false), None);
}

#[test]
fn statuses_are_the_kernels() {
    for (status, expected) in
        [(0, 0), (1, 95), (3, 28), (7, 61), (9, 12), (12, 11), (19, 22), (14, 5), (200, 5)]
    {
        assert_eq!(errno(status), expected, "{status}");
    }
    assert_eq!(errno(-5), 5);
    assert_eq!(errno(i32::MIN), i32::MAX);
}

#[test]
fn flags_are_where_the_kernel_has_them() {
    let flags = |command_flags, marks| {
        decode(&step(kind::MERGE, 8, command_flags, marks)).unwrap()[0].extent.flags
    };
    for (bit, flag) in PLAIN {
        assert_eq!(flags(1 | 1 << BITS_6_18[bit], 0), flag);
    }
    // A journal's write is synchronous and idle too.
    assert_eq!(flags(1 | 1 << 11 | 1 << 15 | 1 << 12, 0), Flags::SYNC | Flags::META);
    assert_eq!(flags(0, raw::MARK_DIRECT), Flags::DIRECT);
    assert_eq!(flags(1, raw::MARK_DIRECT), Flags::default());
    // A kernel that known nonsense gives no flags.
    let lost = Decoder::by(|name| of_6_18(name).filter(|_| !name.starts_with("__")), [OWN, 0]);
    let mut seen = Collected::default();
    lost.decode(&step(kind::MERGE, 8, u32::MAX, 0), &mut seen).unwrap();
    assert_eq!(seen.events[0].extent.flags, Flags::default());
}

#[test]
fn a_read_of_a_page_that_had_been_evicted_is_marked() {
    let flags = |op: u32, more: u8| {
        let mut bytes = start(kind::START, op, 9, b"dd");
        let marked = step(kind::START, 8, op, raw::MARK_REFAULTED | more);
        bytes[..marked.len()].copy_from_slice(&marked);
        decode(&bytes).unwrap()[0].extent.flags
    };
    assert_eq!([flags(0, 0), flags(1, 0)], [Flags::REFAULTED, Flags::default()]);
    assert_eq!(flags(0, raw::MARK_BY_ITSELF), Flags::REFAULTED | Flags::EVICTED_ITSELF);
}

#[test]
fn operations_and_places() {
    let extent = |sector, flags| decode(&step(kind::REQUEUE, sector, flags, 0)).unwrap()[0].extent;
    for (number, (_, op)) in OPERATIONS_6_18.into_iter().zip(OPERATIONS) {
        let Some(number) = number else { continue };
        assert_eq!(extent(8, number as u32).op, op);
    }
    assert_eq!(extent(8, 34).op, Op::Other);
    assert_eq!(extent(u64::MAX, 0).offset_bytes, None);
    assert_eq!(extent(u64::MAX / 2, 0).offset_bytes, None);
}

#[test]
fn what_is_no_record_is_refused() {
    for kind in [0, 11, 255] {
        assert_eq!(decode(&step(kind, 8, 0, 0)), None);
    }
    for whole in [start(kind::START, 0, 1, b"a"), complete(1, 0), step(kind::MERGE, 8, 0, 0)] {
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length]), None);
        }
        // What is left of its cell is nothing.
        assert_eq!(decode(&[&whole[..], &[7]].concat()), decode(&whole));
    }
}

proptest! {
    #[test]
    fn garbage_is_refused_or_read_but_never_more(
        bytes in prop::collection::vec(any::<u8>(), 0..128),
    ) {
        let events = decode(&bytes).map_or(0, |events| events.len());
        prop_assert!(events <= 3);
    }

    #[test]
    fn any_name_is_kept_to_its_end(name in prop::collection::vec(1u8.., 0..=16)) {
        let mut steps = Collected::default();
        let bytes = start(kind::START, 0, 1, &name);
        decoder().decode(&bytes, &mut steps).unwrap();
        let Step::Start { origin, .. } = steps.events[0].step else { panic!() };
        prop_assert_eq!(origin.command.is_some(), !name.is_empty());
        if let Some(command) = origin.command {
            prop_assert_eq!(steps.commands.name(command), String::from_utf8_lossy(&name));
        }
    }
}

/// A record of a part of a name.
fn named(marks: u8, part: u32, text: &[u8]) -> Vec<u8> {
    let mut bytes = step(kind::NAMED, 0, 0, marks);
    bytes.extend(12u64.to_ne_bytes());
    bytes.extend(3u32.to_ne_bytes());
    bytes.extend(part.to_ne_bytes());
    let mut all = [b'x'; 64];
    all[..text.len()].copy_from_slice(text);
    bytes.extend(all);
    bytes
}

#[test]
fn a_files_name_comes_in_parts_with_a_zero_behind_each() {
    let mut intake = Intake::new(ForEach::new(|_| ()), "test");
    for bytes in [
        named(0, 0, b"f\0"),
        named(raw::MARK_MORE, 1, b"da\0"),
        named(0, 2, b"ta\0"),
        named(raw::MARK_WHOLE | raw::MARK_DELETED, 3, b"\0"),
    ] {
        assert_eq!(decoder().decode(&bytes, &mut intake).unwrap(), 1);
    }
    let name = ToldName { file: FILE, since_ns: 1000, path: "/data/f (deleted)".to_owned() };
    assert_eq!(intake.new_names(), [name]);
    let short = &named(0, 0, b"f\0")[..119];
    assert!(matches!(decoder().decode(short, &mut intake), Err(Undecoded::Malformed)));
}

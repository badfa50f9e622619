//! Samples of our own making, of two kernels' layouts.

use super::*;
use crate::intake::Collected;
use model::record::CommandId;
use model::record::Op;
use proptest::prelude::*;

const OWN: u32 = 4711;
/// No such device: it is taken to be a disk with requests.
const DISK: u32 = 4095 << 20 | 3;

/// A format with these fields one after the other, from 8 on, and the places of the fields.
fn format(fields: &[(&str, usize)]) -> String {
    let mut offset = 8;
    let mut text = String::new();
    for (name, size) in fields {
        text += &format!("\tfield:x {name};\toffset:{offset};\tsize:{size};\tsigned:0;\n");
        offset += size;
    }
    text
}

/// The fields in the order of [`record`].
const WHOLE: [(&str, usize); 7] = [
    ("dev", 4),
    ("nr_sector", 4),
    ("sector", 8),
    ("bytes", 4),
    ("error", 4),
    ("rwbs[8]", 8),
    ("comm[16]", 16),
];

fn decoder(kind: Kind) -> Decoder {
    let layout = Layout::new(kind, 900, &format(&WHOLE)).unwrap();
    Decoder::new(vec![layout], DeviceSelection::new(&[]).unwrap(), OWN)
}

#[derive(Clone, Copy)]
struct Told<'a> {
    sector: u64,
    sectors: u32,
    bytes: u32,
    error: i32,
    letters: &'a [u8],
}

const READ: Told<'static> = Told { sector: 16, sectors: 8, bytes: 0, error: 0, letters: b"RA" };

fn padded<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[..text.len()].copy_from_slice(text);
    bytes
}

fn sample(told: Told) -> Vec<u8> {
    let mut bytes = Vec::new();
    for half in [OWN, 12] {
        bytes.extend(half.to_ne_bytes());
    }
    bytes.extend(1_000u64.to_ne_bytes());
    for half in [5u32, 0, 56] {
        bytes.extend(half.to_ne_bytes());
    }
    bytes.extend(900u16.to_ne_bytes());
    bytes.extend([0, 0]);
    for half in [4712u32, DISK, told.sectors] {
        bytes.extend(half.to_ne_bytes());
    }
    bytes.extend(told.sector.to_ne_bytes());
    bytes.extend(told.bytes.to_ne_bytes());
    bytes.extend(told.error.to_ne_bytes());
    bytes.extend(padded::<8>(told.letters));
    bytes.extend(padded::<16>(b"fio"));
    bytes
}

fn event(kind: Kind, told: Told) -> Option<Event> {
    let mut events = Vec::new();
    let decoded = decoder(kind).decode(&sample(told), &mut Collected::default(), &mut events);
    assert!(decoded.is_ok() || events.is_empty());
    assert!(events.len() <= 1);
    events.pop()
}

#[test]
fn a_queueing_tells_who_asked_and_for_what() {
    let origin = Origin { pid: Some(4712), command: Some(CommandId(0)), ..Origin::UNKNOWN };
    let expected = Event {
        time_ns: 1_000,
        identity: None,
        device: DISK,
        cpu: Some(5),
        extent: Extent {
            op: Op::Read,
            flags: Flags::READAHEAD | Flags::OWN,
            offset_bytes: Some(8192),
            length_bytes: 4096,
        },
        step: Step::Queue(origin),
    };
    assert_eq!(event(Kind::Queue, READ), Some(expected));
    let start = Step::Start { queued_ns: None, origin, tag: None };
    assert_eq!(event(Kind::Start, READ), Some(Event { step: start, ..expected }));
}

#[test]
fn only_who_asks_is_ourselves() {
    // A completion in the context of our process says nothing of whose request it was.
    let issue = event(Kind::Issue, READ).unwrap();
    assert_eq!(issue.extent.flags, Flags::READAHEAD);
    assert!(matches!(issue.step, Step::Issue { serves: None, in_sequence: false, .. }));
}

#[test]
fn each_tracepoint_is_its_step() {
    for (kind, step) in [
        (Kind::Requeue, Some(Step::Requeue)),
        (Kind::BackMerge, Some(Step::Merge { in_front: false })),
        (Kind::FrontMerge, Some(Step::Merge { in_front: true })),
        // Of a disk with requests, which told it already.
        (Kind::BioComplete, None),
    ] {
        assert_eq!(event(kind, READ).map(|event| event.step), step, "{kind:?}");
    }
    let completion = event(Kind::Complete, Told { error: -5, ..READ }).unwrap();
    assert!(matches!(completion.step, Step::Complete { error: 5, done_bytes: None, .. }));
}

#[test]
fn a_bio_that_is_the_request_is_started_and_issued_at_once() {
    let layout = Layout::new(Kind::Queue, 900, &format(&WHOLE)).unwrap();
    let disk = Disk { number: DISK, has_bios_alone: true };
    let bytes = sample(READ);
    let told = steps(&layout, disk, 1_000, &bytes[RECORD..], &mut Collected::default());
    let Some([Some(Step::Start { queued_ns, .. }), Some(Step::Issue { .. })]) = told else {
        panic!("{told:?}");
    };
    assert_eq!(queued_ns, Some(1_000));
}

#[test]
fn places_are_told_where_there_are_any() {
    let of = |kind, sector, sectors, bytes, letters| {
        let extent = event(kind, Told { sector, sectors, bytes, letters, error: 0 })?.extent;
        Some((extent.op, extent.offset_bytes, extent.length_bytes))
    };
    assert_eq!(of(Kind::Issue, 0, 0, 0, b"FF"), Some((Op::Flush, None, 0)));
    assert_eq!(of(Kind::Complete, u64::MAX, 0, 0, b"FF"), Some((Op::Flush, None, 0)));
    assert_eq!(of(Kind::Queue, 0, 0, 0, b"FWS"), Some((Op::Write, None, 0)));
    // The end of a flush sequence, where its data was.
    assert_eq!(of(Kind::Complete, 40, 0, 0, b"WS"), Some((Op::Write, Some(20480), 0)));
    // A driver's command.
    assert_eq!(of(Kind::Issue, 0, 0, 36, b"N"), Some((Op::Other, Some(0), 36)));
    for (sector, sectors, letters) in
        [(u64::MAX - 1, 8, &b"R"[..]), (0, u32::MAX, b"R"), (0, 8, b""), (0, 8, b"?")]
    {
        assert_eq!(of(Kind::Issue, sector, sectors, 0, letters), None, "{letters:?}");
    }
}

#[test]
fn a_format_without_a_field_is_refused_by_its_name() {
    for missing in ["dev", "sector", "nr_sector", "rwbs[8]", "error"] {
        let rest: Vec<_> = WHOLE.into_iter().filter(|(name, _)| *name != missing).collect();
        let refused = Layout::new(Kind::Complete, 1, &format(&rest));
        assert_eq!(refused, Err(missing.trim_end_matches("[8]")));
    }
    // Of the first kernels whose tracepoints these are.
    let old = [("dev", 4), ("sector", 8), ("nr_sector", 4), ("errors", 4), ("rwbs[8]", 8)];
    assert!(Layout::new(Kind::Complete, 1, &format(&old)).is_ok());
}

#[test]
fn what_was_not_asked_for_is_left_out() {
    let selection = DeviceSelection::only(DISK + 1);
    let layout = Layout::new(Kind::Issue, 900, &format(&WHOLE)).unwrap();
    let mut decoder = Decoder::new(vec![layout], selection, OWN);
    let (mut steps, mut events) = (Collected::default(), Vec::new());
    assert_eq!(decoder.decode(&sample(READ), &mut steps, &mut events), Ok(()));
    assert!(events.is_empty());
    assert_eq!(steps.commands.names().len(), 0);
}

#[test]
fn a_sample_that_is_cut_short_is_none() {
    let bytes = sample(READ);
    for kind in [Kind::Queue, Kind::Complete] {
        let mut decoder = decoder(kind);
        let (mut names, mut events) = (Collected::default(), Vec::new());
        // The command stands at the end, and may be missing.
        for length in 0..bytes.len() - 16 {
            let decoded = decoder.decode(&bytes[..length], &mut names, &mut events);
            assert_eq!((decoded, events.len()), (Err(Malformed), 0), "{length}");
        }
    }
    let mut other = bytes;
    other[RECORD] ^= 1;
    let decoded = decoder(Kind::Queue).decode(&other, &mut Collected::default(), &mut Vec::new());
    assert_eq!(decoded, Err(Malformed));
}

proptest! {
    #[test]
    fn garbage_is_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
        let mut events = Vec::new();
        let read = decoder(Kind::Queue).decode(&bytes, &mut Collected::default(), &mut events);
        prop_assert_eq!(read.is_err(), events.is_empty());
    }

    #[test]
    fn any_place_is_kept(sector in 0u64..1 << 50, sectors in 1u32..1 << 20) {
        let told = Told { sector, sectors, ..READ };
        let extent = event(Kind::Complete, told).unwrap().extent;
        prop_assert_eq!(extent.offset_bytes, Some(sector * 512));
        prop_assert_eq!(u64::from(extent.length_bytes), u64::from(sectors) * 512);
    }
}

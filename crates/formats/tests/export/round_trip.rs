//! To a format and back again by the importer: the same rows, as far as the format can say.

use super::{DISK, export};
use formats::export::{self as exporting, Missing};
use formats::import::{self, Input};
use model::record::requests::Provenance;
use model::record::{Commands, Flags, Op, Request};
use model::text::is_unsafe;
use proptest::prelude::*;
use trace::intake::Intake;

fn imported(name: &str, bytes: Vec<u8>) -> (Vec<Request>, Provenance) {
    let mut rows: Vec<Request> = Vec::new();
    let mut inputs = [Input::from_bytes("out", bytes).unwrap()];
    let mut intake = Intake::new(&mut rows, "import");
    import::read(&mut inputs, Some(import::named(name).unwrap()), &mut intake).unwrap();
    let (provenance, _) = intake.finish().unwrap();
    assert_eq!(provenance.counts.rejected, 0);
    (rows, provenance)
}

/// A moment that is known or not, so long after the one before.
fn later() -> impl Strategy<Value = Option<i64>> {
    prop::option::weighted(0.8, 0i64..5_000_000)
}

/// A row whose times count from its arrival.
fn row() -> impl Strategy<Value = Request> {
    let what = (0usize..5, 0u16..1024, 0u32..3, prop::option::weighted(0.1, 0u64..9));
    let extent = (prop::option::weighted(0.9, 0u64..1 << 40), 0u32..1 << 20);
    (what, extent, [later(), later(), later(), later()]).prop_map(|(what, extent, times)| {
        let (op, flags, device, parent_id) = (Op::ALL[what.0], what.1, what.2, what.3);
        let mut now = 0;
        let [queued_ns, started_ns, issued_ns, completed_ns] = times.map(|after| {
            now += after?;
            Some(now)
        });
        let is_flush = op == Op::Flush;
        Request {
            device: DISK + device,
            op,
            flags: Flags(flags),
            offset_bytes: extent.0.filter(|_| !is_flush),
            length_bytes: if is_flush { 0 } else { extent.1 },
            queued_ns,
            started_ns,
            issued_ns,
            completed_ns,
            parent_id,
            ..Request::default()
        }
    })
}

/// Rows in order of arrival, of several devices.
fn rows() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec((row(), 0i64..3_000_000), 0..60).prop_map(|found| {
        let mut now = 0;
        let mut rows: Vec<Request> = Vec::new();
        for (id, (mut row, pause)) in found.into_iter().enumerate() {
            now += pause;
            row.request_id = id as u64;
            let times = [
                &mut row.queued_ns,
                &mut row.started_ns,
                &mut row.issued_ns,
                &mut row.completed_ns,
            ];
            times.into_iter().flatten().for_each(|time| *time += now);
            rows.push(row);
        }
        rows.sort_by_key(Request::arrival_ns);
        rows
    })
}

/// The rows that a format can say.
fn sayable(name: &str, rows: &[Request]) -> Vec<Request> {
    let lacks = exporting::named(name).unwrap().lacks();
    let reasons: Vec<Missing> = [Missing::Own, Missing::Untimed].into_iter().chain(lacks).collect();
    let is_left_out = |row: &Request| reasons.iter().any(|m| m.is_row() && m.is_in(row));
    rows.iter().filter(|row| !is_left_out(row)).copied().collect()
}

/// Devices by the order in which they are met.
fn renumbered(rows: &[Request]) -> Vec<u32> {
    let mut met: Vec<u32> = Vec::new();
    let place = |row: &Request| {
        met.iter().position(|device| *device == row.device).unwrap_or_else(|| {
            met.push(row.device);
            met.len() - 1
        }) as u32
    };
    rows.iter().map(place).collect()
}

fn exported(name: &str, rows: &[Request], provenance: &Provenance) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let (path, exported) = export(name, rows, &Commands::default(), provenance, directory.path());
    assert_eq!(exported.requests, sayable(name, rows).len() as u64);
    std::fs::read(path).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn msr_brings_reads_and_writes_back(rows in rows(), clock in prop::option::of(0i64..1 << 60)) {
        let written = Provenance { started_unix_ns: clock, ..Provenance::default() };
        let (found, provenance) = imported("msr", exported("msr", &rows, &written));
        let wanted = sayable("msr", &rows);
        // Times are cut to 100 ns of the wall clock.
        let cut = |ns: Option<i64>| ns.map(|ns| (clock.unwrap_or(0) + ns).div_euclid(100) * 100);
        let zero = wanted.first().map_or(0, |row| cut(row.arrival_ns()).unwrap());
        prop_assert_eq!(provenance.started_unix_ns, wanted.first().map(|_| zero));
        let devices = renumbered(&wanted);
        let wanted = wanted.iter().zip(devices).enumerate();
        let wanted: Vec<Request> = wanted.map(|(id, (row, device))| {
            Request {
                request_id: id as u64,
                device,
                op: row.op,
                offset_bytes: row.offset_bytes,
                length_bytes: row.length_bytes,
                queued_ns: cut(row.arrival_ns()).map(|ns| ns - zero),
                completed_ns: cut(row.completed_ns).map(|ns| ns - zero),
                ..Request::default()
            }
        }).collect();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn fio_iolog_brings_arrivals_back(rows in rows()) {
        let text = exported("fio-iolog", &rows, &Provenance::default());
        let (found, _) = imported("fio-iolog", text);
        let wanted = sayable("fio-iolog", &rows);
        let cut = |row: &Request| row.arrival_ns().unwrap().div_euclid(1000) * 1000;
        let zero = wanted.first().map_or(0, cut);
        let devices = renumbered(&wanted);
        let wanted = wanted.iter().zip(devices).enumerate();
        let wanted: Vec<Request> = wanted.map(|(id, (row, device))| {
            let is_flush = row.op == Op::Flush || (row.op == Op::Write && row.length_bytes == 0);
            Request {
                request_id: id as u64,
                device,
                op: if is_flush { Op::Flush } else { row.op },
                offset_bytes: row.offset_bytes.filter(|_| !is_flush),
                length_bytes: row.length_bytes,
                queued_ns: Some(cut(row) - zero),
                ..Request::default()
            }
        }).collect();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn disksim_s_lines_say_what_was_asked_for(rows in rows()) {
        let text = exported("disksim-ascii", &rows, &Provenance::default());
        let text = String::from_utf8(text).unwrap();
        let wanted = sayable("disksim-ascii", &rows);
        let devices = renumbered(&wanted);
        prop_assert_eq!(text.lines().count(), wanted.len());
        for ((line, row), device) in text.lines().zip(&wanted).zip(devices) {
            let words: Vec<&str> = line.split(' ').collect();
            let [ms, number, block, blocks, flags] = words[..] else { panic!("{line}") };
            let ns = (ms.parse::<f64>().unwrap() * 1e6).round() as i64;
            prop_assert_eq!(Some(ns), row.arrival_ns());
            prop_assert_eq!(number.parse(), Ok(device));
            prop_assert_eq!(block.parse(), Ok(row.offset_bytes.unwrap() / 512));
            prop_assert_eq!(blocks.parse(), Ok(row.length_bytes.div_ceil(512)));
            prop_assert_eq!(flags, if row.op == Op::Read { "1" } else { "0" });
        }
    }

    /// Whatever a process is called, its name comes back, and breaks no line.
    #[test]
    fn blkparse_brings_every_name_back(
        names in prop::collection::vec(r"(\PC|[\[\] \\x0-9a-f(<]|\p{C}|[\n\r\t\x1b]){1,16}", 1..20)
    ) {
        let mut commands = Commands::default();
        let row = |(number, name): (usize, &String)| Request {
            command: Some(commands.number(name.as_bytes())),
            ..super::request(number as u64, Op::Read, 8 * number as u64, 8, [0, 1, 2, 3])
        };
        let rows: Vec<Request> = names.iter().enumerate().map(row).collect();
        let directory = tempfile::tempdir().unwrap();
        let provenance = Provenance::default();
        let (path, _) = export("blkparse", &rows, &commands, &provenance, directory.path());
        let text = std::fs::read_to_string(&path).unwrap();
        prop_assert!(!text.contains(|c| c != '\n' && is_unsafe(c)));
        prop_assert_eq!(text.lines().count(), 4 * rows.len());
        let mut found: Vec<Request> = Vec::new();
        let mut inputs = [Input::from_bytes("out", text.into_bytes()).unwrap()];
        let mut intake = Intake::new(&mut found, "import");
        import::read(&mut inputs, Some(import::named("blkparse").unwrap()), &mut intake).unwrap();
        let (provenance, commands) = intake.finish().unwrap();
        prop_assert_eq!(provenance.counts.rejected, 0);
        found.sort_by_key(|row| row.offset_bytes);
        let name = |row: &Request| commands.name(row.command.unwrap());
        let found: Vec<&str> = found.iter().map(name).collect();
        prop_assert_eq!(found, names);
    }

    /// Every step that is known of a row is a line, in order of time.
    #[test]
    fn blkparse_s_lines_are_all_steps_in_order(rows in rows()) {
        let text = String::from_utf8(exported("blkparse", &rows, &Provenance::default())).unwrap();
        let found: Vec<(i64, char, u32)> = text.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (seconds, ns) = words[3].split_once('.').unwrap();
            let time = seconds.parse::<i64>().unwrap() * 1_000_000_000 + ns.parse::<i64>().unwrap();
            let (major, minor) = words[0].split_once(',').unwrap();
            let device = major.parse::<u32>().unwrap() << 20 | minor.parse::<u32>().unwrap();
            (time, words[5].parse().unwrap(), device)
        }).collect();
        prop_assert!(found.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let mut wanted: Vec<(i64, char, u32)> = Vec::new();
        for row in sayable("blkparse", &rows) {
            let times = [row.queued_ns, row.started_ns, row.issued_ns, row.completed_ns];
            let steps = times.into_iter().zip("QGDC".chars());
            wanted.extend(steps.filter_map(|(time, letter)| Some((time?, letter, row.device))));
        }
        let sorted = |mut steps: Vec<(i64, char, u32)>| { steps.sort_unstable(); steps };
        prop_assert_eq!(sorted(found), sorted(wanted));
    }
}

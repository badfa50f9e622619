//! Rows to every format, against expected files; to a format and back again; and to the programs
//! that read it, where they are installed. `LBOLT_BLESS=1` writes what comes out; read it before it
//! is committed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod programs;
mod round_trip;
mod timeline;

use formats::export::{self, Destination, Exported, MemoryRows, Missing};
use model::record::requests::Provenance;
use model::record::{CommandId, Commands, Flags, Op, Request};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A disk: 8:16.
const DISK: u32 = 8 << 20 | 16;

fn to(path: &Path) -> Destination<'_> {
    Destination { path, mode: 0o666 }
}

/// Exports to `directory/out`.
fn export(
    name: &str,
    rows: &[Request],
    commands: &Commands,
    provenance: &Provenance,
    directory: &Path,
) -> (PathBuf, Exported) {
    let output = directory.join("out");
    let mut source = MemoryRows::new(rows.to_vec(), commands.clone(), provenance.clone());
    let format = export::named(name).unwrap();
    let exported = export::write(format, &mut source, false, to(&output)).unwrap();
    (output, exported)
}

fn request(request_id: u64, op: Op, sector: u64, sectors: u32, times_us: [i64; 4]) -> Request {
    let [queued_ns, started_ns, issued_ns, completed_ns] = times_us.map(|us| Some(us * 1000));
    Request {
        request_id,
        device: DISK,
        op,
        offset_bytes: Some(sector * 512),
        length_bytes: sectors * 512,
        queued_ns,
        started_ns,
        issued_ns,
        completed_ns,
        cpu: Some(1),
        pid: Some(77),
        ..Request::default()
    }
}

/// A request that flushes first, as it was requested, and what the device was given for it.
fn flush_sequence(command: CommandId) -> [Request; 3] {
    let whole = Request {
        flags: Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META,
        issued_ns: None,
        command: Some(command),
        pid: Some(6863),
        ..request(2, Op::Write, 9000, 8, [20, 21, 0, 900])
    };
    let part = Request { queued_ns: None, started_ns: None, parent_id: Some(2), ..whole };
    let preflush = Request {
        request_id: 3,
        op: Op::Flush,
        flags: Flags::default(),
        offset_bytes: None,
        length_bytes: 0,
        issued_ns: Some(25_000),
        completed_ns: Some(600_000),
        ..part
    };
    let data = Request {
        request_id: 4,
        flags: Flags::FUA | Flags::SYNC | Flags::META,
        issued_ns: Some(610_000),
        completed_ns: Some(890_001),
        ..part
    };
    [whole, preflush, data]
}

/// Some of everything: overlapping requests, a flush sequence with its parts, errors, unknown
/// times, our own.
fn some_of_everything() -> (Vec<Request>, Commands, Provenance) {
    let mut commands = Commands::default();
    let [dd, jbd2] = [commands.number(b"dd"), commands.number(b"jbd2/sda1-8")];
    let read = Request { command: Some(dd), ..request(0, Op::Read, 800, 8, [0, 2, 5, 105]) };
    let write = Request {
        command: Some(dd),
        flags: Flags::SYNC | Flags::DIRECT,
        error: 5,
        cpu: Some(0),
        ..request(1, Op::Write, 4000, 16, [10, 11, 12, 2_500_012])
    };
    let sequence = flush_sequence(jbd2);
    let own = Request { flags: Flags::OWN, ..request(5, Op::Write, 0, 8, [620, 621, 622, 700]) };
    let unanswered = Request {
        command: Some(dd),
        completed_ns: None,
        cgroup: Some(42),
        device: 253 << 20,
        ..request(6, Op::Read, 64, 256, [1000, 1001, 1002, 0])
    };
    let queued_only = Request {
        started_ns: None,
        issued_ns: None,
        completed_ns: None,
        pid: None,
        cpu: None,
        offset_bytes: Some(1_048_577),
        ..request(7, Op::Discard, 0, 2048, [1100, 0, 0, 0])
    };
    let flush = Request {
        command: Some(dd),
        offset_bytes: None,
        length_bytes: 0,
        ..request(8, Op::Flush, 0, 0, [1200, 1201, 1202, 1300])
    };
    let orphan = Request {
        queued_ns: None,
        started_ns: None,
        issued_ns: None,
        cpu: None,
        pid: None,
        ..request(9, Op::Read, 72, 8, [0, 0, 0, 1400])
    };
    let other = request(10, Op::Other, 0, 1, [1500, 1501, 1502, 1600]);
    let mut rows = vec![read, write];
    rows.extend(sequence);
    rows.extend([own, unanswered, queued_only, flush, orphan, other]);
    let mut provenance =
        Provenance { started_unix_ns: Some(1_172_163_600_000_000_100), ..Provenance::default() };
    provenance.notes.insert(format!("device.{DISK}"), "web.0".to_owned());
    (rows, commands, provenance)
}

/// What was exported, as text: each file, and what is missing.
fn shown(exported: &Exported, directory: &Path) -> String {
    let mut text = format!("requests = {}\n", exported.requests);
    for (missing, count) in &exported.missing {
        let what = if missing.is_row() { "left out" } else { "without" };
        writeln!(text, "{what}: {count} {}", missing.meaning()).unwrap();
    }
    for path in &exported.files {
        writeln!(text, "--- {}", path.strip_prefix(directory).unwrap().display()).unwrap();
        let bytes = std::fs::read(path).unwrap();
        match String::from_utf8(bytes) {
            Ok(lines) if !lines.contains('\0') => text.push_str(&lines),
            Ok(_) | Err(_) => {
                for (number, byte) in std::fs::read(path).unwrap().iter().enumerate() {
                    let between = if number % 16 == 15 { '\n' } else { ' ' };
                    write!(text, "{byte:02x}{between}").unwrap();
                }
                text.push('\n');
            }
        }
    }
    text
}

#[test]
fn every_format_gives_its_expected_files() {
    let is_blessing = std::env::var_os("LBOLT_BLESS").is_some();
    let (rows, commands, provenance) = some_of_everything();
    for format in export::FORMATS {
        let directory = tempfile::tempdir().unwrap();
        let name = format.name();
        let (_, exported) = export(name, &rows, &commands, &provenance, directory.path());
        let found = shown(&exported, directory.path());
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/expected");
        let path = home.join(format!("{name}.txt"));
        if is_blessing {
            std::fs::write(&path, found).unwrap();
            continue;
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == wanted, "{name}: LBOLT_BLESS=1 rewrites {}\n{found}", path.display());
    }
}

#[test]
fn nothing_is_left_out_in_silence() {
    let (rows, commands, provenance) = some_of_everything();
    for format in export::FORMATS {
        let directory = tempfile::tempdir().unwrap();
        let (_, exported) = export(format.name(), &rows, &commands, &provenance, directory.path());
        let left_out = exported.missing.iter().filter(|(missing, _)| missing.is_row());
        let left_out: u64 = left_out.map(|(_, count)| count).sum();
        assert_eq!(exported.requests + left_out, rows.len() as u64, "{}", format.name());
    }
}

#[test]
fn our_own_requests_are_exported_when_asked_for() {
    let (rows, commands, provenance) = some_of_everything();
    let directory = tempfile::tempdir().unwrap();
    let mut source = MemoryRows::new(rows, commands, provenance);
    let output = directory.path().join("out");
    let format = export::named("perfetto").unwrap();
    let exported = export::write(format, &mut source, true, to(&output)).unwrap();
    assert_eq!((exported.requests, exported.missing.get(&Missing::Own)), (11, None));
}

#[test]
fn refusals_say_what_and_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (rows, commands, provenance) = some_of_everything();
    let write = |name: &str, output: &Path| {
        let mut source = MemoryRows::new(rows.clone(), commands.clone(), provenance.clone());
        export::write(export::named(name).unwrap(), &mut source, false, to(output))
    };
    assert!(write("msr", &path.join("no/such")).unwrap_err().to_string().contains("no/such"));
    write("blktrace", &path.join("a")).unwrap();
    // The names of others only begin with the same letters.
    write("blktrace", &path.join("ab")).unwrap();
    let again = write("blktrace", &path.join("a")).unwrap_err().to_string();
    assert!(again.contains("a.blktrace.") && again.contains("already exists"), "{again}");
    let unknown = export::named("wav").err().unwrap().to_string();
    assert!(unknown.contains("known are blktrace, "), "{unknown}");
}

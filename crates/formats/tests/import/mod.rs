//! Each format's fixture, imported, against its expected rows: `fixtures/NAME` and
//! `expected/NAME.txt`. The format is guessed; of the formats that never are, the fixture bears the
//! name. `LBOLT_BLESS=1` writes what comes out; read it before it is committed.

#![allow(clippy::unwrap_used, reason = "a test")]

use formats::import::{self, Format, Input, Units};
use model::record::{Commands, Request};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use trace::intake::Intake;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import")
}

/// The files of a fixture's traces: a file by itself, or those of a directory together.
fn fixtures() -> Vec<(String, Vec<PathBuf>)> {
    let entries = std::fs::read_dir(home().join("fixtures")).unwrap();
    let mut found: Vec<_> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let files = match std::fs::read_dir(&path) {
                Ok(inner) => inner.map(|entry| entry.unwrap().path()).collect(),
                Err(_) => vec![path],
            };
            (name, files)
        })
        .collect();
    found.iter_mut().for_each(|(_, files)| files.sort());
    found.sort();
    found
}

/// A format that must be requested, if a fixture bears the name of one.
fn asked_for(name: &str) -> Option<&'static Format> {
    const NEVER_GUESSED: [&str; 1] = ["lbolt86-packed"];
    let stem = name.split('.').next().unwrap();
    NEVER_GUESSED.contains(&stem).then(|| import::named(stem).unwrap())
}

/// Everything that an import says, as text.
fn imported(name: &str, files: &[PathBuf]) -> String {
    let mut inputs: Vec<Input> = files.iter().map(|f| Input::open(f).unwrap()).collect();
    let mut rows: Vec<Request> = Vec::new();
    let format = match asked_for(name) {
        Some(format) => format,
        None => import::guess_together(&mut inputs, &Units::default()).unwrap(),
    };
    let mut intake = Intake::new(&mut rows, &format!("import:{}", format.name()));
    import::read(&mut inputs, Some(format), &mut intake).unwrap();
    let (provenance, commands) = intake.finish().unwrap();
    let mut text = String::new();
    for (key, value) in provenance.to_footer() {
        // What is not there is not worth a line.
        if !(key.starts_with("lbolt.count.") && value == "0") {
            writeln!(text, "{key} = {value}").unwrap();
        }
    }
    rows.iter().for_each(|row| writeln!(text, "{}", line(row, &commands)).unwrap());
    text
}

/// A row with what is known of it.
fn line(row: &Request, commands: &Commands) -> String {
    let mut text = format!("{} device {} {}", row.request_id, row.device, row.op.name());
    let flags = model::record::Flags::ALL.iter().filter(|(flag, _, _)| row.flags.contains(*flag));
    flags.for_each(|(_, name, _)| write!(text, " +{name}").unwrap());
    let known = [
        ("offset", row.offset_bytes.map(|v| v.to_string())),
        ("length", Some(row.length_bytes.to_string())),
        ("queued", row.queued_ns.map(|v| v.to_string())),
        ("started", row.started_ns.map(|v| v.to_string())),
        ("issued", row.issued_ns.map(|v| v.to_string())),
        ("completed", row.completed_ns.map(|v| v.to_string())),
        ("error", (row.error != 0).then(|| row.error.to_string())),
        ("cpu", row.cpu.map(|v| v.to_string())),
        ("pid", row.pid.map(|v| v.to_string())),
        ("cgroup", row.cgroup.map(|v| v.to_string())),
        ("command", row.command.map(|c| commands.name(c).to_owned())),
        ("parent", row.parent_id.map(|v| v.to_string())),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            write!(text, " {name}={value}").unwrap();
        }
    }
    text
}

#[test]
fn every_fixture_gives_its_expected_rows() {
    let is_blessing = std::env::var_os("LBOLT_BLESS").is_some();
    let fixtures = fixtures();
    assert!(!fixtures.is_empty());
    for (name, files) in fixtures {
        let found = imported(&name, &files);
        let path = home().join("expected").join(format!("{name}.txt"));
        if is_blessing {
            std::fs::write(&path, found).unwrap();
            continue;
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == wanted, "{name}: LBOLT_BLESS=1 rewrites {}\n{found}", path.display());
    }
}

#[test]
fn every_format_has_a_fixture() {
    let expected: Vec<String> = fixtures()
        .iter()
        .filter_map(|(name, _)| {
            std::fs::read_to_string(home().join("expected").join(format!("{name}.txt"))).ok()
        })
        .collect();
    for format in import::FORMATS {
        let origin = format!("lbolt.origin = import:{}\n", format.name());
        assert!(expected.iter().any(|text| text.contains(&origin)), "{}", format.name());
    }
}

/// No fixture, cut off or damaged anywhere, makes an import panic or run away, and each is refused
/// or imported with what was understood.
#[test]
fn damaged_fixtures_are_survived() {
    for (name, files) in fixtures() {
        for file in files {
            let whole = std::fs::read(&file).unwrap();
            let ends = (0..whole.len().min(400)).chain([whole.len().saturating_sub(1)]);
            let cut = ends.map(|end| whole[..end].to_vec());
            let flipped = (0..whole.len()).step_by(7).map(|place| {
                let mut bytes = whole.clone();
                bytes[place] ^= 0x55;
                bytes
            });
            for bytes in cut.chain(flipped).chain([[&whole[..], &whole[..]].concat()]) {
                let mut inputs = [Input::from_bytes(&name, bytes).unwrap()];
                let mut rows: Vec<Request> = Vec::new();
                let mut intake = Intake::new(&mut rows, "import");
                if import::read(&mut inputs, asked_for(&name), &mut intake).is_ok() {
                    let (provenance, _) = intake.finish().unwrap();
                    assert_eq!(provenance.counts.requests, rows.len() as u64);
                }
            }
        }
    }
}

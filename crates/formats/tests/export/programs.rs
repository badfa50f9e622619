//! What is exported, given to the programs that it is for; skipped in a sentence where one is not
//! installed.

use super::{DISK, export, request, some_of_everything};
use model::record::requests::Provenance;
use model::record::{Commands, Flags, Op, Request};
use std::path::Path;
use std::process::{Command, Output};

/// Runs a program in a directory, if it is installed.
fn run(directory: &Path, program: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(program).args(arguments).current_dir(directory).output() {
        Ok(output) => Some(output),
        Err(e) => {
            println!("skipped: {program} does not run: {e}");
            None
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// A load like a real one: some depth, several CPUs and processes, reads and writes.
fn a_load() -> (Vec<Request>, Commands) {
    let mut commands = Commands::default();
    let names = [commands.number(b"dd"), commands.number(b"a name that is long")];
    let row = |n: u64| Request {
        cpu: Some((n % 3) as u16),
        pid: Some(100 + (n % 2) as u32),
        command: Some(names[(n % 2) as usize]),
        flags: Flags::default().with(Flags::SYNC, n.is_multiple_of(4)),
        ..request(
            n,
            if n % 5 < 3 { Op::Read } else { Op::Write },
            8 * n,
            8,
            [0, 3, 5, 100 + (n * 7 % 13) as i64].map(|us| us + 20 * n as i64),
        )
    };
    ((0..2000).map(row).collect(), commands)
}

/// Two ways to the same text: our own, and the binary files through blkparse.
#[test]
fn blkparse_prints_what_we_print() {
    let (rows, commands, provenance) = some_of_everything();
    let (load, names) = a_load();
    for (rows, commands) in [(rows, commands), (load, names)] {
        let directory = tempfile::tempdir().unwrap();
        export("blktrace", &rows, &commands, &provenance, directory.path());
        let arguments = ["-q", "-i", "out"];
        let Some(printed) = run(directory.path(), "blkparse", &arguments) else { return };
        let other = tempfile::tempdir().unwrap();
        let (path, _) = export("blkparse", &rows, &commands, &provenance, other.path());
        // In the binary files names are cut as the kernel's are.
        let ours = std::fs::read_to_string(path).unwrap();
        let ours = ours.replace("[a name that is long]", "[a name that is ]");
        let printed = text(&printed.stdout);
        let steps: Vec<&str> = printed.lines().filter(|l| !l.starts_with("Input file ")).collect();
        assert_eq!(sorted(&steps.join("\n")), sorted(&ours));
    }
}

#[test]
fn blkparse_knows_the_wall_clock() {
    let directory = tempfile::tempdir().unwrap();
    let row = request(0, Op::Read, 8, 8, [0, 1, 2, 3]);
    let provenance =
        Provenance { started_unix_ns: Some(86_400_500_000_000), ..Provenance::default() };
    export("blktrace", &[row], &Commands::default(), &provenance, directory.path());
    let arguments = ["-q", "-i", "out", "-f", "%a %z\n"];
    let Some(printed) = run(directory.path(), "blkparse", &arguments) else { return };
    // Of whatever time zone: half a second past midnight of it.
    assert!(text(&printed.stdout).contains(":00.500000"), "{}", text(&printed.stdout));
}

/// btt finds the means that the rows have.
#[test]
fn btt_finds_the_same_times() {
    let directory = tempfile::tempdir().unwrap();
    let (rows, commands) = a_load();
    export("blktrace", &rows, &commands, &Provenance::default(), directory.path());
    let arguments = ["-i", "out", "-d", "out.bin", "-O"];
    if run(directory.path(), "blkparse", &arguments).is_none() {
        return;
    }
    let Some(printed) = run(directory.path(), "btt", &["-i", "out.bin"]) else { return };
    let printed = text(&printed.stdout);
    // Name, minimum, mean, maximum in seconds, and how many.
    let of = |name: &str| -> Vec<f64> {
        let line = printed.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect()
    };
    let times = |from: fn(&Request) -> Option<i64>, to: fn(&Request) -> Option<i64>| {
        let all: Vec<f64> =
            rows.iter().map(|r| (to(r).unwrap() - from(r).unwrap()) as f64 / 1e9).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let extreme = |f: fn(f64, f64) -> f64| all.iter().copied().reduce(f).unwrap();
        [extreme(f64::min), mean, extreme(f64::max), all.len() as f64]
    };
    let wanted = [
        ("Q2G", times(|r| r.queued_ns, |r| r.started_ns)),
        ("D2C", times(|r| r.issued_ns, |r| r.completed_ns)),
        ("Q2C", times(|r| r.queued_ns, |r| r.completed_ns)),
    ];
    for (name, wanted) in wanted {
        let found = of(name);
        let is_same =
            found.len() == 4 && found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 1e-8);
        assert!(is_same, "{name}: {found:?} is not {wanted:?}\n{printed}");
    }
}

/// fio replays the log: as many requests, in the time that they took.
#[test]
fn fio_replays_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let ms = |n: i64| request(n as u64, Op::Read, 8 * n as u64, 8, [n * 10_000; 4]);
    let flush = Request {
        offset_bytes: None,
        length_bytes: 0,
        op: Op::Flush,
        ..request(41, Op::Flush, 0, 0, [405_000; 4])
    };
    let mut rows: Vec<Request> = (0..=40).map(ms).collect();
    rows.iter_mut().skip(1).step_by(2).for_each(|row| row.op = Op::Write);
    rows.push(flush);
    let mut provenance = Provenance::default();
    provenance.notes.insert(format!("device.{DISK}"), "a disk".to_owned());
    export("fio-iolog", &rows, &Commands::default(), &provenance, directory.path());
    std::fs::write(directory.path().join("a_disk"), vec![0; 1 << 20]).unwrap();
    let arguments =
        ["--name=t", "--read_iolog=out", "--ioengine=psync", "--output-format=json", "--output=r"];
    let Some(printed) = run(directory.path(), "fio", &arguments) else { return };
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let report = std::fs::read(directory.path().join("r")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let job = &report["jobs"][0];
    assert_eq!(job["read"]["total_ios"], 21);
    assert_eq!(job["write"]["total_ios"], 20);
    assert_eq!(job["sync"]["total_ios"], 1);
    // It took at least as long as the rows lie apart.
    assert!(job["job_runtime"].as_u64().unwrap() >= 400, "{job}");
}

//! Input that has no end of something (devices, hosts, roles, bytes), outputs that others have
//! prepared, and limits that leave little: each a sentence soon, in little memory.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, is_root};
use model::history::{Folder, HostFacts, MINUTE_NS, Models, Origin};
use model::record::requests::{Provenance, RequestWriter};
use model::record::{Commands, Counted, Request, Rollup, RollupKey, RollupLevel};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Address space that a command may take here, in KiB: what a million names took was more, and
/// what as many devices as may be told apart take (170 kB each) is less.
const KIB: u64 = 3 << 19;

/// `lbolt` with little address space.
fn confined(lab: &Lab, words: &str) -> Ended {
    let mut command = lab.command("bash");
    let line = format!("ulimit -v {KIB}; exec {} {words}", env!("CARGO_BIN_EXE_lbolt"));
    command.args(["-c", &line]);
    lab.end(command)
}

#[test]
fn devices_without_end_are_some_and_all_others() {
    let lab = Lab::new();
    let (mut hosts, mut numbers) = (String::new(), String::new());
    for number in 0..9000_u64 {
        let at = 128_166_385_295_514_663 + number * 1000;
        writeln!(hosts, "{at},host{number},0,Read,{},4096,300", number * 4096).unwrap();
        let (major, minor) = (number % 4000, number / 4);
        for (sign, step) in [('Q', 1), ('C', 2)] {
            let (s, ns) = (number / 1000, number % 1000 * 1_000_000 + step * 1000);
            writeln!(
                numbers,
                "{major},{minor} 0 {} {s}.{ns:09} {} {sign} R {} + 8 [name{number}]",
                number + 1,
                1000 + number,
                number * 8
            )
            .unwrap();
        }
    }
    lab.file("hosts.csv", hosts);
    lab.file("numbers.txt", numbers);
    for trace in ["hosts.csv", "numbers.txt"] {
        let ended = confined(&lab, &format!("response {trace} --format csv"));
        assert_eq!(ended.code, 0, "{trace}: {}", ended.err);
        assert!(ended.out.contains("all beyond 6143 devices"), "{trace}");
    }
}

#[test]
fn a_record_of_devices_without_end_is_refused() {
    let lab = Lab::new();
    let mut writer = RequestWriter::new(std::fs::File::create(lab.path("many.parquet")).unwrap());
    let writer_of = writer.as_mut().unwrap();
    let commands = Commands::default();
    for number in 0..9000 {
        let at = i64::from(number) * 1000;
        let row = Request {
            request_id: u64::from(number),
            device: number,
            queued_ns: Some(at),
            completed_ns: Some(at + 500),
            ..Request::default()
        };
        writer_of.push(&row, &commands).unwrap();
    }
    let provenance = Provenance { origin: "capture".into(), ..Provenance::default() };
    writer.unwrap().finish(&commands, &provenance, &BTreeMap::new()).unwrap();
    let ended = confined(&lab, "response many.parquet");
    assert_ne!(ended.code, 0);
    assert!(ended.sentence().contains("its rows are of more than 6144 devices"), "{}", ended.err);
}

/// A rollup with a row for each name.
fn rollup(path: &Path, names: usize, change: impl Fn(&mut Rollup, String)) {
    let mut folder = Folder::new(Vec::new(), RollupLevel::Minute, &Origin::default()).unwrap();
    let origin = Origin { host: Some("h".into()), run: Some("r".into()), part: None };
    folder.begin_source(&origin, Models::new()).unwrap();
    folder.know_host(HostFacts { kernel: Some("6.1".into()), ..HostFacts::default() });
    for number in 0..names {
        let operation = "fsync".to_owned();
        let key = RollupKey { counted: Counted::Lost, operation, ..RollupKey::default() };
        let mut row = Rollup::of(key, 0, MINUTE_NS);
        (row.device, row.cause, row.lost_ns) = (Some("vda".into()), Some("c".into()), 1_000_000);
        change(&mut row, format!("name-{number}"));
        folder.push(&row.lent());
        folder.end_part().unwrap();
    }
    std::fs::write(path, folder.finish("").unwrap()).unwrap();
}

#[test]
fn names_without_end_in_a_rollup_are_refused_by_all_that_read_it() {
    let lab = Lab::new();
    rollup(&lab.path("roles.parquet"), 140_000, |row, name| row.role = Some(name));
    rollup(&lab.path("hosts.parquet"), 70_000, |row, name| row.host = Some(name));
    for (words, bound) in [
        ("fleet roles.parquet", "4096 pairs of a role and a cause on one device"),
        ("history roles.parquet --by role", "131072 pairs of a role and a cause on a device"),
        ("fleet hosts.parquet", "65536 hosts"),
        ("rollup hosts.parquet -o again.parquet", "65536 hosts"),
    ] {
        let why = format!("the rows name more than {bound}; name fewer inputs");
        confined(&lab, words).assert_refused(2, &[&why]);
    }
    // Hosts that were started anew, again and again, are no more hosts.
    rollup(&lab.path("boots.parquet"), 70_000, |row, name| {
        let number: usize = name["name-".len()..].parse().unwrap();
        (row.host, row.run) = (Some(format!("host-{}", number % 5000)), Some(name));
    });
    let ended = confined(&lab, "rollup boots.parquet -o again.parquet");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("5000 hosts"), "{}", ended.out);
}

#[test]
fn a_list_without_end_is_refused_soon() {
    let lab = Lab::new();
    for words in ["fleet @/dev/zero", "history @/dev/urandom", "response @/dev/zero"] {
        let ended = confined(&lab, words);
        ended.assert_refused(2, &["larger than 16 MiB"]);
    }
}

#[test]
fn a_footer_is_believed_up_to_a_size() {
    let lab = Lab::new();
    let file = std::fs::File::create(lab.path("claim.parquet")).unwrap();
    file.set_len(3 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"PAR1", 0).unwrap();
    let tail = [&(2_u32 << 30).to_le_bytes()[..], b"PAR1"].concat();
    std::os::unix::fs::FileExt::write_all_at(&file, &tail, (3 << 30) - 8).unwrap();
    for words in ["response claim.parquet", "history claim.parquet"] {
        let ended = confined(&lab, words);
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert!(ended.err.contains("its footer is of 2147483648 bytes"), "{}", ended.err);
    }
}

#[test]
fn what_is_made_new_is_its_owner_s_under_any_umask() {
    let lab = Lab::new();
    lab.file("trace.csv", "128166385295514663,db,0,Read,4096,4096,1000\n".repeat(50));
    let program = env!("CARGO_BIN_EXE_lbolt");
    for words in ["profile trace.csv -o p.toml", "synthesize --hosts 20 --days 6 -o fleet"] {
        let mut command = lab.command("sh");
        command.args(["-c", &format!("umask 000; exec {program} {words}")]);
        let ended = lab.end(command);
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
    }
    for name in ["p.toml", "fleet/planted.json"] {
        let mode = lab.path(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_pipe_that_nobody_reads_is_refused() {
    let lab = Lab::new();
    lab.file("trace.csv", "128166385295514663,db,0,Read,4096,4096,1000\n");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, lab.path("pipe"), rustix::fs::FileType::Fifo, mode, 0)
        .unwrap();
    for words in
        ["export trace.csv --output-format msr -o pipe", "rollup trace.csv --host h -o pipe"]
    {
        lab.run(words).assert_refused(1, &["pipe", "nobody reads; start its reader first"]);
    }
}

#[test]
fn root_no_output_follows_a_link_of_another_user() {
    if !is_root() {
        println!("skipped: needs root");
        return;
    }
    let lab = Lab::new();
    lab.file("trace.csv", "128166385295514663,db,0,Read,4096,4096,1000\n");
    lab.directory("precious");
    lab.file("precious/file", "mine");
    for (link, target) in [("file-link", "precious/file"), ("link", "precious")] {
        std::os::unix::fs::symlink(target, lab.path(link)).unwrap();
        std::os::unix::fs::lchown(lab.path(link), Some(65534), Some(65534)).unwrap();
    }
    assert_eq!(lab.run("import trace.csv -o run").code, 0);
    let commands =
        ["export trace.csv --output-format msr", "rollup trace.csv --host h", "report run"];
    for output in ["file-link", "link/file", "link/new"] {
        for words in commands {
            let ended = lab.run(&format!("{words} -o {output}"));
            ended.assert_refused(1, &[output, "a link of another user leads there"]);
        }
    }
    assert_eq!(std::fs::read_to_string(lab.path("precious/file")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(lab.path("precious")).unwrap().count(), 1);
}

/// Whatever the limit is, there is a sentence, and an exit code of lbolt's own.
#[test]
fn little_memory_and_a_little_stack_are_told_in_a_sentence() {
    let lab = Lab::new();
    lab.file("trace.csv", "128166385295514663,db,0,Read,4096,4096,1000\n".repeat(100));
    assert_eq!(lab.run("import trace.csv -o run").code, 0);
    let run = |limit: &str, words: &str| {
        let mut command = lab.command("bash");
        let program = env!("CARGO_BIN_EXE_lbolt");
        command.args(["-c", &format!("ulimit {limit}; exec {program} {words}")]);
        lab.end(command)
    };
    // From where the kernel and the loader begin the program at all.
    let size = std::fs::metadata(env!("CARGO_BIN_EXE_lbolt")).unwrap().len() / 1024;
    let memory = (3..7).map(|step| format!("-v {}", size / 2 + step * 9_000));
    let stacks = [64].map(|kib| format!("-s {kib}"));
    let mut tried = 0;
    for limit in memory.chain(stacks) {
        let version = run(&limit, "--version");
        if !version.out.starts_with("lbolt ") {
            continue;
        }
        for words in ["response run", "response trace.csv", "fleet run", "papers 1980"] {
            let Ended { code, err, .. } = run(&limit, words);
            let is_told = code == 0 || err.lines().any(|line| line.starts_with("lbolt: "));
            assert!((0..=7).contains(&code) && is_told, "{limit} {words}: {code} {err}");
            assert!(!err.contains("panicked"), "{limit} {words}: {err}");
            tried += 1;
        }
    }
    assert!(tried >= 4, "{tried}");
}

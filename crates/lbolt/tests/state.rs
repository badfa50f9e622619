//! Where notes, runs and exports lie, whose they are, and that each is whole or not there: against
//! another user who was there first, against others who want the same name, and against a disk that
//! is full.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, Mounted, QUICK, Running, is_root, tool};
use model::record::requests::RequestFile;
use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Lines of a trace that cannot be made much smaller, within a GiB.
fn trace(count: u64) -> String {
    let line = |n: u64| {
        let random = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (place, response) = (random >> 46 << 12, random >> 24 & 0xF_FFFF);
        let time = 128_166_385_295_514_663 + n * 977;
        format!("{time},db,0,Read,{place},4096,{response}\n")
    };
    (0..count).map(line).collect()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn rows(run: &Path) -> u64 {
    RequestFile::open(&run.join("requests.parquet")).unwrap().rows()
}

/// `lbolt` under a umask.
fn under(lab: &Lab, umask: &str, words: &str) -> Ended {
    let mut command = lab.command("sh");
    let line = format!("umask {umask}; exec {} {words}", env!("CARGO_BIN_EXE_lbolt"));
    command.args(["-c", &line]);
    lab.end(command)
}

/// In a mount namespace with a /var/tmp and a /var/lib of its own. The attacker is there before
/// root, who has neither HOME nor a state directory, or the attacker's: a link lies where this
/// version or an earlier one would write its note, for number and start time of a process stay when
/// it executes another program.
const ATTACK: &str = r#"
set -e
mount -t tmpfs -o mode=1777 none /var/tmp
mount -t tmpfs -o mode=755 none /var/lib
attacker() { setpriv --reuid=65534 --regid=65534 --clear-groups sh -ec "$1"; }
mkdir -m 1777 /var/tmp/theirs
mkdir -m 700 "$LAB/d/.lbolt-scratch-precious"
echo mine > "$LAB/d/.lbolt-scratch-precious/file.0"
for place in /var/tmp/lbolt/running /var/tmp/theirs/.local/state/lbolt/running; do
    attacker "mkdir -p $place"
done
attack() {
    scratch="$LAB/d/.lbolt-scratch-precious"
    note="{\"pid\":1,\"process_started\":1,\"run\":\"/r\",\"scratch\":[\"$scratch\"]}"
    attacker "cd $1; echo '$note' > 1-1.json; mkfifo 2-2.json; ln -s $LAB/precious 3-3.json"
}
attack /var/tmp/lbolt/running
attack /var/tmp/theirs/.local/state/lbolt/running
start=$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)
for place in /var/tmp/lbolt/running /var/tmp/theirs/.local/state/lbolt/running; do
    for name in $$-$start $$-$start-1; do
        attacker "ln -s $LAB/precious $place/$name.json"
    done
done
unset LBOLT_STATE XDG_STATE_HOME XDG_RUNTIME_DIR HOME
if [ "$WITH_HOME" = yes ]; then export HOME=/var/tmp/theirs; fi
exec "$@"
"#;

/// A command of root's under that attack.
fn attacked(lab: &Lab, with_home: bool, words: &str) -> Ended {
    let mut command = lab.command("unshare");
    command.args(["-m", "sh", "-c", ATTACK, "attack", env!("CARGO_BIN_EXE_lbolt")]);
    command.args(words.split_whitespace());
    command.env("LAB", lab.path("."));
    command.env("WITH_HOME", if with_home { "yes" } else { "no" });
    lab.end(command)
}

#[test]
fn root_another_user_who_was_there_first_gets_no_file_written_deleted_or_waited_for() {
    let can = ["setpriv", "unshare"].iter().all(|name| tool(name, &["--version"]).is_some());
    if !is_root() || !can {
        println!("skipped: needs setpriv and unshare");
        return;
    }
    for with_home in [false, true] {
        let lab = Lab::new();
        lab.file("precious", "mine");
        let precious = lab.path("d/.lbolt-scratch-precious");
        let check = |ended: &Ended| {
            assert_eq!(std::fs::read(lab.path("precious")).unwrap(), b"mine", "{}", ended.err);
            assert_eq!(std::fs::read(precious.join("file.0")).unwrap(), b"mine\n", "{}", ended.err);
            std::fs::remove_dir_all(&precious).unwrap();
        };
        let ended = attacked(&lab, with_home, &format!("throughput d --rw read {QUICK} -o r"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(!ended.err.contains("cannot tell"), "root has a place for notes: {}", ended.err);
        check(&ended);
        for words in ["doctor", "doctor --clean"] {
            let ended = attacked(&lab, with_home, words);
            assert_eq!(ended.code, 0, "{}", ended.err);
            let lines = ended.out.lines().filter(|line| line.contains("is not trusted"));
            let told: Vec<&str> = lines.collect();
            assert_eq!(told.len(), 1 + usize::from(with_home), "{}", ended.out);
            assert!(told.iter().all(|line| line.contains("belongs to user 65534")), "{told:?}");
            assert!(!ended.out.contains("precious"), "{}", ended.out);
            check(&ended);
        }
        assert_eq!(lab.leftovers(), [""; 0]);
    }
}

#[test]
fn notes_that_are_no_files_of_ones_own_are_told_and_not_waited_for() {
    let lab = Lab::new();
    let notes = lab.notes();
    std::fs::create_dir_all(&notes).unwrap();
    let scratch = lab.directory("d/.lbolt-scratch-precious");
    let note = format!(
        "{{\"pid\":1,\"process_started\":1,\"run\":\"/r\",\"scratch\":[\"{}\"]}}",
        scratch.display()
    );
    let foreign = lab.file("foreign.json", note);
    symlink(&foreign, notes.join("1-1.json")).unwrap();
    std::fs::hard_link(&foreign, notes.join("1-2.json")).unwrap();
    tool("mkfifo", &[notes.join("1-3.json").to_str().unwrap()]).unwrap();
    std::fs::write(notes.join("1-4.json"), vec![b' '; 1 << 20]).unwrap();
    std::fs::write(notes.join("prose.json"), "once upon a time").unwrap();
    let ended = lab.run("doctor --clean");
    assert_eq!(ended.code, 0, "{}", ended.err);
    for (name, why) in [
        ("1-1", "a symbolic link"),
        ("1-2", "another hard link"),
        ("1-3", "not a regular file"),
        ("1-4", "too large"),
        ("prose", "not an lbolt note"),
    ] {
        let is_its = |line: &str| line.contains(&format!("{name}.json")) && line.contains(why);
        assert!(ended.out.lines().any(is_its), "{name}: {}", ended.out);
    }
    assert!(scratch.exists());
    // One that was cut short by a kill, before anything was made.
    std::fs::write(notes.join("1-5-1.json"), "{\"pid\":1,").unwrap();
    assert!(lab.run("doctor").out.contains("1 killed run(s)"));
    assert_eq!(lab.run("doctor --clean").code, 0);
    assert!(!notes.join("1-5-1.json").exists());
}

#[test]
fn a_place_that_others_may_write_holds_no_notes_and_the_run_says_so() {
    let lab = Lab::new();
    let notes = lab.notes();
    std::fs::create_dir_all(&notes).unwrap();
    let open = PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&notes, open).unwrap();
    let ended = lab.run(&format!("throughput d --rw read {QUICK} -o r"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let words = ["if this run is killed", "failed to trust", "other users can write there"];
    let is_told = |line: &str| words.iter().all(|word| line.contains(word));
    assert!(ended.err.lines().any(is_told), "{}", ended.err);
    assert_eq!(std::fs::read_dir(&notes).unwrap().count(), 0);
}

#[test]
fn a_run_is_its_owners_alone_whatever_the_umask() {
    let lab = Lab::new();
    lab.file("trace.csv", trace(50));
    for umask in ["000", "022", "077"] {
        let runs = [
            (format!("throughput d --rw read {QUICK} -o t{umask}"), format!("t{umask}")),
            (format!("import trace.csv -o i{umask}"), format!("i{umask}")),
            (format!("simulate trace.csv --model hp-c2490a -o s{umask}"), format!("s{umask}")),
        ];
        for (words, name) in runs {
            let ended = under(&lab, umask, &words);
            assert_eq!(ended.code, 0, "{}", ended.err);
            let run = lab.path(&name);
            assert_eq!(mode(&run), 0o700, "{words}");
            let files: Vec<PathBuf> =
                std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(files.len(), 3, "{files:?}");
            assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
        }
    }
}

#[test]
fn an_export_may_be_read_by_whoever_may_read_its_trace() {
    let lab = Lab::new();
    let trace = lab.file("trace.csv", trace(50));
    assert_eq!(lab.run("import trace.csv -o run").code, 0);
    for (source, of_source, umask, of_export) in [
        ("run", None, "000", 0o600),
        ("trace.csv", Some(0o644), "000", 0o644),
        ("trace.csv", Some(0o666), "027", 0o640),
        ("trace.csv", Some(0o640), "000", 0o640),
    ] {
        of_source.iter().for_each(|mode| lab.allow("trace.csv", *mode));
        for format in ["msr", "blktrace"] {
            let output = format!("out-{format}");
            let ended = under(
                &lab,
                umask,
                &format!("export {source} --output-format {format} -o {output}"),
            );
            assert_eq!(ended.code, 0, "{}", ended.err);
            let file =
                lab.path(if format == "msr" { "out-msr" } else { "out-blktrace.blktrace.0" });
            assert_eq!(mode(&file), of_export, "{source} under {umask}");
            std::fs::remove_file(file).unwrap();
        }
    }
    assert!(trace.exists());
    assert_eq!(lab.leftovers(), [""; 0]);
}

#[test]
fn an_export_to_standard_output_goes_there_whatever_that_is() {
    let lab = Lab::new();
    lab.file("trace.csv", trace(3));
    let mut command = lab.command("sh");
    let lbolt = env!("CARGO_BIN_EXE_lbolt");
    command.args([
        "-c",
        &format!("{lbolt} export trace.csv --output-format msr -o /dev/stdout | cat"),
    ]);
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(
        ended.out.lines().filter(|line| line.contains(",Read,")).count(),
        3,
        "{}",
        ended.out
    );
    assert!(Path::new("/dev/stdout").is_symlink());
}

/// Four at once, each with a trace of its own length.
fn four_imports(lab: &Lab, output: &str) -> Vec<Ended> {
    let start = |lines: usize| {
        lab.start(lab.lbolt(&format!("import {lines}.csv --input-format msr {output}")))
    };
    let running: Vec<Running> = (1..=4).map(start).collect();
    running.into_iter().map(Running::wait).collect()
}

#[test]
fn of_four_that_want_one_name_one_gets_it_and_without_a_name_all_get_one() {
    let lab = Lab::new();
    for lines in 1..=4 {
        lab.file(&format!("{lines}.csv"), trace(lines));
    }
    for round in 0..60 {
        let name = format!("named/{round}");
        // An empty directory of that name is none that somebody uses.
        if round % 2 == 0 {
            lab.directory(&name);
        }
        let ended = four_imports(&lab, &format!("-o {name}"));
        let winners: Vec<usize> = (0..4).filter(|place| ended[*place].code == 0).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        for loser in ended.iter().filter(|ended| ended.code != 0) {
            loser.assert_refused(2, &[&name, "already exists", "--output"]);
        }
        assert_eq!(rows(&lab.path(&name)), winners[0] as u64 + 1, "the winner's own rows");

        let ended = four_imports(&lab, "");
        assert!(ended.iter().all(|ended| ended.code == 0), "{}", ended[0].err);
        let told =
            ended.iter().filter_map(|ended| ended.err.lines().last()?.strip_prefix("records: "));
        let told: Vec<PathBuf> = told.map(|path| lab.path(path)).collect();
        assert_eq!(told.iter().collect::<BTreeSet<_>>().len(), 4, "{told:?}");
        let of_each: Vec<u64> = told.iter().map(|run| rows(run)).collect();
        assert_eq!(of_each, [1, 2, 3, 4]);
    }
    assert_eq!(lab.runs().len(), 240);
    assert_eq!(lab.leftovers(), [""; 0]);
}

#[test]
fn what_is_no_empty_directory_is_no_place_for_a_run() {
    let lab = Lab::new();
    lab.file("trace.csv", trace(5));
    lab.file("file", "mine");
    lab.directory("full/of");
    symlink(lab.directory("empty"), lab.path("link")).unwrap();
    for name in ["file", "full", "link"] {
        lab.run(&format!("import trace.csv -o {name}"))
            .assert_refused(2, &[name, "already exists"]);
    }
    assert_eq!(std::fs::read(lab.path("file")).unwrap(), b"mine");
    assert_eq!(std::fs::read_dir(lab.path("empty")).unwrap().count(), 0);
    assert_eq!(lab.leftovers(), [""; 0]);
}

/// Everything that lies in a directory, hidden or not.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What is told of a run that found no space is true: the file that is named is there with as many
/// rows, or there is nothing.
fn assert_true(ended: &Ended, run: &Path) {
    ended.assert_refused(ended.code, &[]);
    let sentence = ended.sentence();
    let kept: Option<u64> = sentence
        .split_once("; its first ")
        .and_then(|(_, rest)| rest.split_once(" requests ")?.0.parse().ok());
    match kept {
        Some(kept) => assert_eq!(rows(run), kept, "{sentence}"),
        None => assert!(!run.join("requests.parquet").exists() || rows(run) == 0, "{sentence}"),
    }
    if !run.exists() {
        return;
    }
    let text = std::fs::read_to_string(run.join("run.json")).unwrap();
    let info: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(info["state"], "failed", "{sentence}");
    let whole = ["findings.parquet", "requests.parquet", "run.json", "samples.parquet"];
    assert!(names(run).iter().all(|name| whole.contains(&name.as_str())), "{:?}", names(run));
}

#[test]
fn root_an_import_that_finds_no_room_says_truly_what_it_kept() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    lab.file("trace.csv", trace(100_000));
    let mut kept = BTreeSet::new();
    for size in ["4k", "64k", "4300k", "4400k", "4500k"] {
        let Some(small) = Mounted::tmpfs(&format!("size={size}")) else { return };
        let run = small.seen.join("r");
        let ended = lab.run(&format!("import trace.csv -o {}", run.display()));
        assert_ne!(ended.code, 0, "{size}");
        assert!(ended.err.to_lowercase().contains("no space"), "{size}: {}", ended.err);
        assert_true(&ended, &run);
        kept.insert(ended.sentence().contains("; its first "));
        assert!(names(&small.seen).iter().all(|name| name == "r"), "{:?}", names(&small.seen));
    }
    assert_eq!(kept.len(), 2, "some disks held rows, and some held none");
    lab.assert_clean();
}

#[test]
fn root_an_export_that_finds_no_room_leaves_the_earlier_file_or_none() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    lab.file("trace.csv", trace(30_000));
    assert_eq!(lab.run("import trace.csv -o run").code, 0);
    for format in ["msr", "perfetto", "blktrace", "fio-iolog"] {
        let Some(small) = Mounted::tmpfs("size=512k") else { return };
        let output = small.seen.join("out");
        let words = format!("export run --output-format {format} -o {}", output.display());
        lab.run(&words).assert_refused(1, &["out", "No space left", "nothing was written"]);
        assert_eq!(names(&small.seen), [""; 0]);
        std::fs::write(&output, "earlier").unwrap();
        lab.run(&words).assert_refused(1, &["out", "No space left", "nothing was written"]);
        assert_eq!(names(&small.seen), ["out"]);
        assert_eq!(std::fs::read(&output).unwrap(), b"earlier");
    }
    lab.assert_clean();
}

#[test]
fn root_what_finds_no_room_for_a_foreign_trace_names_no_file_that_is_gone() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    lab.file("trace.csv", trace(100_000));
    for size in ["64k", "4500k"] {
        let Some(small) = Mounted::tmpfs(&format!("size={size}")) else { return };
        let there = small.seen.display();
        for words in [
            format!("simulate trace.csv --model hp-c2490a -o {there}/r"),
            format!("export trace.csv --output-format msr -o {there}/out"),
        ] {
            let ended = lab.run(&words);
            ended.assert_refused(1, &[&there.to_string(), "nothing was written"]);
            assert!(ended.err.to_lowercase().contains("no space"), "{}", ended.err);
            assert!(!ended.err.contains(".lbolt-") && !ended.err.contains("/fd/"), "{}", ended.err);
            assert_eq!(names(&small.seen), [""; 0], "{words}");
        }
    }
    lab.assert_clean();
}

#[test]
fn root_a_model_that_finds_no_room_for_its_rows_leaves_no_run_and_promises_none() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    lab.file("trace.csv", trace(100_000));
    assert_eq!(lab.run("import trace.csv -o run").code, 0);
    let Some(small) = Mounted::tmpfs("size=4500k") else { return };
    let words = format!("simulate run --model hp-c2490a --draws 0 -o {}/r", small.seen.display());
    let ended = lab.run(&words);
    ended.assert_refused(1, &["no space is left"]);
    assert!(!ended.err.contains("are kept"), "{}", ended.err);
    assert_eq!(names(&small.seen), [""; 0]);
}

#[test]
fn what_an_earlier_version_left_is_found_and_removed_with_care() {
    let lab = Lab::new();
    let left = |name: &str| {
        let path = lab.directory(name);
        std::fs::write(path.join("requests.parquet.partial"), "PAR1").unwrap();
        path
    };
    let found = [left("runs/.lbolt-a1B2c3"), left(".lbolt-XYZabc"), left("d/.lbolt-scratch-r-17")];
    let foreign = left("runs/.lbolt-000000");
    std::fs::write(foreign.join("precious"), "mine").unwrap();
    let others =
        ["runs/.lbolt-results", "d/.lbolt-1234567", ".lbolt-xy"].map(|name| lab.directory(name));
    let living = left("runs/.lbolt-living");
    let file = std::fs::File::open(living.join("requests.parquet.partial")).unwrap();
    let mut reader = std::process::Command::new("sleep").arg("600").stdin(file).spawn().unwrap();

    let doctor = lab.run("doctor");
    assert_eq!(doctor.code, 0);
    for path in found.iter().take(2).chain([&foreign]) {
        assert!(doctor.out.contains(&format!("left {}\n", path.display())), "{}", doctor.out);
    }
    assert!(doctor.out.contains("3 killed run(s)"), "d is not looked into: {}", doctor.out);
    assert!(lab.run("doctor d").out.contains("4 killed run(s)"));

    assert_eq!(lab.run("runs rm .lbolt-a1B2c3").code, 0);
    assert!(!found[0].exists());
    lab.run("runs rm .lbolt-living").assert_refused(2, &["a running process uses it"]);
    lab.run("runs rm .lbolt-nothing").assert_refused(2, &[".lbolt-nothing"]);
    let clean = lab.run("doctor --clean d");
    clean.assert_refused(1, &["failed to remove", ".lbolt-000000", "not empty"]);
    assert!(found.iter().all(|path| !path.exists()), "{}", clean.out);
    assert_eq!(names(&foreign), ["precious"]);
    assert!(living.join("requests.parquet.partial").exists());
    assert!(others.iter().all(|path| path.exists()));
    reader.kill().unwrap();
    reader.wait().unwrap();
    std::fs::remove_file(foreign.join("precious")).unwrap();
    assert_eq!(lab.run("doctor --clean").code, 0);
    assert!(!living.exists() && !foreign.exists());
}

#[test]
fn a_run_that_is_written_is_running_and_stays_and_one_of_a_dead_process_was_killed() {
    let lab = Lab::new();
    let words = format!("throughput d --rw read --runtime 60s --time_based {QUICK} -o runs/r");
    let mut running = lab.start(lab.lbolt(&words));
    running.until("the run", || lab.path("runs/r/run.json").exists().then_some(()));
    let state = || lab.run("runs list").out.lines().nth(1).unwrap().to_owned();
    assert!(state().contains("running"), "{}", state());
    lab.run("runs rm r")
        .assert_refused(2, &["runs/r", "a running lbolt", "stop that process first"]);
    assert!(lab.path("runs/r/run.json").exists());
    running.signal(rustix::process::Signal::KILL);
    running.wait();
    assert!(state().contains("killed"), "{}", state());
    assert_eq!(lab.run("runs rm r").code, 0);
    assert_eq!(lab.run("doctor --clean").code, 0);
    assert_eq!(lab.leftovers(), [""; 0]);
}

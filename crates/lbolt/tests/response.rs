//! `lbolt response` from the command line: the papers' known results, and traces that tell little
//! or nothing.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, Loop, Mounted};
use model::record::requests::{Counts, Provenance, RequestFile, RequestWriter};
use model::record::{Commands, Op, Request};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file beside the project, where there is one.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    let found = path.canonicalize().ok();
    if found.is_none() {
        println!("skipped: needs {name} beside the project");
    }
    found
}

/// The value of a class's quantity in JSON.
fn value(ended: &Ended, by: &str, class: &str, quantity: &str) -> Option<f64> {
    let report = ended.report();
    let is_it = |f: &&serde_json::Value| {
        f["quantity"] == quantity && f["subject"]["by"] == by && f["subject"]["class"] == class
    };
    report.findings().iter().find(is_it).and_then(|f| f["value"].as_f64())
}

/// The 1986 paper's sample (section 2.3): six responses, three completions without a request.
const SAMPLE: &str = "\
S:(32,0x10):2:R:1984:22127
S:(32,0x10):2:R:1992:22128
S:(32,0x6):2:R:486502:22129
S:(32,0x11):2:R:62782:22129
R:(32,0x10):2:R:1976:22123
R:(32,0x10):2:W:2152:22124
R:(32,0x10):2:W:2144:22124
R:(32,0x10):2:R:1984:22128
R:(32,0x10):2:R:1992:22130
R:(32,0x11):2:R:62782:22131
R:(32,0x6):2:R:486502:22132
R:(32,0x6):2:R:337822:22157
R:(32,0x6):2:R:339738:22158
S:(32,0x6):2:R:337822:22156
S:(32,0x6):2:R:339738:22157
";

#[test]
fn the_papers_sample_has_six_responses_of_one_to_three_ticks() {
    let lab = Lab::new();
    lab.file("sample", SAMPLE);
    let ended = lab.run("response sample --ticks");
    let wanted = "3 responses took 1 tick.\n2 responses took 2 ticks.\n1 response took 3 ticks.\n";
    assert_eq!((ended.code, ended.out.as_str()), (0, wanted), "{}", ended.err);
    let ended = lab.run("response sample --format json");
    let orphans = |f: &&serde_json::Value| f["quantity"] == "orphaned_count";
    let report = ended.report();
    assert_eq!(report.findings().iter().find(orphans).unwrap()["value"], 3.0);
    // One of the orphans is a read, too.
    assert_eq!(value(&ended, "direction", "read", "completed_count"), Some(7.0));
}

/// data/README.md: disk 0's figures and the table of reads by asynchronous writes outstanding; from
/// the foreign file and from our own records of it alike.
#[test]
fn hplajw_gives_its_known_answers() {
    let Some(trace) = shared("data/hplajw/ajw.1week.srt") else { return };
    let lab = Lab::new();
    let foreign = lab.run(&format!("response {} --format json", trace.display()));
    assert_eq!(foreign.code, 0, "{}", foreign.err);
    let by = "background writes outstanding";
    for (class, count, mean_ms, queue_ms) in [
        ("0", 12_103.0, 30.7, 3.5),
        ("1 to 4", 313.0, 79.3, 47.9),
        ("5 to 19", 339.0, 106.0, 76.7),
        ("20 and more", 285.0, 129.5, 100.3),
    ] {
        let ms = |quantity| value(&foreign, by, class, quantity).unwrap() / 1e6;
        assert_eq!(value(&foreign, by, class, "requested_count"), Some(count), "{class}");
        assert!((ms("response_mean_ns") - mean_ms).abs() <= 0.05, "{class}");
        assert!((ms("wait_mean_ns") - queue_ms).abs() <= 0.05, "{class}");
    }
    let reads = |quantity| value(&foreign, "device and direction", "0 read", quantity).unwrap();
    assert_eq!(reads("requested_count"), 10_887.0);
    assert!((reads("response_mean_ns") / 1e6 - 39.1).abs() < 0.05);
    assert!((reads("response_p99_ns") / 1e6 - 199.0).abs() < 0.004 * 199.0);
    assert!((reads("response_max_ns") / 1e6 - 573.0).abs() < 0.5);
    assert!(
        (value(&foreign, "device", "0", "device_mean_ns").unwrap() / 1e6 - 25.35).abs() < 0.005
    );
    assert_eq!(value(&foreign, "device", "0", "depth_max"), Some(104.0));
    let writes = |quantity| value(&foreign, "origin", "writeback", quantity).unwrap();
    assert_eq!(writes("requested_count"), 15_981.0);
    assert!((writes("response_mean_ns") / 1e6 - 268.0).abs() < 0.5);
    assert!((writes("response_p99_ns") / 1e6 - 1648.0).abs() < 0.004 * 1648.0);
    assert!((writes("response_max_ns") / 1e6 - 6781.0).abs() < 0.5);
    // The storms of the 30 s sync, and what they do to the reads.
    let storms = |quantity| value(&foreign, "storms", "background writes to 0", quantity).unwrap();
    assert_eq!((storms("storm_period_ns") / 1e9).round(), 30.0);
    assert!((400.0..600.0).contains(&storms("storms_count")));
    assert!(storms("reads_behind_p99_ratio") > 4.0 && storms("reads_behind_wait_percent") > 60.0);
    let text = lab.run(&format!("response {} --all", trace.display())).out;
    // The verdict comes before it.
    let is_told =
        |line: &str| line.contains("background writes to 0") && line.contains("every 30.0 s");
    assert!(text.lines().any(is_told), "{text}");
    assert_eq!(lab.run(&format!("import {} -o run", trace.display())).code, 0);
    let ours = lab.run("response run --format json");
    assert_eq!(ours.report().findings(), foreign.report().findings());
}

#[test]
fn a_trace_without_completions_says_so_and_what_can_be_said_is_said() {
    let lab = Lab::new();
    lab.file("log", "fio version 3 iolog\n10 /dev/sda read 0 4096\n20 /dev/sda write 8192 512\n");
    let ended = lab.run("response log --all");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("by transfer size") && ended.out.contains("n.m."), "{}", ended.out);
    let ended = lab.run("response log --format json");
    assert_eq!(value(&ended, "size", "to 4k", "requested_count"), Some(1.0));
    assert_eq!(value(&ended, "whole", "all", "response_p99_ns"), None);
    assert_eq!(lab.run("response log --ticks").out, "The trace tells of no responses.\n");
    lab.run("response log --ticks --format json").assert_refused(2, &["--format csv"]);
}

/// A run of these rows, whose footer counts what they say.
fn run_of(lab: &Lab, name: &str, rows: &[Request], counts: Counts) {
    let path = lab.directory(name).join("requests.parquet");
    let (commands, more) = (Commands::default(), BTreeMap::new());
    let mut writer = RequestWriter::new(std::fs::File::create(&path).unwrap()).unwrap();
    rows.iter().for_each(|row| writer.push(row, &commands).unwrap());
    let provenance = Provenance { origin: "capture".into(), counts, ..Provenance::default() };
    writer.finish(&commands, &provenance, &more).unwrap();
}

fn read(arrival_ns: i64, issued_ns: i64, completed_ns: i64) -> Request {
    Request {
        offset_bytes: Some(0),
        length_bytes: 4096,
        queued_ns: Some(arrival_ns),
        issued_ns: Some(issued_ns),
        completed_ns: Some(completed_ns),
        ..Request::default()
    }
}

/// Each says what is doubtful, and what can still be said.
#[test]
fn doubtful_traces_are_analysed_and_say_what_is_doubtful() {
    let lab = Lab::new();
    let good =
        || (0..50).map(|n| read(n * 1000, n * 1000 + 10, n * 1000 + 500)).collect::<Vec<_>>();
    run_of(&lab, "lost", &good(), Counts { events: 150, lost: 150, ..Counts::default() });
    let ended = lab.run("response lost --all");
    assert!(
        ended.out.starts_with("Every figure is suspect: 150 of 300 events were lost (50.00 %)"),
        "{}",
        ended.out
    );
    let report = lab.run("response lost --format json").report();
    let analysed =
        |f: &&serde_json::Value| f["subject"]["by"] == "direction" && f["value"].is_number();
    assert!(report.findings().iter().any(|f| analysed(&f)));
    assert!(report.findings().iter().filter(analysed).all(|f| f["verdict"] == "suspect"));

    let mut unsorted = good();
    unsorted.swap(3, 30);
    run_of(&lab, "unsorted", &unsorted, Counts::default());
    let ended = lab.run("response unsorted --all");
    assert!(ended.out.contains("rows follow a row that arrived later"), "{}", ended.out);
    let ended = lab.run("response unsorted --format json");
    assert_eq!(value(&ended, "whole", "all", "requested_count"), Some(50.0));

    let reversed = [read(0, 900, 500), read(1000, 1010, 1500), read(2000, 2010, 1500)];
    run_of(&lab, "reversed", &reversed, Counts::default());
    let ended = lab.run("response reversed --all");
    assert!(ended.out.contains("2 rows have steps in the wrong order"), "{}", ended.out);
    let ended = lab.run("response reversed --format json");
    assert_eq!(value(&ended, "whole", "all", "response_mean_ns"), Some(500.0));

    run_of(&lab, "one", &good()[..1], Counts::default());
    let ended = lab.run("response one --format json");
    assert_eq!(value(&ended, "whole", "all", "response_p99_ns"), Some(500.0));
    assert_eq!(value(&ended, "device", "0", "arrival_variation_ratio"), None);
    assert_eq!(lab.run("response one --all").code, 0);

    let at_once: Vec<Request> = (0..100).map(|n| read(7, 8 + n, 100 + n)).collect();
    run_of(&lab, "at-once", &at_once, Counts::default());
    let ended = lab.run("response at-once --format json");
    assert_eq!(value(&ended, "device", "0", "depth_max"), Some(100.0));
    assert_eq!(lab.run("response at-once --format markdown").code, 0);

    run_of(&lab, "none", &[], Counts::default());
    assert_eq!(lab.run("response none").code, 0);
}

/// Parts of a long trace, each with what is outstanding at its shard boundary, are the figures of
/// one pass.
#[test]
fn a_trace_of_many_groups_is_the_same_as_row_by_row() {
    let lab = Lab::new();
    // More than a group of rows: some requests last over a shard boundary, one over all of them.
    let row = |n: i64| {
        let long = if n == 5 {
            1 << 40
        } else if n % 1000 == 0 {
            90_000_000
        } else {
            700 + n % 900
        };
        Request {
            op: if n % 3 == 0 { Op::Write } else { Op::Read },
            device: (n % 2) as u32,
            ..read(n * 400, n * 400 + 100, n * 400 + long)
        }
    };
    let rows: Vec<Request> = (0..1_200_000).map(row).collect();
    run_of(&lab, "long", &rows, Counts::default());
    let ended = lab.run("response long --format json");
    let depth = |rows: &[Request]| {
        // What a row finds, by looking at all that might be left.
        let mut until = std::collections::BinaryHeap::new();
        let (mut seen, mut most) = (0u64, 0);
        for row in rows.iter().filter(|row| row.device == 1) {
            while until.peek().is_some_and(|std::cmp::Reverse(ns)| *ns <= row.queued_ns.unwrap()) {
                until.pop();
            }
            seen += until.len() as u64;
            until.push(std::cmp::Reverse(row.completed_ns.unwrap()));
            most = most.max(until.len());
        }
        (seen as f64 / 600_000.0, most as f64)
    };
    let (mean, most) = depth(&rows);
    assert_eq!(value(&ended, "device", "1", "depth_at_arrival_mean"), Some(mean));
    assert_eq!(value(&ended, "device", "1", "depth_max"), Some(most));
    assert_eq!(value(&ended, "whole", "all", "completed_count"), Some(1_200_000.0));
}

/// A reader and a loop of small writes with fsync all the time, and every three seconds 31 MiB and
/// `sync`, whose begin and end go to the second argument.
const PLANTED: &str = r#"
cd "$1"; dd if=/dev/zero of=data bs=1M count=16 2>/dev/null; sync -f .
end=$(( $(date +%s) + 17 ))
while [ $(date +%s) -lt $end ]; do
    dd if=data of=/dev/null bs=4k count=500 iflag=direct 2>/dev/null; sleep 0.02
done &
while [ $(date +%s) -lt $end ]; do
    dd if=/dev/zero of=log bs=4k count=1 conv=fsync,notrunc 2>/dev/null; sleep 0.05
done &
sleep 3
for storm in 1 2 3 4; do
    date +%s%N >> "$2"
    dd if=/dev/zero of=big bs=4k count=8000 conv=notrunc 2>/dev/null; sync -f .
    date +%s%N >> "$2"; sleep 3
done
wait
"#;

/// Records a disk in `run` while a command runs, where that can be done.
fn record(lab: &Lab, disk: &Loop, command: &str) -> bool {
    let recorded = lab.run(&format!("record -d {} -o run -- {command}", disk.node));
    if recorded.err.contains("failed to load BPF") {
        println!("skipped: {}", recorded.sentence());
        return false;
    }
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    true
}

#[test]
fn root_planted_storms_are_found_and_who_made_them() {
    let lab = Lab::new();
    if !crate::common::is_root() {
        return;
    }
    let image = lab.file("image", "");
    std::fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(256 << 20).unwrap();
    let Some(disk) = Loop::over(&image).filter(Loop::format) else { return };
    let Some(mounted) = Mounted::device(&disk.node) else { return };
    let script = lab.file("planted.sh", PLANTED);
    let times = lab.file("times", "");
    let words = format!("sh {} {} {}", script.display(), mounted.seen.display(), times.display());
    if !record(&lab, &disk, &words) {
        return;
    }
    let ended = lab.run("response run --format json");
    let report = ended.report();
    let of_storms = |quantity: &str| -> Vec<f64> {
        let class = |f: &serde_json::Value| f["subject"]["class"].as_str().map(str::to_owned);
        let is_one = |f: &&serde_json::Value| {
            f["quantity"] == quantity && class(f).unwrap().starts_with("writes and flushes")
        };
        report
            .findings()
            .iter()
            .filter(is_one)
            .map(|f| f["value"].as_f64().unwrap() / 1e9)
            .collect()
    };
    let storms: Vec<(f64, f64)> =
        std::iter::zip(of_storms("storm_start_ns"), of_storms("storm_length_ns")).collect();
    // Each of the four is a storm, from its writes or its sync on; what laid out the file, and a
    // moment at which this machine's own disk stood still, may be storms too, and one of those may
    // have gone over into a planted one.
    let file = RequestFile::open(&lab.path("run/requests.parquet")).unwrap();
    let began_ns = file.provenance().started_unix_ns.unwrap();
    let planted = std::fs::read_to_string(&times).unwrap();
    let planted = planted.lines().map(|ns| (ns.parse::<i64>().unwrap() - began_ns) as f64 / 1e9);
    let planted: Vec<f64> = planted.collect();
    let planted: Vec<(f64, f64)> = planted.chunks(2).map(|both| (both[0], both[1])).collect();
    let is_in_one = |(at, end): &(f64, f64)| {
        storms.iter().any(|(start, length)| start < end && start + length > at + 0.01)
    };
    assert_eq!(planted.len(), 4);
    assert!(planted.iter().all(is_in_one), "{planted:?} in {storms:?}");
    // 31 MiB take what a disk takes for them.
    let planted_s: f64 = planted.iter().map(|(at, end)| end - at).sum();
    let all_s: f64 = storms.iter().map(|(_, length)| length).sum();
    assert!(all_s < planted_s + 4.0, "{planted:?} in {storms:?}");
    let who = |f: &&serde_json::Value| {
        f["quantity"] == "blame_percent"
            && f["subject"]["class"].as_str().unwrap().contains("sync (")
    };
    assert!(report.findings().iter().any(|f| who(&f)), "sync is not named");
    let text = lab.run("response run --all").out;
    // The verdict comes before it.
    let mut first = text.lines().take_while(|line| !line.is_empty());
    let is_told =
        |line: &str| line.contains("bursts of writes and flushes to") && line.contains("kworker");
    assert!(first.any(is_told), "{text}");
    assert!(
        text.contains("by what the file system keeps there") && text.contains("inodes"),
        "{text}"
    );
}

#[test]
fn what_is_no_trace_is_refused_in_a_sentence() {
    let lab = Lab::new();
    lab.file("empty", "");
    lab.directory("nothing");
    lab.directory("measured");
    lab.file("measured/run.json", "{}");
    lab.file("damaged", "PAR1 and no more");
    for (words, hint) in [
        ("response empty", "empty"),
        ("response nothing", "a directory but not a run"),
        ("response measured", "run without requests"),
        ("response damaged", "damaged"),
        ("response not-there", "not-there"),
        ("response empty --input-format nonsense", "nonsense"),
    ] {
        let ended = lab.run(words);
        assert!(matches!(ended.code, 1 | 2), "{words}: {} {}", ended.code, ended.err);
        assert!(ended.sentence().starts_with("lbolt: failed to"), "{words}: {}", ended.err);
        assert!(ended.sentence().contains(hint), "{words}: {}", ended.err);
    }
}

/// A cgroup of version 2 of our own, which goes with its test.
struct Cgroup(std::path::PathBuf);

impl Cgroup {
    fn new() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/mounts").ok()?;
        let is_it = |line: &&str| line.split(' ').nth(2) == Some("cgroup2");
        let root = mounts.lines().find(is_it)?.split(' ').nth(1)?;
        let made = tempfile::Builder::new().prefix("lbolt-test-").tempdir_in(root).ok()?;
        Some(Self(made.keep()))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        std::fs::remove_dir(&self.0).ok();
    }
}

#[test]
fn root_cgroups_are_told_by_their_paths() {
    let lab = Lab::new();
    if !crate::common::is_root() {
        return;
    }
    let image = lab.file("image", "");
    std::fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(8 << 20).unwrap();
    let Some(disk) = Loop::over(&image) else { return };
    let (Some(one), Some(other)) = (Cgroup::new(), Cgroup::new()) else {
        return println!("skipped: no cgroup of version 2 can be made");
    };
    let reads = |cgroup: &Cgroup, count: u32| {
        let (cgroup, disk) = (cgroup.0.display(), &disk.node);
        format!(
            "(sh -c 'echo $$ > {cgroup}/cgroup.procs && exec dd if={disk} of=/dev/null bs=4k \
             count={count} iflag=direct')\n"
        )
    };
    let script = lab.file("two.sh", &(reads(&one, 30) + &reads(&other, 70)));
    if !record(&lab, &disk, &format!("sh {}", script.display())) {
        return;
    }
    let ended = lab.run("response run --format json");
    let report = ended.report();
    for (cgroup, count) in [(&one, 30.0), (&other, 70.0)] {
        let name = cgroup.0.file_name().unwrap().to_str().unwrap();
        let requested = |by: &str, class: &dyn Fn(&str) -> bool| {
            let findings = report.findings().iter().filter(|f| f["quantity"] == "requested_count");
            let mut found = findings.filter(|f| {
                f["subject"]["by"] == by && class(f["subject"]["class"].as_str().unwrap())
            });
            found.next().and_then(|f| f["value"].as_f64())
        };
        assert_eq!(requested("cgroup", &|class| class == format!("/{name}")), Some(count));
        let of_dd =
            |class: &str| class.starts_with("dd (") && class.ends_with(&format!("in /{name}"));
        assert_eq!(requested("process", &of_dd), Some(count));
    }
}

/// Thirty reads of a hundred and thirty are never answered, and a minute of others' follows.
#[test]
fn a_trace_of_a_hang_is_no_all_clear() {
    let lab = Lab::new();
    let (mut trace, mut number) = (String::new(), 0);
    let mut event = |ms: usize, step: &str, sector: usize| {
        number += 1;
        let (s, ns) = (ms / 1000, ms % 1000 * 1_000_000);
        trace += &format!("8,0 0 {number} {s}.{ns:09} 100 {step} R {sector} + 8 [db]\n");
    };
    for n in 0..130 {
        let at_ms = if n < 100 { 100 * n } else { 10_000 + 2000 * n };
        ["Q", "D", "C"].iter().enumerate().for_each(|(ms, step)| event(at_ms + ms, step, 8 * n));
        if n >= 100 {
            ["Q", "D"].iter().for_each(|step| event(at_ms + 10, step, 8000 + 8 * n));
        }
    }
    lab.file("hang.txt", trace);
    let told = lab.run("response hang.txt").out.replace('\n', " ");
    let unknown = "Unknown whether anybody waited long for others: 30 requests have no completion \
                   in the trace, the first of them made 58.0 s before its end: they hang, or";
    assert!(told.starts_with(unknown), "{told}");
    assert_eq!(lab.run("import hang.txt -o run").code, 0);
    let told = lab.run("response run").out.replace('\n', " ");
    assert!(told.starts_with(unknown), "{told}");
}

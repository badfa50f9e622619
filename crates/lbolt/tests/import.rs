//! `lbolt import` and `lbolt export` from the command line: known traces, and files that are not
//! what they should be.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::Lab;
use model::record::requests::RequestFile;
use std::path::{Path, PathBuf};

/// A fixture of the importers.
fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/import/fixtures");
    path.join(name).display().to_string()
}

fn lines(count: u64) -> String {
    (0..count)
        .map(|n| {
            format!("{},db,0,Read,{},4096,1000\n", 128_166_385_295_514_663 + n * 10_000, n * 4096)
        })
        .collect()
}

#[test]
fn a_trace_becomes_a_run_that_can_be_shown_and_removed() {
    let lab = Lab::new();
    let ended = lab.run(&format!("import {} -o run", fixture("msr.csv")));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended.out.contains("web.0") && ended.out.contains("1 line or record not understood"),
        "{}",
        ended.out
    );
    assert!(ended.err.contains("not understood: 5: not seven fields"), "{}", ended.err);
    let reader = RequestFile::open(&lab.path("run/requests.parquet")).unwrap();
    assert_eq!(reader.rows(), 5);
    assert_eq!(reader.provenance().origin, "import:msr");
    assert_eq!(lab.run("runs show run").out, ended.out);
    assert_eq!(lab.run("runs rm run").code, 0);
    assert!(!lab.path("run").exists());
}

#[test]
fn compressed_files_are_read_as_they_are_and_those_cut_short_are_refused() {
    let lab = Lab::new();
    let plain = lab.file("trace.csv", lines(20_000));
    for (tool, ending) in [("gzip", "gz"), ("bzip2", "bz2"), ("xz", "xz"), ("zstd", "zst")] {
        let name = format!("trace.csv.{ending}");
        let line = format!("{tool} -c {} > {}", plain.display(), lab.path(&name).display());
        if crate::common::tool("sh", &["-c", &line]).is_none() {
            println!("skipped: needs {tool}");
            continue;
        }
        let whole = lab.run(&format!("import {name} -o {ending}"));
        assert_eq!(whole.code, 0, "{}", whole.err);
        let reader = RequestFile::open(&lab.path(&format!("{ending}/requests.parquet"))).unwrap();
        assert_eq!(reader.rows(), 20_000);
        let bytes = std::fs::read(lab.path(&name)).unwrap();
        lab.file(&format!("cut.{ending}"), &bytes[..bytes.len() / 2]);
        let cut = lab.run(&format!("import cut.{ending} -o cut-{ending} --input-format msr"));
        cut.assert_refused(1, &["cut.", "check the compressed file"]);
        assert!(!lab.path(&format!("cut-{ending}")).exists());
    }
}

#[test]
fn files_that_are_no_trace_are_refused_with_the_formats_that_there_are() {
    let lab = Lab::new();
    lab.file("empty", "");
    lab.file("prose", "It was a dark and stormy night.\nThe disk was slow.\n");
    lab.file("zeroes", vec![0; 100_000]);
    lab.run("import empty").assert_refused(2, &["empty", "the file is empty"]);
    for name in ["prose", "zeroes"] {
        lab.run(&format!("import {name}"))
            .assert_refused(2, &[name, "--input-format", "msr", "blktrace"]);
    }
    lab.run("import nowhere").assert_refused(2, &["nowhere", "No such file"]);
    lab.run("import prose --input-format msr")
        .assert_refused(2, &["prose as msr", "not seven fields"]);
    lab.run("import prose --input-format msrr").assert_refused(2, &["\"msrr\"", "known are"]);
    let two = format!("import {} {}", fixture("msr.csv"), fixture("fio-iolog-3.log"));
    lab.run(&two).assert_refused(2, &["msr", "fio-iolog", "import each file separately"]);
    assert!(lab.runs().is_empty());
}

/// blktrace leaves an empty file for each CPU without events, and so does our export for CPU 0.
#[test]
fn files_of_idle_cpus_are_empty_and_one_name_stands_for_all() {
    let lab = Lab::new();
    let line = |time, action, rest| format!("8,0 1 1 {time} 9 {action} R 8 + 8 [{rest}]\n");
    let text = [line("0.1", "Q", "dd"), line("0.2", "D", "dd"), line("0.3", "C", "0")].concat();
    lab.file("trace.txt", text);
    assert_eq!(lab.run("export trace.txt --output-format blktrace -o set/t").code, 1);
    lab.directory("set");
    assert_eq!(lab.run("export trace.txt --output-format blktrace -o set/t").code, 0);
    assert_eq!(std::fs::metadata(lab.path("set/t.blktrace.0")).unwrap().len(), 0);
    lab.file("set/t.blktrace.7", "");
    for (run, names) in [
        "set/t.blktrace.0 set/t.blktrace.1 set/t.blktrace.7",
        "set/t",
        "set/t.blktrace",
        "set/t.blktrace.1",
    ]
    .into_iter()
    .enumerate()
    {
        let ended = lab.run(&format!("import {names} -o {run}"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        let file = RequestFile::open(&lab.path(&format!("{run}/requests.parquet"))).unwrap();
        assert_eq!((file.rows(), file.provenance().counts.rejected), (1, 0), "{names}");
    }
    assert_eq!(lab.run("response set/t").out, lab.run("response set/t.blktrace.1").out);
    let calibrated = lab.run("calibrate set/t -o p.toml");
    assert!(calibrated.err.contains("read as blktrace"), "{}", calibrated.err);
    lab.run("import set/t.blktrace.0").assert_refused(2, &["t.blktrace.0", "is empty"]);
    lab.run("import set/u").assert_refused(2, &["set/u", "No such file"]);
}

/// Traces of five numbers a line differ in their units only.
#[test]
fn what_can_be_two_formats_is_refused_until_the_user_says_which() {
    let lab = Lab::new();
    lab.file("either", "0 0 8 8 1\n5 0 16 8 0\n");
    let refused = lab.run("import either");
    refused.assert_refused(2, &["mqsim", "disksim-ascii", "--input-format", "--time-unit"]);
    let end_ns = |words: &str| {
        let ended = lab.run(&format!("import either -o run {words}"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        let file = RequestFile::open(&lab.path("run/requests.parquet")).unwrap();
        let mut reader = file.read_all().unwrap();
        let last = reader.next_batch().unwrap().unwrap().row(1);
        assert_eq!(lab.run("runs rm run").code, 0);
        (last.queued_ns.unwrap(), last.offset_bytes.unwrap(), last.length_bytes)
    };
    assert_eq!(end_ns("--input-format mqsim"), (5, 8192, 4096));
    assert_eq!(end_ns("--input-format disksim-ascii"), (5_000_000, 8192, 4096));
    assert_eq!(end_ns("--time-unit s"), (5_000_000_000, 8192, 4096));
    assert_eq!(end_ns("--input-format mqsim --size-unit 4k"), (5, 65536, 32768));
    let columns = "columns=time:us,-,offset:B,length:1k,op:0=read";
    assert_eq!(end_ns(&format!("--input-format {columns}")), (5000, 16, 8192));
    lab.run("import either --input-format columns=time,size").assert_refused(2, &["\"size\""]);
    lab.run("import either --time-unit week").assert_refused(2, &["\"week\"", "100ns"]);
    let msr = format!("import {} --size-unit B", fixture("msr.csv"));
    lab.run(&msr).assert_refused(2, &["msr", "units are fixed"]);
    // A device is fitted by times, which this trace does not tell.
    lab.run("calibrate either -o p.toml").assert_refused(2, &["mqsim", "disksim-ascii"]);
    let ended = lab.run("calibrate either -o p.toml --time-unit s");
    assert!(ended.code != 0 && ended.err.contains("read as mqsim: times in s"), "{}", ended.err);
    lab.run("calibrate . -o p.toml --time-unit s").assert_refused(2, &["applies only to a trace"]);
    // What was taken for it is said, without a word of units that were not taken.
    let ended = lab.run("response either --time-unit s");
    assert!(ended.err.contains("read as mqsim: times in s"), "{}", ended.err);
    let ended = lab.run(&format!("response {}", fixture("msr.csv")));
    assert!(ended.err.contains("read as msr: MSR Cambridge"), "{}", ended.err);
}

/// Two volumes of one time, one after the other in one file: more is out of order than memory
/// holds. What can be read again is sorted; what cannot, a pipe, marks the verdict.
#[test]
fn rows_out_of_order_are_sorted_or_mark_the_verdict() {
    let lab = Lab::new();
    let volume = |name: &str| lines(80_000).replace(",db,", &format!(",{name},"));
    lab.file("a.csv", volume("a"));
    lab.file("b.csv", volume("b"));
    lab.file("ab.csv", volume("a") + &volume("b"));
    let found = |ended: crate::common::Ended| {
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.report().findings().to_vec()
    };
    let of = |words: &str| found(lab.run(&format!("response {words} --format json")));
    // In another order of the files the devices have other numbers.
    let (beside, within) = (of("a.csv b.csv"), of("ab.csv"));
    assert_eq!(within, beside);
    let is_marked = |finding: &serde_json::Value| {
        finding["quantity"] == "waits_count" && finding["verdict"] == "suspect"
    };
    assert!(!within.iter().any(is_marked));
    let ended = lab.run("import ab.csv -o run");
    assert!(ended.err.contains("sorted on disk") && ended.code == 0, "{}", ended.err);
    let requests = RequestFile::open(&lab.path("run/requests.parquet")).unwrap();
    assert_eq!((requests.rows(), requests.provenance().counts.unsorted), (160_000, 0));
    assert!(found(lab.run("response run --format json")).iter().all(|f| !is_marked(f)));
    assert!(lab.leftovers().is_empty());
    let _shell = fifo(&lab, "pipe", "cat ab.csv");
    let ended = lab.run("response pipe --input-format msr");
    assert!(ended.out.contains("rows follow a row that arrived later"), "{}", ended.out);
}

/// A format of which a trace can be in disorder within one file: what it begins with, and what it
/// says of the request of a number, one each 100 us.
type Made = (&'static [u8], fn(u64) -> Vec<u8>);

const MADE: [Made; 6] = [
    (b"", |n| {
        let (s, us) = (n / 10_000, n % 10_000 * 100);
        let line = |us, step, rest| {
            format!("dd 9 [001] {s}.{us:06}: block:block_rq_{step} () {} + 8 [{rest}]\n", n * 8)
        };
        let [issue, complete] =
            [line(us, "issue: 8,0 R 4096", "dd"), line(us + 70, "complete: 8,0 R", "0")];
        (issue + &complete).into_bytes()
    }),
    (
        b"application,op_type,request_io_size_bytes,start_time,simulated_disk_start_time,\
          simulated_latency\n",
        |n| {
            let (s, us) = (n / 10_000, n % 10_000 * 100);
            format!("app,READ,4096,{s}.{us:06},0.0,0.000050\n").into_bytes()
        },
    ),
    (b"IO Type,Init Time (us),IO Time (us),Size (B),Min Offset,Disk\n", |n| {
        format!("Read,{},50,4096,0x{:x},1\n", n * 100, n * 4096).into_bytes()
    }),
    (b"", |n| {
        let (us, offset) = (n * 100 + 50, n * 4096);
        format!("DiskRead, {us}, a (7), 1, 0x{n:x}, 0x{offset:x}, 0x1000, 50, 1, 0x0, 40\n").into()
    }),
    (b"$$TR_IOREC-1.3 (made)\n\x0c", |n| {
        let (s, us) = (n as u32 / 10_000, n as u32 % 10_000 * 100);
        let words = [56, 4 << 16 | 1, s, us, 10, 50, 4096, n as u32 * 16, 0x100, 4, 1, 1, 0, 1];
        words.map(u32::to_be_bytes).concat()
    }),
    (b"", |n| {
        // Issued and completed: the action, its category, and that it is a read.
        let record = |later_ns: u64, action: u32| {
            let begin = [0x6561_7407_u32, 0].map(u32::to_le_bytes).concat();
            let place = [n * 100_000 + later_ns, n * 8].map(u64::to_le_bytes).concat();
            let rest = [4096, action | 1 << 16, 77, 8 << 20, 0, 0].map(u32::to_le_bytes).concat();
            [begin, place, rest].concat()
        };
        [record(0, 7 | 1 << 22), record(50_000, 8 | 1 << 23)].concat()
    }),
];

/// The requests of an imported trace, of whose order nothing is wrong: when each began and ended,
/// and where it is.
fn rows_in_order(lab: &Lab, name: &str) -> Vec<(Option<i64>, Option<i64>, Option<u64>)> {
    let ended = lab.run(&format!("import {name} -o run-{name}"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let file = RequestFile::open(&lab.path(&format!("run-{name}/requests.parquet"))).unwrap();
    let counts = file.provenance().counts;
    let wrong = (counts.unsorted, counts.out_of_order, counts.orphaned, counts.rejected);
    assert_eq!(wrong, (0, 0, 0, 0), "{name}");
    let mut reader = file.read_all().unwrap();
    let mut all = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        let known =
            |row: model::record::Request| (row.arrival_ns(), row.completed_ns, row.offset_bytes);
        all.extend(batch.rows().map(known));
    }
    all
}

/// A table, listings of events and of requests, and records, each with its last part first: as many
/// requests come of it, with the same times, as of the parts in order.
#[test]
fn whatever_the_order_the_requests_are_the_same() {
    let lab = Lab::new();
    for (number, (head, made)) in MADE.into_iter().enumerate() {
        let part = |of: std::ops::Range<u64>| of.flat_map(made).collect::<Vec<u8>>();
        let rows = |name: String, parts: [Vec<u8>; 2]| {
            lab.file(&name, [head.to_vec(), parts.concat()].concat());
            rows_in_order(&lab, &name)
        };
        let [first, last] = [part(0..40_000), part(40_000..80_000)];
        let wanted = rows(format!("in-order-{number}"), [first.clone(), last.clone()]);
        assert_eq!(wanted.len(), 80_000);
        assert!(rows(format!("backwards-{number}"), [last, first]) == wanted, "{number}");
    }
}

/// What goes out comes in again, as far as the format can tell it.
#[test]
fn an_export_is_imported_again_to_the_same_requests() {
    let lab = Lab::new();
    lab.file("trace.csv", lines(500));
    assert_eq!(lab.run("import trace.csv -o run").code, 0);
    // As a file, as a run, and as the foreign trace that it was.
    for (number, source) in ["run/requests.parquet", "run", "trace.csv"].iter().enumerate() {
        let out = format!("out{number}.csv");
        let ended = lab.run(&format!("export {source} --output-format msr -o {out}"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.out.contains("500 requests as msr"), "{}", ended.out);
        let times = |path: PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().map(|l| l.rsplit_once(',').unwrap().1.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(times(lab.path(&out)), times(lab.path("trace.csv")));
    }
    assert!(lab.leftovers().is_empty());
    lab.run("export run --output-format word -o x").assert_refused(2, &["word", "perfetto"]);
    lab.run("export nowhere --output-format msr -o x").assert_refused(2, &["nowhere"]);
    lab.run("export run --output-format msr -o no/such/directory/x")
        .assert_refused(1, &["no/such/directory/x"]);
}

/// A FIFO into which a shell's line writes for as long as anybody reads.
fn fifo(lab: &Lab, name: &str, line: &str) -> crate::common::Running {
    let path = lab.path(name).display().to_string();
    crate::common::tool("mkfifo", &[&path]).unwrap();
    let mut command = lab.command("sh");
    command.args(["-c", &format!("{{ {line}; }} > {name} 2>/dev/null")]);
    lab.start(command)
}

#[test]
fn what_never_ends_is_refused_soon_or_goes_on_aloud() {
    let lab = Lab::new();
    for (number, (endless, sentence)) in [
        ("yes ''", "64 MiB without a line"),
        ("yes 'not a trace'", "unreadable lines or records"),
        ("cat /dev/zero", "64 MiB without a line"),
    ]
    .into_iter()
    .enumerate()
    {
        for command in [
            "import",
            "response",
            "export --output-format msr -o out",
            "simulate --model generic-7200rpm",
        ] {
            let name = format!("bomb{number}-{}", &command[..3]);
            let writer = fifo(&lab, &name, endless);
            let ended = lab.run(&format!("{command} {name} --input-format blkparse"));
            ended.assert_refused(2, &["failed to find a request", &name, sentence]);
            drop(writer);
        }
    }
    assert!(lab.runs().is_empty() && lab.leftovers().is_empty(), "{:?}", lab.leftovers());
}

#[test]
fn what_decompresses_to_10_gb_of_nothing_is_refused_soon() {
    let lab = Lab::new();
    for (tool, ending) in [("gzip", "gz"), ("zstd", "zst"), ("xz", "xz"), ("bzip2", "bz2")] {
        // A hundred times 100 MB, one after the other.
        let line = format!(
            "yes '' | head -c 100000000 | {tool} -c > one.{ending} && \
             for n in $(seq 100); do cat one.{ending}; done > bomb.{ending}"
        );
        let mut command = lab.command("sh");
        command.args(["-c", &line]);
        if crate::common::tool(tool, &["--version"]).is_none() || lab.end(command).code != 0 {
            println!("skipped: needs {tool}");
            continue;
        }
        let ended = lab.run(&format!("import bomb.{ending} --input-format msr"));
        ended.assert_refused(2, &["64 MiB without a line", "bomb."]);
        lab.run(&format!("import bomb.{ending}")).assert_refused(2, &["--input-format", "bomb."]);
    }
    assert!(lab.runs().is_empty());
}

#[test]
fn a_long_reading_is_told_of_and_ends_at_the_first_signal() {
    let lab = Lab::new();
    // Something is understood, and then nothing more: it goes on, and says so.
    lab.file("beginning", lines(3));
    let _writer = fifo(&lab, "endless", "cat beginning; yes ''");
    let mut running = lab.start(lab.lbolt("import endless --input-format msr -o run"));
    let says = || running_says(&lab, "still reading: ").then_some(());
    running.until("a word that it goes on", says);
    running.signal(rustix::process::Signal::INT);
    running.wait().assert_refused(130, &["interrupted"]);
    assert!(!lab.path("run").exists());
}

/// Whether the standard error of a command of the laboratory says something.
fn running_says(lab: &Lab, words: &str) -> bool {
    let entries = std::fs::read_dir(lab.path(".")).unwrap().filter_map(Result::ok);
    let errors = entries.filter(|e| e.file_name().to_string_lossy().ends_with(".err"));
    errors.filter_map(|e| std::fs::read_to_string(e.path()).ok()).any(|text| text.contains(words))
}

/// Whoever may write around a run's directory renames it, and puts a link in its place.
#[test]
fn a_run_is_written_where_it_was_begun_wherever_its_name_leads() {
    let lab = Lab::new();
    lab.file("trace.csv", lines(500));
    assert_eq!(lab.run("import trace.csv -o victim").code, 0);
    let files = || {
        let entries = std::fs::read_dir(lab.path("victim")).unwrap();
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = files();
    // What is imported goes on until the run has been moved away.
    let rest = "cat trace.csv; until [ -L run ]; do sleep 0.01; done; cat trace.csv";
    let _writer = fifo(&lab, "pipe", rest);
    let mut importing = lab.start(lab.lbolt("import pipe --input-format msr -o run"));
    importing.until("the run", || lab.path("run/run.json").exists().then_some(()));
    std::fs::rename(lab.path("run"), lab.path("away")).unwrap();
    std::os::unix::fs::symlink("victim", lab.path("run")).unwrap();
    let ended = importing.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(files() == before, "the other run is as it was");
    let shown = lab.run("response away");
    assert!(shown.out.contains("1000") || shown.out.contains("1,000"), "{}", shown.out);
}

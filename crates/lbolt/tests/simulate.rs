//! `lbolt simulate`, `lbolt throughput model:…` and `lbolt overhead model:…` from the command line:
//! what the models give, that they give it again, and what they refuse.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Report, golden};
use model::record::requests::RequestFile;
use model::record::{Op, Request};
use std::path::{Path, PathBuf};

/// A real trace; none, with a sentence, where it is absent.
fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if !path.exists() {
        println!("skipped: no {name}");
    }
    path.exists().then_some(path)
}

/// A closed trace in DiskSim's words: blocks of 4 KiB here and there.
fn closed(blocks: &[u64]) -> String {
    blocks.iter().map(|block| format!("R Hit {block} 8 5000.000000 10000.000000\n")).collect()
}

fn value(report: &Report, op: &str, quantity: &str) -> f64 {
    report.of(&[("op", op)], quantity)
}

const OF_ROWS: &[&str] =
    &["request_id", "op", "offset_bytes", "queued_ns", "issued_ns", "completed_ns"];

/// The requests of a run.
fn rows(run: &Path) -> Vec<Request> {
    let file = RequestFile::open(&run.join("requests.parquet")).unwrap();
    let mut reader = file.read(0..file.groups(), OF_ROWS).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        rows.extend(batch.rows());
    }
    rows
}

#[test]
fn models_are_listed_with_what_they_stand_for() {
    let lab = Lab::new();
    let listed = lab.run("simulate --list-models");
    assert_eq!(listed.code, 0, "{}", listed.err);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut names = Vec::new();
    for line in listed.out.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, kind, .., _] = words[..] else { panic!("{line}") };
        names.push(name.to_owned());
        // By its path it is the same model.
        if name == "atlas10k" {
            assert!(
                kind == "drive" && line.ends_with("Quantum Atlas 10K, 9.1 GB (1999)"),
                "{line}"
            );
            let path = root.join("crates/sim/profiles/drives/atlas10k.toml");
            let by_path = path.display().to_string();
            let shown = lab.run(&format!("simulate --show-model --model {by_path}"));
            let by_name = lab.run("simulate --show-model --model atlas10k");
            assert_eq!(shown.out, by_name.out);
        }
    }
    for wanted in [
        "hp-c2247a",
        "hp-c2490a",
        "hp-c3323a",
        "dec-rz26",
        "st41601n",
        "barracuda",
        "cheetah4lp",
        "cheetah9lp",
        "atlas-iii",
        "atlas10k",
        "ibm18es",
        "generic-7200rpm",
        "flash-nvme-2020",
        "flash-sata-2018",
        "flash-sata-2021",
        "eagle",
        "ra81",
        "hp-9000-845",
        "vax-11-750",
        "vax-11-780",
        "sc750",
        "sc780",
        "si9900",
        "uda50",
        "cray1-cos-dd19",
        "cray1-ctss-dd19",
        "cray1-alamos-dd19",
        "cdc7600-ltss-819",
    ] {
        assert!(names.iter().any(|name| name == wanted), "{wanted} is not listed");
    }
}

#[test]
fn every_number_of_a_model_is_shown_with_its_source() {
    let lab = Lab::new();
    let shown = lab.run("simulate --show-model --model vax780-sc780-eagle");
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(
        shown.out.contains("3961 rpm") && shown.out.contains("published: Kridle"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("fitted: "), "{}", shown.out);
}

#[test]
fn a_trace_comes_back_as_requests_that_can_be_analysed() {
    let lab = Lab::new();
    let blocks: Vec<u64> = (0..200).map(|n| n * 7919 % 100_000 * 8).collect();
    lab.file("t.trace", closed(&blocks));
    let report = lab.measure("simulate t.trace --model hp-c2490a -o one");
    assert_eq!(value(&report, "all", "simulated_count"), 200.0);
    assert!(value(&report, "all", "simulated_mean_ns") > 1e6);
    assert!(value(&report, "all", "demerit_ns") > 0.0);
    let analysed = lab.run("response one");
    assert_eq!(analysed.code, 0, "{}", analysed.err);
    // Closed: what is faster comes sooner, and nothing waits for another.
    let fast = lab.measure("simulate t.trace --model atlas10k -o two");
    assert!(value(&fast, "all", "simulated_mean_ns") < value(&report, "all", "simulated_mean_ns"));
    assert_eq!(report.of(&[], "simulated_queue_max"), 1.0);
    // Their traces are compared as those of captures are: by stretches.
    let compared = lab.run("compare one two --format csv --metric response_mean");
    assert!(compared.out.contains(",better,"), "{} {}", compared.out, compared.err);
}

#[test]
fn the_first_screen_says_how_well_the_model_agrees_and_which_variant_is_better() {
    let lab = Lab::new();
    let blocks: Vec<u64> = (0..200).map(|n| n * 7919 % 100_000 * 8).collect();
    lab.file("t.trace", closed(&blocks));
    let screen = |words: &str, name: &str| {
        let text = lab.run(&format!("simulate t.trace --model atlas10k {words}")).out;
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        golden(name, &text);
    };
    screen("-o one", "simulate.txt");
    let many = "--set drive.rotation.speed=10025rpm;7200rpm --set queue.policy=fifo;sstf";
    screen(&format!("{many} -o two"), "simulate-variants.txt");
    let all = lab.run(&format!("simulate t.trace --model atlas10k {many} --all -o three")).out;
    assert!(all.starts_with("A trace on 4 variants") && all.contains("max"), "{all}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_alone_or_among_variants() {
    let lab = Lab::new();
    let blocks: Vec<u64> = (0..300).map(|n| n * 104_729 % 200_000 * 8).collect();
    lab.file("t.trace", closed(&blocks));
    let run = |out: &str, more: &str| {
        let words = format!("simulate t.trace --model atlas10k --format csv -o {out} {more}");
        let ended = lab.run(&words);
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.out
    };
    let once = run("a", "");
    assert_eq!(once, run("b", ""));
    assert_eq!(rows(&lab.path("a")), rows(&lab.path("b")));
    assert_eq!(rows(&lab.path("a")).len(), 300);
    let many =
        "--set drive.rotation.speed=10025rpm;7200rpm;5400rpm;3600rpm --set queue.policy=fifo;sstf";
    let all = run("c", many);
    assert_eq!(all, run("d", many));
    let means = |text: &str| -> Vec<String> {
        let means = text.lines().filter(|l| l.contains("simulated_mean_ns") && l.contains("all"));
        means.map(|line| line.split("simulated_mean_ns,").nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(means(&all).len(), 8);
    assert_eq!(means(&all)[0], means(&once)[0], "the first variant is the model as it stands");
    assert!(means(&all)[2] != means(&all)[0]);
}

#[test]
fn the_throughput_room_runs_on_a_modelled_vax() {
    let lab = Lab::new();
    let words =
        "throughput model:vax780-sc780-eagle,block=8k,block=4k,drives=1,drives=2 --as-published";
    let report = lab.measure(words);
    let rate = |target: &str, drives: &str, program: &str| {
        let keys = [("target", target), ("drives", drives), ("program", program)];
        report.of(&keys, "rate_bytes_per_s") / 1024.0
    };
    let (eight, four) = ("vax780-sc780-eagle:8k", "vax780-sc780-eagle:4k");
    // The paper's own observations: two drives are slower than one, and small blocks slower than
    // large ones.
    assert!(rate(eight, "2", "rewrite_8192") < 0.9 * rate(eight, "1", "rewrite_8192"));
    assert!(rate(four, "1", "read_8192") < rate(eight, "1", "read_8192"));
    // Writing files anew keeps the processor busy.
    let keys = [("target", eight), ("drives", "1"), ("program", "write_8192")];
    assert!(report.of(&keys, "cpu_percent") > 90.0);
    let text = lab.run(&format!("{words} --all -o details")).out;
    assert!(text.contains("rate with the span") && text.contains("± half the span"), "{text}");
    let again = lab.measure(words);
    assert_eq!(
        rate(eight, "2", "read_8192"),
        again.of(
            &[("target", eight), ("drives", "2"), ("program", "read_8192")],
            "rate_bytes_per_s"
        ) / 1024.0
    );
}

#[test]
fn the_overhead_room_gives_a_modelled_crays_parameters_back() {
    let lab = Lab::new();
    let report =
        lab.measure("overhead model:cray1-cos-dd19 --rw read --runs 1 --warmup 0 --runtime 2s");
    let of = |quantity: &str| report.of(&[("engine", "sync"), ("account", "thread")], quantity);
    assert!((of("t_call_ns") - 480e3).abs() < 1e3, "{}", of("t_call_ns"));
}

/// How long CTSS takes to wake a program is known to lie between 290 us and 16 ms; of COS nothing
/// is uncertain.
#[test]
fn the_overhead_rooms_findings_span_a_models_uncertain_numbers() {
    let lab = Lab::new();
    let words = "--rw read --ioengine sync --bs 4k --runs 2 --warmup 0 --runtime 2s";
    for (model, is_uncertain) in [("cray1-ctss-dd19", true), ("cray1-cos-dd19", false)] {
        let report = lab.measure(&format!("overhead model:{model} {words}"));
        let found = report.findings();
        let found = found.iter().find(|f| f["quantity"] == "routine_bytes_per_s").unwrap();
        let [low, value, high] = ["low", "value", "high"].map(|key| found[key].as_f64());
        let is_drawn = found["interval"] == "parameters";
        assert_eq!(is_drawn, is_uncertain, "{model}: {found}");
        if is_uncertain {
            assert!(low < high && low <= value && value <= high, "{model}: {found}");
        }
    }
    // What stands behind ± is told with the table.
    let words = "--rw read --ioengine sync --bs 4k,16k,64k --runs 2 --warmup 0 --runtime 2s";
    let of_ctss = lab.run(&format!("overhead model:cray1-ctss-dd19 {words} -o ctss")).out;
    assert!(of_ctss.contains("± half the span over samples"), "{of_ctss}");
    let of_cos = lab.run(&format!("overhead model:cray1-cos-dd19 {words} -o cos")).out;
    assert!(of_cos.contains("± half the 95 % interval"), "{of_cos}");
}

#[test]
fn what_cannot_be_is_refused_with_file_key_and_reason() {
    let lab = Lab::new();
    lab.file("t.trace", closed(&[0, 8]));
    lab.file("far.trace", closed(&[1 << 40]));
    let eagle = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/profiles/drives/eagle.toml"),
    );
    let eagle = eagle.unwrap();
    let atlas = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/profiles/drives/atlas10k.toml"),
    );
    let atlas = atlas.unwrap();
    lab.file("still.toml", eagle.replace("3961 rpm", "0 rpm"));
    lab.file("falls.toml", eagle.replace("\"18 ms\"", "\"4 ms\""));
    lab.file("bare.toml", eagle.replace("\"3961 rpm\"", "3961"));
    lab.file("typo.toml", eagle.replace("heads =", "haeds ="));
    lab.file("more.toml", eagle.replace("heads =", "colour = 3\nheads ="));
    lab.file("nobody.toml", eagle.replace("published =", "# published ="));
    lab.file("overlap.toml", atlas.replace("[433, 848,", "[400, 848,"));
    lab.file("bad.toml", "kind = [");
    for (words, sentences) in [
        ("--model still.toml", ["still.toml: drive.rotation.speed", "above zero"]),
        ("--model falls.toml", ["falls.toml: drive.seek", "falls"]),
        ("--model bare.toml", ["bare.toml: drive.rotation.speed", "unit"]),
        (
            "--model typo.toml",
            ["typo.toml: drive.layout.heads: is missing", "mean \"drive.layout.haeds\"?"],
        ),
        ("--model more.toml", ["more.toml: drive.layout.colour", "unknown key"]),
        ("--model nobody.toml", ["nobody.toml: drive.", "no source"]),
        ("--model overlap.toml", ["overlap.toml: drive.layout.zones", "433"]),
        ("--model bad.toml", ["bad.toml: line 1", "failed to load the model"]),
        ("--model none.toml", ["none.toml", "No such file"]),
        ("--model atlas10", ["did you mean \"atlas", "--list-models"]),
        (
            "--model atlas10k --set drive.rotation.sped=1rpm",
            ["drive.rotation.sped", "drive.rotation.speed"],
        ),
        (
            "--model atlas10k --set drive.rotation.speed=fast",
            ["--set: drive.rotation.speed", "is not a speed"],
        ),
        ("--model atlas10k --set queue.policy=fastest", ["queue.policy", "known are"]),
        ("--model atlas10k --set queue.policy", ["KEY=VALUE", "queue.policy"]),
        ("--model vax-11-780", ["vax-11-780", "trace"]),
        (
            "--model hp-9000-845 --set bus.rate=10kB/s",
            ["--set: bus.rate", "slower than the drive can wait"],
        ),
    ] {
        let ended = lab.run(&format!("simulate t.trace -o out {words}"));
        assert_eq!(ended.code, 2, "{words}: {}", ended.err);
        for sentence in sentences {
            assert!(ended.err.contains(sentence), "{words}: {sentence}: {}", ended.err);
        }
        assert!(!lab.path("out").exists(), "{words} left a run");
    }
    let far = lab.run("simulate far.trace --model atlas10k -o out");
    let words = "failed to simulate device 0: request 0 ends at byte";
    assert!(far.code == 2 && far.err.contains(words), "{}", far.err);
    let drive = lab.run("throughput model:eagle -o out");
    assert!(drive.code == 2 && drive.err.contains("lbolt simulate replays"), "{}", drive.err);
    let trace = lab.run("throughput model:vax780-sc780-eagle --trace -o out");
    assert!(trace.code == 2 && trace.err.contains("lbolt simulate"), "{}", trace.err);
    lab.assert_clean();
}

/// Writes, each of which is made durable, and reads beside them.
fn synced() -> String {
    let commit = |n: u64| {
        let (at_us, place) = (n * 50_000, n * 7919 % 100_000 * 4096);
        let write = format!("{at_us} /dev/x write {place} 4096\n");
        let sync = format!("{} /dev/x sync 0 0\n", at_us + 1000);
        write + &sync + &format!("{} /dev/x read {} 4096\n", at_us + 2000, place + 40_960_000)
    };
    let commits: String = (0..100).map(commit).collect();
    format!("fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n{commits}")
}

#[test]
fn flushes_are_requests_of_a_drive_as_reads_and_writes_are() {
    let lab = Lab::new();
    lab.file("t.log", synced());
    let mut means = Vec::new();
    for model in ["flash-sata-2018", "flash-sata-2021", "generic-7200rpm"] {
        let report = lab.measure(&format!("simulate t.log --model {model} -o {model}"));
        for op in ["read", "write", "flush"] {
            assert_eq!(value(&report, op, "simulated_count"), 100.0, "{model} {op}");
        }
        let flushes = rows(&lab.path(model));
        let flushes: Vec<_> = flushes.iter().filter(|row| row.op == Op::Flush).collect();
        assert_eq!(flushes.len(), 100);
        assert!(flushes.iter().all(|row| row.completed_ns > row.queued_ns), "{model}");
        means.push(value(&report, "flush", "simulated_mean_ns"));
        let screen = lab.run(&format!("simulate t.log --model {model} -o {model}-again"));
        assert_eq!(screen.code, 0, "{}", screen.err);
        assert!(screen.out.contains("flush") && !screen.err.contains("left out"), "{}", screen.out);
        assert_eq!(rows(&lab.path(model)), rows(&lab.path(&format!("{model}-again"))));
    }
    // A protected buffer, a volatile one, and a platter.
    let is_rising = means[0] < 1e5 && means[1] > 3e6 && means[2] > 3e6;
    assert!(is_rising && means[1] < 5e6, "{means:?}");
}

/// A read of nothing, which took nine seconds.
const WITH_NOTHING: &str = "128166372003061629,host,0,Read,1048576,4096,10000
128166372013061629,host,0,Read,2097152,4096,10000
128166372023061629,host,0,Read,3145728,0,90000000
128166372123061629,host,0,Write,4194304,4096,10000
";

#[test]
fn what_no_drive_serves_is_neither_compared_nor_passed_over_in_silence() {
    let lab = Lab::new();
    std::fs::write(lab.path("t.csv"), WITH_NOTHING).unwrap();
    let report = lab.measure("simulate t.csv --input-format msr --model atlas10k -o out");
    assert_eq!(value(&report, "read", "simulated_count"), 2.0);
    assert_eq!(value(&report, "read", "measured_mean_ns"), 1e6);
    let ended = lab.run("simulate t.csv --input-format msr --model atlas10k -o again");
    assert!(ended.err.contains("1 of 4 rows are not for a drive to serve"), "{}", ended.err);
    for set in ["drive.rotation.speed=;", "a=1;2"] {
        let refused = lab.run(&format!("simulate t.csv --model atlas10k -o bad --set {set}"));
        assert!(refused.code == 2 && !lab.path("bad").exists(), "{}", refused.err);
    }
}

#[test]
fn real_drives_are_within_a_quarter_of_disksims_own_demerit() {
    // What DiskSim 4.0 itself reaches on each, ms.
    for (model, trace, disksim_ms) in [
        ("hp-c2490a", "hp_c2490a", 0.254),
        ("dec-rz26", "dec_rz26", 0.340),
        ("barracuda", "barracuda", 0.349),
        ("cheetah9lp", "cheetah9LP", 0.107),
        ("atlas10k", "atlas10k", 0.268),
    ] {
        let Some(trace) = data(&format!("disks/{trace}.trace")) else { return };
        let lab = Lab::new();
        let report = lab.measure(&format!("simulate {} --model {model} -o out", trace.display()));
        let demerit_ms = value(&report, "all", "demerit_ns") / 1e6;
        println!("{model}: {demerit_ms:.3} ms, DiskSim {disksim_ms} ms");
        assert!(demerit_ms <= 1.25 * disksim_ms, "{model}: {demerit_ms} ms");
    }
}

#[test]
fn a_week_of_a_workstation_is_near_what_was_measured() {
    let Some(trace) = data("hplajw/ajw.1week.srt") else { return };
    let lab = Lab::new();
    let report = lab.measure(&format!("simulate {} --model hp-9000-845 -o out", trace.display()));
    let of = |op: &str, quantity: &str| report.of(&[("device", "0"), ("op", op)], quantity);
    assert!(of("all", "service_demerit_percent") <= 10.0);
    let error = of("read", "simulated_mean_ns") / of("read", "measured_mean_ns") - 1.0;
    assert!(error.abs() <= 0.2, "reads: {error}");
}

//! The battery and the workload options on a directory: what is measured agrees with itself, is
//! kept, and is printed in each format; and no scratch file stays.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, QUICK, reason};
use model::engine::{EngineFacts, EngineKind};
use model::record::{Cold, Role, Sample, Verdict, quantity};
use model::seam::Operation;
use report::doubt::sentences;

const MIB: u64 = 1 << 20;

fn kept(samples: &[Sample]) -> impl Iterator<Item = &Sample> {
    samples.iter().filter(|s| s.role == Role::Kept)
}

/// Whether the kernel counts bytes at a device beneath the laboratory.
fn has_device(lab: &Lab) -> bool {
    let found = host::device::Tree::system().device_of_path(&lab.path("d")).unwrap().is_some();
    if !found {
        println!("skipped: needs a block device beneath {}", lab.path("d").display());
    }
    found
}

/// The disk's counters count others' reads too, which may just then hide the cache: try again.
fn assert_doubted_as_cached(lab: &Lab, words: &str, program: &str) {
    let reason = (0..5).find_map(|_| {
        let report = lab.measure(words);
        let rate = report.finding(program, "rate_bytes_per_s").unwrap();
        let reason = reason(rate);
        let is_doubted = reason.contains("page cache served the rest");
        (is_doubted && rate["verdict"] == "suspect").then_some(reason)
    });
    assert!(reason.is_some(), "{words}: the page cache was not noticed");
}

#[test]
fn the_battery_agrees_with_itself_in_findings_and_samples() {
    let lab = Lab::new();
    let report = lab.measure("throughput d --size 4m --runs 2 --warmup 1");
    assert_eq!(report.0["schema"], "lbolt.findings/2");
    assert_eq!(report.0["run"]["state"], "finished");
    let programs: Vec<_> = report.cells().into_iter().map(|(_, program, _)| program).collect();
    assert_eq!(programs, ["write_4096", "write_8192", "read_8192", "rewrite_8192"]);
    for finding in report.findings() {
        let name = finding["quantity"].as_str().unwrap();
        let known = quantity(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        assert_eq!(finding["unit"], known.unit, "{name}");
        let keys: Vec<_> = finding["subject"].as_object().unwrap().keys().collect();
        assert!(known.subjects.iter().any(|subject| keys == *subject), "{name}");
        assert!(finding["value"].as_f64().is_some_and(f64::is_finite), "{finding}");
    }

    let samples = lab.samples();
    assert_eq!(samples.len(), 4 * 3 + 8, "passes of programs and ceilings");
    for sample in &samples {
        assert_eq!(sample.verdict == Verdict::Ok, sample.doubts.is_empty(), "{sample:?}");
        let histogram = sample.latency().unwrap();
        assert_eq!(histogram.count(), sample.operations, "{}", sample.program);
        assert_eq!(sample.operations * sample.block_bytes, sample.bytes);
        assert!(sample.latency_sum_ns <= sample.wall_ns * sample.depth, "{}", sample.program);
    }
    for program in programs {
        let passes: Vec<_> = kept(&samples).filter(|s| s.program == program).collect();
        assert_eq!(passes.iter().map(|s| s.bytes).collect::<Vec<_>>(), [4 * MIB; 2]);
        let rates = passes.iter().map(|s| s.bytes as f64 / (s.wall_ns as f64 / 1e9));
        let mean = rates.sum::<f64>() / 2.0;
        let rate = report.value(&program, "rate_bytes_per_s");
        assert!((rate / mean - 1.0).abs() < 1e-9, "{program}: {rate} {mean}");
        let share = 100.0 * rate / report.value(&program, "ceiling_bytes_per_s");
        assert!((report.value(&program, "ceiling_percent") / share - 1.0).abs() < 1e-9);
        let writes = program != "read_8192";
        assert_eq!(report.finding(&program, "sync_percent").is_some(), writes, "{program}");
    }
    lab.assert_clean();
}

#[test]
fn only_the_result_is_on_standard_output() {
    let lab = Lab::new();
    let words = format!("throughput d --rw read,rewrite {QUICK} --format");
    let csv = lab.run(&format!("{words} csv"));
    assert_eq!(csv.code, 0, "{}", csv.err);
    let head = "drives,program,run,target,quantity,value,unit,low,high,interval,count,method,\
        verdict,doubts";
    assert_eq!(csv.out.lines().next().unwrap(), head);
    assert!(csv.out.contains("\n1,read_4k,,d,rate_bytes_per_s,"), "{}", csv.out);
    assert!(csv.err.contains("records: runs/"), "{}", csv.err);

    let markdown = lab.run(&format!("{words} markdown"));
    assert_eq!(markdown.code, 0, "{}", markdown.err);
    for program in ["read\\_4k", "rewrite\\_4k"] {
        let is_row = |line: &str| line.starts_with(&format!("| {program} |"));
        assert!(markdown.out.lines().any(is_row), "{}", markdown.out);
    }
    let screen = lab.run(&format!("{words} table"));
    assert!(screen.out.contains("; one pass each: not ranked."), "{}", screen.out);
    assert!(!screen.out.contains("records:"));
    let table = lab.run(&format!("{words} table --all"));
    assert!(table.out.starts_with("Throughput in "), "{}", table.out);
    assert!(!table.out.contains("records:") && !table.out.contains("programs ×"));
    lab.assert_clean();
}

/// Each engine reads and overwrites a file; what a file system or device refuses is the only
/// thing that may be missing.
#[test]
fn every_engine_measures_or_says_what_is_not_served() {
    use model::engine::ENGINES;
    let lab = Lab::new();
    let engines = || ENGINES.iter().filter(|e| e.kind.serves(Operation::Read));
    let of = |engine: &EngineFacts| {
        let (name, direct) = (engine.name, engine.not_buffered.is_some());
        let depth = if engine.overlaps { 4 } else { 1 };
        format!(
            "[[program]]\nname = \"{name}\"\nrw = \"randrw\"\nfsync = 64\niodepth = {depth}\n\
             direct = {direct}\nioengine = \"{name}\"\n"
        )
    };
    lab.file("programs.toml", engines().map(of).collect::<String>());
    lab.measure(&format!("throughput d --programs programs.toml {QUICK}"));
    let samples = lab.samples();
    for engine in engines() {
        let sample = kept(&samples).find(|s| s.program == engine.name).unwrap();
        assert_eq!(sample.engine, engine.kind);
        let reason = sentences(&sample.doubts);
        let is_refused = reason.contains(engine.unsupported);
        assert!(is_refused || sample.bytes == 4 * MIB, "{}: {reason}", engine.name);
    }
    lab.assert_clean();
}

#[test]
fn lists_of_options_make_a_matrix() {
    let lab = Lab::new();
    let report = lab
        .measure(&format!("throughput d --rw read,randwrite --bs 4k,16KiB --iodepth 1,4 {QUICK}"));
    let rows: Vec<_> = report.cells().into_iter().map(|(_, program, _)| program).collect();
    let expected = ["read_4k", "read_4k_iodepth4", "read_16k", "read_16k_iodepth4"];
    assert_eq!(rows[..4], expected);
    assert_eq!(rows[4..], expected.map(|row| row.replace("read", "randwrite")));
    let samples = lab.samples();
    let of = |s: &Sample| (s.block_bytes, s.depth, s.engine, s.bytes);
    let found: Vec<_> = samples.iter().map(of).collect();
    let row = |bs, depth, engine| (bs, depth, engine, 4 * MIB);
    let expected = [
        row(4096, 1, EngineKind::Psync),
        row(4096, 4, EngineKind::IoUring),
        row(16384, 1, EngineKind::Psync),
        row(16384, 4, EngineKind::IoUring),
    ];
    assert_eq!(found[..4], expected);
    assert_eq!(found[4..], expected);
    lab.assert_clean();
}

#[test]
fn jobs_move_a_file_each() {
    let lab = Lab::new();
    lab.measure(&format!("throughput d --rw write,read --numjobs 2 {QUICK}"));
    for sample in lab.samples() {
        assert!(sample.program.ends_with("_numjobs2"), "{}", sample.program);
        assert_eq!((sample.jobs, sample.bytes, sample.file_bytes), (2, 8 * MIB, 4 * MIB));
    }
    lab.assert_clean();
}

#[test]
fn an_open_loop_keeps_its_schedule_and_counts_the_wait() {
    let lab = Lab::new();
    let report = lab.measure(&format!(
        "throughput d --rw randread --rate_iops 500 --runtime 1s --time_based {QUICK}"
    ));
    let sample = &lab.samples()[0];
    assert_eq!(sample.rate_requested_iops, Some(500.0));
    // A machine that cannot keep up says so, and ends all the same.
    let reason = sentences(&sample.doubts);
    let is_reached = (480..=502).contains(&sample.operations);
    assert!(
        is_reached || sample.operations <= 502 && reason.contains("cannot keep up"),
        "{}: {reason}",
        sample.operations
    );
    assert!(sample.service_sum_ns <= sample.latency_sum_ns, "{sample:?}");
    assert!(sample.service_max_ns <= sample.latency_max_ns, "{sample:?}");
    assert_eq!(sample.service().unwrap().count(), sample.operations);
    for quantile in ["p50", "p99"] {
        let of = |what: &str| report.value("randread_4k", &format!("{what}_{quantile}_ns"));
        assert!(of("service") <= of("latency"));
    }
    lab.assert_clean();
}

#[test]
fn direct_requests_pass_the_cache_and_cached_ones_are_distinguished() {
    let lab = Lab::new();
    if !has_device(&lab) {
        return;
    }
    // Buffered reads of a file that was just laid out, with caches left as they are.
    let words = format!("throughput d --rw read --no-cold {QUICK}");
    assert_doubted_as_cached(&lab, &words, "read_4k");
    let cached = lab.measure(&words.replace("--no-cold", ""));
    assert!(cached.value("read_4k", "device_bytes_ratio") >= 0.98, "cold reads reach the device");

    let words = format!("throughput d --rw read --no-cold --direct {QUICK}");
    let direct = lab.measure(&words);
    assert!(direct.value("read_4k_direct", "device_bytes_ratio") >= 0.98);

    // The devices are found from the absolute path too.
    let absolute = words.replace(" d ", &format!(" {} ", lab.path("d").display()));
    assert!(lab.measure(&absolute).value("read_4k_direct", "device_bytes_ratio") >= 0.98);
    lab.assert_clean();
}

/// The latency of a sync is a row of its own, and not that of the write before it.
#[test]
fn syncs_between_writes_have_their_latencies() {
    let words = "--rw write --bs 4k --size 256k --runs 2 --warmup 0 --no-ceiling --no-sync";
    for option in ["fsync", "fdatasync"] {
        let lab = Lab::new();
        let report = lab.measure(&format!("throughput d {words} --{option} 1"));
        let cell = format!("write_4k_{option}1");
        let count = report.finding(&cell, "sync_latency_p99_ns").unwrap()["count"].as_u64();
        assert_eq!(count, Some(2 * 64), "one after each write");
        let of = |figure: &str| report.value(&cell, &format!("sync_latency_{figure}_ns"));
        assert!(of("p50") <= of("p99") && of("p99") <= of("max") * 1.01);
        for sample in lab.samples().iter().filter(|sample| sample.program == cell) {
            let syncs = sample.sync_latency().unwrap();
            assert_eq!((syncs.count(), syncs.sum_ns()), (64, sample.sync_ns));
            assert!(syncs.sum_ns() + sample.latency_sum_ns <= sample.wall_ns, "{sample:?}");
        }
        let screen = lab.run(&format!("throughput d {words} --{option} 1"));
        assert!(screen.out.contains("p99 sync latency is "), "{}", screen.out);
        lab.assert_clean();
    }
}

#[test]
fn without_fdatasync_no_time_is_spent_in_it() {
    let lab = Lab::new();
    let report = lab.measure(&format!("throughput d --rw write --no-sync {QUICK}"));
    assert!(report.finding("write_4k", "sync_percent").is_none());
    assert_eq!(lab.samples()[0].sync_ns, 0);
    lab.assert_clean();
}

#[test]
fn the_papers_own_procedure_is_followed_and_doubted() {
    let lab = Lab::new();
    let words = "throughput d --as-published --size 4m --no-ceiling";
    lab.measure(words);
    let samples = lab.samples();
    for program in ["write_4096", "write_8192", "read_8192", "rewrite_8192"] {
        let roles: Vec<_> =
            samples.iter().filter(|s| s.program == program).map(|s| s.role.name()).collect();
        assert_eq!(roles, ["warm", "kept", "kept"], "{program}");
    }
    assert!(samples.iter().all(|s| s.cold == Cold::No && s.sync_ns == 0));
    if !has_device(&lab) {
        return;
    }
    assert_doubted_as_cached(&lab, words, "read_8192");
    lab.assert_clean();
}

#[test]
fn passes_that_are_not_steady_have_their_exit_code() {
    let lab = Lab::new();
    let words = "throughput d --rw read --size 4m --runs 3 --warmup 0 --no-ceiling --format json";
    let ended = lab.run(&format!("{words} --steady=0.0001"));
    // A spread, or a drift where the three passes happen to lie on a line.
    ended.assert_refused(5, &["not steady", "read_4k on d"]);
    assert!(ended.report().value("read_4k", "rate_spread_percent") > 0.0001);
    assert_eq!(lab.run(&format!("{words} --steady=100000")).code, 0);
    lab.assert_clean();
}

#[test]
fn programs_of_ones_own_run_in_the_order_of_the_file() {
    let lab = Lab::new();
    lab.file(
        "mine.toml",
        "rows = [\"second\", \"first\"]\n\
         [[program]]\nname = \"first\"\nrw = \"write\"\nbs = \"64k\"\nsize = \"2m\"\n\
         [[program]]\nname = \"second\"\nrw = \"randread\"\nbs = 8192\n",
    );
    let report = lab.measure(&format!("throughput d --programs mine.toml {QUICK}"));
    let rows: Vec<_> = report.cells().into_iter().map(|(_, program, _)| program).collect();
    assert_eq!(rows, ["first", "second"]);
    assert_eq!(report.0["run"]["rows"], serde_json::json!(["second", "first"]));
    let bytes: Vec<_> = lab.samples().iter().map(|s| (s.block_bytes, s.bytes)).collect();
    assert_eq!(bytes, [(65536, 2 * MIB), (8192, 4 * MIB)]);
    lab.assert_clean();
}

#[test]
fn a_dry_run_prints_the_plan_and_makes_nothing() {
    let lab = Lab::new();
    let words = "throughput d fresh:ext4,drives=2,size=64m --rw read --bs 4KiB,4000 --dry-run";
    let ended = lab.run(words);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let plan: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(plan["programs"][0]["bs"], "4k");
    assert_eq!(plan["programs"][1]["bs"], "4000");
    assert_eq!(plan["systems"][1]["target"], "fresh:ext4,block=4k,drives=2,size=64m");
    assert_eq!(plan["systems"][1]["image_bytes"], 64 * MIB);
    assert_eq!((&plan["runs"], &plan["cold"]), (&5.into(), &true.into()));
    let until = serde_json::json!({"precision_percent": 10.0, "max_time_s": 60.0, "fewest": 5});
    assert_eq!(plan["until"], until);
    assert!(plan["systems"][0]["places"][0]["mount_options"].is_string(), "{plan}");
    assert!(lab.runs().is_empty());

    let ended = lab.run("survey d --size 4m --dry-run");
    let plan: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let columns: Vec<_> =
        plan["systems"].as_array().unwrap().iter().map(|s| s["column"].clone()).collect();
    assert_eq!(columns, ["ext4:4k", "xfs:4k", "d"]);
    let files = &plan["volumes"][0]["files"];
    assert_eq!(files["file_bytes"], 4 * MIB);
    assert_eq!(files["until"]["max_time_s"], 5.0);
    assert!(lab.runs().is_empty());
    lab.assert_clean();
}

/// Passes go on while the rate is not known, and what is still wide in the end is shown so: it is
/// imprecise, and not suspect.
#[test]
fn passes_go_on_until_the_rate_is_narrow_or_the_time_is_over() {
    let lab = Lab::new();
    let words = "throughput d --rw read --size 4m --warmup 0 --no-ceiling --format json";
    let ended = lab.run(&format!("{words} --precision 0.001 --max-time 400ms"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("until the rate is known to ±0.001 % or 0.4 s are over"));
    let report = ended.report();
    let rate = report.finding("read_4k", "rate_bytes_per_s").unwrap().clone();
    let count = rate["count"].as_u64().unwrap();
    assert_eq!(count, lab.samples().len() as u64);
    assert!((5..=100).contains(&count), "{count}");
    assert!(!reason(&rate).contains("not a number"), "{rate}");
    let [low, value, high] = ["low", "value", "high"].map(|of| rate[of].as_f64().unwrap());
    assert!(low < value && value < high, "{rate}");
    let _ = std::fs::remove_dir_all(lab.path("runs"));
    // Any interval is narrow enough: the least number of passes.
    let ended = lab.run(&format!("{words} --precision 1000000"));
    assert_eq!((ended.code, lab.samples().len()), (0, 5));
    let rate = ended.report().finding("read_4k", "rate_bytes_per_s").unwrap().clone();
    assert!(!reason(&rate).contains("not a number"), "{rate}");
    lab.assert_clean();
}

/// A number of passes and a time, whichever comes first; one pass there is in any case.
#[test]
fn runs_end_with_their_number_or_their_time() {
    let lab = Lab::new();
    let words = "throughput d --rw read --size 4m --warmup 0 --no-ceiling";
    for (more, passes) in [("--runs 3 --max-time 1h", 3), ("--runs 3 --max-time 1ns", 1)] {
        let ended = lab.run(&format!("{words} {more} -o r"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(ended.err.contains("1 program × 1 system ("), "{}", ended.err);
        assert!(ended.err.contains("0 + 3 passes each, fewer if"), "{}", ended.err);
        assert_eq!(lab.samples_of("r").len(), passes, "{more}");
        std::fs::remove_dir_all(lab.path("r")).unwrap();
    }
    let plan = lab.run("survey d --size 4m --runs 2 --max-time 9s --dry-run");
    let plan: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
    let volume = &plan["volumes"][0];
    let until = serde_json::json!({"max_time_s": 9.0, "fewest": 2});
    assert_eq!((&volume["files"]["runs"], &volume["files"]["until"]), (&2.into(), &until));
    assert_eq!((&volume["sync"]["runs"], volume["sync"].get("until")), (&2.into(), None));
    lab.assert_clean();
}

/// Ending by a narrow interval makes it narrow by luck a little too often: what is left of its 95
/// %.
#[test]
fn the_interval_covers_the_truth_when_it_ended_the_passes() {
    use experiment::until::{Passes, Until};
    const RUNS: u32 = 1500;
    let half_percent = analyze::statistics::half_percent;
    let until =
        Until { precision_percent: Some(10.0), max_time_ns: u64::MAX, fewest: 5, half_percent };
    // splitmix64 (Steele, Lea & Flood 2014), and normal numbers by Box & Muller (1958).
    let mut state = 1983u64;
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + f64::EPSILON
    };
    let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    let (mut covered, mut all) = (0, 0);
    for noise in [0.02, 0.05, 0.1, 0.15, 0.2, 0.3] {
        let (mut of_noise, mut passes_of_noise) = (0, 0);
        for _ in 0..RUNS {
            let mut passes = Passes::new(5, Some(until), 0);
            let mut rates = vec![];
            while passes.goes_on(0) {
                rates.push(1.0 + noise * normal());
                passes.add(rates[rates.len() - 1]);
            }
            let (low, high) = analyze::statistics::estimate(&rates).unwrap().interval.unwrap();
            of_noise += u32::from((low..=high).contains(&1.0));
            passes_of_noise += rates.len();
        }
        let share = f64::from(of_noise) / f64::from(RUNS);
        let mean = passes_of_noise as f64 / f64::from(RUNS);
        println!("noise {noise}: {mean:.1} passes, {:.1} % covered", 100.0 * share);
        // Three standard errors below 93 %, the worst that longer simulations show.
        assert!(share >= 0.93 - 3.0 * (0.93 * 0.07 / f64::from(RUNS)).sqrt(), "{noise}: {share}");
        covered += of_noise;
        all += RUNS;
    }
    let share = f64::from(covered) / f64::from(all);
    assert!(share >= 0.93, "{share}");
}

/// On a device of our own nobody else reads or writes, so that its counters tell the mix.
#[test]
fn root_a_mix_has_its_share_of_reads_and_its_seed_decides_which() {
    let lab = Lab::new();
    let Some(device) = Loop::new(&lab, "image") else { return };
    let words = format!(
        "throughput {0} --destroy {0} --rw randrw --rwmixread 70 --direct --size 8m --runs 1 \
         --warmup 0 --no-ceiling --format json",
        device.node
    );
    let mut reads = |seed: u32| {
        let _ = std::fs::remove_dir_all(lab.path("runs"));
        let ended = lab.run(&format!("{words} --seed {seed}"));
        assert_eq!(ended.code, 0, "{}", ended.err);
        let sample = lab.samples().remove(0);
        let (read, written) =
            (sample.device_read_bytes.unwrap(), sample.device_write_bytes.unwrap());
        assert_eq!(sample.bytes, 8 * MIB);
        assert_eq!(read + written, 8 * MIB, "each block once, past the cache");
        read / 4096
    };
    let first = reads(1);
    // Of 2048 requests; four standard deviations are 83.
    assert!((1350..1517).contains(&first), "{first}");
    assert_eq!(reads(1), first);
    let others: Vec<_> = (2..5).map(&mut reads).collect();
    assert!(others.iter().any(|other| *other != first), "{others:?}");
    drop(device);
    lab.assert_clean();
}

/// In virtual time and on this machine.
#[test]
fn the_seconds_of_a_pass_add_up_to_its_bytes() {
    for words in [
        "throughput model:vax780-uda50-ra81 --size 2m --runs 2",
        "throughput d --rw randread --bs 4k --size 4m --numjobs 2 --ioengine null --runtime 1200ms \
         --time_based --runs 1 --warmup 0",
    ] {
        let lab = Lab::new();
        let report = lab.measure(words);
        let mut bytes = 0;
        for sample in kept(&lab.samples()) {
            assert_eq!(sample.span_ns, 1_000_000_000);
            assert_eq!(sample.span_bytes.iter().sum::<u64>(), sample.bytes, "{words}");
            assert_eq!(sample.span_operations.iter().sum::<u64>(), sample.operations, "{words}");
            assert_eq!(sample.span_bytes.len() as u64, sample.wall_ns.div_ceil(sample.span_ns));
            bytes += sample.bytes;
        }
        let cells = report.0["cells"].as_array().unwrap();
        let passes = || cells.iter().flat_map(|cell| cell["passes"].as_array().unwrap());
        let numbers = |list: &serde_json::Value| -> Vec<f64> {
            list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
        };
        let told: f64 = passes().flat_map(|pass| numbers(&pass["bytes"])).sum();
        assert!(told == bytes as f64 && bytes > 0, "{told} {bytes}");
        assert!(passes().any(|pass| pass["bytes"].as_array().unwrap().len() > 1), "{words}");
        for pass in passes() {
            let (rates, bytes) = (numbers(&pass["rate_bytes_per_s"]), numbers(&pass["bytes"]));
            assert_eq!(rates.len(), bytes.len());
            // The last second is over earlier, and its rate is of the time that it lasts.
            let last = bytes.len() - 1;
            assert!(rates[..last] == bytes[..last] && rates[last] >= bytes[last], "{pass}");
        }
    }
}

#[test]
fn a_job_file_of_fios_is_refused_with_what_to_do() {
    let lab = Lab::new();
    lab.file("jobs", "; of fio\n[global]\nrw=randread\nbs=4k\n[one]\nfilename=d/x\n");
    for words in ["throughput jobs", "throughput d --programs jobs", "overhead jobs"] {
        let words = lab.run(words);
        words.assert_refused(2, &["fio job files", "--programs FILE", "lbolt record -- fio FILE"]);
    }
    lab.run("jobs.fio").assert_refused_by_usage("lbolt does not read fio job files");
    lab.assert_clean();
}

/// Programs that take the CPUs meanwhile are named where their marks are explained.
#[test]
fn who_disturbed_a_measurement_is_named() {
    let lab = Lab::new();
    let program = lab.path("lb-spinner");
    std::fs::copy("/bin/sh", &program).unwrap();
    let spin = || {
        let mut command = lab.command(&program);
        command.args(["-c", "while :; do :; done"]);
        lab.start(command)
    };
    // More than anybody else is likely to run at once.
    let spinners: Vec<_> = (0..24).map(|_| spin()).collect();
    let ended =
        lab.run("throughput d --rw randread --bs 4k --size 64m --runtime 2s --time_based --runs 2");
    drop(spinners);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("other programs used"), "{text}");
    assert!(text.contains("lb-spinner") && text.contains(": stop them, or measure when"), "{text}");
}

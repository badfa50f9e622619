//! `lbolt storm`: what it finds, that every setting is as it was, and what is refused.

use crate::common::{
    Lab, Loop, Over, Report, can_make, is_root, is_sound_by_itself, reason, settings_turn,
};
use host::settings::Snapshot;
use model::record::subject::StormStream;
use model::record::{Sample, Subject, Verdict};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::path::Path;

const SHORT: &str = "--period 300ms --size 8m --rate_iops 200 --commits 40 --dirty 1m --seed 3";

#[test]
fn a_storm_of_a_directory_has_each_stream_with_its_rate() {
    let lab = Lab::new();
    let report = lab.measure(&format!("storm d {SHORT} --runs 2"));
    let samples = lab.samples();
    let of = |stream: StormStream| -> Vec<_> {
        let is_it = |subject: &Subject| match subject {
            Subject::Storm(storm) => storm.stream == stream && storm.remedy == "none",
            _ => false,
        };
        samples.iter().filter(|sample| is_it(&sample.subject)).collect()
    };
    for pass in 0..2 {
        let count = |stream| of(stream)[pass].latency().unwrap().count();
        let (all, met) = (count(StormStream::Read), count(StormStream::ReadInSync));
        assert_eq!(all, met + count(StormStream::ReadBetween));
        // 200 a second for two periods of 0.3 s at random moments: 120, and 6 deviations.
        assert!((54..=186).contains(&all), "{all} reads");
        let writes = of(StormStream::Write)[pass];
        // 256 blocks a period; those after the second sync are begun.
        assert!((256..=768).contains(&writes.operations), "{}", writes.operations);
        assert!(writes.sync_ns > 0 && of(StormStream::Commit)[pass].sync_ns > 0);
    }
    let rate = report.findings().iter().find(|f| f["quantity"] == "rate_operations_per_s").unwrap();
    assert!(rate["value"].as_f64().unwrap() > 50.0, "{rate}");
    lab.assert_clean();
}

#[test]
fn root_remedies_are_tried_in_turn_and_all_is_as_it_was() {
    let _turn = settings_turn();
    let lab = Lab::new();
    if !is_root() || !can_make("ext4") {
        return;
    }
    let before = Snapshot::of(None).unwrap();
    let remedies = "mq-deadline-strict,kyber,bfq,few-requests,wbt-tight,dirty-early,dirty-limit,\
                    sync-file-range,fdatasync-often,direct,ioprio-idle,writeback-often,\
                    read-ahead-off,cgroup-limit,cgroup-weight,commit-seldom,lazytime";
    let words = format!("storm fresh:ext4,size=64m,at=d --remedies {remedies}");
    let report = lab.measure(&format!("{words} {SHORT} --periods 1 --runs 2"));
    assert_eq!(before.differences(), []);
    let gains: Vec<_> =
        report.findings().iter().filter(|f| f["quantity"] == "gain_ratio").collect();
    let refused: Vec<_> =
        lab.samples().into_iter().filter(|s| s.verdict == Verdict::NotMeasured).collect();
    let names: BTreeSet<&str> = refused.iter().map(|sample| sample.program.as_str()).collect();
    assert_eq!(gains.len() + names.len(), 17, "{refused:?}");
    for gain in gains {
        let [low, value, high] = ["low", "value", "high"].map(|key| gain[key].as_f64().unwrap());
        assert!(0.0 < low && low <= value && value <= high, "{gain}");
    }
    for name in ["direct", "commit-seldom", "lazytime", "read-ahead-off"] {
        let sample = lab.samples().into_iter().find(|s| s.program == name).unwrap();
        assert!(is_sound_by_itself(&sample), "{name}: {:?}", sample.doubts);
    }
    let cpu = |f: &&serde_json::Value| f["quantity"] == "cpu_machine_percent";
    assert_eq!(report.findings().iter().filter(cpu).count(), 18 - names.len());
    lab.assert_clean();
}

#[test]
fn root_a_traced_storm_shows_responses_within_the_period() {
    let lab = Lab::new();
    if !is_root() || !can_make("ext4") {
        return;
    }
    let ended = lab.run(&format!("storm fresh:ext4,size=64m,at=d {SHORT} --runs 1 --trace"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let chart: Vec<&str> = ended.out.lines().filter(|line| line.contains(" |")).collect();
    let drawn = |line: &&str| line.contains(['.', ':', 'o', '#']);
    assert!(chart.iter().filter(|line| drawn(line)).count() >= 2, "{}", ended.out);
    assert!(ended.out.contains("began within the period of 300 ms"), "{}", ended.out);
    assert!(ended.out.contains("reads of ext4"), "{}", ended.out);
    // Who waited for whom, in a sentence below, and what it is held against.
    let below = ended.out.split("with the others:\n").nth(1).unwrap_or_default();
    assert!(below.lines().any(|line| line.len() > 20), "{}", ended.out);
    lab.assert_clean();
}

/// Reads past the page cache, and writes that are made durable, by processes that are gone soon.
const LOAD: &str = "\
    head -c 4000000 /dev/zero > d/data; echo $$ > d/pid
    while :; do
        dd if=d/data of=/dev/null bs=4k count=50 iflag=direct status=none
        dd if=/dev/zero of=d/written bs=4k count=10 conv=fsync status=none
    done";

#[test]
fn root_a_storm_of_a_device_stays_within_its_areas_and_needs_the_second_name() {
    let lab = Lab::new();
    let Some(image) = is_root().then(|| lab.file("image", vec![0; 24 << 20])) else { return };
    let Some(device) = Loop::over(&image) else { return };
    let words = format!("storm {} --period 300ms --periods 1 --size 8m --runs 1", device.node);
    lab.run(&words).assert_refused(3, &["writing needs consent"]);
    let rates = "--rate_iops 200 --commits 40 --dirty 1m";
    let ended = lab.run(&format!("{words} {rates} --destroy {} --format json", device.node));
    if ended.err.contains("which may lie on the same file") {
        return println!("skipped: somebody else has a loop device that could be the same");
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let report = ended.report();
    let streams: BTreeSet<StormStream> = lab
        .samples()
        .iter()
        .filter(|sample| sample.operations > 0 && is_sound_by_itself(sample))
        .filter_map(|sample| match &sample.subject {
            Subject::Storm(storm) => Some(storm.stream),
            _ => None,
        })
        .collect();
    for stream in [StormStream::Read, StormStream::Commit, StormStream::Write] {
        assert!(streams.contains(&stream), "{stream:?} of {streams:?}");
    }
    assert!(report.findings().iter().any(|f| f["quantity"] == "latency_p50_ns"));
    drop(device);
    let bytes = std::fs::read(&image).unwrap();
    // Two areas of 8 MiB and one of 4; what lies behind is nobody's.
    assert!(bytes[20 << 20..].iter().all(|byte| *byte == 0));
    assert!(bytes[..20 << 20].iter().any(|byte| *byte != 0), "it was written");
    lab.run("storm d --destroy /dev/null").assert_refused(2, &["--destroy"]);
}

/// Operations of a stream with a remedy.
fn count(samples: &[Sample], wanted: StormStream, remedy: &str) -> u64 {
    let is_it = |sample: &&Sample| match &sample.subject {
        Subject::Storm(storm) => storm.stream == wanted && sample.program == remedy,
        _ => false,
    };
    samples.iter().filter(is_it).map(|sample| sample.operations).sum()
}

#[test]
fn root_beside_a_command_its_reads_and_syncs_are_the_victims_and_it_is_ended() {
    let _turn = settings_turn();
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    let before = Snapshot::of(None).unwrap();
    // As long as it takes for some turns of the load, which a busy disk makes long.
    let enough = [400, 1600, 6400, 25_600].into_iter().find_map(|period_ms| {
        let output = format!("run-{period_ms}");
        let words = format!("storm d --period {period_ms}ms --periods 1 --runs 2 --format json");
        let words = format!("{words} -o {output} --remedies dirty-early,direct -- sh -c");
        let mut command = lab.lbolt(&words);
        // A script that was written just now may be busy for a process that another test starts.
        command.arg(LOAD);
        let ended = lab.end(command);
        if ended.err.contains("no block device can be seen") {
            println!("skipped: needs a block device beneath the directory");
            return Some(None);
        }
        assert_eq!(ended.code, 0, "{}", ended.err);
        let samples = lab.samples_of(&output);
        // Fifty reads a turn of the load, of which each has one sync; the windows cut some turns,
        // and other tests' threads that end at once are taken for the command's.
        let are_turns = ["none", "dirty-early"].iter().all(|remedy| {
            let count = |stream| count(&samples, stream, remedy);
            let (reads, syncs) = (count(StormStream::Read), count(StormStream::Commit));
            println!("{remedy}: {reads} reads, {syncs} syncs");
            let turns = (syncs * 4 / 5).saturating_sub(2)..=2 * syncs + 4;
            reads >= 50 && syncs >= 1 && turns.contains(&(reads / 50))
        });
        are_turns.then_some(Some((ended.report(), samples)))
    });
    let Some((report, samples)) = enough.expect("turns of the load in both windows") else {
        return;
    };
    assert_eq!(before.differences(), []);
    let pid = std::fs::read_to_string(lab.path("d/pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the command is over");
    for remedy in ["none", "dirty-early"] {
        let count = |stream| count(&samples, stream, remedy);
        let met = count(StormStream::ReadInSync) + count(StormStream::ReadBetween);
        assert_eq!(count(StormStream::Read), met);
        assert!(count(StormStream::Write) > 0, "{remedy}");
    }
    let refused = samples.iter().find(|sample| sample.program == "direct").unwrap();
    assert_eq!(refused.verdict, Verdict::NotMeasured);
    assert!(report.findings().iter().any(|f| reason(f).contains("only your program can do this")));
    lab.run("storm d --period 300ms -- sleep 0.4").assert_refused(1, &["ended (exit status: 0)"]);
    lab.run("storm d --period 300ms -- ./nothing").assert_refused(1, &["failed to run ./nothing"]);
    lab.assert_clean();
}

/// fio's workers have sessions of their own, and the processes of a database are no children of its
/// client at all. Both wait, and what was not seen is never a table without a reason.
#[test]
fn root_what_forks_and_who_only_asks_a_server_is_measured() {
    let _turn = settings_turn();
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    let storm = |output: &str, command: &str| {
        let words = format!("storm d --period 2s --periods 1 --runs 1 --format json -o {output}");
        let mut started = lab.lbolt(&format!("{words} -- sh -c"));
        started.arg(command);
        lab.end(started)
    };
    let forked = storm("forked", &format!("setsid sh -c '{}' & wait", LOAD.replace('\'', "")));
    if forked.err.contains("no block device is visible") {
        println!("skipped: needs a block device beneath the directory");
        return;
    }
    assert_eq!(forked.code, 0, "{}", forked.err);
    assert!(!forked.err.contains("made no read request"), "{}", forked.err);
    let samples = lab.samples_of("forked");
    let (reads, syncs) =
        (count(&samples, StormStream::Read, "none"), count(&samples, StormStream::Commit, "none"));
    assert!(reads > 0 && syncs > 0, "{reads} reads, {syncs} syncs");
    let (path, is_over) = (lab.path("d/served"), std::sync::atomic::AtomicBool::new(false));
    let asked = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::create(&path).unwrap();
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                std::io::Write::write_all(&mut file, &[7; 4096]).unwrap();
                file.sync_all().unwrap();
            }
        });
        let _over = Over(&is_over);
        storm("asked", "exec sleep 1000")
    });
    assert_eq!(asked.code, 0, "{}", asked.err);
    let sentence = "reads and commits are those of all programs on TARGET's disk:";
    assert!(asked.err.contains(sentence), "{}", asked.err);
    assert!(count(&lab.samples_of("asked"), StormStream::Commit, "none") > 0);
    lab.assert_clean();
}

/// As an ordinary user nothing is planned that only root may do.
#[test]
fn remedies_that_need_root_are_not_planned_for_others() {
    let lab = Lab::new();
    let as_user = |words: &str| {
        let mut command = lab.lbolt(words);
        if is_root() {
            std::os::unix::process::CommandExt::uid(&mut command, 65_534);
        }
        lab.end(command)
    };
    if is_root() && as_user("--version").code != 0 {
        println!("skipped: another user may not run the program here");
        return;
    }
    let anybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(lab.path("d"), anybody).unwrap();
    let plan = as_user("storm d --remedies all --dry-run");
    assert_eq!(plan.code, 0, "{}", plan.err);
    let names = ["ioprio-idle", "sync-file-range", "direct", "fdatasync-often"];
    assert!(names.iter().all(|name| plan.out.contains(name)), "{}", plan.out);
    assert!(!plan.out.contains("bfq") && !plan.out.contains("dirty-early"), "{}", plan.out);
    as_user("storm d --remedies bfq,direct --dry-run")
        .assert_refused(2, &["--remedies bfq", "needs root", "sync-file-range"]);
    // What only root may measure is refused before it is planned.
    for (words, reason) in [
        ("storm d --remedies all -- sleep 1", "the requests of COMMAND cannot be captured"),
        ("storm fresh:ext4", "fresh: needs root"),
        ("sync fresh:ext4", "fresh: needs root"),
        ("curve fresh:ext4", "fresh: needs root"),
    ] {
        let refused = as_user(words);
        refused.assert_refused(2, &[reason, "run as root"]);
        assert!(!refused.err.contains("passes on"), "{words}: {}", refused.err);
    }
}

/// Rounds that are whole are told, and what they do not tell is no remedy that does not help.
#[test]
fn an_interrupted_storm_says_what_was_measured_and_what_was_not() {
    for signal in [Signal::INT, Signal::TERM] {
        let lab = Lab::new();
        let words = "storm d --period 100ms --periods 1 --size 1m --rate_iops 50 --commits 5";
        let words =
            format!("{words} --dirty 64k --remedies direct,ioprio-idle --runs 1000 -o runs/r");
        let mut running = lab.start(lab.lbolt(&words));
        let samples = || {
            model::record::read::<Sample>(&lab.path("runs/r/samples.parquet")).unwrap_or_default()
        };
        running.until("the first round", || (!samples().is_empty()).then_some(()));
        running.signal(signal);
        let ended = running.wait();
        ended.assert_refused(130, &["interrupted"]);
        assert!(ended.out.contains("ioprio-idle"), "{}", ended.out);
        // Of a round or two nothing is known of a remedy.
        let told = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let rounds = samples().iter().map(|sample| sample.pass).max().unwrap();
        assert!(rounds > 2 || !told.contains("None of the 2 remedies helps"), "{told}");
        lab.assert_clean();
    }
}

#[test]
fn a_storm_in_virtual_time_ranks_remedies_and_is_the_same_each_time() {
    let lab = Lab::new();
    let words = "storm model:atlas10k --simulate --remedies all --runs 4 --size 16m";
    let first = lab.measure(words);
    let gain = |report: &Report, remedy: &str| {
        let is_it = |finding: &&serde_json::Value| {
            finding["quantity"] == "gain_ratio" && finding["subject"]["remedy"] == remedy
        };
        report.findings().iter().find(is_it).and_then(|finding| finding["value"].as_f64())
    };
    // The writer who writes as it goes spares the others the storm; without throttling it is worse.
    let (direct, none, off) =
        (gain(&first, "direct"), gain(&first, "none-scheduler"), gain(&first, "wbt-off"));
    let (direct, none, off) = (direct.unwrap(), none.unwrap(), off.unwrap());
    assert!(direct < 0.9 && (0.9..1.1).contains(&none) && off > 1.2, "{direct} {none} {off}");
    assert_eq!(gain(&first, "bfq"), None);
    let refused = lab.samples().into_iter().find(|sample| sample.program == "bfq").unwrap();
    assert_eq!(refused.verdict, Verdict::NotMeasured);
    assert!(format!("{:?}", refused.doubts).contains("the model does not support scheduler bfq"));
    let again = lab.measure(words);
    for remedy in ["direct", "kyber", "mq-deadline-strict", "dirty-early", "fdatasync-often"] {
        assert_eq!(gain(&first, remedy), gain(&again, remedy), "{remedy}");
    }
    lab.assert_clean();
}

#[test]
fn root_what_was_measured_on_a_model_stands_beside_what_was_predicted() {
    let _turn = settings_turn();
    let lab = Lab::new();
    if !is_root() || !can_make("ext4") {
        return;
    }
    let words = "storm model:atlas10k,size=256m --remedies direct,fdatasync-often --size 8m \
                 --period 500ms --periods 1 --runs 2 --rate_iops 30 --commits 5 \
                 --dirty 512k";
    let report = lab.measure(words);
    let value = |stream: &str, remedy: &str, quantity: &str| {
        let is_it = |finding: &&serde_json::Value| {
            let subject = &finding["subject"];
            finding["quantity"] == quantity
                && subject["remedy"] == remedy
                && subject["stream"] == stream
        };
        report.findings().iter().find(is_it).and_then(|finding| finding["value"].as_f64())
    };
    for remedy in ["direct", "fdatasync-often"] {
        assert!(value("victims", remedy, "gain_ratio").is_some(), "{remedy}");
        assert!(value("victims", remedy, "predicted_gain_ratio").unwrap() > 0.0, "{remedy}");
    }
    // The same number of due reads, served by the same drive.
    let measured = value("read", "none", "rate_operations_per_s").unwrap();
    let predicted = value("read", "none", "predicted_rate_operations_per_s").unwrap();
    assert!((0.5..2.0).contains(&(predicted / measured)), "{predicted} of {measured}");
    lab.assert_clean();
}

#[test]
fn what_is_no_storm_is_refused_in_a_sentence() {
    let lab = Lab::new();
    for (words, sentence) in [
        ("storm d --bs 3k", "is not a multiple of --bs 3k"),
        ("storm d --period 1ms", "at least 100ms"),
        ("storm nowhere", "nowhere"),
        ("storm fresh:ext4,drives=2", "one drive"),
        ("storm fresh:ext4,block=1k,block=4k", "names several systems"),
        ("storm model:ra81 --size 1g", "give a smaller --size"),
        ("storm model:ra82", "did you mean"),
        ("storm d --simulate", "--simulate: d is not a model"),
        ("storm d --commits 3 -- true", "does not apply with COMMAND"),
        ("storm model:ra81 -- true", "the directory that the command uses"),
    ] {
        lab.run(words).assert_refused(2, &[sentence]);
    }
    lab.run("storm d --remedies prayer").assert_refused_by_usage("mq-deadline-strict");
    lab.run("storm d --rate_iops=-1").assert_refused_by_usage("is not a rate from 0");
    let plan = lab.run("storm model:ra81 --remedies all --dry-run");
    assert!(plan.out.contains("\"fdatasync-often\"") && plan.out.contains("DEC RA81"));
    assert!(!plan.out.contains("\"simulate\""));
    // As in its siblings --runs are exact, unless a time ends them.
    let until = |words: &str| {
        let plan = lab.run(&format!("storm model:ra81 --remedies all --dry-run {words}"));
        let plan: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
        ["rounds", "time_ns"].map(|key| plan[key].as_u64().unwrap())
    };
    assert_eq!(until("--runs 4"), [4, 0]);
    assert_eq!(until("--runs 4 --max-time 9s"), [4, 9_000_000_000]);
    assert_eq!(until("--min-runs 2 --max-time 9s"), [2, 9_000_000_000]);
    assert_eq!(until(""), [3, 1_200_000_000_000]);
    let plan = lab.run("storm model:ra81 --simulate --dry-run");
    assert!(plan.out.contains("\"simulate\": true"), "{}", plan.out);
    lab.assert_clean();
}

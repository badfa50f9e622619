//! `lbolt storm`: what it finds, that every setting is as it was, and what is refused.

use crate::common::{Lab, Report, can_make, is_root, settings_turn};
use host::settings::Snapshot;
use model::record::subject::StormStream;
use model::record::{Subject, Verdict};

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
                    sync-file-range,fdatasync-often,direct,ioprio-idle";
    let words = format!("storm fresh:ext4,size=64m,at=d --remedies {remedies}");
    let report = lab.measure(&format!("{words} {SHORT} --periods 1 --runs 2 --max-time 1s"));
    assert_eq!(before.differences(), []);
    let gains: Vec<_> =
        report.findings().iter().filter(|f| f["quantity"] == "gain_ratio").collect();
    let refused: Vec<_> =
        lab.samples().into_iter().filter(|s| s.verdict == Verdict::NotMeasured).collect();
    assert_eq!(gains.len() + refused.len(), 11, "{refused:?}");
    for gain in gains {
        let [low, value, high] = ["low", "value", "high"].map(|key| gain[key].as_f64().unwrap());
        assert!(0.0 < low && low <= value && value <= high, "{gain}");
    }
    let direct = lab.samples().into_iter().find(|s| s.program == "direct").unwrap();
    assert_eq!(direct.verdict, Verdict::Ok, "{:?}", direct.doubts);
    lab.assert_clean();
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
    assert!(format!("{:?}", refused.doubts).contains("the model knows no scheduler of bfq"));
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
                 --period 500ms --periods 1 --runs 2 --max-time 1s --rate_iops 30 --commits 5 \
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
        assert!(value("victims", remedy, "gain_ratio_predicted").unwrap() > 0.0, "{remedy}");
    }
    // The same number of due reads, served by the same drive.
    let measured = value("read", "none", "rate_operations_per_s").unwrap();
    let predicted = value("read", "none", "rate_operations_per_s_predicted").unwrap();
    assert!((0.5..2.0).contains(&(predicted / measured)), "{predicted} of {measured}");
    lab.assert_clean();
}

#[test]
fn what_is_no_storm_is_refused_in_a_sentence() {
    let lab = Lab::new();
    for (words, sentence) in [
        ("storm d --bs 3k", "no multiple of it"),
        ("storm d --period 1ms", "a tenth of a second"),
        ("storm nowhere", "nowhere"),
        ("storm fresh:ext4,drives=2", "one drive"),
        ("storm fresh:ext4,block=1k,block=4k", "one system at a time"),
        ("storm model:ra81 --size 1g", "give a smaller --size"),
        ("storm model:ra82", "did you mean"),
        ("storm d --simulate", "--simulate: d is no model"),
    ] {
        lab.run(words).assert_refused(2, &[sentence]);
    }
    lab.run("storm d --remedies prayer").assert_refused_by_usage("mq-deadline-strict");
    lab.run("storm d --rate_iops=-1").assert_refused_by_usage("no rate from 0");
    let plan = lab.run("storm model:ra81 --remedies all --dry-run");
    assert!(plan.out.contains("\"fdatasync-often\"") && plan.out.contains("DEC RA81"));
    lab.assert_clean();
}

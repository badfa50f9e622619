//! `lbolt survey`: five questions, answered on one screen; on which disk; an interruption and what
//! goes on; what is refused.

#![allow(clippy::unwrap_used)]

use crate::common::{Lab, Loop, Mounted, is_root, wait_for};
use model::record::Sample;

const QUESTIONS: [&str; 5] = ["Files: ", "Device: ", "Durable: ", "Calls: ", "Storm: "];

#[test]
fn five_questions_are_answered_on_one_screen() {
    let lab = Lab::new();
    let ended = lab.run("survey d --quick --size 32m --runs 1 -o r");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.lines().count() <= 40, "{}", ended.out);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 100), "{}", ended.out);
    for question in QUESTIONS {
        let line = ended.out.lines().find(|line| line.starts_with(question));
        assert!(line.is_some_and(|line| !line.contains("not measured")), "{}", ended.out);
    }
    let experiments: std::collections::BTreeSet<&str> =
        lab.samples_of("r").iter().map(|sample| sample.experiment.name()).collect();
    let all = ["curve", "overhead", "storm", "sync", "throughput"];
    assert_eq!(experiments.into_iter().collect::<Vec<_>>(), all);
    let last = ended.out.trim_end().lines().last().unwrap();
    assert!(last.ends_with("r/report.html"), "{}", ended.out);
    let page = std::fs::read_to_string(lab.path("r/report.html")).unwrap();
    assert!(page.len() < 1_500_000 && page.contains("<figure"), "{}", page.len());
    lab.assert_clean();
}

/// The plan of a survey of a fresh ext4 of so many bytes, and the name of its device.
fn plan_of_volume(lab: &Lab, bytes: u64) -> Option<(serde_json::Value, String)> {
    if !is_root() {
        return None;
    }
    let image = lab.file("image", "");
    std::fs::File::options().write(true).open(&image).unwrap().set_len(bytes).unwrap();
    let device = Loop::over(&image)?;
    if !device.format() {
        return None;
    }
    let volume = Mounted::device(&device.node)?;
    let mut command = lab.command("nsenter");
    command.arg(format!("--mount={}", volume.namespace().display()));
    command.args([env!("CARGO_BIN_EXE_lbolt"), "survey", "--dry-run"]).arg(volume.at());
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let name = device.node.trim_start_matches("/dev/").to_owned();
    Some((serde_json::from_str(&ended.out).unwrap(), name))
}

/// The images of the fresh file systems are on the volume's disk, not on that of the results.
#[test]
fn root_the_fresh_file_systems_lie_on_the_volume() {
    let lab = Lab::new();
    let Some((plan, name)) = plan_of_volume(&lab, 1 << 30) else { return };
    let systems = plan["systems"].as_array().unwrap();
    let kinds: Vec<&str> = systems.iter().map(|of| of["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["fresh file system", "fresh file system", "directory"]);
    for system in systems {
        let devices = system["places"][0]["devices"].as_array().unwrap();
        assert!(devices.iter().any(|device| *device == *name), "{name}: {system}");
    }
}

/// What has no space on the volume is left out, and lies nowhere else.
#[test]
fn root_a_fresh_file_system_without_space_is_left_out() {
    let lab = Lab::new();
    let Some((plan, _)) = plan_of_volume(&lab, 220 << 20) else { return };
    let systems = plan["systems"].as_array().unwrap();
    assert!(systems.iter().all(|system| system["kind"] == "directory"), "{plan}");
    let left_out = plan["volumes"][0]["left_out"].as_array().unwrap();
    let is_told = |name: &str| {
        let mut told = left_out.iter().filter_map(|text| text.as_str());
        told.any(|text| text.starts_with(name) && text.contains("do not fit into"))
    };
    assert!(is_told("fresh:ext4 is left out") && is_told("fresh:xfs is left out"), "{plan}");
}

/// Of a block device two questions can be asked without writing to it.
#[test]
fn root_a_block_device_is_only_read() {
    let lab = Lab::new();
    if !is_root() {
        return;
    }
    let image = lab.file("image", vec![b'A'; 72 << 20]);
    let Some(device) = Loop::over(&image) else { return };
    let ended = lab.run(&format!("survey {} --quick --runs 2 -o r", device.node));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    for (question, is_measured) in QUESTIONS.iter().zip([false, true, false, true, false]) {
        let line = ended.out.lines().find(|line| line.starts_with(question)).unwrap();
        assert_eq!(!line.contains("not measured"), is_measured, "{}", ended.out);
    }
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("is only read: Files, Durable and Storm are left out"), "{text}");
    assert!(device.is_untouched(&image));
    drop(device);
    lab.assert_clean();
}

#[test]
fn two_volumes_are_one_table() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("e")).unwrap();
    let ended = lab.run("survey d e --quick --size 32m --runs 1 -o r");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    assert!(ended.out.lines().count() <= 40, "{}", ended.out);
    let head = ended.out.lines().find(|line| line.starts_with("question")).unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["question", "number", "d", "e"]);
    for question in QUESTIONS {
        let name = question.trim_end_matches(": ");
        let rows = ended.out.lines().filter(|line| line.starts_with(&format!("{name} ")));
        let rows: Vec<&str> = rows.collect();
        assert!(!rows.is_empty(), "{name}: {}", ended.out);
        assert!(rows.iter().any(|row| !row.contains("n.m.")), "{}", ended.out);
    }
    let shown = lab.run("runs show r");
    assert!(shown.out.contains("On d:") && shown.out.contains("On e:"), "{}", shown.out);
    lab.run("survey d d --quick").assert_refused(2, &["d and d are on the same device"]);
    lab.assert_clean();
}

/// Without privilege the same five questions are asked, and what cannot be is said.
#[test]
fn another_user_gets_his_answers_and_is_told_what_needs_root() {
    let lab = Lab::for_everyone();
    lab.allow("d", 0o777);
    let words = "survey d --quick --size 32m --runs 1 -o d/r";
    let Some(command) = lab.lbolt_of_nobody(words) else { return };
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    for question in QUESTIONS {
        let line = ended.out.lines().find(|line| line.starts_with(question));
        assert!(line.is_some_and(|line| !line.contains("not measured")), "{}", ended.out);
    }
    let said = format!("{}{}", ended.out, ended.err);
    assert!(said.contains("root"), "{said}");
    assert!(ended.out.trim_end().ends_with("d/r/report.html"), "{}", ended.out);
    lab.assert_clean();
}

/// What was answered before an interruption is taken over, and not measured again.
#[test]
fn an_interrupted_survey_goes_on() {
    let lab = Lab::new();
    let words = "survey d --quick --size 32m --runs 1";
    let running = lab.start(lab.lbolt(&format!("{words} -o first")));
    wait_for("an answer", || {
        let text = std::fs::read_to_string(lab.path("first/run.json")).ok()?;
        text.contains("\"answered\"").then_some(())
    });
    running.signal(rustix::process::Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code, 130, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("lbolt survey --resume"), "{}", ended.err);
    let before = lab.samples_of("first");
    let ended = lab.run(&format!("{words} --resume first -o second"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let after = lab.samples_of("second");
    let of_files = |samples: &[Sample]| {
        let own = samples.iter().filter(|sample| sample.experiment.name() == "throughput");
        own.map(|sample| (sample.program.clone(), sample.wall_ns)).collect::<Vec<_>>()
    };
    assert!(!of_files(&before).is_empty());
    assert_eq!(of_files(&before), of_files(&after));
    for question in QUESTIONS {
        assert!(ended.out.contains(question), "{}", ended.out);
    }
    lab.run(&format!("{words} --resume absent")).assert_refused(2, &["--resume absent: "]);
    std::fs::create_dir(lab.path("elsewhere")).unwrap();
    let elsewhere = words.replace("survey d", "survey elsewhere");
    let ended = lab.run(&format!("{elsewhere} --resume first"));
    ended.assert_refused(2, &["it measured d; give the same TARGET"]);
    // Of a run of an earlier version it is not known.
    let at = lab.path("first/run.json");
    let text = std::fs::read_to_string(&at).unwrap();
    let mut info: serde_json::Value = serde_json::from_str(&text).unwrap();
    info["plan"].as_object_mut().unwrap().remove("volumes");
    std::fs::write(&at, info.to_string()).unwrap();
    lab.run(&format!("{words} --resume first"))
        .assert_refused(2, &["does not say what was measured; measure it again"]);
    lab.assert_clean();
}

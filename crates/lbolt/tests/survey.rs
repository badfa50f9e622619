//! `lbolt survey`: five questions, answered on one screen; an interruption and what goes on; what
//! is refused.

use crate::common::{Lab, wait_for};
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
    ended.assert_refused(2, &["give this directory as TARGET"]);
    lab.assert_clean();
}

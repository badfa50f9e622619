//! What the commands print for machines: of the shapes that docs/json.schema.json describes, with
//! the answer that people get, and of what was selected.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, Loop, is_root};
use crate::several::make_run;
use boon::{Compiler, Schemas};
use serde_json::Value;
use std::path::Path;

/// That a document is of one of the shapes.
pub(crate) fn assert_described(document: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.enable_format_assertions();
    compiler.add_resource("lbolt.json", schema).unwrap();
    let place = compiler.compile("lbolt.json", &mut schemas).unwrap();
    let error = schemas.validate(document, place).err().map(|error| format!("{error:#}"));
    let error = error.map(|text| text.chars().take(2000).collect::<String>());
    assert_eq!(error, None, "{}", document["schema"]);
}

fn document(lab: &Lab, words: &str) -> Value {
    let ended = lab.run(words);
    let text = ended.out.as_str();
    let document = serde_json::from_str(text);
    let document: Value = document.unwrap_or_else(|_| panic!("{words}: {} {text}", ended.err));
    assert_described(&document);
    document
}

fn sentences(document: &Value) -> Vec<&str> {
    let answer = document["answer"].as_array().unwrap();
    answer.iter().map(|said| said["sentence"].as_str().unwrap()).collect()
}

#[test]
fn a_document_that_is_of_no_shape_is_told() {
    let wrong = serde_json::json!({ "schema": "lbolt.findings/2", "run": null, "findings": [] });
    assert!(std::panic::catch_unwind(|| assert_described(&wrong)).is_err(), "it has no answer");
}

#[test]
fn every_command_prints_a_shape_that_is_described_with_its_answer() {
    let lab = Lab::new();
    make_run(&lab.path("host1"), 190, 1, Some(1000));
    make_run(&lab.path("host2"), 65, 2, Some(1030));
    assert_eq!(lab.run("rollup host1 host2 -o both.rollup").code, 0);
    lab.file("issued", crate::device_times::ISSUED);
    document(&lab, "import issued -o run --format json");
    for (words, schema) in [
        ("response host1", "lbolt.findings/2"),
        ("history both.rollup", "lbolt.history/1"),
        ("fleet both.rollup", "lbolt.fleet/1"),
        ("compare run run", "lbolt.comparison/2"),
    ] {
        let document = document(&lab, &format!("{words} --format json"));
        assert_eq!(document["schema"], schema);
        let screen = lab.run(words).out.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = sentences(&document);
        assert!(!said.is_empty(), "{words}");
        let first = said[0].split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(screen.contains(&first), "{words}: {first} is not in {screen}");
    }
    document(&lab, "runs show run --format json");
    document(&lab, "simulate host2 --model atlas10k -o simulated --format json");
}

/// Who waited is told of all of a trace's findings, whatever rows are printed.
#[test]
fn no_format_and_no_selection_gives_a_false_all_clear() {
    let lab = Lab::new();
    make_run(&lab.path("run"), 65, 1, Some(1000));
    for words in ["", "--by size", "--by direction", "--by wait", "--role postgres"] {
        let json = document(&lab, &format!("response run {words} --format json"));
        let first = sentences(&json)[0];
        let markdown = lab.run(&format!("response run {words} --format markdown"));
        assert!(first.contains(" lost "), "{words}: {first}");
        assert!(markdown.out.contains(first), "{words}: {first} is not in {}", markdown.out);
    }
}

/// What is selected holds for every format, or is refused.
#[test]
fn a_selection_holds_for_json_and_csv_too() {
    let lab = Lab::new();
    make_run(&lab.path("run"), 65, 1, Some(1000));
    let of = |words: &str| {
        let document = document(&lab, &format!("response run --format json {words}"));
        let findings = document["findings"].as_array().unwrap();
        let subject = |finding: &Value| finding["subject"].clone();
        findings.iter().map(subject).collect::<Vec<Value>>()
    };
    let (all, sizes) = (of(""), of("--by size"));
    let is_run = |subject: &Value| subject.get("by").is_none();
    assert!(sizes.len() < all.len() && sizes.iter().any(|subject| !is_run(subject)));
    assert!(sizes.iter().all(|subject| is_run(subject) || subject["by"] == "size"), "{sizes:?}");
    for format in ["json", "csv", "markdown"] {
        lab.run(&format!("response run --top 3 --format {format}"))
            .assert_refused(2, &["--top limits the rows of tables"]);
        lab.run(&format!("response run --device no-such-device --format {format}"))
            .assert_refused(2, &["its devices are"]);
    }
    let csv = lab.run("response run --by size --format csv").out;
    assert!(csv.lines().skip(1).all(|line| !line.starts_with("region")), "{csv}");
}

#[test]
fn root_a_capture_says_in_json_who_waited() {
    let lab = Lab::new();
    let Some(disk) = is_root().then(|| Loop::new(&lab, "image")).flatten() else { return };
    let writes = format!("dd if=/dev/zero of={} bs=64k count=40 oflag=direct", disk.node);
    lab.script("writes", &writes);
    let words = format!("record -d {} -o run --format json -- ./writes", disk.node);
    let ended = lab.run(&words);
    if ended.code != 0 {
        println!("skipped: {}", ended.err);
        return;
    }
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert_described(&document);
    let said = sentences(&document);
    let told = lab.run("response run").out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!said.is_empty() && told.contains(said[0]), "{said:?} is not in {told}");
    let findings = document["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["quantity"] == "verdict_span_ns"));
}

//! Every sentence that the commands print about known traces, and every refusal of a wrong word, in
//! one golden file: to be read whole, as a user reads it. What experiments say of known findings is
//! in the golden file of `report`.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::bad_input::{NONSENSE, NONSENSE_OF_OVERHEAD};
use crate::common::{Lab, golden, tool};
use crate::several::make_run;
use std::fmt::Write as _;
use std::path::Path;

/// Commands on two hosts' runs, and on what is made of them, in their order.
const OF_RUNS: &[&str] = &[
    "response host1",
    "response host1 host2",
    "response host1 --all",
    "response host1 --from 10 --to 20",
    "response host1 --by size",
    "rollup host1 host2 -o both.parquet",
    "history both.parquet",
    "history both.parquet --by role",
    "history both.parquet --by cause",
    "history both.parquet --by cgroup",
    "history both.parquet --device sda --every 1m",
    "history both.parquet --compare 1970-01-01T00:16..1970-01-01T00:17 \
     1970-01-01T00:17..1970-01-01T00:18",
    "rollup host1 --part 1/2 -o half.parquet",
    "history half.parquet",
    "rollup both.parquet host1 -o twice.parquet",
    "export host1 --output-format msr -o out.csv",
    "import out.csv -o back",
    "response back",
    "compare back back",
    "explore nothing",
    "runs show nothing",
    "runs rm nothing",
    "simulate host1 --model generic-7200rpm -o simulated",
    "compare back simulated",
    "response simulated",
    "whatif host1 --model generic-7200rpm --change drives=2 --change reads-first -o changed",
    "replay host1 --on nowhere",
    "runs show back",
];

/// Traces of other programs.
const FOREIGN: &[&str] = &[
    "alibaba.csv",
    "biosnoop.txt",
    "blkparse.txt",
    "disksim.ascii",
    "fio-iolog-3.log",
    "ftrace.txt",
    "msr.csv",
    "perf-script.txt",
    "srt.srt",
    "thesios.csv",
    "umass.spc",
    "vscsi-1.vscsi",
    "wpa-english.csv",
];

/// Whether a paragraph is a table, or the legend of one.
fn is_table(part: &str) -> bool {
    part.contains("──") || part.lines().any(|line| line.trim().contains("  "))
}

/// The paragraphs that are no tables, each in one line.
fn prose(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split("\n\n").filter(|part| !is_table(part));
    let joined = parts.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    joined.filter(|part| !part.is_empty())
}

fn told(lab: &Lab, words: &str, text: &mut String) {
    let ended = lab.run(words);
    writeln!(text, "$ lbolt {words}").unwrap();
    for paragraph in prose(&ended.out).chain(prose(&ended.err)) {
        writeln!(text, "{paragraph}").unwrap();
    }
    writeln!(text).unwrap();
}

/// A word without what stands around a number.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| "(),.;:±+-−[]".contains(c))
}

/// Numbers with their units.
fn numbers(text: &str) -> Vec<String> {
    const UNITS: [&str; 13] =
        ["ns", "µs", "ms", "s", "min", "h", "%", "storms", "B/s", "kB/s", "MB/s", "GB/s", "rounds"];
    let text = text.replace('%', " %");
    let words: Vec<&str> = text.split_whitespace().map(bare).collect();
    let pairs = words.iter().zip(words.iter().skip(1));
    let is_one =
        |(number, unit): &(&&str, &&str)| number.parse::<f64>().is_ok() && UNITS.contains(unit);
    pairs.filter(is_one).map(|(number, unit)| format!("{number} {unit}")).collect()
}

/// What the sentences say, but for spans of storms, which are no column, and for sums over all
/// hosts, which are no row.
fn sentences(text: &str) -> Vec<String> {
    const OF_NO_ROW: [&str; 4] = ["torms: ", " watched ", "2 hosts, ", "Storms on "];
    let is_of_row = |one: &String| !OF_NO_ROW.iter().any(|of| one.contains(of));
    let each = prose(text)
        .flat_map(|part| part.split_inclusive(". ").map(str::to_owned).collect::<Vec<_>>());
    let each = each.filter(is_of_row);
    each.map(|one| one.split(", from ").next().unwrap_or_default().to_owned()).collect()
}

/// Holds each number of some sentences to the tables beside them. Says how many there are.
fn assert_in_tables(words: &str, sentences: &[String], out: &str) -> usize {
    let tables = out.split("\n\n").filter(|part| is_table(part));
    let tables = tables.flat_map(str::split_whitespace).map(bare).collect::<Vec<_>>().join(" ");
    // A share stands in a column of its own, and so does a count.
    let columns = format!(" {} ", tables.replace('%', " ").replace("  ", " "));
    let mut seen = 0;
    for sentence in sentences {
        for number in numbers(sentence) {
            let (cell, unit) = number.split_once(' ').unwrap();
            // Of a history, some columns have their unit in the heading.
            let is_in_heading = match unit {
                "%" | "storms" => true,
                "ms" => columns.contains(" response, ms ") || columns.contains(" response ms "),
                "s" => columns.contains(" lost s "),
                _ => false,
            };
            let is_cell = |cell: &str| columns.contains(&format!(" {cell} "));
            let is_told = is_cell(&number) || is_in_heading && is_cell(cell);
            let is_period = sentence.contains(&format!("one every {number}"));
            assert!(is_told || is_period, "{words}: {number} of {sentence}\n{out}");
            seen += 1;
        }
    }
    seen
}

/// What a command prints on a terminal of 80 columns; none where no terminal can be made.
fn on_80_columns(lab: &Lab, words: &str) -> Option<String> {
    tool("script", &["--version"])?;
    let job = format!("stty cols 80 rows 40; {} {words} 2> said", env!("CARGO_BIN_EXE_lbolt"));
    let mut command = lab.command("script");
    command.args(["--quiet", "--flush", "--command", &job, "/dev/null"]).env("SHELL", "/bin/sh");
    Some(lab.end(command).out.replace('\r', ""))
}

#[test]
fn each_number_of_a_loss_stands_in_a_table_below_it() {
    let lab = Lab::new();
    make_run(&lab.path("host1"), 70, 1, Some(1000));
    make_run(&lab.path("host2"), 65, 2, Some(1030));
    assert_eq!(lab.run("rollup host1 host2 -o both.parquet").code, 0);
    let mut seen = 0;
    for words in [
        "response host1",
        "response host1 host2",
        "response host1 --from 10 --to 20",
        "response host1 --from 14 --to 16",
        "response host1 --role postgres",
        "response host1 --top 1",
        "history both.parquet",
        "history both.parquet --by role",
        "history both.parquet --by cause",
        "history both.parquet --by host --every 30s",
        "history both.parquet --every 10s",
        "fleet both.parquet",
        "fleet both.parquet --by cause",
        "fleet both.parquet --all",
    ] {
        let ended = lab.run(words);
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        for out in std::iter::once(ended.out).chain(on_80_columns(&lab, words)) {
            let mut told = sentences(&out);
            let is_history = words.starts_with("history");
            told.retain(|one| is_history || one.contains(" lost "));
            seen += assert_in_tables(words, &told, &out);
        }
    }
    assert!(seen > 70, "{seen} numbers");
}

/// A comparison's first line, and what a storm is.
#[test]
fn each_number_of_an_answer_stands_in_a_table_below_it() {
    let lab = Lab::new();
    make_run(&lab.path("host1"), 70, 1, Some(1000));
    make_run(&lab.path("host2"), 65, 2, Some(1030));
    for host in ["host1", "host2"] {
        let csv = format!("export {host} --output-format msr -o {host}.csv");
        assert_eq!(lab.run(&csv).code, 0);
        assert_eq!(lab.run(&format!("import {host}.csv -o of_{host}")).code, 0);
    }
    let mut seen = 0;
    for words in [
        "compare of_host1 of_host2",
        "compare of_host2 of_host1 --metric all",
        "storm model:atlas10k --simulate --remedies direct --runs 3 --size 8m",
    ] {
        let ended = lab.run(words);
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        for out in std::iter::once(ended.out).chain(on_80_columns(&lab, words)) {
            // What follows the answer without a line between is no part of it.
            let (answer, rest) = out.split_once("\nverdicts  ").unwrap_or((&out, &out));
            seen += assert_in_tables(words, &sentences(answer), rest);
        }
    }
    assert!(seen > 12, "{seen} numbers");
}

#[test]
fn every_sentence_about_known_traces_stands_in_one_file() {
    let (lab, mut text) = (Lab::new(), String::new());
    make_run(&lab.path("host1"), 70, 1, Some(1000));
    make_run(&lab.path("host2"), 65, 2, Some(1030));
    OF_RUNS.iter().for_each(|words| told(&lab, words, &mut text));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/import/fixtures");
    for name in FOREIGN {
        std::fs::copy(fixtures.join(name), lab.path(name)).unwrap();
        told(&lab, &format!("import {name} -o of_{name}"), &mut text);
        told(&lab, &format!("response of_{name}"), &mut text);
    }
    told(&lab, "rollup of_alibaba.csv -o untimed.parquet", &mut text);
    told(&lab, "history untimed.parquet", &mut text);
    told(&lab, "history untimed.parquet --by cause", &mut text);
    golden("sentences.txt", &text);
}

/// What names this machine's own devices.
const OF_MACHINE: [&str; 2] = ["record -d nowhere", "overhead d --direct 1 --bs 1000"];

#[test]
fn every_refusal_of_a_wrong_word_stands_in_one_file() {
    let (lab, mut text) = (Lab::new(), String::new());
    lab.file("file", "");
    let all = NONSENSE.iter().chain(NONSENSE_OF_OVERHEAD);
    let all = all.filter(|(words, _)| !OF_MACHINE.contains(words));
    all.for_each(|(words, _)| told(&lab, words, &mut text));
    golden("refusals.txt", &text);
}

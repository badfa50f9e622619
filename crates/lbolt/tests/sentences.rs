//! Every sentence that the commands print about known traces, and every refusal of a wrong word, in
//! one golden file: to be read whole, as a user reads it. What experiments say of known findings is
//! in the golden file of `report`.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::bad_input::{NONSENSE, NONSENSE_OF_OVERHEAD};
use crate::common::{Lab, golden};
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

/// The paragraphs that are no tables, each in one line.
fn prose(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_table =
        |part: &&str| part.contains("──") || part.lines().any(|line| line.trim().contains("  "));
    let parts = text.split("\n\n").filter(move |part| !is_table(part));
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

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

/// Numbers with their units.
fn numbers(text: &str) -> Vec<String> {
    const UNITS: [&str; 8] = ["ns", "µs", "ms", "s", "min", "h", "%", "storms"];
    let bare = |word: &str| word.trim_matches(|c: char| "(),.;:±".contains(c)).to_owned();
    let words: Vec<String> = text.split_whitespace().map(bare).collect();
    let pairs = words.iter().zip(words.iter().skip(1));
    let is_one = |(number, unit): &(&String, &String)| {
        number.parse::<f64>().is_ok() && UNITS.contains(&unit.as_str())
    };
    pairs.filter(is_one).map(|(number, unit)| format!("{number} {unit}")).collect()
}

/// What a sentence says of a loss; the spans of its storms are no column, and sums over all hosts
/// no row.
fn of_losses(text: &str) -> Vec<String> {
    let sentences = prose(text).filter(|part| part.contains(" lost "));
    let sentences = sentences.flat_map(|part| {
        let each = part.split_inclusive(". ").map(str::to_owned).collect::<Vec<_>>();
        each.into_iter().filter(|one| {
            !["torms: ", " watched ", "2 hosts, ", "Storms on "].iter().any(|of| one.contains(of))
        })
    });
    sentences.map(|one| one.split(", from ").next().unwrap_or_default().to_owned()).collect()
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
        "fleet both.parquet",
        "fleet both.parquet --by cause",
        "fleet both.parquet --all",
    ] {
        let ended = lab.run(words);
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        let tables = ended.out.split("\n\n").filter(|part| part.contains("──"));
        let tables = tables.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        // A share stands in a column of its own, and so does a count.
        let columns = format!(" {} ", tables.replace(" %", ""));
        for sentence in of_losses(&ended.out) {
            for number in numbers(&sentence) {
                let cell = number.trim_end_matches(" %").trim_end_matches(" storms");
                // Response times of a history have their unit in the heading.
                let in_ms =
                    columns.contains(" response, ms ").then(|| cell.trim_end_matches(" ms"));
                let is_cell = |cell: &str| columns.contains(&format!(" {cell} "));
                let is_told = is_cell(cell) || in_ms.is_some_and(is_cell);
                let is_period = sentence.contains(&format!("one every {number}"));
                assert!(is_told || is_period, "{words}: {number} of {sentence}\n{}", ended.out);
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "{seen} numbers");
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

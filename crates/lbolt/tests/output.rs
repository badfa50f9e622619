//! Text leaves harmless, whatever others named, and a closed or full stream is an error and never a
//! panic.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Ended, Lab, QUICK};
use model::text::{is_unsafe, visible};
use serde_json::Value;
use std::path::Path;

/// A name that clears the screen, turns text round, ends its line, and is a formula.
const EVIL: &str = "=e\x1b[2J\x07\r\n\u{9b}31m\u{202e}\u{2066}\u{200b}\x7fx";

/// `lbolt` with words of which `@` stands for the hostile name.
fn run(lab: &Lab, words: &str) -> Ended {
    let mut command = lab.lbolt("");
    command.args(words.split(' ').map(|word| word.replace('@', EVIL)));
    lab.end(command)
}

fn assert_harmless(ended: &Ended, words: &str) {
    for text in [&ended.out, &ended.err] {
        let found = text.chars().find(|c| *c != '\n' && is_unsafe(*c));
        assert_eq!(found, None, "{words}: {text:?}");
        assert!(!text.contains("panicked"), "{words}: {text}");
    }
}

/// Traces, a run and a note of which every name is hostile.
fn hostile(lab: &Lab) {
    let spelled: String = EVIL.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    let line = |number: u32, action: &str, end: &str| {
        let time = 0.001 * f64::from(number);
        format!("  8,0 0 {number} {time:.9} 7 {action} RS {} + 8 [{end}]\n", 8 * (number / 3))
    };
    let steps = |n| line(n, "Q", &spelled) + &line(n + 1, "D", &spelled) + &line(n + 2, "C", "0");
    lab.file("names.txt", (0..200).map(|n| steps(3 * n)).collect::<String>());
    // A line of CSV ends the name of its host.
    let host = EVIL.replace(['\r', '\n'], "");
    let rows = (0..200u64).map(|n| {
        let time = 128_166_385_295_514_663 + n * 10_000;
        format!("{time},{host},0,Read,{},4096,1000\n", n * 4096)
    });
    lab.file("hosts.csv", rows.collect::<String>());
    let program = format!(
        "[[program]]\nname = {}\nrw = \"read\"\nsize = \"1m\"\n",
        serde_json::to_string(EVIL).unwrap().replace('\x7f', "\\u007f")
    );
    lab.file("programs", program);
    lab.directory(EVIL);
    let note = serde_json::json!({
        "pid": 1, "process_started": 1, "run": EVIL, "scratch": [lab.path(EVIL)],
    });
    lab.directory("state/lbolt/running");
    lab.file("state/lbolt/running/1-1.json", note.to_string());
}

#[test]
fn no_name_reaches_the_terminal_as_it_is() {
    let lab = Lab::new();
    hostile(&lab);
    let made = [
        "import names.txt -o runs/@-names",
        "import hosts.csv -o runs/@-hosts",
        "throughput @ --programs programs --warmup 0 --runs 2 --no-ceiling -o runs/@-files",
        "throughput @ --programs programs --warmup 0 --runs 2 --no-ceiling -o runs/@-again",
        "simulate hosts.csv --model generic-7200rpm --draws 0 -o runs/@-modelled",
    ];
    for words in made {
        let ended = run(&lab, words);
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        assert_harmless(&ended, words);
        assert!(ended.err.contains(&format!("records: runs/{}", visible(EVIL))), "{}", ended.err);
    }
    for format in ["table", "csv", "markdown", "json"] {
        let shown = [
            "response names.txt",
            "response hosts.csv",
            "response runs/@-names",
            "runs show @-names",
            "runs show @-hosts",
            "runs show @-files",
            "runs show @-modelled",
            "compare @-files @-again",
        ];
        for words in shown.map(|words| format!("{words} --format {format}")) {
            let ended = run(&lab, &words);
            assert_eq!(ended.code, 0, "{words}: {}", ended.err);
            assert_harmless(&ended, &words);
            check_format(&ended.out, format, &words);
        }
    }
    let told = [
        "runs list",
        "runs show @",
        "runs rm @",
        "runs list --runs-dir @",
        "import @.csv",
        "import programs --input-format @",
        "export names.txt --output-format blkparse -o @.txt",
        "export hosts.csv --output-format msr -o @.csv",
        "export names.txt --output-format @ -o x",
        "export names.txt --output-format msr -o @/no/x",
        "response @",
        "response runs/@-files",
        "sql runs/@-names",
        "sql @",
        "compare @ @-files",
        "compare @-names @-files",
        "simulate @ --model generic-7200rpm",
        "simulate names.txt --model @",
        "simulate names.txt --model @.toml",
        "simulate --model generic-7200rpm --show-model --set @=1",
        "throughput @x",
        "throughput fresh:@",
        "throughput @ --programs @",
        "throughput @ --rw @",
        "throughput @ --destroy @",
        "throughput @ --dry-run",
        "overhead @ --dry-run",
        "overhead @x",
        "survey @ --dry-run",
        // A directory of that name lies on a device, which is captured.
        "record -d @ --duration 100ms",
        "record -d @/no",
        "record -d @ --dry-run",
        "doctor",
        "doctor --clean",
        "@",
        "throughput --@",
        "throughput d --rw=@",
    ];
    for words in told {
        assert_harmless(&run(&lab, words), words);
    }
}

/// JSON is the data themselves; a row of anything else is one line.
fn check_format(text: &str, format: &str, words: &str) {
    match format {
        "json" => {
            let read: Value = serde_json::from_str(text).unwrap();
            let evil = EVIL.replace(['\r', '\n'], "");
            let is_it = |found: &str| found.contains(EVIL) || found.contains(&evil);
            assert!(is_told(&read, &is_it), "{words}: {text}");
        }
        "csv" => {
            let columns = |line: &str| {
                let is_quoted = |(count, is_quoted): (usize, bool), c: char| match c {
                    '"' => (count, !is_quoted),
                    ',' if !is_quoted => (count + 1, false),
                    _ => (count, is_quoted),
                };
                line.chars().fold((0, false), is_quoted)
            };
            let head = columns(text.lines().next().unwrap());
            assert!(text.lines().count() > 1 && text.lines().all(|l| columns(l) == head), "{text}");
            assert!(
                !text.contains(",=") && !text.starts_with('=') && !text.contains("\n="),
                "{text}"
            );
        }
        // The table of traffic names devices alone.
        _ if words.contains("compare") || words.contains("show @-names") => {}
        _ => {
            assert!(text.contains(r"=e\x1b[2J\x07") || text.contains(r"e\\x1b"), "{words}: {text}")
        }
    }
}

/// Whether a text somewhere in a value is of that kind.
fn is_told(value: &Value, is_it: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(text),
        Value::Array(values) => values.iter().any(|value| is_told(value, is_it)),
        Value::Object(pairs) => pairs.values().any(|value| is_told(value, is_it)),
        _ => false,
    }
}

/// `lbolt` in a shell, where `$lbolt` is the command; standard error goes to a file, or where the
/// line says.
fn shell(lab: &Lab, line: &str) -> Ended {
    let mut command = lab.command("sh");
    command.args(["-c", line]).env("lbolt", env!("CARGO_BIN_EXE_lbolt"));
    lab.end(command)
}

fn is_finished(lab: &Lab, run: &str) -> bool {
    let text = std::fs::read_to_string(lab.path(&format!("{run}/run.json"))).unwrap();
    let samples =
        model::record::read::<model::record::Sample>(&lab.path(&format!("{run}/samples.parquet")));
    text.contains("\"state\": \"finished\"") && samples.is_ok_and(|samples| samples.len() == 1)
}

#[test]
fn a_stream_that_is_closed_or_full_is_no_panic_and_the_run_is_whole() {
    let lab = Lab::new();
    let has_full = Path::new("/dev/full").exists();
    let cases = [
        ("a", "2>&-", 0, ""),
        ("b", "2>/dev/full", 0, ""),
        ("c", ">/dev/null", 0, "records: c"),
        ("d1", ">&-", 6, "standard output is closed"),
        ("e", ">/dev/full", 6, "failed to print the output: No space left on device"),
        ("f", ">&- 2>&-", 6, ""),
        ("g", ">/dev/full 2>/dev/full", 6, ""),
        ("h", "<&- >&- 2>&-", 6, ""),
    ];
    for (run, streams, code, sentence) in cases {
        if streams.contains("/dev/full") && !has_full {
            println!("skipped: {streams} needs /dev/full");
            continue;
        }
        let line = format!("\"$lbolt\" throughput d --rw read {QUICK} -o {run} {streams}");
        let ended = shell(&lab, &line);
        assert_eq!(ended.code, code, "{streams}: {}", ended.err);
        assert!(ended.err.contains(sentence) && !ended.err.contains("panicked"), "{}", ended.err);
        assert!(is_finished(&lab, run), "{streams}");
        // Where the records are is told all the same.
        assert!(sentence.is_empty() || ended.err.contains("records: "), "{}", ended.err);
    }
    lab.assert_clean();
}

#[test]
fn a_reader_that_has_had_enough_ends_nothing() {
    let lab = Lab::new();
    for (run, reader) in [("a", "2>&1 | head -c 1"), ("b", "2>&1 | true"), ("c", "| true")] {
        let line = format!(
            "{{ \"$lbolt\" throughput d --rw read {QUICK} -o {run}; echo $? > code; }} {reader}"
        );
        let ended = shell(&lab, &line);
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        assert_eq!(std::fs::read_to_string(lab.path("code")).unwrap(), "0\n", "{reader}");
        assert!(is_finished(&lab, run), "{reader}");
    }
    lab.assert_clean();
}

#[test]
fn output_that_is_lost_is_an_error_of_every_command() {
    let lab = Lab::new();
    assert_eq!(lab.run(&format!("throughput d --rw read {QUICK} -o runs/r")).code, 0);
    let outputs = ["runs list", "runs show r", "sql", "--help", "throughput --help", "--version"];
    for words in outputs {
        for (streams, code) in [(">&-", 6), (">/dev/full", 6), (">/dev/null", 0), ("| true", 0)] {
            let ended = shell(&lab, &format!("\"$lbolt\" {words} {streams}"));
            assert_eq!(ended.code, code, "{words} {streams}: {}", ended.err);
            let is_told = ended.err.starts_with("lbolt: failed to print the output: ");
            assert_eq!(is_told, code == 6, "{words} {streams}: {}", ended.err);
        }
    }
    // What else is wrong comes first.
    let ended = shell(&lab, "\"$lbolt\" runs show nothing >&-");
    assert_eq!(ended.code, 2, "{}", ended.err);
}

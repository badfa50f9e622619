//! Names that others give, in Markdown: text wherever they stand, in sentences as in tables.

use crate::sentences::{commits, curves, of, storms, verdicts};
use model::record::{Finding, Subject, WAIT_FOR_THREAD};
use report::verdict::Shown;
use report::{Run, replayed, response};

/// What processes, devices and directories may be called.
const HOSTILE: [&str; 9] =
    ["<img src=//x>", "*a*_b_", "[a](//b)", "`rm`", "# h", "> q", "- a|b", "&lt;b&gt;", "~~x~~"];

/// The names in the cases; what else there is are lbolt's own words.
const NAMES: [&str; 10] = [
    "postgres: backend",
    "postgres: checkpointer",
    "pgbench",
    "keeper",
    "logger",
    "reader",
    "redis",
    "dd",
    "vda",
    "d",
];

/// The first character that Markdown would take for its own, besides what the line is made of.
fn bare(line: &str) -> Option<char> {
    let line = line.strip_prefix("**").and_then(|line| line.strip_suffix("**")).unwrap_or(line);
    let is_row = line.starts_with('|');
    let line = ["## ", "- "].iter().find_map(|made| line.strip_prefix(made)).unwrap_or(line);
    let first = line.chars().next().filter(|first| "#>=-+".contains(*first));
    let mut characters = line.chars();
    let inner = std::iter::from_fn(|| match characters.next()? {
        '\\' => characters.next().map(|_| ' '),
        '|' if is_row => Some(' '),
        other => Some(other),
    });
    first.or_else(|| inner.into_iter().find(|of| "|*_`<[]&~".contains(*of)))
}

/// A name of the cases, made hostile; no two become one.
fn renamed(name: &str, hostile: &str) -> String {
    let (head, own) = match name.strip_prefix(WAIT_FOR_THREAD) {
        Some(own) => (WAIT_FOR_THREAD, own),
        None => ("", name),
    };
    let (own, slice) = match own.strip_prefix("vda ") {
        Some(slice) => ("vda", format!(" {slice}")),
        None => (own, String::new()),
    };
    match NAMES.iter().position(|known| *known == own) {
        Some(place) => format!("{head}{hostile}{place}{slice}"),
        None => name.to_owned(),
    }
}

/// What a line reads as.
fn read(line: &str) -> String {
    let mut characters = line.chars();
    std::iter::from_fn(|| match characters.next()? {
        '\\' => characters.next(),
        other => Some(other),
    })
    .collect()
}

/// A trace's devices: one has nearly all of the time, and the kernel counted its requests.
fn devices() -> Vec<Finding> {
    let share =
        |by: &str, class: &str, percent| of(&Subject::class(by, class), "time_percent", percent);
    vec![
        of(&Subject::this_run(), "requests_count", 100.0),
        of(&Subject::device_op("vda", "read"), "requested_count", 100.0),
        of(&Subject::device("vda"), "kernel_completed_count", 100.0),
        share("device", "vda", 90.0),
        share("device", "other", 10.0),
        share("region", "vda 0 to 10 GiB", 40.0),
    ]
}

fn replay() -> Vec<Finding> {
    let all = Subject::device_op("vda", "all");
    vec![
        of(&Subject::this_run(), "lateness_p50_ns", 2e3),
        of(&all, "replayed_count", 100.0),
        of(&all, "replayed_mean_ns", 1e6),
        of(&Subject::class("left out", "vda"), "replay_left_out_count", 5.0),
    ]
}

#[test]
fn no_name_is_markup_in_any_sentence() {
    let cases = curves().into_iter().chain(commits()).chain(storms()).chain(verdicts());
    let cases: Vec<_> = cases.chain([("devices", devices()), ("replay", replay())]).collect();
    for hostile in HOSTILE {
        let mut named = Vec::new();
        for (title, findings) in &cases {
            let of_hostile = |finding: &Finding| Finding {
                subject: finding.subject.clone().with_names(|name| renamed(name, hostile)),
                ..finding.clone()
            };
            let findings: Vec<Finding> = findings.iter().map(of_hostile).collect();
            let run = Run { findings: &findings, rows: &[] };
            let texts = [
                run.markdown(),
                response::markdown(&findings, &Shown::default()),
                replayed::markdown(&findings),
            ];
            for line in texts.iter().flat_map(|text| text.lines()) {
                assert_eq!(bare(line), None, "{title}: {line}");
                if !line.starts_with('|') && read(line).contains(hostile) {
                    named.push(*title);
                }
            }
        }
        // The sentences have the names: nothing was left out.
        for title in ["verdict", "verdict, a lock", "devices", "replay"] {
            assert!(named.contains(&title), "{title}: {hostile}");
        }
    }
}

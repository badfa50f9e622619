//! What is printed at the end: the matrix of stacks and kernels, each failure spelled out, each
//! lack in its own words, and a last line like a test runner's.

use super::judge::{Fault, Outcome};
use super::results::Row;
use super::table::{Kernel, Table};
use report::Sheet;
use report::listing::Listing;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// What became of all cases.
#[derive(Debug)]
pub(super) struct All {
    pub(super) rows: Vec<Row>,
    pub(super) again: usize,
    pub(super) is_stopped: bool,
}

impl All {
    pub(super) fn is_passed(&self) -> bool {
        let is_failed = |row: &Row| matches!(row.outcome, Outcome::Failed(_));
        !self.is_stopped && !self.rows.iter().any(is_failed)
    }
}

/// What became of the cases of a stack on a kernel.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    passed: usize,
    failed: usize,
    lacks: usize,
}

impl Cell {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut cell = Self::default();
        for row in rows {
            match row.outcome {
                Outcome::Passed => cell.passed += 1,
                Outcome::Failed(_) => cell.failed += 1,
                Outcome::Lacks(_) => cell.lacks += 1,
            }
        }
        cell
    }

    /// For the terminal: with counts.
    fn text(self) -> String {
        let Self { passed, failed, lacks } = self;
        let part = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
        let parts = [part(passed, "passed"), part(lacks, "lacks"), part(failed, "FAILED")];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
    }

    /// For the page: whether it works, and how many cases say so.
    fn word(self) -> String {
        let Self { passed, failed, lacks } = self;
        let all = passed + failed + lacks;
        match self {
            Self { failed: 1.., .. } => format!("fails ({failed} of {all})"),
            Self { passed: 0, lacks: 0, .. } => "not tested".to_owned(),
            Self { passed: 0, .. } => format!("lacks ({all})"),
            Self { lacks: 1.., .. } => format!("in part ({passed} of {all})"),
            Self { .. } => format!("works ({all})"),
        }
    }
}

/// The names of one kind, each once, in the order of their first rows.
fn names(rows: &[Row], name: fn(&Row) -> &String) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for row in rows {
        if !names.contains(name(row)) {
            names.push(name(row).clone());
        }
    }
    names
}

/// A row a stack, a column a kernel; `head` is a kernel's.
fn sheet(
    title: &str,
    rows: &[Row],
    stacks: &[String],
    kernels: &[(String, String)],
    shown: impl Fn(Cell) -> String,
) -> Sheet {
    let listing = Listing::of(stacks).label("stack", String::clone);
    let listing = kernels.iter().fold(listing, |listing, (kernel, head)| {
        listing.figure("", head, |stack| {
            let is_of = |row: &&Row| row.kernel == *kernel && row.stack == *stack;
            shown(Cell::of(rows.iter().filter(is_of)))
        })
    });
    listing.sheet(title)
}

/// The matrix, lacks and failures, for a terminal.
pub(super) fn text(rows: &[Row]) -> String {
    let (stacks, kernels) = (names(rows, |row| &row.stack), names(rows, |row| &row.kernel));
    let kernels: Vec<_> = kernels.into_iter().map(|kernel| (kernel.clone(), kernel)).collect();
    let mut text = sheet("The lab", rows, &stacks, &kernels, Cell::text).text(None);
    for (sentence, places) in said(rows, |row| match &row.outcome {
        Outcome::Lacks(sentence) => Some(one_line(sentence)),
        _ => None,
    }) {
        _ = writeln!(text, "\nlacks: {sentence}\n  {places}");
    }
    for (why, places) in said(rows, |row| match row.outcome {
        Outcome::Passed => row.why.first().cloned(),
        _ => None,
    }) {
        _ = writeln!(text, "\nless is held: {why}\n  {places}");
    }
    for row in rows {
        if let Outcome::Failed(faults) = &row.outcome {
            _ = writeln!(text, "\nFAILED {}: {}: {}", row.kernel, row.stack, row.case);
            text += &self::faults(faults);
        }
    }
    text
}

/// What was wanted, and what was measured.
pub(super) fn faults(faults: &[Fault]) -> String {
    let lines = faults.iter().map(|Fault { wanted, measured }| {
        format!("  wanted    {wanted}\n  measured  {measured}\n")
    });
    lines.collect()
}

/// Sentences, each with the places where it was said.
fn said(rows: &[Row], of: impl Fn(&Row) -> Option<String>) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, BTreeMap<&str, Vec<String>>> = BTreeMap::new();
    for row in rows {
        if let Some(sentence) = of(row) {
            let place = format!("{}: {}", row.stack, row.case);
            found.entry(sentence).or_default().entry(&row.kernel).or_default().push(place);
        }
    }
    let places = |by_kernel: BTreeMap<&str, Vec<String>>| {
        let of = by_kernel.into_iter().map(|(kernel, places)| match &places[..] {
            [one] => format!("{kernel}: {one}"),
            [one, ..] => format!("{kernel}: {one} and {} more", places.len() - 1),
            [] => String::new(),
        });
        of.collect::<Vec<_>>().join("; ")
    };
    found.into_iter().map(|(sentence, by_kernel)| (sentence, places(by_kernel))).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `lab result: ok. 80 passed; 0 failed; 4 lacks; 1 guest booted again; finished in 312 s`.
pub(super) fn last_line(all: &All, took: Duration) -> String {
    let Cell { passed, failed, lacks } = Cell::of(all.rows.iter());
    let word = if all.is_passed() { "ok" } else { "FAILED" };
    let stopped = if all.is_stopped { "interrupted; " } else { "" };
    format!(
        "lab result: {word}. {stopped}{passed} passed; {failed} failed; {lacks} lacks; {} guests \
         booted again; finished in {} s",
        all.again,
        took.as_secs()
    )
}

/// What the page says before its table.
const PAGE: &str = "\
# Kernels and stacks

What lbolt was tried on by `make lab` ([lab.md](lab.md)), and whether all that the lab holds there
held: requests and bytes equal to the kernel's own counts and to fio's to the last one, captured by
BPF, no finding suspect without a reason, fsync calls equal to fio's. `cargo xtask lab --table`
prints this page of the last results.

- *works*: every case that was run passed; their number is in brackets. *In part*: some passed, and
  in the others the kernel lacks something, which lbolt says; *lacks*: so it is in all of them.
- *fails*: so many cases failed. *Not tested*: no case was run.
";

/// docs/kernels.md: every stack of the table, tested or not. A kernel whose name is no version (the
/// newest one) is called by the first two numbers of its release.
pub(super) fn markdown(
    table: &Table,
    rows: &[Row],
    release: impl Fn(&str) -> Option<String>,
) -> String {
    let head = |kernel: &Kernel| match (
        kernel.name.starts_with(char::is_numeric),
        release(&kernel.name),
    ) {
        (false, Some(release)) => release.splitn(3, '.').take(2).collect::<Vec<_>>().join("."),
        _ => kernel.name.clone(),
    };
    let mut stacks: Vec<String> = vec![];
    for name in table.stack.iter().flat_map(|stack| stack.names()) {
        if !stacks.contains(&name) {
            stacks.push(name);
        }
    }
    let kernels: Vec<_> =
        table.kernel.iter().map(|kernel| (kernel.name.clone(), head(kernel))).collect();
    let sheet = sheet("Stacks on Debian's kernels", rows, &stacks, &kernels, Cell::word);
    let lacks = said(rows, |row| match &row.outcome {
        Outcome::Lacks(sentence) => Some(one_line(sentence)),
        _ => None,
    });
    let lacks = lacks.into_iter().map(|(why, places)| format!("*{why}*: {places}.\n"));
    let parts: Vec<String> = std::iter::once(sheet.markdown()).chain(lacks).collect();
    format!("{PAGE}\n{}", parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kernel: &str, stack: &str, case: &str, outcome: Outcome) -> Row {
        let (kernel, stack, case) = (kernel.to_owned(), stack.to_owned(), case.to_owned());
        Row { kernel, stack, case, outcome, why: vec![] }
    }

    fn rows() -> Vec<Row> {
        let fault = Fault::new("sda: reads: 500, by the kernel", "0, by the trace");
        vec![
            row("5.10", "zram", "reads", Outcome::Lacks("use Linux\n6.1".into())),
            row("6.12", "zram", "reads", Outcome::Passed),
            row("6.12", "sata none", "reads", Outcome::Failed(vec![fault])),
        ]
    }

    #[test]
    fn failures_and_lacks_are_spelled_out_below_the_matrix() {
        let text = text(&rows());
        for expected in [
            "FAILED 6.12: sata none: reads\n  wanted    sda: reads: 500, by the kernel\n",
            "  measured  0, by the trace\n",
            "lacks: use Linux 6.1\n  5.10: zram: reads\n",
            "1 FAILED",
            "1 passed",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn the_last_line_says_ok_only_where_all_passed() {
        let mut all = All { rows: rows(), again: 1, is_stopped: false };
        let line = last_line(&all, Duration::from_millis(61_900));
        assert_eq!(
            line,
            "lab result: FAILED. 1 passed; 1 failed; 1 lacks; 1 guests booted again; finished in \
             61 s"
        );
        all.rows.pop();
        assert!(last_line(&all, Duration::ZERO).starts_with("lab result: ok. 1 passed; 0 failed"));
        all.is_stopped = true;
        assert!(last_line(&all, Duration::ZERO).contains("FAILED. interrupted; "));
    }

    #[test]
    fn the_page_says_of_every_stack_whether_it_was_tested() {
        let table = Table::read().unwrap();
        let rows = [row("6.12", "sata mq-deadline", "reads", Outcome::Passed)];
        let page = markdown(&table, &rows, |_| Some("7.2.13+deb14-amd64".into()));
        let head = page.lines().find(|line| line.starts_with("| stack")).unwrap();
        assert!(head.contains("| 6.12-rt | 7.2 |"), "{head}");
        let line = page.lines().find(|line| line.contains("sata mq-deadline")).unwrap();
        assert!(line.contains("works") && line.contains("not tested"), "{page}");
        assert!(page.lines().filter(|line| line.starts_with('|')).count() > 3, "{page}");
    }
}

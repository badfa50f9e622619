//! The layout's known completion: the 1983 paper's own table of the VAX-11/780,
//! from its numbers.

#[allow(dead_code, reason = "each test file uses its part")]
use crate::common::{doubted, finding, golden};
use model::record::{Finding, Verdict};
use report::Run;
use report::throughput::{Matrix, table};

const SYSTEMS: [&str; 3] = ["Emulex SC780/Eagle", "UDA50/RA81", "Sys. Ind. 9900/Eagle"];

/// kB/s and CPU percent with 1 and 2 drives on each system, and the paper's asterisks.
pub(crate) type Row = (&'static str, [Option<(f64, f64, bool)>; 6]);

const fn cell(rate: f64, cpu: f64) -> Option<(f64, f64, bool)> {
    Some((rate, cpu, false))
}

const fn star(rate: f64, cpu: f64) -> Option<(f64, f64, bool)> {
    Some((rate, cpu, true))
}

#[rustfmt::skip]
pub(crate) const BLOCKS_8K: [Row; 4] = [
    ("read_8192",    [cell(560.0, 70.0), cell(480.0, 58.0), cell(360.0, 45.0),
                      cell(540.0, 72.0), cell(340.0, 41.0), cell(520.0, 66.0)]),
    ("write_4096",   [cell(440.0, 98.0), cell(440.0, 98.0), cell(380.0, 99.0),
                      cell(480.0, 96.0), cell(490.0, 96.0), cell(440.0, 84.0)]),
    ("write_8192",   [cell(490.0, 98.0), cell(490.0, 98.0), star(220.0, 58.0),
                      cell(480.0, 92.0), cell(490.0, 80.0), cell(430.0, 72.0)]),
    ("rewrite_8192", [cell(760.0, 100.0), cell(560.0, 72.0), star(220.0, 50.0),
                      star(180.0, 52.0), cell(490.0, 60.0), cell(520.0, 62.0)]),
];

#[rustfmt::skip]
const BLOCKS_4K: [Row; 4] = [
    ("read_8192",    [cell(490.0, 77.0), cell(370.0, 66.0), None,
                      None, cell(200.0, 31.0), cell(370.0, 56.0)]),
    ("write_4096",   [cell(380.0, 98.0), cell(370.0, 98.0), None,
                      None, cell(200.0, 46.0), cell(370.0, 88.0)]),
    ("write_8192",   [cell(380.0, 99.0), cell(370.0, 97.0), None,
                      None, cell(200.0, 45.0), cell(320.0, 76.0)]),
    ("rewrite_8192", [cell(490.0, 87.0), cell(350.0, 66.0), None,
                      None, cell(200.0, 31.0), cell(300.0, 46.0)]),
];

pub(crate) fn findings(rows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (program, cells) in rows {
        for (position, cell) in cells.iter().enumerate() {
            let drives = if position % 2 == 0 { "1" } else { "2" };
            let place = (*program, SYSTEMS[position / 2], drives);
            let rate = finding(place, "rate_bytes_per_s", cell.map(|(rate, ..)| rate * 1e3));
            let cpu = finding(place, "cpu_percent", cell.map(|(_, cpu, _)| cpu));
            let why = "the operation of the hardware was suspect during these tests.";
            let suspect = cell.is_some_and(|(.., star)| star);
            findings.push(if suspect { doubted(rate, Verdict::Suspect, why) } else { rate });
            findings.push(cpu);
        }
    }
    findings
}

fn matrix(rows: &[Row]) -> Matrix {
    Matrix::from_findings(&findings(rows), &[])
}

#[test]
fn the_papers_table_is_printed_as_the_paper_prints_it() {
    let text =
        format!("{}\n{}", table(&matrix(&BLOCKS_8K), None), table(&matrix(&BLOCKS_4K), None));
    golden("paper-780.txt", &text);
}

#[test]
fn on_a_narrow_terminal_it_becomes_several() {
    let text = table(&matrix(&BLOCKS_8K), Some(60));
    assert!(text.lines().all(|line| line.chars().count() <= 60));
    golden("paper-780-narrow.txt", &text);
}

#[test]
fn the_papers_table_as_markdown() {
    golden("paper-780.md", &Run { findings: &findings(&BLOCKS_8K), rows: &[] }.markdown());
}

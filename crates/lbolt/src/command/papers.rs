//! `lbolt papers`: the published tables against what the models say.

use super::print;
use super::report::put;
use clap::ValueEnum;
use cli::{Format, Paper, PapersOptions};
use messages::fault::{Fault, failure};
use messages::output::terminal_width;
use messages::ticker::Ticker;
use model::record::{Finding, TOOL_VERSION};
use papers::{Comparison, overhead_1980, response_1986, screen, sentences, throughput_1983};
use report::Sheet;

/// Runs the command.
/// Errors: a model at fault.
pub(super) fn run(options: &PapersOptions) -> anyhow::Result<()> {
    let mut papers = match options.papers.as_slice() {
        [] => Paper::value_variants().to_vec(),
        requested => requested.to_vec(),
    };
    papers.sort_unstable();
    papers.dedup();
    let mut parts: Vec<Comparison> = Vec::new();
    for paper in &papers {
        let name = paper.to_possible_value().map(|value| value.get_name().to_owned());
        let ticker = Ticker::new(move || format!("computing {}", name.clone().unwrap_or_default()));
        let part = compute(*paper, options.seeds.into());
        drop(ticker);
        parts.push(part?);
    }
    let printed = print(&shown(&parts, options)?);
    let paged = match &options.page {
        Some(path) => {
            let findings: Vec<Finding> = parts.iter().flat_map(|p| p.findings.clone()).collect();
            let sheets: Vec<&Sheet> = parts.iter().flat_map(|part| &part.sheets).collect();
            put(&report::page::of_papers(&findings, &sheets, sentences(&findings)), path)
        }
        None => Ok(()),
    };
    printed.and(paged)
}

fn compute(paper: Paper, seeds: u64) -> anyhow::Result<Comparison> {
    let computed = match paper {
        Paper::Overhead1980 => overhead_1980::compare(),
        Paper::Throughput1983 => throughput_1983::compare(seeds),
        Paper::Response1986 => response_1986::compare(seeds),
    };
    computed.map_err(|error| {
        failure(Fault::Io, format!("failed to compute the paper's table: {error}"))
    })
}

fn shown(parts: &[Comparison], options: &PapersOptions) -> anyhow::Result<String> {
    let findings: Vec<Finding> = parts.iter().flat_map(|part| part.findings.clone()).collect();
    let sheets = || parts.iter().flat_map(|part| &part.sheets);
    let joined = |texts: Vec<String>| texts.join("\n\n");
    let run = serde_json::json!({
        "experiment": "papers", "version": TOOL_VERSION, "seeds": options.seeds,
    });
    Ok(match options.format {
        Format::Json => report::json(&run, &[], &findings)?,
        Format::Csv => report::csv(&findings),
        Format::Markdown => joined(sheets().map(|sheet| sheet.markdown()).collect()),
        Format::Table if !options.all => screen(&findings, terminal_width()),
        Format::Table => joined(sheets().map(|sheet| sheet.text(terminal_width())).collect()),
    })
}

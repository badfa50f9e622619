//! `lbolt response`: what each request of a trace went through, and which of them fared badly.

use super::import::{choose, of_import, open};
use super::{note, print};
use crate::cli::{Format, ResponseOptions};
use crate::exit::{Fault, failure, of_records};
use crate::room::record::Devices;
use crate::room::trace::{parquet_of, terminal_width};
use crate::session::control;
use crate::ticker::Ticker;
use analyze::requests::count_findings;
use analyze::response::Response;
use host::drive::Control;
use model::record::requests::{Provenance, RequestReader};
use model::record::{Commands, Finding, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trace::import::{self, ImportError};
use trace::intake::{Intake, Rows, RowsError};

/// Runs the command.
///
/// # Errors
/// A trace that cannot be read; interruption.
pub fn run(options: &ResponseOptions) -> anyhow::Result<()> {
    if options.ticks && !matches!(options.format, Format::Table | Format::Csv) {
        let sentence = "--ticks prints lines or CSV; leave --format away, or give --format csv";
        return Err(failure(Fault::Usage, sentence));
    }
    let control = control()?;
    let mut analysis = Analysis::new(control);
    let ticker = progress(analysis.rows.clone());
    let provenance = feed(options, &mut analysis);
    drop(ticker);
    let provenance = provenance?;
    let mut findings = count_findings(&provenance);
    findings.extend(analysis.response.findings(|device| name(device, &provenance)));
    print(&shown(options, &analysis.response, &provenance, &findings)?)
}

/// The analysis as a place where rows go.
struct Analysis {
    response: Response,
    control: Arc<Control>,
    rows: Arc<AtomicU64>,
}

impl Analysis {
    fn new(control: Arc<Control>) -> Self {
        Self { response: Response::default(), control, rows: Arc::default() }
    }
}

impl Rows for Analysis {
    fn push(&mut self, row: &Request, _: &Commands) -> Result<(), RowsError> {
        if self.control.stop.load(Ordering::Relaxed) {
            return Err(RowsError("interrupted".into()));
        }
        self.response.add(row);
        self.rows.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// All rows of the trace, and what is said of them.
fn feed(options: &ResponseOptions, analysis: &mut Analysis) -> anyhow::Result<Provenance> {
    let fed = match parquet_of(&options.traces, options.from.as_deref()) {
        Some(path) => {
            let reader = RequestReader::open(&path);
            let reader = reader.map_err(|e| failure(Fault::Usage, format!("failed to {e}")))?;
            of_records_of_ours(reader, analysis)
        }
        None => of_foreign(options, analysis),
    };
    let is_stopped = analysis.control.stop.load(Ordering::Relaxed);
    fed.map_err(|error| match is_stopped {
        true => failure(Fault::Interrupted, "interrupted; nothing was analysed"),
        false => error,
    })
}

fn of_records_of_ours(
    mut reader: RequestReader,
    analysis: &mut Analysis,
) -> anyhow::Result<Provenance> {
    while let Some(rows) = reader.next_rows().map_err(of_records)? {
        for row in &rows {
            analysis.push(row, &reader.commands).map_err(of_records)?;
        }
    }
    Ok(reader.provenance())
}

/// A foreign trace needs no file of ours: its rows come in order.
fn of_foreign(options: &ResponseOptions, analysis: &mut Analysis) -> anyhow::Result<Provenance> {
    let mut inputs = open(&options.traces)?;
    let format = choose(&mut inputs, options.from.as_deref()).map_err(of_import)?;
    let mut intake = Intake::new(analysis, &format!("import:{}", format.name()));
    import::read(&mut inputs, Some(format), &mut intake).map_err(of_import)?;
    let (provenance, _) = intake.finish().map_err(|e| of_import(ImportError::Rows(e)))?;
    if provenance.counts.rejected > 0 {
        note(&format!("{} lines or records were not understood", provenance.counts.rejected));
    }
    Ok(provenance)
}

/// A device's name, as it is noted with the rows.
fn name(device: u32, provenance: &Provenance) -> String {
    let noted = provenance.notes.get(&format!("device.{device}")).cloned();
    noted.unwrap_or_else(|| Devices::default().name(device))
}

fn progress(rows: Arc<AtomicU64>) -> Ticker {
    Ticker::new(move || format!("{} requests", rows.load(Ordering::Relaxed)))
}

/// The findings in the format that was asked for.
fn shown(
    options: &ResponseOptions,
    response: &Response,
    provenance: &Provenance,
    findings: &[Finding],
) -> anyhow::Result<String> {
    if options.ticks {
        let counts = response.ticks().into_iter().map(|count| (count.ticks, count.responses));
        return Ok(report::response::ticks(counts, options.format == Format::Csv));
    }
    Ok(match options.format {
        Format::Json => {
            let trace = serde_json::json!({ "trace": options.traces, "origin": provenance.origin });
            report::json(&trace, findings)?
        }
        Format::Csv => report::csv(findings),
        Format::Markdown => report::response::markdown(findings),
        Format::Table => report::response::table(findings, terminal_width()),
    })
}

//! What a traced storm shows beyond its table: the responses within the period, and who waited for
//! whom, by the analysis that `lbolt response` is.

use analysis::response::analyse_run;
use analyze::storm::fold::{Fold, PARTS};
use capture::gate::Gate;
use messages::fault::of_records;
use messages::output::terminal_width;
use model::record::Sample;
use model::record::requests::RequestFile;
use model::text::visible;
use report::fold::{Folded, folded};
use report::screen::{limited, paragraphs};
use report::visible_findings;
use std::path::Path;

/// What the verdict is of: both p99 can be alike and hold waits for others.
const BY_TRACE: &str = "By the trace, whose times are of requests from queueing to completion, not \
                        from when a read was due, and where each wait is compared with calm, not \
                        reads during a sync with the others:";

/// The chart and the sentences; nothing where no read was captured.
/// Errors: records that cannot be read again.
pub(super) fn text(
    run: &Path,
    target: &str,
    (samples, period_ns): (&[Sample], u64),
) -> anyhow::Result<String> {
    let path = run.join("requests.parquet");
    if !path.exists() {
        return Ok(String::new());
    }
    let mut fold = Fold::new(samples, period_ns);
    let file = RequestFile::open(&path).map_err(of_records)?;
    let mut reader = file.read_all().map_err(of_records)?;
    while let Some(batch) = reader.next_batch().map_err(of_records)? {
        batch.rows().for_each(|row| fold.add(&row));
    }
    let levels = fold.counts.keys().map(|(level, _)| *level);
    let (Some(least), Some(most)) = (levels.clone().min(), levels.max()) else {
        return Ok(String::new());
    };
    let width = limited(terminal_width());
    let chart = folded(
        &Folded {
            target: &visible(target),
            period_ns,
            parts: PARTS,
            count: &|level, part| fold.counts.get(&(level, part)).copied().unwrap_or(0),
            levels: least..=most,
            level_ns: Fold::level_ns,
        },
        width,
    );
    let told = [vec![BY_TRACE.to_owned()], who_waited(run)?].concat();
    Ok(format!("{chart}\n{}", paragraphs(&told, width)))
}

/// Who waited for whom, in sentences; none where nothing was captured.
/// Errors: records that cannot be read again.
pub(in crate::run) fn who_waited(run: &Path) -> anyhow::Result<Vec<String>> {
    if !run.join("requests.parquet").exists() {
        return Ok(vec![]);
    }
    let findings = analyse_run(run, &Gate::default())?.findings();
    Ok(report::verdict::sentences(&visible_findings(&findings)))
}

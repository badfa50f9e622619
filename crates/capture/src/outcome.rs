//! How the writing of rows ended: what a refusal of the output, or the user, makes of a run.

use crate::gate::Interrupted;
use messages::fault::{Fault, failure, of_records};
use trace::intake::RowsError;
use trace::output::OutputError;

/// What the output's refusal, if there was one, makes of a run: its state, and how it ends.
pub fn outcome(refusal: Option<RowsError>) -> (&'static str, anyhow::Result<()>) {
    let Some(RowsError(error)) = refusal else { return ("finished", Ok(())) };
    if error.is::<Interrupted>() {
        let sentence = "interrupted; the requests so far are in the records";
        return ("interrupted", Err(failure(Fault::Interrupted, sentence)));
    }
    let error = error.downcast().map_or_else(|e| of_records(RowsError(e)), |e| refused(*e));
    ("failed", Err(error))
}

/// What a run's own file refuses, and what is kept of it when it has been ended.
pub fn refused(error: OutputError) -> anyhow::Error {
    let kept = match &error {
        OutputError::Full { rows: 0, .. } => "no request was kept".to_owned(),
        OutputError::Full { rows, .. } => format!("its first {rows} requests are kept"),
        OutputError::Refused { .. } => return of_records(error),
    };
    of_records(format!("{error}; {kept}; free some space or choose another --output"))
}

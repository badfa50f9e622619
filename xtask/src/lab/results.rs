//! What became of each case: kept in the lab's folder, so that the table of docs/kernels.md can be
//! made of several runs.

use super::judge::Outcome;
use serde::{Deserialize, Serialize};
use std::path::Path;

const FILE: &str = "results.json";

/// A case that was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) kernel: String,
    pub(super) stack: String,
    pub(super) case: String,
    pub(super) outcome: Outcome,
    /// Why less was held, where that is so.
    pub(super) why: Vec<String>,
}

impl Row {
    fn key(&self) -> (&str, &str, &str) {
        (&self.kernel, &self.stack, &self.case)
    }
}

/// The rows of all runs, the last of each case.
/// Errors: a file that is damaged. One that is not there holds no rows.
pub(super) fn read(at: &Path) -> anyhow::Result<Vec<Row>> {
    match std::fs::read_to_string(at.join(FILE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(vec![]),
        text => Ok(serde_json::from_str(&text?)?),
    }
}

/// Adds the rows of a run to those of earlier ones.
/// Errors: as of [`read`]; a refusal of the file system.
pub(super) fn add(at: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let mut all = read(at).unwrap_or_default();
    all.retain(|row| !rows.iter().any(|new| new.key() == row.key()));
    all.extend(rows.iter().cloned());
    Ok(std::fs::write(at.join(FILE), serde_json::to_string_pretty(&all)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_result_of_a_case_counts() {
        let at = tempfile::tempdir().unwrap();
        let row = |case: &str, outcome| Row {
            kernel: "6.1".into(),
            stack: "zram".into(),
            case: case.into(),
            outcome,
            why: vec![],
        };
        assert_eq!(read(at.path()).unwrap(), []);
        let lacks = Outcome::Lacks("no".into());
        add(at.path(), &[row("reads", Outcome::Passed), row("writes", Outcome::Passed)]).unwrap();
        add(at.path(), &[row("reads", lacks.clone())]).unwrap();
        let expected = [row("writes", Outcome::Passed), row("reads", lacks)];
        assert_eq!(read(at.path()).unwrap(), expected);
    }
}

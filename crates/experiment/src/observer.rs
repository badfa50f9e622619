//! Who watches a run, of whatever experiment: progress and records.

use model::record::{Role, Sample};

/// What is about to happen, for whoever shows progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassStart<'a> {
    /// The program's name.
    pub program: &'a str,
    /// Number of the pass within its cell, from 0; none while files are laid out.
    pub pass: Option<u32>,
    /// What it is for.
    pub role: Role,
    /// Passes of the cell; a number from there on is one that goes on until the rate is narrow.
    pub passes: u32,
    /// Bytes that it will move, where it does not run for a time.
    pub bytes: u64,
    /// The devices whose requests are to be captured meanwhile, where the run captures any; none of
    /// a pass that is not to be disturbed by it.
    pub captures: Option<&'a [String]>,
}

/// Who watches a run.
pub trait Observer {
    /// A pass is about to begin.
    fn pass_starts(&mut self, pass: &PassStart<'_>);
    /// A pass is over, or a cell could not be measured.
    fn pass_done(&mut self, sample: Sample);
    /// A cell is whole: the moment to write the records.
    fn cell_done(&mut self);
}

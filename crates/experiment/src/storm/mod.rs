//! What reads and commits suffer while somebody syncs: a reader and a committer beside a writer
//! that dirties the page cache and syncs it at a period.
//!
//! After Johnson, Smith & Wilson, "An Analysis of UNIX I/O Response Times" (1986), section 4: the
//! kernel's `update` wrote all dirty blocks every 30 s, and whoever read meanwhile waited. Their
//! suggestions (dribble the writes, put reads first) could not be tried; here *remedies* are, each
//! in passes of its own, in turn with passes without any.
//!
//! The reader and the committer are open loops: requests are due at random moments (exponential
//! gaps) at a rate, whatever became of those before; a latency counts from when it was due. The
//! writer dirties blocks at random places of its file evenly over the period, and then makes them
//! durable with one fsync.
//!
//! Where the user gives a load of his own, none of the three runs: a pass is a window of its time
//! ([`Load`]), and the victims are its reads and its calls that make data durable.
//!
//! Non-goals: what a remedy changes outside of the writer ([`Surroundings`]); ranking (`analyze`).

mod arrivals;
mod beside;
mod committer;
mod dirtier;
mod halving;
mod pass;
mod reader;
mod rounds;
#[cfg(test)]
mod tests;

pub use beside::{Load, Window};
pub use pass::run_system;

use crate::on_file::laid_out_ns;
use model::doubt::Doubt;
use model::plan::SystemPlan;
use model::seam::PreparedTarget;
use model::workload::WriterChange;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The plan. As JSON it is what `--dry-run` prints and run.json keeps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What is measured: one system.
    pub systems: Vec<SystemPlan>,
    /// The reader.
    pub read: Stream,
    /// The committer: it overwrites a block and makes it durable.
    pub commit: Stream,
    /// The writer; its rate is that of blocks that it dirties.
    pub write: Stream,
    /// From one sync to the next, ns.
    pub period_ns: u64,
    /// Syncs of a pass.
    pub periods: u32,
    /// What is tried; the first is *none*, against which the others are held.
    pub remedies: Vec<Tried>,
    /// Rounds of all remedies at the least; then the better half goes on while there is time.
    pub rounds: u32,
    /// No round begins that does not end within this time, ns; 0: just the rounds that there are.
    pub time_ns: u64,
    /// No more rounds than these, however much time there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_exact: bool,
    /// Passes end with the time, also within the least rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_time: bool,
    /// The user's own load, in the place of the three streams: a program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The requests of the passes are captured too.
    pub trace: bool,
    /// The seed of all random places and moments.
    pub seed: u64,
}

/// One stream of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Requests a second; 0: there is none; absent: from what the target can do.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Bytes a request.
    pub block_bytes: u64,
    /// Bytes of its file, or of its area of a device.
    pub file_bytes: u64,
    /// Where its area of a device begins.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from_bytes: u64,
    /// Each write is durable by itself (O_DSYNC), and nothing else is with it: fdatasync of a
    /// device would write all that is dirty of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_durable: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl Stream {
    fn is_on(&self) -> bool {
        self.rate != Some(0.0)
    }

    fn rate_iops(&self) -> f64 {
        self.rate.unwrap_or(0.0)
    }

    fn blocks(&self) -> u64 {
        (self.file_bytes / self.block_bytes.max(1)).max(1)
    }
}

/// A remedy as it is tried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// What it changes: two of one kind exclude each other.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// What it changes in the writer.
    #[serde(default)]
    pub writer: WriterChange,
}

/// Of the reads that the target can do one by one, the reader makes this share ...
const READ_SHARE: f64 = 0.25;
/// ... the committer makes so many commits, each of which is several requests, and no more than
/// so many of those that the target can do one by one ...
const COMMIT_SHARE: f64 = 0.05;
const COMMIT_BUSY_SHARE: f64 = 0.2;
/// ... and the writer dirties so many blocks.
const WRITE_SHARE: f64 = 0.3;
/// More of them say nothing more.
const READS_MOST: f64 = 2000.0;
const COMMITS_MOST: f64 = 200.0;

pub use model::record::subject::{NO_REMEDY as NONE, TAIL_SHARE};

/// What surrounds a pass: settings, counters, threads, and what is behind when it ends.
const PASS_OVERHEAD_NS: u64 = 300_000_000;

/// The names of the streams' files.
const READ_FILE: &str = "file.read";
const COMMIT_FILE: &str = "file.commit";
const WRITE_FILE: &str = "file.write";

impl Plan {
    /// With the rates that nobody chose from those that the target can do: reads and commits one by
    /// one.
    #[must_use]
    fn with_rates(&self, reads_per_s: f64, commits_per_s: f64) -> Self {
        let mut plan = self.clone();
        let of = |stream: &mut Stream, share: f64, most: f64| {
            stream.rate.get_or_insert((reads_per_s * share).min(most));
        };
        of(&mut plan.read, READ_SHARE, READS_MOST);
        of(&mut plan.commit, COMMIT_SHARE, COMMITS_MOST.min(commits_per_s * COMMIT_BUSY_SHARE));
        let half_file = plan.write.blocks() as f64 / 2.0 * 1e9 / plan.period_ns as f64;
        of(&mut plan.write, WRITE_SHARE, half_file);
        plan
    }

    /// The files, each with its stream.
    pub fn files(&self) -> [(&'static str, &Stream); 3] {
        [(READ_FILE, &self.read), (COMMIT_FILE, &self.commit), (WRITE_FILE, &self.write)]
    }

    /// Bytes that the writer dirties from one sync to the next.
    pub fn dirty_bytes(&self) -> u64 {
        let bytes_per_s = self.write.rate_iops() * self.write.block_bytes as f64;
        (bytes_per_s * self.period_ns as f64 / 1e9) as u64
    }

    /// How long a pass takes.
    pub fn pass_ns(&self) -> u64 {
        self.period_ns.saturating_mul(u64::from(self.periods))
    }

    /// About how long all of them take, with what is before and beside them, ns.
    pub fn estimate_ns(&self) -> u64 {
        let own = if self.command.is_empty() { pass::PROBE_NS * 3 / 2 } else { 0 };
        let written: u64 = match self.command.is_empty() {
            true => self.files().iter().map(|(_, stream)| stream.file_bytes).sum(),
            false => 0,
        };
        own + laid_out_ns(written) + self.passes() * (self.pass_ns() + PASS_OVERHEAD_NS)
    }

    /// Passes of all remedies, at the least.
    pub fn passes(&self) -> u64 {
        self.remedies.len() as u64 * u64::from(self.rounds)
    }
}

/// What a remedy changes outside of the writer, and what else the passes are to be shielded from.
pub trait Surroundings {
    /// The files are laid out: from now on all is as it is to be measured, on this target.
    /// Errors: a sentence for what could not be done.
    fn laid_out(&mut self, target: &PreparedTarget) -> Result<(), String>;

    /// What is measured at last, when the rates are known.
    fn begin(&mut self, plan: &Plan);

    /// Changes to a remedy from whatever was before.
    /// Errors: a sentence for what this machine refuses: the remedy is not measured.
    fn change(&mut self, remedy: &str) -> Result<(), String>;

    /// The cgroup that the writer is to be in, under a remedy that limits it.
    fn writer_group(&self) -> Option<PathBuf> {
        None
    }

    /// Half of the interval of the mean of these logarithms that holds for so many remedies
    /// together; none where there is none.
    fn half_of(&self, _logs: &[f64], _tried: usize) -> Option<f64> {
        None
    }

    /// The load that is not ours, where there is one: passes are windows of it.
    fn load(&mut self) -> Option<&mut dyn Load> {
        None
    }

    /// Why the pass that is over is to be doubted, if it is: somebody else changed a setting.
    fn doubts(&mut self) -> Vec<Doubt>;
}

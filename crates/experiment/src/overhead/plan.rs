//! What is to be measured: *sweeps*, each a product of lists, which together give the cells. The
//! default and the full plan are tables of sweeps; a user's list takes the place of an axis in all.
//!
//! Non-goals: whether this machine can do it (its refusal makes the cell *not measured*).

use crate::until::Until;
use model::plan::TargetFacts;
use model::seam::Operation;
use model::workload::{Access, Account, Arithmetic, EngineKind};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;

/// Computing while requests are outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Overlap {
    /// With what.
    pub arithmetic: Arithmetic,
    /// How long between two tests of the channels.
    pub test_interval_ns: u64,
}

/// One cell: everything that sets a pass apart from another but its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    /// By which interface.
    pub engine: EngineKind,
    /// What is done to the file.
    pub access: Access,
    /// Past the page cache.
    pub direct: bool,
    /// B: bytes a request.
    pub block_bytes: u64,
    /// N: requests outstanding.
    pub channels: u32,
    /// Computing meanwhile, if any.
    pub overlap: Option<Overlap>,
}

impl Cell {
    /// Why it makes no sense, if it makes none.
    pub fn nonsense(&self) -> Option<String> {
        let facts = self.engine.facts();
        let copies = facts.serves == [Operation::Copy];
        let is_mixed = matches!(self.access, Access::Rw | Access::RandRw);
        let name = facts.name;
        if let Some(reason) = facts.not_direct.filter(|_| self.direct) {
            Some(format!("{name} cannot use O_DIRECT: {reason}"))
        } else if let Some(reason) = facts.not_buffered.filter(|_| !self.direct) {
            Some(format!("{name} cannot use the page cache: {reason}"))
        } else if self.channels > 1 && !facts.overlaps {
            Some(format!("{name} keeps only one request outstanding, not {}", self.channels))
        } else if copies && !is_mixed {
            Some(format!("{name} copies, so it reads and writes; give --rw rw or randrw"))
        } else if self.access.creates() {
            Some("overhead overwrites files in place; give rewrite instead of write".into())
        } else {
            None
        }
    }

    /// The request of this cell both reads and writes.
    pub fn copies(&self) -> bool {
        self.engine.facts().serves == [Operation::Copy]
    }
}

/// A product of lists.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sweep {
    /// What it is for, for the plan that is printed.
    pub purpose: Cow<'static, str>,
    /// Interfaces.
    pub engines: Vec<EngineKind>,
    /// Accesses.
    pub accesses: Vec<Access>,
    /// Through the page cache, past it, or both.
    pub direct: Vec<bool>,
    /// Request sizes.
    pub block_bytes: Vec<u64>,
    /// Numbers of channels.
    pub channels: Vec<u32>,
    /// Without computing, and with.
    #[serde(rename = "computing")]
    pub overlaps: Vec<Option<Overlap>>,
    /// Accounts beside the difference, which every pass has.
    pub accounts: Vec<Account>,
    /// It measures the harness, whatever else is requested.
    #[serde(skip)]
    pub is_harness: bool,
}

impl Sweep {
    /// Every combination, senseless ones too.
    fn product(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &direct in &self.direct {
            for &overlap in &self.overlaps {
                for &engine in &self.engines {
                    for &access in &self.accesses {
                        for &channels in &self.channels {
                            for &block_bytes in &self.block_bytes {
                                let cell =
                                    Cell { engine, access, direct, block_bytes, channels, overlap };
                                cells.push(cell);
                            }
                        }
                    }
                }
            }
        }
        cells
    }
}

/// The plan of an overhead run. As JSON it is what `--dry-run` prints and run.json keeps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The target as it was requested.
    pub target: String,
    /// Where it lies on this machine; a model lies nowhere.
    pub places: Vec<TargetFacts>,
    /// What to measure.
    pub sweeps: Vec<Sweep>,
    /// How much that is.
    #[serde(flatten)]
    pub extent: Extent,
    /// Bytes of the file that buffered requests stay within, and of the one for direct requests.
    pub file_bytes: u64,
    /// Rounds over all cells that are left out.
    pub warmup: u32,
    /// Rounds over all cells that count; where there is an `until`, so many before any rate is
    /// looked at.
    pub runs: u32,
    /// Until when more of them go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Time of a pass through the page cache.
    pub pass_ns: u64,
    /// Time of a pass past it.
    pub direct_pass_ns: u64,
    /// Time of a pass with idle-priority loops or a trace meanwhile.
    pub account_pass_ns: u64,
    /// The CPUs that idle-priority loops run on; the last is the job's.
    pub cpus: Vec<u32>,
    /// Why there are no idle-priority loops, where there can be none.
    #[serde(skip)]
    pub no_idle_load: Option<String>,
    /// Capture the requests of passes of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// The seed of every random order.
    pub seed: u64,
    /// What the default plan leaves out.
    pub left_out: Option<String>,
}

/// How much a plan is to do.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Extent {
    /// Cells that make sense.
    pub cells_count: usize,
    /// Passes of all cells under all accounts.
    pub passes_count: u64,
    /// About how long all of them take, s.
    pub estimate_s: f64,
}

/// A cell with the accounts that it is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCell {
    /// The cell.
    pub cell: Cell,
    /// Beside the difference.
    pub accounts: Vec<Account>,
}

impl Plan {
    /// The cells that make sense, each once, in the order in which a round visits them.
    pub fn cells(&self) -> Vec<PlannedCell> {
        let mut planned: Vec<PlannedCell> = Vec::new();
        let mut places: HashMap<Cell, usize> = HashMap::new();
        for sweep in &self.sweeps {
            for cell in sweep.product().into_iter().filter(|cell| cell.nonsense().is_none()) {
                let place = *places.entry(cell).or_insert_with(|| {
                    planned.push(PlannedCell { cell, accounts: vec![] });
                    planned.len() - 1
                });
                let accounts = &mut planned[place].accounts;
                let new = sweep.accounts.iter().filter(|account| !accounts.contains(account));
                // Where something else is computed meanwhile, an operation's time is not its own.
                let is_alone = cell.overlap.is_none() && cell.engine != EngineKind::Null;
                let new = new.filter(|account| is_alone || **account != Account::Requests);
                let new: Vec<Account> = new.copied().collect();
                accounts.extend(new);
            }
        }
        planned
    }

    /// The same with its extent.
    #[must_use]
    pub fn counted(mut self) -> Self {
        self.extent = Extent {
            cells_count: self.cells().len(),
            passes_count: self.passes(),
            estimate_s: (self.estimate_ns() as f64 / 1e9).round(),
        };
        self
    }

    /// Why nothing would be measured, where that is so: the first reason.
    pub fn nonsense(&self) -> Option<String> {
        let requested = self.sweeps.iter().filter(|sweep| !sweep.is_harness);
        let cells = || requested.clone().flat_map(Sweep::product);
        if cells().any(|cell| cell.nonsense().is_none()) {
            return None;
        }
        cells().find_map(|cell| cell.nonsense())
    }

    /// Time of one pass of a cell under an account.
    pub fn pass_ns(&self, cell: &Cell, account: Account) -> u64 {
        match (account, cell.direct) {
            (Account::Difference, false) => self.pass_ns,
            (Account::Difference, true) => self.direct_pass_ns,
            _ => self.account_pass_ns,
        }
    }

    /// Rounds of passes under an account, those by difference at the least: idle-load and trace are
    /// dearer, and need no warming.
    pub fn rounds(&self, account: Account) -> u32 {
        match account {
            Account::Difference => self.warmup + self.runs,
            _ => self.runs.min(ACCOUNT_ROUNDS),
        }
    }

    /// Passes of all cells under all accounts, at the least.
    pub fn passes(&self) -> u64 {
        let of = |account: Account| u64::from(self.rounds(account));
        let per_cell = |planned: &PlannedCell| {
            of(Account::Difference) + planned.accounts.iter().map(|a| of(*a)).sum::<u64>()
        };
        self.cells().iter().map(per_cell).sum()
    }

    /// About how long all passes take, with what surrounds each.
    pub fn estimate_ns(&self) -> u64 {
        let per_cell = |planned: &PlannedCell| -> u64 {
            let of = |account: Account| {
                u64::from(self.rounds(account))
                    * (self.pass_ns(&planned.cell, account) + PASS_OVERHEAD_NS)
            };
            of(Account::Difference) + planned.accounts.iter().map(|a| of(*a)).sum::<u64>()
        };
        self.cells().iter().map(per_cell).sum()
    }
}

/// Rounds of passes with idle-priority loops or a trace.
pub const ACCOUNT_ROUNDS: u32 = 3;
/// What surrounds a pass: counters before and after, a thread, its buffers.
const PASS_OVERHEAD_NS: u64 = 9_000_000;

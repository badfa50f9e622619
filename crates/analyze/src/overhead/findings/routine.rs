//! A routine: an interface used in one way, at whatever request sizes; and its passes.

use model::doubt::{Judgement, Verdict};
use model::engine::EngineKind;
use model::record::subject::{self, Subject};
use model::record::{Role, Sample};
use model::workload::{Access, Account, Arithmetic};
use std::collections::BTreeMap;

/// What sets a routine apart from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Routine {
    pub(super) target: String,
    pub(super) engine: EngineKind,
    pub(super) access: Access,
    pub(super) direct: bool,
    pub(super) channels: u64,
    /// Computing meanwhile: with what, and the time between two tests in ns.
    pub(super) computing: Option<(Arithmetic, u64)>,
}

impl Routine {
    pub(super) fn of(sample: &Sample) -> Self {
        let computing = sample.overhead().arithmetic.zip(sample.overhead().test_interval_ns);
        Self {
            target: sample.target.clone(),
            engine: sample.engine,
            access: sample.access,
            direct: sample.direct != 0,
            channels: sample.depth,
            computing,
        }
    }

    /// In what form the harness works for it.
    pub(super) fn form(&self) -> (bool, u64, Option<(Arithmetic, u64)>) {
        (self.direct, self.channels, self.computing)
    }

    /// What a line by an account is about.
    pub(super) fn subject(&self, account: &str) -> Subject {
        Subject::Routine(subject::Routine {
            access: self.access,
            account: account.to_owned(),
            arithmetic: self.computing.map(|(arithmetic, _)| arithmetic),
            channels: self.channels,
            direct: u64::from(self.direct),
            engine: self.engine,
            target: Some(self.target.clone()),
            test_interval_ns: self.computing.map(|(_, interval_ns)| interval_ns),
        })
    }

    /// What one request size is about.
    pub(super) fn cell_subject(&self, block_bytes: u64) -> Subject {
        Subject::Operation(subject::Operation {
            access: self.access,
            arithmetic: self.computing.map(|(arithmetic, _)| arithmetic),
            block_bytes,
            channels: self.channels,
            direct: u64::from(self.direct),
            engine: self.engine,
            target: Some(self.target.clone()),
            test_interval_ns: self.computing.map(|(_, interval_ns)| interval_ns),
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct CellPasses<'a>(Vec<&'a Sample>);

impl<'a> CellPasses<'a> {
    /// The passes that count, under an account.
    pub(super) fn kept(&self, account: Account) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().copied().filter(move |s| {
            s.overhead().account == account
                && s.role == Role::Kept
                && s.verdict != Verdict::NotMeasured
        })
    }

    /// The refusal of passes under an account, where none could be run.
    pub(super) fn refused(&self, account: Account) -> Option<Judgement> {
        let is_refusal =
            |s: &&&Sample| s.overhead().account == account && s.verdict == Verdict::NotMeasured;
        self.0.iter().find(is_refusal).map(|sample| sample.judgement())
    }
}

/// A routine with its passes by request size.
#[derive(Debug)]
pub(super) struct RoutineCells<'a> {
    pub(super) routine: Routine,
    pub(super) cells: BTreeMap<u64, CellPasses<'a>>,
}

pub(super) fn routines(samples: &[Sample]) -> Vec<RoutineCells<'_>> {
    let mut found: Vec<RoutineCells> = Vec::new();
    for sample in samples.iter().filter(|s| s.role == Role::Kept) {
        let routine = Routine::of(sample);
        let place = found.iter().position(|known| known.routine == routine).unwrap_or_else(|| {
            found.push(RoutineCells { routine, cells: BTreeMap::new() });
            found.len() - 1
        });
        found[place].cells.entry(sample.block_bytes).or_default().0.push(sample);
    }
    found
}

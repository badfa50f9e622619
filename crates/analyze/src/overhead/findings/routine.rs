//! A routine: an interface used in one way, at whatever request sizes; and its passes.

use model::record::{Role, Sample, Verdict, subject_text};
use std::collections::BTreeMap;

/// What sets a routine apart from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Routine {
    pub(super) target: String,
    pub(super) engine: String,
    pub(super) access: String,
    pub(super) direct: bool,
    pub(super) channels: u64,
    /// Computing meanwhile: with what, and the time between two tests in ns.
    pub(super) computing: Option<(String, u64)>,
}

impl Routine {
    pub(super) fn of(sample: &Sample) -> Self {
        let computing = sample.arithmetic.clone().zip(sample.test_interval_ns);
        Self {
            target: sample.target.clone(),
            engine: sample.engine.clone(),
            access: sample.access.clone(),
            direct: sample.direct != 0,
            channels: sample.depth,
            computing,
        }
    }

    /// In what form the harness works for it.
    pub(super) fn form(&self) -> (bool, u64, Option<(String, u64)>) {
        (self.direct, self.channels, self.computing.clone())
    }

    fn pairs(&self) -> [(&'static str, String); 7] {
        let optional = |value: Option<String>| value.unwrap_or_else(|| "none".into());
        let computing = self.computing.as_ref();
        [
            ("access", self.access.clone()),
            ("arithmetic", optional(computing.map(|(arithmetic, _)| arithmetic.clone()))),
            ("channels", self.channels.to_string()),
            ("direct", u8::from(self.direct).to_string()),
            ("engine", self.engine.clone()),
            ("target", self.target.clone()),
            ("test_interval_ns", optional(computing.map(|(_, ns)| ns.to_string()))),
        ]
    }

    /// The subject of a line by an account.
    pub(super) fn subject(&self, account: &str) -> String {
        subject_text(self.pairs().into_iter().chain([("account", account.to_owned())]))
    }

    /// The subject of one request size.
    pub(super) fn cell_subject(&self, block_bytes: u64) -> String {
        let size = ("block_bytes", block_bytes.to_string());
        subject_text(self.pairs().into_iter().chain([size]))
    }
}

/// The passes of one request size.
#[derive(Debug, Default)]
pub(super) struct CellPasses<'a>(Vec<&'a Sample>);

impl<'a> CellPasses<'a> {
    /// The passes that count, under an account.
    pub(super) fn kept<'s>(&'s self, account: &'s str) -> impl Iterator<Item = &'a Sample> + 's {
        self.0.iter().copied().filter(move |s| {
            s.account == account
                && s.role == Role::Kept.name()
                && s.verdict != Verdict::NotMeasured.name()
        })
    }

    /// The refusal of passes under an account, where none could be run.
    pub(super) fn refused(&self, account: &str) -> Option<(Verdict, Option<String>)> {
        let refusal = self
            .0
            .iter()
            .find(|s| s.account == account && s.verdict == Verdict::NotMeasured.name())?;
        Some((Verdict::NotMeasured, refusal.reason.clone()))
    }
}

/// A routine with its passes by request size.
#[derive(Debug)]
pub(super) struct RoutineCells<'a> {
    pub(super) routine: Routine,
    pub(super) cells: BTreeMap<u64, CellPasses<'a>>,
}

/// All routines, in the order in which they were measured.
pub(super) fn routines(samples: &[Sample]) -> Vec<RoutineCells<'_>> {
    let mut found: Vec<RoutineCells> = Vec::new();
    for sample in samples.iter().filter(|s| s.role == Role::Kept.name()) {
        let routine = Routine::of(sample);
        let place = found.iter().position(|known| known.routine == routine).unwrap_or_else(|| {
            found.push(RoutineCells { routine, cells: BTreeMap::new() });
            found.len() - 1
        });
        found[place].cells.entry(sample.block_bytes).or_default().0.push(sample);
    }
    found
}

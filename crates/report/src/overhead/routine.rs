//! Findings in the order of the printed tables: by routine, then by request size or by account.
//! A *routine* is an interface used in one way: engine, access, path, channels, computing.

use crate::figure::Figure;
use crate::footnote::Note;
use crate::number::RateUnit;
use crate::words::{first_seen, name};
use model::doubt::Value;
use model::engine::EngineKind;
use model::record::{Finding, Subject};
use std::collections::BTreeMap;

/// T_OH, by equation 2.
pub(super) const OVERHEAD: &str = "operation_overhead_ns";
/// R(B,N).
pub(super) const RATE: &str = "routine_bytes_per_s";
/// R_inf.
pub(super) const LINE_RATE: &str = "rate_asymptotic_bytes_per_s";

type Figures = BTreeMap<String, Figure>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) target: String,
    pub(super) engine: EngineKind,
    pub(super) access: String,
    pub(super) direct: bool,
    /// N.
    pub(super) channels: u64,
    /// What is computed meanwhile, and the time between two tests in ns.
    pub(super) computing: Option<(String, u64)>,
}

impl Key {
    fn of(subject: &Subject) -> Option<Self> {
        let (target, engine, access, path, channels, computing) = match subject {
            Subject::Operation(of) => {
                let computing = of.arithmetic.zip(of.test_interval_ns);
                (&of.target, of.engine, of.access, of.direct, of.channels, computing)
            }
            Subject::Routine(of) => {
                let computing = of.arithmetic.zip(of.test_interval_ns);
                (&of.target, of.engine, of.access, of.direct, of.channels, computing)
            }
            _ => return None,
        };
        let computing = computing.map(|(arithmetic, ns)| (arithmetic.name().to_owned(), ns));
        let (access, direct) = (access.name().to_owned(), path == 1);
        Some(Self { target: target.clone()?, engine, access, direct, channels, computing })
    }

    /// The engine that does nothing, by which the harness's own cost is found.
    fn is_harness(&self) -> bool {
        self.engine == EngineKind::Null
    }

    /// `buffered` or `O_DIRECT`.
    pub(super) fn path(&self) -> &'static str {
        if self.direct { "O_DIRECT" } else { "buffered" }
    }

    /// A refusal without the words that only name the cell which it stands beside.
    pub(super) fn shorten(&self, mut note: Note) -> Note {
        if let Some(Value::Text(reason)) = note.doubt.values.get_mut("reason") {
            let named = reason.strip_prefix(&format!("{} {} ", self.engine.name(), self.access));
            let why = named.and_then(|rest| rest.split_once(": ")).map(|(_, why)| why.to_owned());
            *reason = why.unwrap_or_else(|| reason.clone());
        }
        note
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Routine {
    pub(super) key: Key,
    by_size: BTreeMap<u64, Figures>,
    by_account: BTreeMap<String, Figures>,
}

impl Routine {
    /// The figure of a quantity at a request size.
    pub(super) fn at(&self, bytes: u64, quantity: &str) -> Option<&Figure> {
        self.by_size.get(&bytes)?.get(quantity)
    }

    pub(super) fn line(&self, account: &str, quantity: &str) -> Option<&Figure> {
        self.by_account.get(account)?.get(quantity)
    }

    pub(super) fn line_value(&self, account: &str, quantity: &str) -> Option<f64> {
        self.line(account, quantity)?.value
    }

    /// Whether there is any number of it.
    fn is_measured(&self) -> bool {
        let figures = self.by_size.values().chain(self.by_account.values());
        figures.flat_map(BTreeMap::values).any(|figure| figure.value.is_some())
    }

    /// The request sizes at which a quantity was looked for.
    pub(super) fn sizes(&self, quantity: &str) -> impl Iterator<Item = u64> {
        let has = move |(_, figures): &(&u64, &Figures)| figures.contains_key(quantity);
        self.by_size.iter().filter(has).map(|(bytes, _)| *bytes)
    }
}

#[derive(Debug, Default)]
pub(super) struct Routines {
    all: Vec<Routine>,
    accesses: Vec<String>,
}

/// Routines under one heading: one path, one access and one target.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// `buffered randread`.
    pub(super) heading: String,
    pub(super) routines: Vec<&'a Routine>,
}

impl Routines {
    /// Orders findings; those that are not about a routine are passed over, and of two for one
    /// number the later counts.
    pub(super) fn from_findings(findings: &[Finding]) -> Self {
        let mut all: Vec<Routine> = Vec::new();
        for finding in findings {
            let Some(key) = Key::of(&finding.subject) else { continue };
            let place = all.iter().position(|r| r.key == key).unwrap_or_else(|| {
                let (by_size, by_account) = Default::default();
                all.push(Routine { key, by_size, by_account });
                all.len() - 1
            });
            let figures = match &finding.subject {
                Subject::Routine(of) => {
                    all[place].by_account.entry(of.account.clone()).or_default()
                }
                Subject::Operation(of) => all[place].by_size.entry(of.block_bytes).or_default(),
                _ => continue,
            };
            figures.insert(finding.quantity.clone(), Figure::of(finding));
        }
        // What was refused is recorded before all that was measured.
        let measured = all.iter().filter(|routine| routine.is_measured());
        let accesses = first_seen(measured.chain(&all).map(|routine| &routine.key.access));
        Self { all: in_order(all), accesses }
    }

    /// These alone, in this order.
    pub(super) fn only<'a>(&self, routines: impl Iterator<Item = &'a Routine>) -> Self {
        Self { all: routines.cloned().collect(), accesses: self.accesses.clone() }
    }

    /// What stands behind ±.
    pub(super) fn interval(&self) -> &'static str {
        let figures = |routine: &Routine| {
            let all = routine.by_size.values().chain(routine.by_account.values());
            all.flat_map(BTreeMap::values).any(|figure| figure.spans_parameters)
        };
        match self.all.iter().any(figures) {
            true => "half the span over samples of the model's uncertain parameters",
            false => "half the 95 % interval",
        }
    }

    /// One unit for all rates of the report, with the channels' and the lines'.
    pub(super) fn rate_unit(&self) -> RateUnit {
        let all = || self.all.iter().filter(|routine| !routine.key.is_harness());
        let cells = all().flat_map(|r| r.sizes(RATE).map(|bytes| r.at(bytes, RATE)));
        let lines = all().map(|r| r.line("wall", LINE_RATE));
        let measured = cells.chain(lines).flatten();
        RateUnit::for_middle(measured.filter_map(|figure| figure.value))
    }

    pub(super) fn harness(&self) -> impl Iterator<Item = &Routine> {
        self.all.iter().filter(|routine| routine.key.is_harness())
    }

    /// The routines that are wanted, in groups: buffered before `O_DIRECT`, accesses as they were
    /// first measured.
    pub(super) fn groups(&self, wanted: impl Fn(&Routine) -> bool) -> Vec<Group<'_>> {
        let measured = self.all.iter().filter(|routine| !routine.key.is_harness());
        let targets = first_seen(measured.clone().map(|r| &r.key.target));
        let wanted: Vec<&Routine> = measured.filter(|routine| wanted(routine)).collect();
        let mut groups = Vec::new();
        for (target, direct) in targets.iter().flat_map(|t| [(t, false), (t, true)]) {
            for access in &self.accesses {
                let is_in = |r: &&&Routine| {
                    (&r.key.target, r.key.direct, &r.key.access) == (target, direct, access)
                };
                let routines: Vec<&Routine> = wanted.iter().filter(is_in).copied().collect();
                let Some(first) = routines.first() else { continue };
                let place = if targets.len() > 1 { format!("{target}: ") } else { String::new() };
                let heading = name(&format!("{place}{} {access}", first.key.path()));
                groups.push(Group { heading, routines });
            }
        }
        groups
    }
}

/// Engines in the order of the model's table, each one's channels and test
/// intervals in theirs.
fn in_order(mut all: Vec<Routine>) -> Vec<Routine> {
    all.sort_by_cached_key(|Routine { key, .. }| (key.engine, key.channels, key.computing.clone()));
    all
}

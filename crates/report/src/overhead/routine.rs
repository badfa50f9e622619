//! Findings in the order of the printed tables: by routine, then by request size or by account.
//! A *routine* is an interface used in one way: engine, access, path, channels, computing.

use crate::figure::Figure;
use crate::number::RateUnit;
use crate::words::{first_seen, name};
use model::engine::{ENGINES, EngineKind};
use model::record::Finding;
use std::collections::BTreeMap;

/// R(B,N).
pub(super) const RATE: &str = "routine_bytes_per_s";
/// R_inf.
pub(super) const LINE_RATE: &str = "rate_asymptotic_bytes_per_s";

/// Figures by their quantity.
type Figures = BTreeMap<String, Figure>;

/// What sets a routine apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) target: String,
    pub(super) engine: String,
    pub(super) access: String,
    pub(super) direct: bool,
    /// N.
    pub(super) channels: u64,
    /// What is computed meanwhile, and the time between two tests in ns.
    pub(super) computing: Option<(String, u64)>,
}

impl Key {
    fn of(finding: &Finding) -> Option<Self> {
        let value = |key| finding.subject_value(key);
        let arithmetic = value("arithmetic").filter(|name| name != "none");
        let interval = value("test_interval_ns").and_then(|text| text.parse().ok());
        Some(Self {
            target: value("target")?,
            engine: value("engine")?,
            access: value("access")?,
            direct: value("direct")? == "1",
            channels: value("channels")?.parse().ok()?,
            computing: arithmetic.zip(interval),
        })
    }

    /// The engine that does nothing, by which the harness's own cost is found.
    fn is_harness(&self) -> bool {
        self.engine == EngineKind::Null.name()
    }

    /// `buffered` or `O_DIRECT`.
    pub(super) fn path(&self) -> &'static str {
        if self.direct { "O_DIRECT" } else { "buffered" }
    }

    /// A reason without the words that only name the cell which it stands beside.
    pub(super) fn shorten<'a>(&self, reason: &'a str) -> &'a str {
        let named = reason.strip_prefix(&format!("{} {} ", self.engine, self.access));
        named.and_then(|rest| rest.split_once(": ")).map_or(reason, |(_, why)| why)
    }
}

/// A routine and all that was found of it.
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

    /// The figure of a line, by an account.
    pub(super) fn line(&self, account: &str, quantity: &str) -> Option<&Figure> {
        self.by_account.get(account)?.get(quantity)
    }

    /// The number of a line.
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

/// All routines, in the order in which they were measured.
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
            let Some(key) = Key::of(finding) else { continue };
            let place = all.iter().position(|r| r.key == key).unwrap_or_else(|| {
                let (by_size, by_account) = Default::default();
                all.push(Routine { key, by_size, by_account });
                all.len() - 1
            });
            let value = |key| finding.subject_value(key);
            let figures = match (value("account"), value("block_bytes").map(|b| b.parse())) {
                (Some(account), _) => all[place].by_account.entry(account).or_default(),
                (None, Some(Ok(bytes))) => all[place].by_size.entry(bytes).or_default(),
                _ => continue,
            };
            figures.insert(finding.quantity.clone(), Figure::of(finding));
        }
        // What was refused is recorded before all that was measured.
        let measured = all.iter().filter(|routine| routine.is_measured());
        let accesses = first_seen(measured.chain(&all).map(|routine| &routine.key.access));
        Self { all: in_order(all), accesses }
    }

    /// What stands behind ±.
    pub(super) fn interval(&self) -> &'static str {
        let figures = |routine: &Routine| {
            let all = routine.by_size.values().chain(routine.by_account.values());
            all.flat_map(BTreeMap::values).any(|figure| figure.spans_draws)
        };
        match self.all.iter().any(figures) {
            true => "half of what draws of the model's uncertain numbers span",
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

    /// The routines of the harness itself.
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

/// Engines in the order of the model's table, others by name, each one's channels and test
/// intervals in theirs.
fn in_order(mut all: Vec<Routine>) -> Vec<Routine> {
    let known = |name: &str| ENGINES.iter().position(|engine| engine.name == name);
    all.sort_by_cached_key(|Routine { key, .. }| {
        let unknown = known(&key.engine).is_none().then(|| key.engine.clone());
        (unknown, known(&key.engine), key.channels, key.computing.clone())
    });
    all
}

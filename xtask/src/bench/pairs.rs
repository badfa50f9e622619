//! Interleaved pairs: lbolt, fio, fio, lbolt, lbolt, fio … so that whatever drifts
//! drifts for both.

use super::Bench;
use super::cases::{Case, Claim, Figure, State};
use super::statistics::Verdict;
use super::table::{Row, spread};
use super::{child, fio, lbolt};
use anyhow::Context as _;
use std::collections::BTreeMap;

/// What one case's pairs gave.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    lbolt: Vec<f64>,
    fio: Vec<f64>,
    lbolt_cpu_ns: Vec<f64>,
    fio_cpu_ns: Vec<f64>,
    harness_ns: Vec<f64>,
    clock: String,
    /// lbolt's own doubts, and in how many passes.
    pub(super) doubts: BTreeMap<String, usize>,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Lbolt,
    Fio,
}

/// ABBA: the one that went first goes second in the next pair.
fn order(pair: usize) -> [Who; 2] {
    if pair.is_multiple_of(2) { [Who::Lbolt, Who::Fio] } else { [Who::Fio, Who::Lbolt] }
}

/// Runs all pairs of a case.
///
/// # Errors
/// What either program or the place met; interruption.
pub(super) fn run(bench: &mut Bench, case: &Case) -> anyhow::Result<Pairs> {
    let name = case.claims.first().map_or("", |claim| claim.name);
    let mut pairs = Pairs::default();
    for pair in 0..bench.pairs {
        for who in order(pair) {
            let turn = match who {
                Who::Lbolt => lbolt_turn(bench, case, &mut pairs),
                Who::Fio => fio_turn(bench, case, &mut pairs),
            };
            turn.with_context(|| format!("pair {} of {}", pair + 1, bench.pairs))?;
        }
        if let (Some(ours), Some(fios)) = (pairs.lbolt.last(), pairs.fio.last()) {
            let all = bench.pairs;
            eprintln!(
                "{name}: pair {} of {all}: lbolt {ours:.0}/s, fio {fios:.0}/s, ratio {:.3}",
                pair + 1,
                ours / fios
            );
        }
    }
    Ok(pairs)
}

fn lbolt_turn(bench: &mut Bench, case: &Case, pairs: &mut Pairs) -> anyhow::Result<()> {
    bench.begin(case)?;
    let records = bench.records.path();
    let words = lbolt::arguments(case, &bench.directory(), &records);
    let done = child::run(&bench.lbolt, &words, &records, &bench.control)?;
    let said = lbolt::parse(&done.stdout)?;
    pairs.lbolt.push(said.operations_per_s);
    pairs.lbolt_cpu_ns.push(said.cpu_ns);
    pairs.harness_ns.push(said.harness_ns);
    pairs.clock = said.clock;
    for doubt in said.doubts {
        *pairs.doubts.entry(kind(&doubt)).or_default() += 1;
    }
    Ok(())
}

/// A doubt without its figures, so that equal ones are counted together.
fn kind(doubt: &str) -> String {
    let marked = doubt.chars().map(|c| if c.is_ascii_digit() || c == '.' { '#' } else { c });
    let mut kind = String::new();
    marked.for_each(|c| {
        if c != '#' || !kind.ends_with('#') {
            kind.push(c);
        }
    });
    kind.replace('#', "…")
}

fn fio_turn(bench: &mut Bench, case: &Case, pairs: &mut Pairs) -> anyhow::Result<()> {
    bench.begin(case)?;
    let records = bench.records.path();
    let file = bench.lay_out(case)?;
    let words = fio::arguments(case, &file);
    for _ in 0..lbolt::warmup(case) {
        child::run(&bench.fio, &words, &records, &bench.control)?;
    }
    let done = child::run(&bench.fio, &words, &records, &bench.control)?;
    let rate = fio::parse(&done.stdout)?;
    pairs.fio.push(rate.operations_per_s);
    pairs.fio_cpu_ns.push(rate.cpu_ns);
    bench.end(case)
}

fn ratios(ours: &[f64], fios: &[f64]) -> Vec<f64> {
    ours.iter().zip(fios).map(|(a, b)| a / b).collect()
}

impl Pairs {
    /// The values of a claim, pair by pair.
    fn values(&self, figure: Figure) -> Vec<f64> {
        match figure {
            Figure::HarnessNs => self.harness_ns.clone(),
            Figure::WallNs => self.lbolt.iter().map(|rate| 1e9 / rate).collect(),
            Figure::Ratio => ratios(&self.lbolt, &self.fio),
            Figure::CpuRatio => ratios(&self.lbolt_cpu_ns, &self.fio_cpu_ns),
        }
    }

    /// A claim's row of the table.
    pub(super) fn row(&self, claim: &Claim) -> Row {
        let mut row = Row::judged(claim.name, &self.values(claim.figure), claim.bound);
        if claim.needs_tsc && self.clock != "tsc" {
            row.verdict = Verdict::CouldNotTell(format!("lbolt's clock is {}", self.clock));
        }
        (row.lbolt, row.peer) = match claim.figure {
            Figure::Ratio => (spread(&self.lbolt, "/s"), spread(&self.fio, "/s")),
            Figure::CpuRatio => {
                (spread(&self.lbolt_cpu_ns, " ns"), spread(&self.fio_cpu_ns, " ns"))
            }
            Figure::HarnessNs => (spread(&self.harness_ns, " ns"), "-".into()),
            Figure::WallNs => {
                let each = |rates: &[f64]| rates.iter().map(|r| 1e9 / r).collect::<Vec<_>>();
                (spread(&each(&self.lbolt), " ns"), spread(&each(&self.fio), " ns"))
            }
        };
        row
    }

    /// lbolt's own doubts but the one that a warm file brings by right.
    pub(super) fn notes(&self, case: &Case) -> Vec<String> {
        let is_right =
            |doubt: &str| case.state == State::Warm && doubt.contains("page cache served");
        let doubts = self.doubts.iter().filter(|(doubt, _)| !is_right(doubt));
        doubts
            .map(|(doubt, count)| format!("lbolt suspects {count} of its passes: {doubt}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::CASES;
    use super::*;

    fn pairs(clock: &str) -> Pairs {
        Pairs {
            lbolt: vec![40e6, 50e6, 40e6],
            fio: vec![4e6, 5e6, 5e6],
            lbolt_cpu_ns: vec![20.0, 20.0, 20.0],
            fio_cpu_ns: vec![40.0, 40.0, 80.0],
            harness_ns: vec![20.0, 21.0, 19.0],
            clock: clock.into(),
            doubts: BTreeMap::new(),
        }
    }

    #[test]
    fn the_order_is_abba() {
        use Who::{Fio, Lbolt};
        assert_eq!([order(0), order(1)].concat(), [Lbolt, Fio, Fio, Lbolt]);
        assert_eq!(order(2), order(0));
    }

    #[test]
    fn ratios_are_of_pairs() {
        assert_eq!(pairs("tsc").values(Figure::Ratio), [10.0, 10.0, 8.0]);
        assert_eq!(pairs("tsc").values(Figure::WallNs), [25.0, 20.0, 25.0]);
        assert_eq!(pairs("tsc").values(Figure::CpuRatio), [0.5, 0.5, 0.25]);
    }

    #[test]
    fn a_claim_about_the_counter_needs_the_counter() {
        for claim in CASES[0].claims {
            assert_eq!(pairs("tsc").row(claim).verdict, Verdict::Reached, "{}", claim.name);
            let by_kernel = pairs("clock_gettime").row(claim).verdict;
            let is_open = matches!(by_kernel, Verdict::CouldNotTell(_));
            assert_eq!(is_open, claim.needs_tsc, "{}", claim.name);
        }
    }

    #[test]
    fn doubts_are_counted_by_their_kind() {
        assert_eq!(kind("other programs used 11.5 % of a CPU"), "other programs used … % of a CPU");
        let mut warm = pairs("tsc");
        warm.doubts.insert("the page cache served … % of it".into(), 3);
        warm.doubts.insert("other programs".into(), 2);
        assert_eq!(warm.notes(&CASES[1]), ["lbolt suspects 2 of its passes: other programs"]);
        let cold = CASES.iter().find(|case| case.state == State::Cold).unwrap();
        assert_eq!(warm.notes(cold).len(), 2);
    }
}

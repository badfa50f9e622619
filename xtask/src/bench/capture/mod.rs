//! What capturing costs what it captures: fio's random reads of a loop device over memory without a
//! tracer, with lbolt, with `perf record -e 'block:*'` and with ftrace's `blk` tracer, in
//! interleaved rounds whose order rotates.
//!
//! CPU time of a request is that of fio's job by its own account, and that of the kernel's workers
//! and handlers of softirqs; what the tracers' own processes use is not in it. The records go to
//! memory, so as not to compete.

mod account;
mod ftrace;
mod kernel_threads;
mod rounds;
mod tracer;

use super::statistics::{Bound, extremes};
use super::table::{Row, number, spread};
use super::{Bench, not_told};
use rounds::{DEPTH, Rounds, Turn};
use tracer::Tracer;

/// A row: its name, what is wanted, and the values of the rounds.
struct Claim {
    name: &'static str,
    bound: Bound,
    values: fn(&Rounds) -> Vec<f64>,
    /// A peer without which there is nothing to say.
    needs: Option<Tracer>,
}

const fn claim(name: &'static str, bound: Bound, values: fn(&Rounds) -> Vec<f64>) -> Claim {
    Claim { name, bound, values, needs: None }
}

const ADDED: &str = "capture: CPU time added an event, ns";
const RATE: &str = "capture: rate, × without a tracer";

const CLAIMS: [Claim; 7] = [
    claim(ADDED, Bound::at_most(200.0), |r| {
        r.pairs(Tracer::Lbolt, Tracer::None, |lbolt, none| {
            Some((lbolt.cpu_ns - none.cpu_ns) / lbolt.said?.events_per_request)
        })
    }),
    claim(
        "capture: lbolt's own CPU time a request, into Parquet, ns",
        Bound::at_most(1000.0),
        |r| r.of_lbolt(|_, said| said.consumer_ns),
    ),
    claim("capture: events lost", Bound::at_most(0.0), |r| r.of_lbolt(|_, said| said.lost)),
    claim(
        "capture: requests matched, % of the device's own count",
        Bound { low: 100.0, high: 100.0 },
        |r| r.of_lbolt(|turn, said| 100.0 * said.matched / turn.counted),
    ),
    claim(RATE, Bound::at_least(0.95), |r| {
        r.pairs(Tracer::Lbolt, Tracer::None, |lbolt, none| Some(lbolt.rate / none.rate))
    }),
    Claim {
        needs: Some(Tracer::Perf),
        ..claim("capture: rate, × with perf record -e 'block:*'", Bound::at_least(1.0), |r| {
            r.pairs(Tracer::Lbolt, Tracer::Perf, |lbolt, perf| Some(lbolt.rate / perf.rate))
        })
    },
    Claim {
        needs: Some(Tracer::Ftrace),
        ..claim("capture: rate, × with ftrace's blk tracer", Bound::at_least(1.0), |r| {
            r.pairs(Tracer::Lbolt, Tracer::Ftrace, |lbolt, ftrace| Some(lbolt.rate / ftrace.rate))
        })
    },
];

/// All rows whose names hold the text.
///
/// # Errors
/// Interruption; what else goes wrong is told in the rows.
pub(super) fn run(bench: &mut Bench, only: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = account::run(bench, only)?;
    rows.extend(costs(bench, only)?);
    Ok(rows)
}

fn costs(bench: &mut Bench, only: &str) -> anyhow::Result<Vec<Row>> {
    let claims: Vec<&Claim> = CLAIMS.iter().filter(|claim| claim.name.contains(only)).collect();
    if claims.is_empty() {
        return Ok(vec![]);
    }
    let rounds = match Rounds::run(bench) {
        Ok(rounds) => rounds,
        Err(error) => {
            let reason = bench.unless_stopped(error)?;
            let open = claims.iter().map(|c| not_told(c.name, &c.bound.to_string(), &reason));
            return Ok(open.collect());
        }
    };
    Ok(claims.iter().map(|claim| row(&rounds, claim)).collect())
}

fn row(rounds: &Rounds, claim: &Claim) -> Row {
    if let Some(reason) = claim.needs.and_then(|tracer| rounds.missing(tracer)) {
        return not_told(claim.name, &claim.bound.to_string(), reason);
    }
    let mut row = Row::judged(claim.name, &(claim.values)(rounds), claim.bound);
    let of = |tracer: Tracer, get: fn(&Turn) -> f64, unit: &str| -> String {
        format!("{}: {}", tracer.name(), spread(&rounds.of(tracer, get), unit))
    };
    let both = |get: fn(&Turn) -> f64, unit: &str, tracers: [Tracer; 2]| -> String {
        tracers.map(|tracer| of(tracer, get, unit)).join(", ")
    };
    let (ours, peers) = ([Tracer::Lbolt, Tracer::None], [Tracer::Perf, Tracer::Ftrace]);
    match claim.name {
        ADDED => {
            row.lbolt = format!(
                "a request: {}; least disturbed: {} ns an event",
                both(|turn| turn.cpu_ns, " ns", ours),
                least(rounds).map_or("-".into(), number)
            );
            row.peer = format!("a request: {}", both(|turn| turn.cpu_ns, " ns", peers));
        }
        RATE => {
            row.lbolt = both(|turn| turn.rate, "/s", ours);
            row.peer = both(|turn| turn.rate, "/s", peers);
        }
        _ if claim.needs.is_none() => {
            let events: Vec<f64> = rounds.of_lbolt(|_, said| said.events_per_request);
            let edges: Vec<f64> = rounds.of_lbolt(|_, said| said.edges);
            row.lbolt = format!(
                "{} events a request; not matched: {} (at most {DEPTH} are under way)",
                spread(&events, ""),
                spread(&edges, "")
            );
        }
        _ => {}
    }
    row
}

/// What is added an event between the least disturbed round with lbolt and that without: neighbours
/// only add.
fn least(rounds: &Rounds) -> Option<f64> {
    let least = |tracer| Some(extremes(&rounds.of(tracer, |turn| turn.cpu_ns))?.0);
    let (events, _) = extremes(&rounds.of_lbolt(|_, said| said.events_per_request))?;
    Some((least(Tracer::Lbolt)? - least(Tracer::None)?) / events)
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Verdict;
    use super::*;
    use rounds::Said;

    fn rounds() -> Rounds {
        let mut rounds = Rounds::default();
        for (without, with) in [(4000.0, 4300.0), (5000.0, 5450.0), (4100.0, 4400.0)] {
            let turn =
                |cpu_ns: f64| Turn { cpu_ns, rate: 1e9 / cpu_ns, counted: 1000.0, said: None };
            let said = Said {
                events_per_request: 3.0,
                consumer_ns: 300.0,
                lost: 0.0,
                matched: 1000.0,
                edges: 0.0,
            };
            rounds.add(vec![
                (Tracer::None, turn(without)),
                (Tracer::Lbolt, Turn { said: Some(said), ..turn(with) }),
                (Tracer::Ftrace, turn(with * 2.0)),
            ]);
        }
        rounds.miss(Tracer::Perf, "not measured: install linux-perf".into());
        rounds
    }

    #[test]
    fn rows_are_of_pairs_in_the_same_round() {
        let rounds = rounds();
        let rows: Vec<Row> = CLAIMS.iter().map(|claim| row(&rounds, claim)).collect();
        let verdicts: Vec<bool> = rows.iter().map(|r| r.verdict == Verdict::Reached).collect();
        // The rate falls by 7 to 8 %, and perf is not there.
        assert_eq!(verdicts, [true, true, true, true, false, false, true]);
        assert_eq!(rows[0].measured, "100.0 [100.0, 150.0]");
        assert_eq!(least(&rounds), Some(100.0));
        assert_eq!(rows[4].verdict, Verdict::Missed);
        assert!(rows[5].verdict.to_string().contains("install linux-perf"));
    }

    #[test]
    fn what_is_lost_or_not_matched_is_missed() {
        let mut rounds = Rounds::default();
        let said = Said {
            events_per_request: 3.0,
            consumer_ns: 300.0,
            lost: 1.0,
            matched: 999.0,
            edges: 1.0,
        };
        let turn = Turn { cpu_ns: 1.0, rate: 1.0, counted: 1000.0, said: Some(said) };
        rounds.add(vec![(Tracer::Lbolt, turn)]);
        for claim in &CLAIMS[2..4] {
            assert_eq!(row(&rounds, claim).verdict, Verdict::Missed, "{}", claim.name);
        }
    }
}

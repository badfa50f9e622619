//! The rounds of a case: in each, every side has its turn, and who is first goes on by one. So
//! whatever drifts drifts for all: A, B, B, A, A, B …

use super::case::{Case, Image, Row};
use super::formula::{self, Figure};
use super::place::Records;
use super::tracer::{self, Tracer};
use super::turn::Turn;
use super::work::Work;
use anyhow::bail;
use host::subject::LoopDisk;
use std::collections::BTreeMap;
use std::path::Path;

/// The name by which formulas know what was prepared.
pub(super) const PREPARE: &str = "prepare";

const IMAGE_BYTES: u64 = 1 << 30;

/// What all turns told.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    prepared: Turn,
    rounds: Vec<BTreeMap<String, Turn>>,
    /// Sides that cannot be measured, and why.
    missing: BTreeMap<String, String>,
}

/// Runs so many rounds; what was printed goes into a directory.
pub(super) fn run(
    work: &mut Work,
    case: &Case,
    pairs: usize,
    printed: &Path,
) -> anyhow::Result<Rounds> {
    work.records.clear()?;
    let memory = Records::make()?;
    let disk = |image: Option<Image>| {
        let at = match image? {
            Image::Disk => work.at.clone(),
            Image::Memory => memory.path(),
        };
        Some(LoopDisk::make(&at, IMAGE_BYTES, &work.control))
    };
    let disks = [disk(case.device).transpose()?, disk(case.other).transpose()?];
    let path = |disk: &Option<LoopDisk>| disk.as_ref().map(|disk| disk.path().to_owned());
    work.devices = disks.each_ref().map(|disk| path(disk).unwrap_or_default());
    let mut all = Rounds::default();
    for command in &case.prepare {
        eprintln!("{}: {command}", case.name);
        all.prepared.join(work.run(command)?.0);
    }
    for round in 0..pairs.min(case.pairs.unwrap_or(pairs)) {
        all.round(work, case, round, printed)?;
    }
    work.records.clear()?;
    Ok(all)
}

/// The sides: whoever was first goes last in the next round.
fn order(case: &Case, round: usize) -> impl Iterator<Item = &String> {
    let count = case.run.len();
    case.run.keys().cycle().skip(round % count).take(count)
}

impl Rounds {
    fn round(
        &mut self,
        work: &mut Work,
        case: &Case,
        round: usize,
        printed: &Path,
    ) -> anyhow::Result<()> {
        let mut turns = BTreeMap::new();
        for side in order(case, round) {
            if self.missing.contains_key(side) {
                continue;
            }
            match turn(work, case, side) {
                Ok((turn, text)) => {
                    let name = format!("{}-{side}-{}.json", case.name, round + 1);
                    std::fs::write(printed.join(name), text)?;
                    turns.insert(side.clone(), turn);
                }
                Err(error) if work.control.is_stopped() => return Err(error),
                // One that is not there is no reason to stop the others.
                Err(error) => {
                    eprintln!("{}: {side}: {error:#}", case.name);
                    let reason = format!("{side}: {error:#}").replace('\n', "; ");
                    self.missing.insert(side.clone(), reason);
                }
            }
        }
        self.rounds.push(turns);
        let so_far = case.rows.first().and_then(|row| self.values(row).ok());
        let last = so_far.and_then(|values| values.last().copied()).unwrap_or(f64::NAN);
        let name = case.rows.first().map_or("", |row| &row.name);
        eprintln!("{name}: round {}: {last:.4}", round + 1);
        Ok(())
    }

    /// A row's value in each round.
    pub(super) fn values(&self, row: &Row) -> anyhow::Result<Vec<f64>> {
        formula::values(&row.terms()?, self.rounds.len(), |figure| self.column(figure))
    }

    /// A figure in each round.
    pub(super) fn column(&self, figure: &Figure) -> anyhow::Result<Vec<f64>> {
        if figure.side == PREPARE {
            return Ok(vec![self.prepared.value(figure)?; self.rounds.len()]);
        }
        if let Some(reason) = self.missing.get(&figure.side) {
            bail!("{reason}");
        }
        let turns = self.rounds.iter().filter_map(|round| round.get(&figure.side));
        turns.map(|turn| turn.value(figure)).collect()
    }

    /// lbolt's own doubts but those that the case expects, each with how many turns had it.
    pub(super) fn doubts(&self, case: &Case) -> BTreeMap<String, usize> {
        let expects = |doubt: &String| case.expected.iter().any(|word| doubt.contains(word));
        let mut counted = BTreeMap::new();
        let doubts = self.rounds.iter().flat_map(BTreeMap::values).flat_map(Turn::doubts);
        doubts.filter(|d| !expects(d)).for_each(|doubt| *counted.entry(doubt).or_default() += 1);
        counted
    }
}

/// One side's turn, and what it printed.
fn turn(work: &mut Work, case: &Case, side: &str) -> anyhow::Result<(Turn, String)> {
    let command = &case.run[side];
    work.begin(case, command)?;
    if command.contains("{file}") {
        work.lay_out(case)?;
        for _ in 0..case.warmup {
            work.run(command)?;
        }
    }
    if case.device.is_none() {
        return work.run(command);
    }
    traced(work, command, case.beside.get(side).map_or("", String::as_str))
}

/// A command whose device is traced meanwhile, by one tracer or several.
fn traced(work: &Work, command: &str, beside: &str) -> anyhow::Result<(Turn, String)> {
    let tracers = beside.split('&').filter(|command| !command.trim().is_empty());
    let tracers = tracers.map(|command| Tracer::start(work, command));
    let tracers = tracers.collect::<anyhow::Result<Vec<_>>>()?;
    let before = tracer::Counted::read(work.device_name()?)?;
    let (mut turn, mut printed) = work.run(command)?;
    before.add_to(&mut turn)?;
    for tracer in tracers {
        let text = tracer.end()?;
        turn.join(Turn::of("lbolt", &text)?);
        printed.push_str(&text);
    }
    Ok((turn, printed))
}

#[cfg(test)]
mod tests {
    use super::super::case;
    use super::*;

    fn figures(values: &[(&str, f64)]) -> Turn {
        let mut turn = Turn::default();
        values.iter().for_each(|(quantity, value)| turn.add(quantity, *value));
        turn
    }

    #[test]
    fn the_order_rotates() {
        let cases = case::with_rows("").unwrap();
        let null = cases.iter().find(|case| case.name == "null").unwrap();
        let sides: Vec<&String> = (0..3).flat_map(|round| order(null, round)).collect();
        assert_eq!(sides, ["fio", "lbolt", "lbolt", "fio", "fio", "lbolt"]);
        let capture = cases.iter().find(|case| case.name == "capture").unwrap();
        let first: Vec<&String> = (0..5).filter_map(|r| order(capture, r).next()).collect();
        assert_eq!(first, ["ftrace", "lbolt", "none", "perf", "ftrace"]);
    }

    #[test]
    fn rows_are_of_turns_of_the_same_round() {
        let cases = case::with_rows("capture").unwrap();
        let case = cases.iter().find(|case| case.name == "capture").unwrap();
        let mut rounds = Rounds::default();
        for (without, with) in [(4000.0, 4300.0), (5000.0, 5450.0)] {
            let told = [("requests_count", 100.0), ("events_count", 300.0), ("lost_count", 1.0)];
            let mut lbolt = figures(&told);
            lbolt.add("request_cpu_ns", with);
            let none = figures(&[("request_cpu_ns", without)]);
            rounds.rounds.push([("lbolt".into(), lbolt), ("none".into(), none)].into());
        }
        rounds.missing.insert("perf".into(), "perf: install linux-perf".into());
        let of =
            |text: &str| rounds.values(case.rows.iter().find(|r| r.name.contains(text)).unwrap());
        assert_eq!(of("added").unwrap(), [100.0, 150.0]);
        assert_eq!(of("events lost").unwrap(), [1.0, 1.0]);
        assert!(of("perf record").unwrap_err().to_string().contains("no rate"));
        rounds.rounds.iter_mut().for_each(|round| {
            round.entry("lbolt".into()).or_default().add("rate_operations_per_s", 1.0);
        });
        assert!(rounds.values(&case.rows[5]).unwrap_err().to_string().contains("linux-perf"));
    }

    #[test]
    fn doubts_are_counted_and_expected_ones_left_out() {
        let cases = case::with_rows("").unwrap();
        let cached = cases.iter().find(|case| case.name == "cached").unwrap();
        let printed = r#"{"schema": "lbolt.findings/1", "findings": [{"quantity":
            "rate_operations_per_s", "value": 1.0, "reason": "the page cache served it\nbusy"}]}"#;
        let turn = || Turn::of("lbolt", printed).unwrap();
        let rounds = vec![[("lbolt".to_owned(), turn())].into(), [("lbolt".into(), turn())].into()];
        let rounds = Rounds { rounds, ..Rounds::default() };
        assert_eq!(rounds.doubts(cached), [("busy".to_owned(), 2)].into());
        assert_eq!(rounds.doubts(&cases[0]).len(), 2);
    }
}

//! `whatif` against the deed: whether the predicted intervals hold what the changes really did to a
//! load that was replayed before and after each.

use super::super::formula::Figure;
use super::super::judge::extremes;
use super::super::turn::Turn;
use super::rows;
use super::statistic::{P99_COUNT_MIN, Times, class};
use anyhow::{Context as _, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// DIRECTORY ROUNDS CHANGE@TARGET@SCHEDULER@LOAD…: how many of the measured changes are in the
/// intervals that the turn's `whatif` predicted, as the script `deeds` left their runs.
pub(in super::super) fn held(words: &[&str], turn: &mut Turn) -> anyhow::Result<()> {
    let [directory, rounds, changes @ ..] = words else {
        bail!("held DIRECTORY ROUNDS CHANGE@TARGET@SCHEDULER@LOAD…")
    };
    let (directory, rounds): (_, usize) = (Path::new(directory), rounds.parse()?);
    let before = (0..rounds).map(|round| times(directory, &format!("before-{round}"), "load"));
    let before = before.collect::<anyhow::Result<Vec<_>>>()?;
    let mut judged = Judged::default();
    for (place, change) in changes.iter().enumerate() {
        let [change, _, _, load] = change.split('@').collect::<Vec<_>>()[..] else {
            bail!("no change: {change}");
        };
        let after = |round| times(directory, &format!("after-{place}-{round}"), load);
        let after = (0..rounds).map(after).collect::<anyhow::Result<Vec<_>>>()?;
        let pairs: Vec<(&Times, &Times)> = before.iter().zip(&after).collect();
        judged.add(turn, change, &pairs);
    }
    judged.tell(turn);
    Ok(())
}

/// The times of a run. A host's dribbling is part of its requests' responses: they count from when
/// the load itself had them come.
fn times(directory: &Path, run: &str, load: &str) -> anyhow::Result<Times> {
    let due = |name: &str| -> anyhow::Result<BTreeMap<u64, i64>> {
        let rows = rows::read(&directory.join(name)).with_context(|| name.to_owned())?;
        Ok(rows.iter().filter_map(|row| Some((row.request_id, row.queued_ns?))).collect())
    };
    let (came, given) = (due("load")?, due(load)?);
    let held_ns = |id| given.get(&id).zip(came.get(&id)).map_or(0, |(given, came)| given - came);
    let mut times = Times::default();
    for row in rows::read(&directory.join(run))? {
        if let Some((came_ns, done_ns)) = row.queued_ns.zip(row.completed_ns) {
            times.add(class(&row), (done_ns - came_ns + held_ns(row.request_id)) as f64);
        }
    }
    Ok(times)
}

/// What was compared so far, of means and of 99th percentiles: how many, and how many were held.
#[derive(Default)]
struct Judged([(u32, u32); 2]);

impl Judged {
    fn add(&mut self, predicted: &Turn, change: &str, pairs: &[(&Times, &Times)]) {
        let Some((first, _)) = pairs.first() else { return };
        let shown = change.split('/').next().unwrap_or_default();
        let all = first.classes().flat_map(|class| [(class, 0, "mean"), (class, 1, "p99")]);
        for (class, place, number) in all {
            let is_few = number == "p99" && first.count(class) < P99_COUNT_MIN;
            let ratio = |(before, after): &(&Times, &Times)| {
                Some(after.number(class, number)? / before.number(class, number)?)
            };
            let ratios: Vec<f64> = pairs.iter().filter_map(ratio).collect();
            let predicted = prediction(predicted, change, class, number);
            let Some([value, low, high]) = predicted.filter(|_| !is_few) else { continue };
            let (measured, (least, most)) = (geometric_mean(&ratios), extremes(&ratios));
            let is_held = (low..=high).contains(&measured);
            self.0[place].0 += 1;
            self.0[place].1 += u32::from(is_held);
            let mark = if is_held { "" } else { "  MISSED" };
            eprintln!(
                "| {shown} | {class} {number} | {value:.3} [{low:.3}, {high:.3}] | {measured:.3} \
                 ({least:.3} to {most:.3}) |{mark}"
            );
        }
    }

    fn tell(&self, turn: &mut Turn) {
        let [means, tails] = self.0;
        let all = (means.0 + tails.0, means.1 + tails.1);
        for (name, (of, held)) in [("", all), ("mean_", means), ("p99_", tails)] {
            turn.add(&format!("compared_{name}count"), f64::from(of));
            turn.add(&format!("held_{name}count"), f64::from(held));
            turn.add(&format!("held_{name}percent"), 100.0 * f64::from(held) / f64::from(of));
        }
    }
}

/// The predicted ratio of a number of a class, and its interval; one without an interval says
/// nothing but itself.
fn prediction(turn: &Turn, change: &str, class: &str, number: &str) -> Option<[f64; 3]> {
    let pairs = [("change", change), ("op", class)];
    let finding = turn.finding(&Figure {
        side: String::new(),
        quantity: format!("change_{number}_ratio"),
        is_count: false,
        subject: pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    })?;
    let value = finding["value"].as_f64()?;
    Some(["value", "low", "high"].map(|key| finding[key].as_f64().unwrap_or(value)))
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted_by_number() {
        let mut turn = Turn::default();
        Judged([(4, 3), (2, 2)]).tell(&mut turn);
        assert_eq!(turn.quantity("held_mean_percent").unwrap(), 75.0);
        assert_eq!(turn.quantity("held_p99_percent").unwrap(), 100.0);
        assert_eq!(turn.quantity("compared_count").unwrap(), 6.0);
        assert!((geometric_mean(&[0.5, 2.0]) - 1.0).abs() < 1e-12);
    }
}

//! How a replay of hplajw is judged against what was measured.

use model::record::{Flags, Op, Request};
use std::collections::HashMap;

pub(crate) fn response_ms(row: &Request) -> f64 {
    (row.completed_ns.unwrap() - row.queued_ns.unwrap()) as f64 / 1e6
}

pub(crate) fn service_ms(row: &Request) -> f64 {
    (row.completed_ns.unwrap() - row.issued_ns.unwrap()) as f64 / 1e6
}

pub(crate) fn is_async_write(row: &Request) -> bool {
    row.op == Op::Write && row.flags.contains(Flags::BACKGROUND)
}

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |(s, n), value| (s + value, n + 1.0));
    sum / count
}

pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted[at.clamp(1, sorted.len()) - 1]
}

/// Ruemmler & Wilkes's demerit over 10,000 quantiles, in the values' unit.
pub(crate) fn demerit(simulated: &[f64], measured: &[f64]) -> f64 {
    let square = |step: i32| {
        let share = f64::from(step) / 1e4;
        (quantile(simulated, share) - quantile(measured, share)).powi(2)
    };
    mean((1..=10_000).map(square)).sqrt()
}

/// Reads by the asynchronous writes that were outstanding on their disk when they came (0, 1–4,
/// 5–19, 20 and more): how many, and their mean response, ms.
pub(crate) fn by_writes_outstanding(rows: &[Request]) -> [(usize, f64); 4] {
    let mut outstanding: HashMap<u32, Vec<i64>> = HashMap::new();
    let mut sums = [(0, 0.0); 4];
    for row in rows {
        let now_ns = row.queued_ns.unwrap();
        let writes = outstanding.entry(row.device).or_default();
        if row.op == Op::Read {
            writes.retain(|completed_ns| *completed_ns > now_ns);
            let class = [1, 5, 20].iter().filter(|from| writes.len() >= **from).count();
            sums[class].0 += 1;
            sums[class].1 += response_ms(row);
        } else if is_async_write(row) {
            writes.push(row.completed_ns.unwrap());
        }
    }
    sums.map(|(count, sum)| (count, sum / count as f64))
}

//! A modelled device against its model: random reads of 4 KiB, as `lbolt record` has them, and what
//! the model says of the same places in the same order.

use super::super::turn::Turn;
use super::rows;
use anyhow::{bail, ensure};
use model::record::Request;
use sim::profile::CATALOG;
use sim::replay::{Live, ReplayMachine};
use std::collections::BTreeMap;
use std::path::Path;

const LENGTH_BYTES: u32 = 4096;

/// RUN MODEL DEPTH: the times of a run's reads and the model's; MODEL may have other keys of a
/// device.
pub(in super::super) fn closed(words: &[&str], turn: &mut Turn) -> anyhow::Result<()> {
    let [run, model, depth] = words else { bail!("closed RUN MODEL DEPTH") };
    let mut parts = model.split(',');
    let name = parts.next().unwrap_or_default();
    let slow = parts.find_map(|part| part.strip_prefix("slow=")).map_or(Ok(1.0), str::parse)?;
    let mut rows = rows::read(Path::new(run))?;
    rows.retain(|row| row.length_bytes == LENGTH_BYTES && row.completed_ns.is_some());
    ensure!(!rows.is_empty(), "nothing was read");
    let measured = rows.iter().filter_map(rows::response_ns).sum::<f64>() / rows.len() as f64;
    turn.add("measured_mean_ns", measured);
    turn.add("modelled_mean_ns", modelled_mean_ns(name, &rows, depth.parse()?)? * slow);
    turn.add("requests", rows.len() as f64);
    Ok(())
}

/// What the model says that these reads take on average, so many at once, ns.
fn modelled_mean_ns(model: &str, rows: &[Request], depth: usize) -> anyhow::Result<f64> {
    let mut live = Live::new(ReplayMachine::of(&CATALOG.load(model)?)?);
    let mut ahead = (0u64..).zip(rows);
    let (mut came_ns, mut sum_ns, mut now_ns) = (BTreeMap::new(), 0, 0);
    let mut give = |live: &mut Live, came_ns: &mut BTreeMap<u64, u64>, now_ns| {
        let Some((request_id, row)) = ahead.next() else { return Ok(()) };
        came_ns.insert(request_id, now_ns);
        let (offset_bytes, length_bytes) = (row.offset_bytes, LENGTH_BYTES);
        let queued_ns = Some(0);
        let read =
            Request { request_id, queued_ns, offset_bytes, length_bytes, ..Request::default() };
        live.come(now_ns, read)
    };
    for _ in 0..depth {
        give(&mut live, &mut came_ns, now_ns)?;
    }
    // Completions that are certain: when, and of which.
    let (mut known, mut due) = (Vec::new(), Vec::new());
    while !came_ns.is_empty() {
        live.advance(now_ns, &mut known);
        due.extend(known.drain(..).map(|(number, at_ns)| (at_ns, number)));
        due.sort_unstable();
        let over = due.partition_point(|(at_ns, _)| *at_ns <= now_ns);
        for (at_ns, number) in due.drain(..over) {
            sum_ns += at_ns - came_ns.remove(&number).unwrap_or(at_ns);
            give(&mut live, &mut came_ns, now_ns)?;
        }
        let next_ns = [due.first().map(|(at_ns, _)| *at_ns), live.next_ns()];
        let next_ns = next_ns.into_iter().flatten().filter(|at_ns| *at_ns > now_ns).min();
        now_ns = next_ns.unwrap_or(now_ns + 1);
    }
    Ok(sum_ns as f64 / rows.len() as f64)
}

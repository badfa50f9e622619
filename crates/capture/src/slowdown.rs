//! How many requests a second less there are while a capture runs.

use super::cost::finding;
use super::session::POLL;
use super::{Devices, Options, Session, diskstats};
use crate::load::Load;
use host::device::Tree;
use host::drive::Control;
use messages::fault::{Fault, failure, of_records};
use model::record::{Finding, Interval};
use std::time::{Duration, Instant};
use trace::intake::ForEach;

/// A window with the tracer, or without it.
const WINDOW: Duration = Duration::from_millis(500);
/// Pairs of windows.
const PAIRS: usize = 8;

/// How many requests a second less there are with the tracer, in interleaved pairs of windows while
/// the load runs: the median of the pairs, and the spread between them.
/// Errors: a capture that the kernel refuses; a load that ends before, or does nothing.
pub fn slowdown(
    options: &Options,
    devices: &Devices,
    load: &mut Load,
    control: &Control,
) -> anyhow::Result<Finding> {
    load.begin()?;
    let mut losses = Vec::with_capacity(PAIRS);
    for pair in 0..PAIRS {
        // Which goes first alternates, so that a drift falls on both alike.
        let with_first = pair % 2 == 1;
        let first = window(options, devices, with_first)?;
        let second = window(options, devices, !with_first)?;
        let (with, without) = if with_first { (first, second) } else { (second, first) };
        if control.is_stopped() {
            return Err(failure(Fault::Interrupted, "interrupted; nothing was captured"));
        }
        if load.is_over() {
            let sentence = format!(
                "the load ended during the {} s of the overhead measurement; use a longer load",
                (2 * PAIRS as u32 * WINDOW).as_secs()
            );
            return Err(failure(Fault::Usage, sentence));
        }
        if without > 0.0 {
            losses.push(100.0 * (1.0 - with / without));
        }
    }
    if losses.is_empty() {
        let sentence = "no requests completed during the overhead measurement; start a load first";
        return Err(failure(Fault::Usage, sentence));
    }
    losses.sort_by(f64::total_cmp);
    let (low, high) = (losses[0], losses[losses.len() - 1]);
    let method = "median of interleaved pairs of half a second, by the kernel's own count; low and \
        high are their extremes";
    let median = (losses[(losses.len() - 1) / 2] + losses[losses.len() / 2]) / 2.0;
    let count = losses.len() as u64;
    Ok(finding("tracer_slowdown_percent", Some(median), count, method)
        .within(Interval::Extremes, (Some(low), Some(high))))
}

/// Requests a second in a window.
fn window(options: &Options, devices: &Devices, is_traced: bool) -> anyhow::Result<f64> {
    // Its rows go nowhere: it is only to cost what a capture costs.
    let mut session = Session::new(options.clone(), ForEach::new(|_| ()));
    if is_traced {
        session.resume(devices).map_err(of_records)?;
    }
    let (began, before) = (Instant::now(), completed(devices));
    session.run(|_| {
        let is_over = began.elapsed() >= WINDOW;
        if !is_over {
            std::thread::sleep(POLL);
        }
        is_over.then_some(())
    });
    let completed = completed(devices).saturating_sub(before);
    Ok(completed as f64 / began.elapsed().as_secs_f64())
}

/// Requests that the captured devices completed since they are there.
fn completed(devices: &Devices) -> u64 {
    let tree = Tree::system();
    devices.captured().filter_map(|device| diskstats::completed(&tree, device)).sum()
}

//! The part that serves a device, as a process of its own: its plan is the first frame, its orders
//! those that follow. It ends when there is nobody left to order anything.

use super::message::{Order, Told};
use super::timing::ModelTiming;
use crate::resolve::device::DevicePlan;
use crate::resolve::modelled::{load, refused};
use capture::part::begin;
use capture::wire::{read_frame, write_frame};
use host::served::{AtOnce, DataPlace, Served, ServedOptions, Way};
use messages::fault::{Fault, failure, of_error, unable};
use model::seam::SubjectError;
use sim::replay::{Live, ReplayMachine};
use std::io::{BufReader, BufWriter};
use std::os::unix::net::UnixStream;

/// Runs the part.
/// Errors: a standard input that is no socket of ours.
pub(crate) fn run() -> anyhow::Result<()> {
    let Some((plan, (input, output))) = begin("device")? else { return Ok(()) };
    let mut part = Part { input, output };
    if let Err(error) = part.serve(&plan) {
        // The other part may be gone.
        let _ = part.tell(&Told::Failed(of_error(error)));
    }
    Ok(())
}

struct Part {
    input: BufReader<UnixStream>,
    output: BufWriter<UnixStream>,
}

impl Part {
    /// Until nobody orders anything any more.
    fn serve(&mut self, plan: &DevicePlan) -> anyhow::Result<()> {
        let profile = load(&plan.model, &plan.changes)?;
        let machine = || ReplayMachine::of(&profile).map_err(refused);
        let timing = ModelTiming::new(Live::slowed(machine()?, plan.slow));
        let data = plan.at.clone().map_or(DataPlace::Memory, DataPlace::Directory);
        let options = ServedOptions {
            size_bytes: plan.size_bytes,
            sector_bytes: plan.sector_bytes,
            data,
            is_rotational: plan.is_rotational,
            depth: plan.depth,
        };
        let mut served = Served::make(&options).map_err(of_subject)?;
        self.tell(&Told::Made { path: served.path().to_owned() })?;
        if self.order() != Some(Order::Serve) {
            return Ok(());
        }
        served.let_go();
        let way = served.measure_way().map_err(of_subject)?;
        check_speed(plan, Live::new(machine()?), &way)?;
        served.serve(Box::new(timing), way);
        self.tell(&Told::Serving { way })?;
        while let Some(order) = self.order() {
            match order {
                Order::Report => self.tell(&Told::Lateness { lateness: served.lateness() })?,
                Order::Hurry(true) => served.serve(Box::new(AtOnce::default()), way),
                Order::Hurry(false) => {
                    let timing = ModelTiming::new(Live::slowed(machine()?, plan.slow));
                    served.serve(Box::new(timing), way);
                }
                Order::Serve => {}
            }
        }
        Ok(())
    }

    fn tell(&mut self, told: &Told) -> anyhow::Result<()> {
        write_frame(&mut self.output, told, &[]).map_err(unable("report the result"))
    }

    fn order(&mut self) -> Option<Order> {
        read_frame(&mut self.input).ok().flatten().map(|(order, _)| order)
    }
}

fn of_subject(error: SubjectError) -> anyhow::Error {
    let fault = match error {
        SubjectError::Unavailable(_) => Fault::Usage,
        _ => Fault::Io,
    };
    failure(fault, error)
}

/// How many reads are asked of the model.
const PROBES: u64 = 64;

/// Refuses a model that is quicker than the way to it.
fn check_speed(plan: &DevicePlan, mut live: Live, way: &Way) -> anyhow::Result<()> {
    let model_ns = typical_ns(&mut live, plan.size_bytes);
    let (device_ns, way_ns) = (model_ns * plan.slow, way.read_4k_ns() as f64);
    if device_ns >= way_ns * MARGIN {
        return Ok(());
    }
    let slow = (way_ns * MARGIN / model_ns).ceil();
    let sentence = format!(
        "this machine is too slow for model:{}: a 4 KiB read takes {:.0} µs on the model, and must \
         take at least {:.0} µs, {MARGIN} times the {:.0} µs in the kernel alone; slow the model \
         down with slow={slow}",
        plan.model,
        device_ns / 1e3,
        way_ns * MARGIN / 1e3,
        way_ns / 1e3,
    );
    Err(failure(Fault::Usage, sentence))
}

/// A device takes this many times as long as the way to it at the least, so that what the way takes
/// more now and then is a small part.
const MARGIN: f64 = 1.5;

/// What a random read of 4 KiB takes by itself: the median, ns.
fn typical_ns(live: &mut Live, size_bytes: u64) -> f64 {
    let blocks = (size_bytes / 4096).max(1);
    let (mut known, mut now_ns) = (Vec::new(), 1_000_000_000);
    let mut times: Vec<u64> = Vec::new();
    for probe in 0..PROBES {
        // A multiplier that spreads places over the drive.
        let block = probe.wrapping_mul(0x9e37_79b9_7f4a_7c15) % blocks;
        let request = model::record::Request {
            request_id: probe,
            offset_bytes: Some(block * 4096),
            length_bytes: 4096,
            queued_ns: Some(0),
            ..model::record::Request::default()
        };
        known.clear();
        if live.come(now_ns, request).is_err() {
            continue;
        }
        live.advance(now_ns, &mut known);
        while let Some(next_ns) = live.next_ns() {
            live.advance(next_ns, &mut known);
        }
        if let Some((_, completion_ns)) = known.last() {
            times.push(completion_ns - now_ns);
            now_ns = *completion_ns;
        }
    }
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0) as f64
}

//! The part that captures, as a process of its own: it alone has privileges, and speaks with the
//! part that keeps, writes files, listens and prints by its standard input, which is a socket. It
//! ends with it.
//!
//! Non-goals: which privileges (`host::privilege`).

use super::capture::{self, LastMoments, Output, Told};
use super::message::{Incident, Message, Order};
use ::capture::part::begin;
use ::capture::wire::{read_frame, write_frame};
use ::capture::{Alarm, note_cgroups, note_devices};
use cli::Condition;
use messages::fault::{of_error, unable};
use model::record::Context;
use model::record::requests::{RequestWriter, SUMMED};
use std::collections::BTreeSet;
use std::io::{self, BufReader, BufWriter};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Runs the part: its options are the first frame, its orders those that follow.
/// Errors: a standard input that is no such socket.
pub fn run() -> anyhow::Result<()> {
    let Some((plan, (input, output))) = begin("watch")? else { return Ok(()) };
    let (options, conditions): (capture::Options, Vec<String>) = plan;
    let conditions: Result<Vec<Condition>, _> =
        conditions.iter().map(|text| text.parse()).collect();
    let conditions = conditions.map_err(unable("understand the conditions"))?;
    host::memory::return_freed();
    // While there is the right to mount the kernel's tracer, where nobody did.
    let _ = trace::capture::instances();
    host::privilege::keep_what_captures().map_err(unable("drop privileges"))?;
    let (give, orders) = channel();
    let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
    named("lbolt-orders")
        .spawn(move || take_orders(input, &give))
        .map_err(unable("start a thread"))?;
    let (tell, told) = channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let sent = waiting.clone();
    let writer = named("lbolt-send").spawn(move || send(output, &told, &sent));
    let writer = writer.map_err(unable("start a thread"))?;
    let alarm = Alarm::new(&conditions, options.after).map_err(unable("watch the conditions"))?;
    let out = Out { tell: tell.clone(), waiting };
    if let Err(error) = capture::run(&options, &alarm, &orders, out) {
        // The other part is gone where it takes nothing.
        let _ = tell.send(Told::Message(Message::Failed(of_error(error))));
    }
    drop(tell);
    // One that ended early has nobody to write to.
    let _ = writer.join();
    Ok(())
}

/// What is to be sent, and how much of it waits.
struct Out {
    tell: Sender<Told>,
    waiting: Arc<AtomicUsize>,
}

impl Output for Out {
    fn send(&self, told: Told) -> bool {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.tell.send(told).is_ok()
    }

    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// Until the other part has gone.
fn take_orders(mut input: BufReader<UnixStream>, give: &Sender<Order>) {
    while let Ok(Some((order, _))) = read_frame(&mut input) {
        if give.send(order).is_err() {
            break;
        }
    }
}

/// In a thread of its own: neither a slow reader nor a large incident keeps the rings from being
/// emptied.
fn send(
    mut output: BufWriter<UnixStream>,
    told: &Receiver<Told>,
    waiting: &AtomicUsize,
) -> io::Result<()> {
    for told in told {
        waiting.fetch_sub(1, Ordering::Relaxed);
        let is_large = matches!(told, Told::Incident(_));
        let message = match told {
            Told::Message(message) => message,
            Told::Incident(moments) => Message::Incident(Box::new(incident(*moments)?)),
        };
        write_frame(&mut output, &message, message.body())?;
        drop(message);
        if is_large {
            host::memory::give_back();
        }
    }
    Ok(())
}

/// The last moments as a file of requests, with what else is known, times from the first of them.
fn incident(LastMoments { why, last, summed, mut so_far }: LastMoments) -> io::Result<Incident> {
    let summed_ns = summed.iter().map(|sum| sum.from_ns).min().unwrap_or(i64::MAX);
    let (zero_ns, crowded_out) = (last.since_ns().min(summed_ns), last.crowded_out());
    let count_summed: u64 = summed.iter().map(|sum| sum.count).sum();
    let context = Context { summed, ..so_far.context() };
    let context = context.since(zero_ns).counted_from(zero_ns);
    let (commands, devices) = (&so_far.commands, &so_far.devices);
    let mut provenance = so_far.provenance.clone();
    let started = &mut provenance.started_unix_ns;
    *started = started.map(|unix_ns| unix_ns.saturating_add(zero_ns));
    provenance.counts.requests = last.count();
    let notes = &mut provenance.notes;
    notes.insert("trigger".to_owned(), why.clone());
    notes.insert("counts".to_owned(), "of the whole watch, but for the rows".to_owned());
    if count_summed > 0 {
        notes.insert(SUMMED.to_owned(), count_summed.to_string());
    }
    if crowded_out > 0 {
        notes.insert("crowded_out".to_owned(), crowded_out.to_string());
    }
    note_devices(&mut provenance, devices);
    let cgroups: BTreeSet<u64> = last.rows().filter_map(|row| row.cgroup).collect();
    note_cgroups(&mut provenance, &cgroups);
    let mut writer = RequestWriter::new(Vec::new()).map_err(io::Error::other)?;
    for row in last.rows() {
        writer.push(&row.counted_from(zero_ns), commands).map_err(io::Error::other)?;
    }
    let requests = writer.finish(commands, &provenance, &std::collections::BTreeMap::new());
    Ok(Incident { why, crowded_out, requests: requests.map_err(io::Error::other)?, context })
}

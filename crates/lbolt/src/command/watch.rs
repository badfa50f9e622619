//! `lbolt watch`: a capture that goes on, its minutes kept, and the seconds around what was waited
//! for.

use super::note;
use crate::resolve;
use crate::run::incidents::{Limits, Writer};
use crate::run::session::control;
use ::capture::caretaker;
use ::capture::condition::{Bound, armed};
use ::capture::load::Load;
use cli::WatchOptions;
use messages::fault::{Fault, failure, unable};
use metrics::{Endpoint, Export, Pace, Server, Shared, Totals, hosts, serve};
use model::history::{FileName, INCIDENTS, Origin, PARTIAL, Store, make_incidents};
use model::quote;
use model::units::counted;
use signal_hook::consts::SIGUSR1;
use standing::keeper::Keeper;
use standing::watchdog::Watchdog;
use standing::{Message, Order, Second, Watching, capture};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is summed up together, and kept.
const SPAN: Duration = Duration::from_secs(60);
/// How much later than they come requests are put into the order that the verdict needs: those that
/// took longer are late.
const DELAY: Duration = Duration::from_secs(30);
/// How often it is looked whether it is over.
const LOOK: Duration = Duration::from_millis(500);

/// Less than this holds no day: what Parquet says of its own files would be most of it.
const KEEP_LEAST: u64 = 16 << 20;

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run(options: &WatchOptions) -> anyhow::Result<()> {
    let history = resolve::history::directory(options.directory.as_ref())?;
    if options.history_size < KEEP_LEAST {
        let sentence = "--history-size is less than 16 MiB, the minimum; give a larger size";
        return Err(failure(Fault::Usage, sentence));
    }
    if let Some(address) = options.prometheus {
        hosts(address, options.listen_public).map_err(of_usage)?;
    }
    let endpoint = options.otlp.as_deref().map(str::parse::<Endpoint>).transpose();
    let endpoint = endpoint.map_err(of_usage)?;
    host::memory::return_freed();
    // While there are privileges to put things in order with.
    caretaker::begun()?;
    let give_up = || host::privilege::give_up_user(&history, is_of_history);
    let (watching, held) = Watching::begin(&of_capture(options), &options.when, give_up)?;
    if host::privilege::is_nobody() {
        note(&format!(
            "the watch runs as the user nobody, which other programs have, too; for a user of its \
             own, run `useradd --system lbolt` and `chown -R lbolt: {}`",
            quote::word(&history)
        ));
    }
    let own = held.as_ref().map_or_else(|| history.clone(), |held| held.at("."));
    // By who writes there.
    make_incidents(&own).map_err(|error| {
        let path = history.join(INCIDENTS);
        failure(Fault::Io, format!("failed to create the directory {}: {error}", path.display()))
    })?;
    let kept = Kept::begin(options, &own, endpoint)?;
    watch(options, &history, watching, kept)
}

/// Whether a name is of what a history has, written or being written.
fn is_of_history(name: &Path) -> bool {
    let Some(text) = name.to_str() else { return false };
    text == INCIDENTS || FileName::parse(text.strip_suffix(PARTIAL).unwrap_or(text)).is_some()
}

/// Takes what comes until something ends it.
fn watch(
    options: &WatchOptions,
    history: &Path,
    mut watching: Watching,
    mut kept: Kept,
) -> anyhow::Result<()> {
    let control = control()?;
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, asked.clone()).map_err(unable("handle signals"))?;
    let mut load = Load::new(&options.command);
    let mut began = None;
    let failed = loop {
        match watching.messages.recv_timeout(LOOK) {
            Ok(Message::Begun { limits }) => {
                began = Some(Instant::now());
                limits.iter().for_each(|limit| note(limit));
                note(&format!(
                    "watching; each minute is written to {}; {}; Ctrl-C ends it",
                    history.display(),
                    armed(&options.when)
                ));
                load.begin()?;
            }
            Ok(Message::Second(second)) => {
                let why = kept.take(&second);
                why.into_iter().for_each(|why| watching.order(Order::Write(why)));
            }
            Ok(Message::Incident(incident)) => kept.incidents.write(incident),
            Ok(Message::Failed(failure)) => break Some(failure),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
        if asked.swap(false, Ordering::Relaxed) {
            watching.order(Order::Write("the user requested it".to_owned()));
        }
        if options.capture.is_over(began) || load.is_over() || control.is_stopped() {
            watching.order(Order::Stop);
        }
    };
    // What has come is kept, whatever ended the capture.
    let kept = kept.end();
    let ended = failed.map_or_else(|| watching.end(), |failure| Err(failure.into()));
    match (ended, kept) {
        (Err(error), Err(lost)) => {
            note(&format!("{lost:#}"));
            Err(error)
        }
        (ended, kept) => ended.and(kept),
    }
}

/// Where what comes goes.
struct Kept {
    keeper: Keeper,
    incidents: Writer,
    /// While they are served or exported.
    totals: Option<Shared>,
    _server: Option<Server>,
    _export: Option<Export>,
    watchdog: Option<Watchdog>,
}

impl Kept {
    /// Errors: a history that another lbolt keeps, or that cannot be written; an address that
    /// cannot be had.
    fn begin(
        options: &WatchOptions,
        history: &Path,
        endpoint: Option<Endpoint>,
    ) -> anyhow::Result<Self> {
        let host = options.host.clone().unwrap_or_else(host::machine::host_name);
        let run = Some(host::machine::boot_id());
        let origin = Origin { host: Some(host.clone()), run, part: None };
        let store = Store::open(history, options.history_size).map_err(of_usage)?.of(origin);
        let limits = Limits {
            history: history.to_owned(),
            count_most: options.max_incidents,
            bytes_most: options.incidents_size,
        };
        let incidents = Writer::begin(limits, note).map_err(unable("start a thread"))?;
        let totals = Shared::new(Mutex::new(Totals::new(metrics::Limits::default())));
        let serving = |address| {
            let hosts = hosts(address, options.listen_public).map_err(of_usage)?;
            serve(address, hosts, totals.clone()).map_err(of_usage)
        };
        let server = options.prometheus.map(serving).transpose()?;
        let exporting = |to| {
            let export = Export::begin(to, host, totals.clone(), Pace::default(), note);
            export.map_err(unable("start a thread"))
        };
        let export = endpoint.map(exporting).transpose()?;
        let is_wanted = server.is_some() || export.is_some();
        let wants_usual = options.when.iter().any(|condition| condition.bound == Bound::Usual);
        let watchdog = wants_usual.then(|| Watchdog::new(history));
        Ok(Self {
            keeper: Keeper::new(store),
            incidents,
            totals: is_wanted.then_some(totals),
            _server: server,
            _export: export,
            watchdog,
        })
    }

    /// Writes the rest.
    /// Errors: something that was captured is lost, now or before, in one sentence.
    fn end(mut self) -> anyhow::Result<()> {
        // The last minutes first: an incident takes its time, and who stops a service has little.
        let minutes = self.keeper.end();
        let lost = self.incidents.end();
        let lost =
            (lost > 0).then(|| format!("{} could not be kept", counted(lost, "incident{s}")));
        let lost = match minutes {
            Ok(said) => {
                said.iter().for_each(|said| note(said));
                lost
            }
            Err(rows) => {
                Some([Some(rows), lost].into_iter().flatten().collect::<Vec<_>>().join("; "))
            }
        };
        lost.map_or(Ok(()), |lost| Err(failure(Fault::Io, lost)))
    }

    /// Takes what has come. Says why the last seconds are worth keeping, if they are.
    fn take(&mut self, second: &Second) -> Option<String> {
        let (said, not_kept) = self.keeper.take(second);
        if let Some(totals) = &self.totals {
            let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
            totals.add(&second.rows);
            totals.add(not_kept.as_slice());
        }
        said.iter().for_each(|said| note(said));
        self.watchdog.as_mut()?.see(second)
    }
}

fn of_capture(options: &WatchOptions) -> capture::Options {
    capture::Options {
        devices: options.capture.devices.clone(),
        method: options.capture.tracer,
        ring_bytes: capture::ring_bytes(),
        with_syscalls: options.capture.syscalls,
        span: SPAN,
        delay: DELAY,
        with_files: false,
        keep: options.before,
        keep_bytes: options.before_size,
        after: options.after,
        own_process: std::process::id(),
        counts_are_enough: false,
    }
}

fn of_usage(error: impl std::fmt::Display) -> anyhow::Error {
    failure(Fault::Usage, format!("failed to {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::verdict::watched::Span;
    use model::history::History;
    use model::record::{Context, Rollup, RollupKey};
    use standing::Incident;
    use std::sync::mpsc::channel;

    /// Who stops a service may kill it soon after: an incident's verdict may take until then.
    #[test]
    fn the_last_minutes_are_written_while_an_incident_still_takes_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let history = directory.path().to_owned();
        let limits = Limits { history: history.clone(), count_most: 1, bytes_most: 1 };
        let mut keeper = Keeper::new(Store::open(&history, 1 << 30).unwrap());
        let (from_unix_ns, until_unix_ns) = (0, 60_000_000_000);
        let rows = vec![Rollup {
            count: 1,
            ..Rollup::of(RollupKey::default(), from_unix_ns, until_unix_ns)
        }];
        let span = Span { number: 0, from_ns: 0, until_ns: 1, from_unix_ns, until_unix_ns };
        keeper.take(&Second { rows, span, going_on: Vec::new() });
        // What is told of the incident takes as long as the minutes are not written.
        let (are_written, told) = channel();
        let say = move |_: &str| {
            let is_written = || History::open(&history).is_ok_and(|all| all.span().is_some());
            let began = Instant::now();
            while !is_written() && began.elapsed() < 60 * LOOK {
                std::thread::sleep(LOOK / 100);
            }
            let _ = are_written.send(is_written());
        };
        let mut incidents = Writer::begin(limits, say).unwrap();
        // Its requests are no file of them, so it is soon told that it cannot be kept.
        incidents.write(Box::new(Incident {
            why: "a test".to_owned(),
            crowded_out: 0,
            requests: Vec::new(),
            context: Context::default(),
        }));
        let kept =
            Kept { keeper, incidents, totals: None, _server: None, _export: None, watchdog: None };
        let lost = kept.end().unwrap_err().to_string();
        assert_eq!(lost, "1 incident could not be kept");
        assert_eq!(told.iter().next(), Some(true));
    }
}

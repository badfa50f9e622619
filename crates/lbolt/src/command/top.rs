//! `lbolt top`: what goes on at the disks now, on the terminal or as text, a screen a second.
//!
//! Non-goals: the screen (crate `top`), the capture (`standing`).

use super::report::page_of;
use super::{note, print};
use crate::run::directory::RunPlace;
use crate::run::incidents::write_run;
use crate::run::session::control;
use cli::{Format, TopOptions};
use messages::fault::{Fault, failure, unable};
use messages::output::terminal_width;
use model::quote;
use model::record::{Rollup, to_objects};
use standing::{Incident, Message, Order, Second, Watching, capture};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError};
use std::sync::mpsc::{channel, sync_channel};
use std::time::{Duration, Instant};
use top::{Action, Screen, Signals};

/// What is compared with each other, and so what calm is.
const SPAN: Duration = Duration::from_secs(300);
/// How much later than they come requests are put into the order that the verdict needs.
const DELAY: Duration = Duration::from_millis(1500);
/// Memory for the last seconds.
const KEEP_BYTES: u64 = 256 << 20;
const SECOND_NS: i64 = 1_000_000_000;
/// How often it is looked whether it is over.
const LOOK: Duration = Duration::from_millis(100);
/// Messages that wait for the screen.
const QUEUE: usize = 4;
/// How long the terminal's thread may take to give the terminal back.
const TO_LEAVE: Duration = Duration::from_secs(1);
/// Columns of the text where there is no terminal.
const WIDTH: u16 = 100;

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run(options: &TopOptions) -> anyhow::Result<()> {
    let is_table = match options.output.format {
        Format::Table => true,
        Format::Json => false,
        _ => {
            let sentence = "failed to print one screen per second in this format: use --format \
                            table, or json for one line per second";
            return Err(failure(Fault::Usage, sentence));
        }
    };
    let is_shown = is_table && !options.batch && terminal_width().is_some();
    let capture = of_capture(options);
    let runs = &options.output.runs_dir;
    let directory = runs.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
    // Root's runs stay root's: top listens to nobody and runs no other program.
    let give_up = || Ok(host::privilege::give_up(directory)?);
    let (watching, ()) = Watching::begin(&capture, &[], give_up)?;
    match is_shown {
        true => on_terminal(options, watching),
        false => as_text(options, watching),
    }
}

fn of_capture(options: &TopOptions) -> capture::Options {
    capture::Options {
        devices: options.capture.devices.clone(),
        method: options.capture.tracer,
        ring_bytes: capture::ring_bytes(),
        with_syscalls: options.capture.syscalls,
        span: SPAN,
        delay: DELAY,
        with_files: true,
        keep: options.keep,
        keep_bytes: KEEP_BYTES,
        after: Duration::ZERO,
        own_process: std::process::id(),
        counts_are_enough: true,
    }
}

fn of_screen(options: &TopOptions) -> top::Options {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    top::Options { no_color, devices: options.capture.devices.clone() }
}

/// Until the user quits. The terminal has a thread of its own, which nothing waits for: whatever
/// keeps it, the capture ends when it is to end.
fn on_terminal(options: &TopOptions, mut watching: Watching) -> anyhow::Result<()> {
    let failed = |error| failure(Fault::Io, format!("failed to {error}; try --batch"));
    let (give, rows) = sync_channel(QUEUE);
    let (act, actions) = channel();
    let signals = Signals::caught().map_err(failed)?;
    let (screen, caught) = (of_screen(options), signals.clone());
    let named = std::thread::Builder::new().name("lbolt-screen".into());
    let screen = named.spawn(move || top::run(screen, &caught, rows, act));
    let screen = screen.map_err(unable("start a thread"))?;
    let taken = take(options, &mut watching, &signals, give, &actions);
    let began = Instant::now();
    while !screen.is_finished() && began.elapsed() < TO_LEAVE {
        std::thread::sleep(LOOK / 10);
    }
    if screen.is_finished() {
        let shown = screen.join().map_err(|_| anyhow::anyhow!("the terminal's thread ended"))?;
        shown.map_err(failed)?;
    }
    taken?;
    signals.end_at_once().map_err(failed)?;
    last(options, watching)?.iter().for_each(|sentence| note(sentence));
    Ok(())
}

/// Gives the screen what comes, and does what it asks for, until it is gone or a signal came.
/// While the screen takes nothing, nothing is taken from the capture either, which then adds up
/// what comes. Then the capture is asked to end.
fn take(
    options: &TopOptions,
    watching: &mut Watching,
    signals: &Signals,
    give: SyncSender<top::Message>,
    actions: &Receiver<Action>,
) -> anyhow::Result<()> {
    let mut began = None;
    let mut waiting: VecDeque<top::Message> = VecDeque::new();
    let say = top::Message::Say;
    loop {
        while let Some(message) = waiting.pop_front() {
            if let Err(TrySendError::Full(message)) = give.try_send(message) {
                waiting.push_front(message);
                break;
            }
        }
        // Who is gone takes nothing, and has said so.
        let quits = match actions.try_recv() {
            Ok(Action::WriteRun) => {
                waiting.push_back(say("writing the last seconds …".to_owned()));
                watching.order(Order::Write("the user requested it".to_owned()));
                false
            }
            Ok(Action::Quit) | Err(TryRecvError::Disconnected) => true,
            _ => false,
        };
        if quits || signals.ended() || options.capture.is_over(began) {
            break;
        }
        if !waiting.is_empty() {
            std::thread::sleep(LOOK);
            continue;
        }
        match watching.messages.recv_timeout(LOOK) {
            Ok(Message::Begun { limits }) => {
                began = Some(Instant::now());
                waiting.extend(limits.into_iter().map(say));
            }
            Ok(Message::Second(second)) => {
                waiting.push_back(top::Message::Waiting(second.going_on));
                waiting.push_back(top::Message::Rows(of_this_second(second.rows)));
            }
            Ok(Message::Incident(incident)) => {
                waiting.push_back(say(written(options, *incident)));
            }
            Ok(Message::Failed(failure)) => return Err(failure.into()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    watching.order(Order::Stop);
    Ok(())
}

/// Until the capture has ended: what became of seconds that were asked for and came after the
/// screen.
fn last(options: &TopOptions, watching: Watching) -> anyhow::Result<Vec<String>> {
    let mut sentences = Vec::new();
    for message in watching.messages.iter() {
        match message {
            Message::Incident(incident) => sentences.push(written(options, *incident)),
            Message::Failed(failure) => return Err(failure.into()),
            Message::Begun { .. } | Message::Second(_) => {}
        }
    }
    watching.end()?;
    Ok(sentences)
}

/// The rows of a long span as those of the second in which they came.
fn of_this_second(rows: Vec<Rollup>) -> Vec<Rollup> {
    let now_ns = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let from_unix_ns = now_ns - now_ns.rem_euclid(SECOND_NS) - SECOND_NS;
    let until_unix_ns = from_unix_ns + SECOND_NS;
    let of_now = |row| Rollup { from_unix_ns, until_unix_ns, ..row };
    rows.into_iter().map(of_now).collect()
}

/// What became of the last seconds.
fn written(options: &TopOptions, incident: Incident) -> String {
    let place = RunPlace::of(&options.output, "top");
    match write_run("top", &place, incident.requests, incident.context) {
        Ok((path, requests, _)) => {
            let page = options.output.report.then(|| match page_of(&path) {
                Ok((page, _)) => format!("; page: {}", page.display()),
                Err(error) => format!("; no page written: {error:#}"),
            });
            let page = page.unwrap_or_default();
            format!("{requests} requests written: lbolt response {}{page}", quote::path(&path))
        }
        Err(error) => error.to_string(),
    }
}

/// What a second told, as a line of JSON.
fn line(screen: &Screen, rows: &[Rollup]) -> String {
    let answer = report::answer([screen.answer().to_owned()]);
    let line = serde_json::json!({
        "schema": "lbolt.top/1", "answer": answer, "rows": to_objects(rows),
    });
    format!("{line}\n")
}

/// A screen a second, as text, until it is stopped.
fn as_text(options: &TopOptions, mut watching: Watching) -> anyhow::Result<()> {
    let control = control()?;
    let mut screen = Screen::new(of_screen(options));
    let width = terminal_width().unwrap_or(WIDTH);
    let mut began = None;
    loop {
        match watching.messages.recv_timeout(LOOK) {
            Ok(Message::Begun { limits }) => {
                began = Some(Instant::now());
                limits.iter().for_each(|limit| note(limit));
            }
            Ok(Message::Second(second)) => {
                let Second { rows, going_on, .. } = second;
                let rows = of_this_second(rows);
                screen.waiting(going_on);
                screen.add(&rows);
                print(&match options.output.format {
                    Format::Json => line(&screen, &rows),
                    _ => screen.text(width),
                })?;
            }
            Ok(Message::Incident(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Message::Failed(failure)) => return Err(failure.into()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if options.capture.is_over(began) || control.is_stopped() {
            watching.order(Order::Stop);
        }
    }
    watching.end()
}

//! The terminal: raw mode and the other screen while it is shown, given back on every way out; its
//! keys, rows and signals in one loop.
//!
//! Non-goals: what keys do and how it looks (`screen`, `draw`).

use crate::keys::Action;
use crate::screen::{Options, Screen};
use model::record::{Rollup, Wait};
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::event::{self, Event, KeyEventKind};
use ratatui_crossterm::crossterm::{cursor, execute, terminal};
use rustix::process::{Signal, kill_current_process_group};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use std::fs::{File, OpenOptions};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// How long a wait for a key may be: rows and signals are looked for in between.
const TURN: Duration = Duration::from_millis(100);
/// Rows that are added before a key is looked for again: of ten thousand keys a second has so many
/// that all of them would keep a key waiting.
const AT_ONCE: usize = 1000;
/// Between two drawings, so that a held key costs no more than this.
const BETWEEN: Duration = Duration::from_millis(25);

/// What comes to the screen.
#[derive(Debug)]
pub enum Message {
    /// The rows of a second.
    Rows(Vec<Rollup>),
    /// Waits of threads that go on for long by now, before the rows of the same second.
    Waiting(Vec<Wait>),
    /// A line of status: where the run was written, or why not.
    Say(String),
}

/// Why the screen could not be shown. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// There is no terminal, or it cannot be opened.
    #[error("open the terminal /dev/tty: {0}")]
    Open(#[source] io::Error),
    /// It did not do what was asked of it.
    #[error("steer the terminal: {0}")]
    Steer(#[source] io::Error),
    /// It cannot be written or read any more.
    #[error("draw on the terminal: {0}")]
    Draw(#[source] io::Error),
    /// Signals cannot be caught.
    #[error("catch signals: {0}")]
    Signals(#[source] io::Error),
}

/// Shows the screen on the terminal until the user quits, a signal ends it, or nobody sends rows
/// any more. `Action::WriteRun` and at the end `Action::Quit` are sent to `actions`.
pub fn run(
    options: Options,
    rows: Receiver<Message>,
    actions: Sender<Action>,
) -> Result<(), TopError> {
    let signals = Signals::caught()?;
    let mut shown = Shown::new()?;
    let mut screen = Screen::new(options);
    let done = turns(&mut shown, &mut screen, &signals, &rows, &actions);
    // Who is not there any more needs not be told.
    let _ = actions.send(Action::Quit);
    let left = shown.leave();
    done.and(left)
}

/// What signals asked for.
#[derive(Debug, Default)]
struct Signals {
    ends: Arc<AtomicBool>,
    goes_on: Arc<AtomicBool>,
}

impl Signals {
    fn caught() -> Result<Self, TopError> {
        let signals = Self::default();
        let flags = [SIGINT, SIGTERM, SIGHUP].map(|signal| (signal, &signals.ends));
        for (signal, flag) in flags.into_iter().chain([(SIGCONT, &signals.goes_on)]) {
            signal_hook::flag::register(signal, Arc::clone(flag)).map_err(TopError::Signals)?;
        }
        Ok(signals)
    }
}

/// The terminal while the screen is on it.
struct Shown {
    terminal: Terminal<CrosstermBackend<File>>,
    is_in: bool,
}

fn tty() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}

/// Gives the terminal back as it was.
fn give_back(mut tty: &File) -> io::Result<()> {
    let left = execute!(tty, terminal::LeaveAlternateScreen, cursor::Show);
    terminal::disable_raw_mode().and(left)
}

impl Shown {
    fn new() -> Result<Self, TopError> {
        let backend = CrosstermBackend::new(tty().map_err(TopError::Open)?);
        let terminal = Terminal::new(backend).map_err(TopError::Open)?;
        // A panic's text is to stand on the screen of before.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if let Ok(tty) = tty() {
                let _ = give_back(&tty);
            }
            hook(panic);
        }));
        let mut shown = Self { terminal, is_in: false };
        shown.enter()?;
        Ok(shown)
    }

    fn enter(&mut self) -> Result<(), TopError> {
        terminal::enable_raw_mode().map_err(TopError::Steer)?;
        self.is_in = true;
        let mut tty = tty().map_err(TopError::Open)?;
        execute!(tty, terminal::EnterAlternateScreen, cursor::Hide).map_err(TopError::Steer)?;
        self.terminal.clear().map_err(TopError::Draw)
    }

    fn leave(&mut self) -> Result<(), TopError> {
        if !self.is_in {
            return Ok(());
        }
        self.is_in = false;
        let tty = tty().map_err(TopError::Open)?;
        give_back(&tty).map_err(TopError::Steer)
    }

    /// Stops with the whole job, as Ctrl-Z does elsewhere; returns when the job goes on.
    fn suspend(&mut self) -> Result<(), TopError> {
        self.leave()?;
        let stopped = kill_current_process_group(Signal::TSTP);
        stopped.map_err(|error| TopError::Steer(error.into()))?;
        self.enter()
    }

    fn draw(&mut self, screen: &Screen) -> Result<(), TopError> {
        let drawn = self.terminal.draw(|frame| screen.draw(frame));
        drawn.map(|_| ()).map_err(TopError::Draw)
    }
}

/// However it ends.
impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.leave();
    }
}

fn turns(
    shown: &mut Shown,
    screen: &mut Screen,
    signals: &Signals,
    rows: &Receiver<Message>,
    actions: &Sender<Action>,
) -> Result<(), TopError> {
    let (mut last_rows, mut last_drawn) = (Instant::now(), None::<Instant>);
    let mut is_due = true;
    let mut waiting: Vec<Rollup> = Vec::new();
    loop {
        let since = last_drawn.map_or(BETWEEN, |drawn| drawn.elapsed());
        if is_due && since >= BETWEEN {
            shown.draw(screen)?;
            last_drawn = Some(Instant::now());
            is_due = false;
        }
        let wait = if !waiting.is_empty() {
            Duration::ZERO
        } else if is_due {
            BETWEEN.saturating_sub(since)
        } else {
            TURN
        };
        if event::poll(wait).map_err(TopError::Draw)? {
            is_due = true;
            match handled(shown, screen)? {
                Some(Action::Quit) => return Ok(()),
                Some(action @ Action::WriteRun) => {
                    let _ = actions.send(action);
                }
                Some(Action::Redraw) => shown.terminal.clear().map_err(TopError::Draw)?,
                Some(Action::Suspend) => shown.suspend()?,
                None => {}
            }
            // Keys first: rows wait until there is none.
            continue;
        }
        if signals.ends.load(Ordering::Relaxed) {
            return Ok(());
        }
        if signals.goes_on.swap(false, Ordering::Relaxed) {
            // It may have been stopped in a way that it did not notice.
            shown.enter()?;
            is_due = true;
        }
        if !waiting.is_empty() {
            let part = waiting.split_off(waiting.len().saturating_sub(AT_ONCE));
            screen.put(&part);
            if waiting.is_empty() {
                screen.settle();
                is_due = true;
            }
            continue;
        }
        match rows.try_recv() {
            Ok(Message::Rows(rows)) => {
                waiting = rows;
                last_rows = Instant::now();
            }
            Ok(Message::Waiting(going_on)) => screen.waiting(going_on),
            Ok(Message::Say(text)) => {
                screen.say(&text);
                is_due = true;
            }
            Err(TryRecvError::Empty) => {
                let silent = last_rows.elapsed().as_secs();
                is_due |= silent != screen.silent_seconds;
                screen.silent_seconds = silent;
            }
            Err(TryRecvError::Disconnected) => return Ok(()),
        }
    }
}

/// Handles what happened on the terminal.
fn handled(shown: &mut Shown, screen: &mut Screen) -> Result<Option<Action>, TopError> {
    match event::read().map_err(TopError::Draw)? {
        Event::Key(key) if key.kind != KeyEventKind::Release => Ok(screen.key(key)),
        Event::Resize(..) => {
            shown.terminal.clear().map_err(TopError::Draw)?;
            Ok(None)
        }
        _ => Ok(None),
    }
}

//! The terminal: raw mode and the other screen while it is shown, given back on every way out; its
//! keys, rows and signals in one loop. Neither reading nor writing blocks: a terminal that has gone
//! or that takes nothing keeps nobody from ending.
//!
//! Non-goals: what keys do and how it looks (`screen`, `draw`).

use crate::input::{Input, ready};
use crate::keys::Action;
use crate::screen::{Options, Screen};
use model::record::{Rollup, Wait};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::{cursor, execute, terminal};
use rustix::event::PollFlags;
use rustix::fs::OFlags;
use rustix::process::{Signal, kill_current_process_group};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
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
    /// It cannot be written any more.
    #[error("draw on the terminal: {0}")]
    Draw(#[source] io::Error),
    /// It cannot be read any more.
    #[error("read the terminal: {0}")]
    Read(#[source] io::Error),
    /// Signals cannot be caught.
    #[error("catch signals: {0}")]
    Signals(#[source] io::Error),
}

/// Shows the screen on the terminal until the user quits, a signal ends it, or nobody sends rows
/// any more. `Action::WriteRun` and at the end `Action::Quit` are sent to `actions`.
pub fn run(
    options: Options,
    signals: &Signals,
    rows: Receiver<Message>,
    actions: Sender<Action>,
) -> Result<(), TopError> {
    let done = shown(options, signals, &rows, &actions);
    // Who is not there any more needs not be told.
    let _ = actions.send(Action::Quit);
    // A terminal that goes with the signal is no failure.
    if signals.ended() { Ok(()) } else { done }
}

fn shown(
    options: Options,
    signals: &Signals,
    rows: &Receiver<Message>,
    actions: &Sender<Action>,
) -> Result<(), TopError> {
    let mut shown = Shown::new(signals)?;
    let mut screen = Screen::new(options);
    let done = turns(&mut shown, &mut screen, signals, rows, actions);
    let left = shown.leave();
    done.and(left)
}

/// What signals asked for.
#[derive(Debug, Default, Clone)]
pub struct Signals {
    ends: Arc<AtomicBool>,
    goes_on: Arc<AtomicBool>,
    has_new_size: Arc<AtomicBool>,
}

impl Signals {
    /// Catches those that end, continue and resize.
    pub fn caught() -> Result<Self, TopError> {
        let signals = Self::default();
        let ends = [SIGINT, SIGTERM, SIGHUP].map(|signal| (signal, &signals.ends));
        let others = [(SIGCONT, &signals.goes_on), (SIGWINCH, &signals.has_new_size)];
        for (signal, flag) in ends.into_iter().chain(others) {
            signal_hook::flag::register(signal, Arc::clone(flag)).map_err(TopError::Signals)?;
        }
        Ok(signals)
    }

    /// From now on one that asks for the end ends the process: the terminal is given back, and
    /// what is still waited for need not come. But for SIGHUP: one hang-up may send two.
    pub fn end_at_once(&self) -> Result<(), TopError> {
        for signal in [SIGINT, SIGTERM] {
            let at_once = Arc::new(AtomicBool::new(true));
            signal_hook::flag::register_conditional_shutdown(signal, 130, at_once)
                .map_err(TopError::Signals)?;
        }
        Ok(())
    }

    /// Whether one asked for the end.
    pub fn ended(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

/// The terminal while the screen is on it.
struct Shown {
    terminal: Terminal<CrosstermBackend<Tty>>,
    tty: Arc<File>,
    is_in: bool,
}

/// What is written to the terminal. One that takes nothing (Ctrl-S, a stopped window) is waited
/// for, until a signal ends it.
struct Tty {
    file: Arc<File>,
    signals: Signals,
}

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.file, bytes) {
                Err(rustix::io::Errno::AGAIN) if self.signals.ended() => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(rustix::io::Errno::AGAIN) => {
                    ready(&self.file, PollFlags::OUT, TURN)?;
                }
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tty() -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")
}

/// Gives the terminal back as it was.
fn give_back(mut tty: &File) -> io::Result<()> {
    let left = execute!(tty, terminal::LeaveAlternateScreen, cursor::Show);
    terminal::disable_raw_mode().and(left)
}

impl Shown {
    fn new(signals: &Signals) -> Result<Self, TopError> {
        let file = Arc::new(tty().map_err(TopError::Open)?);
        let backend =
            CrosstermBackend::new(Tty { file: Arc::clone(&file), signals: signals.clone() });
        let terminal = Terminal::new(backend).map_err(TopError::Open)?;
        // A panic's text is to stand on the screen of before.
        let hook = std::panic::take_hook();
        let for_hook = Arc::clone(&file);
        std::panic::set_hook(Box::new(move |panic| {
            let _ = give_back(&for_hook);
            hook(panic);
        }));
        let mut shown = Self { terminal, tty: file, is_in: false };
        shown.enter()?;
        Ok(shown)
    }

    fn enter(&mut self) -> Result<(), TopError> {
        terminal::enable_raw_mode().map_err(TopError::Steer)?;
        self.is_in = true;
        let tty = self.terminal.backend_mut();
        execute!(tty, terminal::EnterAlternateScreen, cursor::Hide).map_err(TopError::Steer)?;
        self.clear()
    }

    /// Clears it, in its present size. `Terminal::clear` would ask the terminal for its cursor and
    /// wait for the answer.
    fn clear(&mut self) -> Result<(), TopError> {
        let size = rustix::termios::tcgetwinsize(&self.tty);
        let size = size.map_err(|error| TopError::Steer(error.into()))?;
        self.terminal.resize(Rect::new(0, 0, size.ws_col, size.ws_row)).map_err(TopError::Draw)
    }

    fn leave(&mut self) -> Result<(), TopError> {
        if !self.is_in {
            return Ok(());
        }
        self.is_in = false;
        give_back(&self.tty).map_err(TopError::Steer)
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
    let mut input = Input::default();
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
        let key = input.next(&shown.tty, wait).map_err(TopError::Read)?;
        if signals.ended() {
            return Ok(());
        }
        if let Some(key) = key {
            is_due = true;
            match screen.key(key) {
                Some(Action::Quit) => return Ok(()),
                Some(action @ Action::WriteRun) => {
                    let _ = actions.send(action);
                }
                Some(Action::Redraw) => shown.clear()?,
                Some(Action::Suspend) => shown.suspend()?,
                None => {}
            }
            // Keys first: rows wait until there is none.
            continue;
        }
        if signals.has_new_size.swap(false, Ordering::Relaxed) {
            shown.clear()?;
            is_due = true;
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

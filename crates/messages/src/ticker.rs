//! The thread that draws progress on a terminal. Elsewhere nothing is shown, but for what reads
//! files, of which nobody knows how long that takes: it says now and then that it goes on.

use crate::output::{note, progress_target};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::text::visible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the line is drawn: rarely, for it costs CPU time on the machine under test.
const INTERVAL: Duration = Duration::from_millis(250);

/// When a reader without a terminal says for the first time that it goes on; from then on after
/// twice as long each.
const PATIENCE: Duration = Duration::from_secs(10);

/// A thread that draws until it is dropped.
pub struct Ticker {
    is_over: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Ticker {
    /// A line of what `say` says, which goes away at the end.
    pub fn new(say: impl FnMut() -> String + Send + 'static) -> Self {
        progress_target().map_or_else(Self::idle, |target| Self::line(target, say))
    }

    /// The same for what reads files: where there is no terminal it says so in lines, ever more
    /// rarely.
    pub fn reading(mut say: impl FnMut() -> String + Send + 'static) -> Self {
        if let Some(target) = progress_target() {
            return Self::line(target, say);
        }
        let (began, mut next) = (Instant::now(), PATIENCE);
        Self::begin(move || {
            if began.elapsed() >= next {
                note(&format!("still reading: {}", say()));
                next *= 2;
            }
        })
    }

    fn line(target: ProgressDrawTarget, mut say: impl FnMut() -> String + Send + 'static) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self::of_bar(bar, move |bar| {
            bar.set_message(visible(&say()).into_owned());
            bar.tick();
        })
    }

    /// Draws a bar, which goes away at the end; one that is hidden needs no thread.
    pub fn of_bar(bar: ProgressBar, mut draw: impl FnMut(&ProgressBar) + Send + 'static) -> Self {
        if bar.is_hidden() {
            return Self::idle();
        }
        let bar = Cleared(bar);
        Self::begin(move || draw(&bar.0))
    }

    fn idle() -> Self {
        Self { is_over: Arc::default(), drawer: None }
    }

    fn begin(mut draw: impl FnMut() + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let work = move || {
            while !over.load(Ordering::Relaxed) {
                draw();
                std::thread::park_timeout(INTERVAL);
            }
        };
        // Where there is no thread to be had, nothing is drawn.
        let drawer = std::thread::Builder::new().name("lbolt-progress".into()).spawn(work).ok();
        Self { is_over, drawer }
    }
}

/// A bar that goes away when it is dropped.
struct Cleared(ProgressBar);

impl Drop for Cleared {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(drawer) = self.drawer.take() {
            drawer.thread().unpark();
            // A drawer that panicked drew its last line; what it showed is not concerned.
            let _ = drawer.join();
        }
    }
}

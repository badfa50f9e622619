//! A line on a terminal that says how far something is, drawn by a thread of its own. Elsewhere
//! nothing is shown, but for what reads files, of which nobody knows how long that takes: it says
//! now and then that it goes on.

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

/// A line that goes away when it is dropped.
pub(crate) struct Ticker {
    is_over: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Shows what `say` says, four times a second.
    pub(crate) fn new(say: impl FnMut() -> String + Send + 'static) -> Self {
        Self::begin(progress_target(), |target, over| draw(target, say, over))
    }

    /// The same for what reads files: where there is no terminal it says so in lines, ever more
    /// rarely.
    pub(crate) fn reading(say: impl FnMut() -> String + Send + 'static) -> Self {
        Self::begin(Some(progress_target()), |target, over| match target {
            Some(target) => draw(target, say, over),
            None => tell(say, over),
        })
    }

    fn begin<T: Send + 'static>(
        target: Option<T>,
        show: impl FnOnce(T, &AtomicBool) + Send + 'static,
    ) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let drawer = target.map(|target| std::thread::spawn(move || show(target, &over)));
        Self { is_over, drawer }
    }
}

fn draw(target: ProgressDrawTarget, mut say: impl FnMut() -> String, over: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{msg}") {
        bar.set_style(style);
    }
    while !over.load(Ordering::Relaxed) {
        bar.set_message(visible(&say()).into_owned());
        bar.tick();
        std::thread::park_timeout(INTERVAL);
    }
    bar.finish_and_clear();
}

fn tell(mut say: impl FnMut() -> String, over: &AtomicBool) {
    let (began, mut next) = (Instant::now(), PATIENCE);
    while !over.load(Ordering::Relaxed) {
        if began.elapsed() >= next {
            note(&format!("still reading: {}", say()));
            next *= 2;
        }
        std::thread::park_timeout(INTERVAL);
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

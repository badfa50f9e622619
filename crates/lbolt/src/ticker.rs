//! A line on a terminal that says how far something is, drawn by a thread of its own. Elsewhere nothing is shown.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the line is drawn: rarely, for it costs CPU time on the machine under test.
const INTERVAL: Duration = Duration::from_millis(250);

/// A line that goes away when it is dropped.
pub(crate) struct Ticker {
    is_over: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Shows what `say` says, four times a second.
    pub(crate) fn new(mut say: impl FnMut() -> String + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let drawer = std::io::stderr().is_terminal().then(|| {
            std::thread::spawn(move || {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                if let Ok(style) = ProgressStyle::with_template("{msg}") {
                    bar.set_style(style);
                }
                while !over.load(Ordering::Relaxed) {
                    bar.set_message(say());
                    bar.tick();
                    std::thread::park_timeout(INTERVAL);
                }
                bar.finish_and_clear();
            })
        });
        Self { is_over, drawer }
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

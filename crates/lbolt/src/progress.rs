//! Progress on a terminal: which cell, which pass, the rate so far, the time
//! left. Elsewhere nothing is shown.

use crate::output::progress_target;
use host::drive::Control;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::text::visible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the line is drawn: rarely, for it costs CPU time on the machine under test.
const INTERVAL: Duration = Duration::from_millis(250);

/// What the drawing thread shares with the run.
struct Shared {
    bar: ProgressBar,
    control: Arc<Control>,
    /// `Control::bytes` when the pass began.
    pass_began_bytes: AtomicU64,
    is_over: AtomicBool,
}

/// A progress line.
pub(crate) struct Progress {
    shared: Arc<Shared>,
    drawer: Option<JoinHandle<()>>,
    began: Instant,
    done: u64,
    total: u64,
}

impl Progress {
    /// A line for `total` passes.
    pub(crate) fn new(control: Arc<Control>, total: u64) -> Self {
        let target = progress_target();
        let is_shown = target.is_some();
        let target = target.unwrap_or_else(ProgressDrawTarget::hidden);
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let shared = Arc::new(Shared {
            bar,
            control,
            pass_began_bytes: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let drawer = is_shown.then(|| {
            let shared = shared.clone();
            std::thread::spawn(move || draw(&shared))
        });
        Self { shared, drawer, began: Instant::now(), done: 0, total }
    }

    /// A pass begins. `bytes` is what it will move, 0 where only time ends it.
    pub(crate) fn pass(&mut self, what: &str, bytes: u64) {
        let left = match self.done {
            0 => String::new(),
            done => {
                let each = self.began.elapsed().as_secs_f64() / done as f64;
                format!(", about {:.0} s left", each * self.total.saturating_sub(done) as f64)
            }
        };
        let now = self.shared.control.bytes.load(Ordering::Relaxed);
        self.shared.pass_began_bytes.store(now, Ordering::Relaxed);
        let template = match bytes {
            0 => "{msg}  {bytes} so far",
            _ => "{msg}  {bar:20} {percent:>3} %  {binary_bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.shared.bar.set_style(style);
        }
        self.shared.bar.set_length(bytes);
        self.shared.bar.reset_elapsed();
        self.shared.bar.set_position(0);
        self.shared.bar.reset_eta();
        let what = visible(what);
        self.shared.bar.set_message(format!("[{}/{}{left}] {what}", self.done + 1, self.total));
    }

    /// There is a pass more than was planned.
    pub(crate) fn one_more(&mut self) {
        self.total += 1;
    }

    /// A pass is over.
    pub(crate) fn pass_done(&mut self) {
        self.done += 1;
    }
}

fn draw(shared: &Shared) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let bytes = shared.control.bytes.load(Ordering::Relaxed);
        let began = shared.pass_began_bytes.load(Ordering::Relaxed);
        shared.bar.set_position(bytes.saturating_sub(began));
        std::thread::sleep(INTERVAL);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(drawer) = self.drawer.take() {
            // A drawer that panicked drew its last line; the run is not concerned.
            let _ = drawer.join();
        }
        self.shared.bar.finish_and_clear();
    }
}

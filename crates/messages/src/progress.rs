//! Progress of passes: which cell, which pass, the rate so far, the time left.

use crate::output::{note, progress_target};
use crate::ticker::Ticker;
use host::drive::Control;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::text::visible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Where nobody sees a line that changes, one is printed as often as this at the most.
const TOLD_EVERY: Duration = Duration::from_secs(30);

/// A progress line.
pub struct Progress {
    bar: ProgressBar,
    control: Arc<Control>,
    /// `Control::bytes` when the pass began.
    pass_began_bytes: Arc<AtomicU64>,
    _ticker: Ticker,
    began: Instant,
    /// When it was last printed, where it is printed.
    told: Option<Instant>,
    done: u64,
    total: u64,
    /// What is over and what is left by a plan that knows better than the number of passes.
    planned: Option<(u64, u64)>,
}

impl Progress {
    /// A line for `total` passes.
    pub fn new(control: Arc<Control>, total: u64) -> Self {
        let target = progress_target();
        let told = target.is_none().then(Instant::now);
        let target = target.unwrap_or_else(ProgressDrawTarget::hidden);
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let pass_began_bytes = Arc::new(AtomicU64::new(0));
        let (moved, before) = (control.clone(), pass_began_bytes.clone());
        let _ticker = Ticker::of_bar(bar.clone(), move |bar| {
            let bytes = moved.bytes.load(Ordering::Relaxed);
            bar.set_position(bytes.saturating_sub(before.load(Ordering::Relaxed)));
        });
        let began = Instant::now();
        Self { bar, control, pass_began_bytes, _ticker, began, told, done: 0, total, planned: None }
    }

    /// A pass begins. `bytes` is what it will move, 0 where only time ends it.
    pub fn pass(&mut self, what: &str, bytes: u64) {
        let by_passes = (self.done, self.total.saturating_sub(self.done));
        let left = match self.planned.unwrap_or(by_passes) {
            (0, _) => String::new(),
            (done, left) => {
                let each = self.began.elapsed().as_secs_f64() / done as f64;
                format!(", about {:.0} s left", each * left as f64)
            }
        };
        let now = self.control.bytes.load(Ordering::Relaxed);
        self.pass_began_bytes.store(now, Ordering::Relaxed);
        let template = match bytes {
            0 => "{msg}  {bytes} so far",
            // As rates are in the tables: powers of ten.
            _ => "{msg}  {bar:20} {percent:>3} %  {decimal_bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.set_length(bytes);
        self.bar.reset_elapsed();
        self.bar.set_position(0);
        self.bar.reset_eta();
        let message = format!("[{}/{}{left}] {}", self.done + 1, self.total, visible(what));
        if self.told.is_some_and(|told| told.elapsed() >= TOLD_EVERY) {
            self.told = Some(Instant::now());
            note(&message);
        }
        self.bar.set_message(message);
    }

    /// How much of a plan is over, and how much is left, in any unit: its passes are not of one
    /// length. Nothing is said of the time left while nothing is over, or it is not known.
    pub fn planned(&mut self, done: u64, left: Option<u64>) {
        if done == 0 {
            self.began = Instant::now();
        }
        self.planned = Some((left.map_or(0, |_| done), left.unwrap_or(0)));
    }

    /// There is a pass more than was planned.
    pub fn one_more(&mut self) {
        self.total += 1;
    }

    /// A pass is over.
    pub fn pass_done(&mut self) {
        self.done += 1;
    }
}

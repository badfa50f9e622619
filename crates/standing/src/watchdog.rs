//! Whether what comes stands out against the same hour of earlier days, as the history has them
//! (`--when unusual`).
//!
//! Non-goals: what is usual (`verdict::watched`).

use super::Second;
use ::verdict::watched::{LastMinute, Unusual, Usual};
use model::history::{History, Query};
use model::record::Counted;
use model::units::show_time_ns;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Days that are looked at.
const DAYS: i64 = 14;
const DAY_NS: i64 = 86_400_000_000_000;
const HOUR_NS: i64 = 3_600_000_000_000;
/// How often the last minute is judged.
const EVERY: Duration = Duration::from_secs(10);

/// Looks whether anything stands out.
pub struct Watchdog {
    history: PathBuf,
    /// Of which hour, in hours since 1970.
    usual: Option<(i64, Usual)>,
    last: LastMinute,
    judged: Instant,
}

impl Watchdog {
    /// By the history in a directory.
    pub fn new(history: &Path) -> Self {
        let (usual, last, judged) = (None, LastMinute::default(), Instant::now());
        Self { history: history.to_owned(), usual, last, judged }
    }

    /// Takes what has come. Says what stands out.
    pub fn see(&mut self, second: &Second) -> Option<String> {
        self.last.add(&second.rows);
        if self.judged.elapsed() < EVERY {
            return None;
        }
        self.judged = Instant::now();
        let hour = second.span.from_unix_ns.div_euclid(HOUR_NS);
        if self.usual.as_ref().is_none_or(|(known, _)| *known != hour) {
            self.usual = Some((hour, usual(&self.history, hour)));
        }
        let (_, usual) = self.usual.as_ref()?;
        self.last.turn(usual).map(|found| said(&found))
    }
}

/// What is usual at an hour; nothing where the history cannot be read.
fn usual(history: &Path, hour: i64) -> Usual {
    let Ok(history) = History::open(history) else { return Usual::default() };
    let of_day = |day: i64| {
        let from_unix_ns = hour * HOUR_NS - day * DAY_NS;
        let until_unix_ns = from_unix_ns + HOUR_NS;
        let kinds = vec![Counted::Requests, Counted::Calls];
        history.read(&Query { from_unix_ns, until_unix_ns, kinds, ..Query::default() }).0
    };
    let rows: Vec<_> = (1..=DAYS).flat_map(of_day).collect();
    Usual::of(&rows)
}

fn said(found: &Unusual) -> String {
    format!(
        "p99({}) on {} was {} in the last minute; in the same hour of earlier days, 99 % of \
         minutes were below {}",
        found.operation,
        found.device,
        show_time_ns(found.p99_ns),
        show_time_ns(found.usual_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::SparseHistogram;
    use model::history::Store;
    use model::record::{Rollup, RollupKey};

    const MINUTE_NS: i64 = 60_000_000_000;

    fn row(from_unix_ns: i64, response_ns: u64) -> Rollup {
        let mut responses = SparseHistogram::default();
        (0..300).for_each(|_| responses.record(response_ns));
        let (device, operation) = (Some("sda".into()), "read".into());
        let key = RollupKey { device, operation, ..RollupKey::default() };
        let mut row = Rollup::of(key, from_unix_ns, from_unix_ns + MINUTE_NS);
        row.set_responses(&responses);
        row
    }

    #[test]
    fn the_same_hour_of_earlier_days_is_what_the_history_has_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path(), 1 << 30).unwrap();
        let today = 20_000 * DAY_NS + 5 * HOUR_NS;
        for day in (1..=4).rev() {
            for minute in 0..60 {
                // The hour before is slow every day.
                for (hour, response_ns) in [(-1, 90_000_000), (0, 3_000_000)] {
                    let from = today - day * DAY_NS + hour * HOUR_NS + minute * MINUTE_NS;
                    store.add(&[row(from, response_ns)], from, from + MINUTE_NS).unwrap();
                }
            }
        }
        let hour = today / HOUR_NS;
        let mut last = LastMinute::default();
        last.add(&[row(today, 20_000_000)]);
        assert_eq!(last.turn(&usual(directory.path(), hour - 1)), None);
        last.add(&[row(today, 20_000_000)]);
        let found = last.turn(&usual(directory.path(), hour)).unwrap();
        let said = said(&found);
        assert!(said.starts_with("p99(read) on sda was 20") && said.contains("below 3"), "{said}");
        assert!(usual(&directory.path().join("none"), hour).is_empty());
    }
}

//! A history as text: the answer in a few sentences, then a table as `sar -d` prints it, with
//! response times and who lost most to whom; JSON and CSV too.
//!
//! Non-goals: reckoning a figure (`verdict::history`).

mod export;
mod incidents;
mod told;

pub use export::{csv, json};
pub use incidents::{incidents, incidents_csv, incidents_json, incidents_markdown};
pub use told::sentences;

use crate::listing::Listing;
use crate::number::significant;
use crate::screen::{COLUMNS, Screen, limited, paragraphs, wide};
use crate::sheet::Sheet;
use crate::words::{elided, hang, upper};
use jiff::Timestamp;
use model::circumstance;
use model::history::{By, DAY_NS, Line, Loss, Overview, Pair};
use model::units::show_time_ns;

/// Characters of who lost to whom, where a screen's columns are all there are.
const WHO_CHARS: usize = 40;
/// Of which names have so many at the least, however long their host's is.
const LEAST_CHARS: usize = 12;
/// Less lost in a line is not told of.
const LEAST_LOST_NS: f64 = 1e7;
/// Less is 0 in a column of seconds.
const LEAST_TOLD_NS: f64 = 5e6;
/// What is left out first where a terminal is narrow.
const LESS_NEEDED: &[&str] =
    &["dkB/s", "areq-sz", "aqu-sz", "response, ms p50", "await", "rkB/s", "wkB/s", "%util", "tps"];

/// How a table is shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// Columns of the terminal; none where there is none.
    pub width: Option<u16>,
    /// Whether nothing is left out for the width.
    pub is_wide: bool,
    /// Whether every line is shown, and not a screen of them.
    pub shows_all: bool,
}

/// What is said first, and what must be known of the files.
fn answer(overview: &Overview, notes: &[String]) -> Vec<String> {
    sentences(overview).into_iter().chain(notes.iter().map(|note| upper(note))).collect()
}

/// For a terminal. `notes` are sentences of files that could not be read.
pub fn table(overview: &Overview, notes: &[String], shown: Shown) -> String {
    let limit = if shown.is_wide { None } else { wide(shown.width) };
    let answer = answer(overview, notes);
    if overview.lines.is_empty() {
        return paragraphs(&answer, limited(limit));
    }
    let more = |limit: u16| usize::from(limit.saturating_sub(COLUMNS));
    let sheet = sheet(overview, limit.map(|limit| WHO_CHARS + more(limit)));
    if !shown.shows_all && !shown.is_wide {
        let screen = Screen {
            sentences: answer,
            tables: losses(overview).into_iter().chain([sheet]).collect(),
            which: if overview.by == By::Time { "first" } else { "most important" },
            less_needed: LESS_NEEDED,
            needed: &["on", "for"],
            below:
                "--by says who, --every how fine, --wide all columns; docs/guide/history.md says \
                    what the columns are."
                    .into(),
        };
        return screen.text(shown.width);
    }
    let grid = sheet.grid().cloned().unwrap_or_default().narrowed(limit, LESS_NEEDED);
    let title = hang("", &sheet.title, limit);
    let answer = paragraphs(&answer, limited(limit));
    let losses = losses(overview).map(|sheet| sheet.text(limit) + "\n").unwrap_or_default();
    format!("{answer}\n{losses}{title}{}", grid.shortened(limit).text(limit))
}

/// For a document.
pub fn markdown(overview: &Overview, notes: &[String]) -> String {
    let answer = answer(overview, notes);
    let answer = answer.iter().map(|text| crate::grid::escape_markdown(text) + "\n\n");
    let losses = losses(overview).map(|sheet| sheet.markdown() + "\n").unwrap_or_default();
    answer.collect::<String>() + &losses + &sheet(overview, None).markdown()
}

/// Of whose losses the sentences tell; none where nobody lost much.
fn losses(overview: &Overview) -> Option<Sheet> {
    let rows = told::matter(overview);
    let percent = |loss: &&Loss| loss.percent.map(|of| format!("{} %", significant(of.min(100.0))));
    let half = |loss: &&Loss| match loss.half_ns {
        Some(half_ns) if half_ns > 0.0 => show_time_ns(half_ns),
        Some(_) => String::new(),
        None => "estimate".to_owned(),
    };
    let listing = Listing::of(&rows)
        .label("who", |loss| loss.pair.victim.clone())
        .label("behind", |loss| circumstance::cause(&loss.pair.cause).to_owned())
        .label("for", |loss| loss.pair.operation.clone())
        .label("on", |loss| loss.pair.device.clone())
        .figure("", "lost", |loss| show_time_ns(loss.lost_ns))
        .figure("", "±", half)
        .figure("", "of its", |loss| percent(loss).unwrap_or_default())
        .figure("", "storms", |loss| loss.storms.0.to_string())
        .figure("", "each", |loss| match loss.storms.0 {
            0 => String::new(),
            _ => show_time_ns(told::storm_ns(loss)),
        });
    let worst = |loss: &&Loss| told::worst_ns(loss, overview);
    let listing = match rows.iter().any(|loss| worst(loss).is_some()) {
        true => {
            let text = |loss: &&Loss| worst(loss).map_or_else(String::new, show_time_ns);
            listing.figure("", "at worst", text)
        }
        false => listing,
    };
    (!rows.is_empty()).then(|| listing.sheet("Who lost most"))
}

fn sheet(overview: &Overview, who_chars: Option<usize>) -> Sheet {
    // A cause that took nothing away is none.
    let is_told = |line: &&Line| overview.by != By::Cause || line.lost_ns >= LEAST_TOLD_NS;
    let lines: Vec<&Line> = overview.lines.iter().filter(is_told).collect();
    let mut listing = Listing::of(&lines);
    if overview.step_ns.is_some() {
        let times = Times::of(overview.span_unix_ns);
        listing = listing.label("time", |line| times.of_line(line));
    }
    if overview.by != By::Time {
        listing = listing.label(overview.by.name(), |line| match line.group.as_str() {
            "" => "(none)".to_owned(),
            group => circumstance::cause(group).to_owned(),
        });
    }
    if overview.by != By::Cause {
        let is_known = |of: &&Figure| overview.lines.iter().any(|line| of.2(line).is_some());
        listing = FIGURES.iter().filter(is_known).fold(listing, |listing, (group, head, of)| {
            listing.figure(group, head, |line| figure(of(line)))
        });
    }
    if overview.by.has_losses() {
        // What is less than nothing is chance.
        let lost_s = |line: &&Line| figure(Some(line.lost_ns.max(0.0) / 1e9));
        listing = listing.remark("lost most", |line| who(line, overview.by, who_chars));
        let is_lost = lines.iter().any(|line| line.lost_ns >= LEAST_TOLD_NS);
        if overview.by != By::Time || is_lost {
            listing = listing.figure("", "lost s", lost_s);
        }
    }
    listing.sheet(title(overview))
}

fn title(overview: &Overview) -> String {
    let of = match (overview.by, overview.step_ns) {
        (By::Time, _) => String::new(),
        (by, _) => format!(" by {}", by.name()),
    };
    let every =
        overview.step_ns.map_or(String::new(), |step| format!(", every {}", length(step as f64)));
    let (from, until) = overview.span_unix_ns;
    format!("{} to {}{of}{every}", moment(from), moment(until))
}

/// A figure's group and heading, and its value in a line.
type Figure = (&'static str, &'static str, fn(&Line) -> Option<f64>);

/// What `sar -d` has, and the response times beside that.
const FIGURES: &[Figure] = &[
    ("", "tps", |line| line.tps),
    ("", "rkB/s", |line| line.read_bytes_per_s.map(kb)),
    ("", "wkB/s", |line| line.written_bytes_per_s.map(kb)),
    ("", "dkB/s", |line| line.discarded_bytes_per_s.map(kb)),
    ("", "areq-sz", |line| line.request_bytes.map(kb)),
    ("", "aqu-sz", |line| line.queued),
    ("", "await", |line| line.await_ns.map(ms)),
    ("", "%util", |line| line.util_percent),
    ("response, ms", "p50", |line| line.p50_ns.map(|ns| ms(ns as f64))),
    ("response, ms", "p99", |line| line.p99_ns.map(|ns| ms(ns as f64))),
    ("response, ms", "max", |line| line.max_ns.map(|ns| ms(ns as f64))),
];

fn kb(bytes: f64) -> f64 {
    bytes / 1024.0
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

/// A figure as `sar` has it: no more than two decimals.
fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if value.abs() < 0.005 => "0".into(),
        Some(value) if value.abs() < 1.0 => format!("{value:.2}"),
        Some(value) => significant(value),
    }
}

/// `postgres: backend < checkpointer 2.10 s`.
fn who(line: &Line, by: By, chars: Option<usize>) -> String {
    let Some((pair, lost_ns)) = line.who.as_ref().filter(|(_, ns)| *ns >= LEAST_LOST_NS) else {
        return String::new();
    };
    let lost = show_time_ns(*lost_ns);
    let cause = cause(pair);
    let host = match (pair.host.as_str(), by) {
        ("", _) | (_, By::Host | By::Device) => String::new(),
        (host, _) => format!("{host}: "),
    };
    let names = match by {
        By::Role => format!("< {}", circumstance::cause(&pair.cause)),
        By::Cause => format!("{} ({})", pair.victim, pair.operation),
        _ => format!("{} < {cause}", pair.victim),
    };
    match chars {
        None => format!("{host}{names} {lost}"),
        Some(chars) => {
            let chars = (chars - 8).saturating_sub(host.chars().count()).max(LEAST_CHARS);
            format!("{host}{} {lost}", fitted(pair, cause, &names, by, chars))
        }
    }
}

/// The cause, without what it has in common with the victim's name.
fn cause(pair: &Pair) -> &str {
    let family = pair.victim.split_once(": ").map(|(family, _)| family);
    let same = family.and_then(|family| pair.cause.strip_prefix(family)?.strip_prefix(": "));
    same.filter(|rest| !rest.is_empty()).unwrap_or_else(|| circumstance::cause(&pair.cause))
}

/// Both names, each shortened where they are too long together.
fn fitted(pair: &Pair, cause: &str, names: &str, by: By, chars: usize) -> String {
    if names.chars().count() <= chars || matches!(by, By::Role | By::Cause) {
        return elided(names, chars);
    }
    let room = chars - 3;
    let (victim, other) = (pair.victim.chars().count(), cause.chars().count());
    // The shorter one keeps what it needs.
    let of_victim = if other < room / 2 { room - other } else { (room / 2).min(victim) };
    let of_cause = room - of_victim;
    // What is no name is not cut: the victim's is shorter then, down to what still tells of it.
    let beyond = elided(cause, of_cause).chars().count().saturating_sub(of_cause);
    let of_victim = of_victim.saturating_sub(beyond).max(LEAST_CHARS.min(of_victim));
    format!("{} < {}", elided(&pair.victim, of_victim), elided(cause, of_cause))
}

/// How the times of lines are written: no more of them than tells them apart.
struct Times {
    is_one_day: bool,
}

impl Times {
    fn of((from, until): (i64, i64)) -> Self {
        Self { is_one_day: from.div_euclid(DAY_NS) == (until - 1).div_euclid(DAY_NS) }
    }

    fn of_line(&self, line: &Line) -> String {
        let is_days = line.until_unix_ns - line.from_unix_ns >= DAY_NS
            && line.from_unix_ns.rem_euclid(DAY_NS) == 0;
        match (self.is_one_day, is_days) {
            (_, true) => stamp(line.from_unix_ns, "%Y-%m-%d"),
            (true, false) => stamp(line.from_unix_ns, "%H:%MZ"),
            (false, false) => stamp(line.from_unix_ns, "%m-%d %H:%MZ"),
        }
    }
}

/// A time in words.
pub fn span(from_unix_ns: i64, until_unix_ns: i64) -> String {
    format!("{} to {}", moment(from_unix_ns), moment(until_unix_ns))
}

/// A moment in a sentence; to the second where it is no whole minute.
fn moment(unix_ns: i64) -> String {
    let is_minute = unix_ns.div_euclid(1_000_000_000) % 60 == 0;
    stamp(unix_ns, if is_minute { "%Y-%m-%d %H:%MZ" } else { "%Y-%m-%d %H:%M:%SZ" })
}

pub(crate) fn stamp(unix_ns: i64, format: &str) -> String {
    Timestamp::from_nanosecond(unix_ns.into()).unwrap_or_default().strftime(format).to_string()
}

/// A length of time in a sentence: `8 min`, `2.5 h`, `3 days`.
fn length(ns: f64) -> String {
    let (value, unit) = match ns / 1e9 {
        s if s < 60.0 => return show_time_ns(ns),
        s if s < 3_600.0 => (s / 60.0, "min"),
        s if s < 2.0 * 86_400.0 => (s / 3_600.0, "h"),
        s => (s / 86_400.0, "days"),
    };
    let text = if value >= 9.95 { format!("{value:.0}") } else { format!("{value:.1}") };
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn what_is_no_role_is_told_in_words() {
        let pair = Pair { victim: "app".into(), cause: "<held>".into(), ..Pair::default() };
        let group = "<held>".into();
        let line = Line { who: Some((pair, 5e9)), lost_ns: 5e9, group, ..Line::default() };
        assert_eq!(who(&line, By::Time, None), "app < a delay outside the device 5.00 s");
        assert_eq!(who(&line, By::Role, None), "< a delay outside the device 5.00 s");
        let overview = Overview { by: By::Cause, lines: vec![line], ..Overview::default() };
        let none = Line { lost_ns: 4e6, group: "<stolen>".into(), ..Line::default() };
        let overview = Overview { lines: vec![overview.lines[0].clone(), none], ..overview };
        let text = markdown(&overview, &[]);
        assert!(!text.contains("the hypervisor"), "a cause of nothing: {text}");
        assert!(text.contains("| a delay outside the device |"), "{text}");
    }

    /// What the sentences tell is in the table, however narrow the terminal is.
    #[test]
    fn numbers_of_a_loss_stay_where_names_are_long() {
        let text = |text: &str| text.to_owned();
        let pair = Pair {
            host: String::new(),
            victim: text("postgres: backend (shop/db-0/postgres)"),
            operation: text("fdatasync"),
            device: text("web1:nvme0n1"),
            cause: text("postgres: checkpointer (shop/db-0/postgres)"),
        };
        let loss = Loss {
            pair: pair.clone(),
            lost_ns: 49e9,
            percent: Some(41.9),
            worst_unix_ns: (3600 * S, 3660 * S),
            worst_lost_ns: 12.3e9,
            half_ns: Some(2.1e9),
            storms: (13, 6_500_000_000),
            matters: true,
            ..Loss::default()
        };
        let other = Pair { operation: text("read"), ..pair.clone() };
        let losses = vec![loss.clone(), Loss { pair: other, ..loss }];
        let line = Line { lost_ns: 49e9, who: Some((pair, 49e9)), ..Line::default() };
        let overview = Overview {
            losses,
            lines: vec![line],
            span_unix_ns: (0, 36_000 * S),
            watched_ns: 36_000 * S as u64,
            ..Overview::default()
        };
        for width in [72, 80, 100, 160] {
            let shown = Shown { width: Some(width), is_wide: false, shows_all: false };
            let text = table(&overview, &[], shown);
            assert!(text.lines().all(|line| line.chars().count() <= width.into()), "{text}");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (sentences, tables) = text.split_once("Who lost most").unwrap();
            for number in ["49.0 s", "2.10 s", "41.9 %", "13", "500 ms", "12.3 s"] {
                assert!(sentences.contains(number) && tables.contains(number), "{number}: {text}");
            }
        }
    }
}

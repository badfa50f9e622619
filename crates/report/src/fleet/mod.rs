//! A fleet as text: what stands out in a few sentences, then its storms and a table of hosts or of
//! what they have in common; JSON, CSV and Markdown too.
//!
//! Non-goals: reckoning a figure (`verdict::fleet`).

mod export;
mod page;
mod pictures;
mod slower;
mod told;

pub use export::{csv, json};
pub use page::page;

use crate::history::stamp;
use crate::listing::Listing;
use crate::number::{short_count, significant};
use crate::screen::{Screen, limited, paragraphs, short, wide};
use crate::sheet::Sheet;
use crate::words::upper;
use model::circumstance::cause;
use model::fleet::{Fleet, FleetBy, FleetFinding, FleetLine, FleetStorm, Found};
use model::quote;
use model::units::show_time_ns;
use std::path::{Path, PathBuf};

/// Rows of storms on a first screen.
const STORMS: usize = 4;
const STORMS_TITLE: &str = "Storms of many hosts at once, and of one";
/// Characters of a cause in a table.
const CAUSE_CHARS: usize = 24;
/// What is left out first where a terminal is narrow.
const LESS_NEEDED: &[&str] = &["response p50", "response max", "failed", "hosts"];

/// Where the rows of hosts are: a path, and how many hosts it has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Where they lie.
    pub path: PathBuf,
    /// Hosts with rows in it.
    pub hosts: usize,
    /// Address of its page beside the fleet's page; empty where there is none.
    pub page: String,
}

/// What is said beside the figures.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The inputs, by their places.
    pub places: Vec<Place>,
    /// Sentences of what could not be read, or was there twice.
    pub notes: Vec<String>,
    /// Whether every line is shown, and not a screen of them.
    pub shows_all: bool,
    /// Columns of the terminal; none where there is none.
    pub width: Option<u16>,
}

impl About {
    /// The address of a host's page; empty where there is none.
    fn page(&self, found: &Found) -> &str {
        let place = self.places.get(found.source).filter(|place| place.hosts == 1);
        place.map_or("", |place| place.page.as_str())
    }

    /// The command that opens a host.
    fn open(&self, found: &Found) -> String {
        let place = self.places.get(found.source);
        let path = quote::path(place.map_or(Path::new(""), |place| &place.path));
        match place.is_some_and(|place| place.hosts > 1) {
            true => format!("lbolt history {path} {}", quote::option("--device", &found.host)),
            false => format!("lbolt history {path}"),
        }
    }
}

/// For a terminal.
pub fn table(fleet: &Fleet, about: &About) -> String {
    let sentences = told::sentences(fleet, about);
    let storms = storms(&fleet.storms, about);
    let lines = lines(fleet);
    let findings = findings(fleet, about).into_iter();
    if about.shows_all {
        let limit = wide(about.width);
        let sheets = findings.chain(slower::table(fleet)).chain(storms).chain([lines]);
        let sheets = sheets.map(|sheet| sheet.text(limit));
        let parts = [paragraphs(&sentences, limited(limit))].into_iter().chain(sheets);
        return crate::screen::joined(parts);
    }
    let screen = Screen {
        sentences,
        tables: findings.chain([lines]).collect(),
        which: if fleet.by == FleetBy::Hour { "first" } else { "worst" },
        less_needed: LESS_NEEDED,
        needed: &[],
        below: "--all has every line; --by model, firmware, kernel, role, cause or hour; \
                docs/guide/fleet.md explains the columns."
            .into(),
    };
    screen.text(about.width)
}

/// For a document.
pub fn markdown(fleet: &Fleet, about: &About) -> String {
    let sentences = told::sentences(fleet, about).into_iter();
    let text = sentences.map(|text| crate::grid::escape_markdown(&text) + "\n\n");
    let slower = slower::table(fleet);
    let sheets = findings(fleet, about).into_iter().chain(slower);
    let sheets = sheets.chain(storms(&fleet.storms, about));
    let sheets = sheets.chain([lines(fleet)]);
    let tables: Vec<String> = sheets.map(|sheet| sheet.markdown()).collect();
    text.collect::<String>() + &tables.join("\n")
}

/// A time in a table: `1.25 h`.
fn time(ns: f64) -> String {
    if ns.abs() < 6e10 { show_time_ns(ns.max(0.0)) } else { hours(ns) }
}

/// A long time in hours, or minutes.
fn hours(ns: f64) -> String {
    match ns / 6e10 {
        minutes if minutes.abs() < 60.0 => format!("{} min", significant(minutes)),
        minutes => format!("{} h", significant(minutes / 60.0)),
    }
}

/// The findings that the sentences tell of; none where nothing stands out.
fn findings(fleet: &Fleet, about: &About) -> Option<Sheet> {
    let most = if about.shows_all { usize::MAX } else { told::FINDINGS };
    let rows: Vec<&FleetFinding> = fleet.findings.iter().take(most).collect();
    let listing = Listing::of(&rows)
        .label("where", |found| told::subject(found))
        .label("lost to", |found| cause(&found.cause).to_owned())
        .figure("", "lost", |found| time(found.lost_ns))
        .figure("", "±", |found| if found.half_ns > 0.0 { time(found.half_ns) } else { "-".into() })
        .figure("", "% of waiting", |found| significant(found.percent.max(0.0)))
        .remark("worst host", |found| short(&found.first().host));
    (!rows.is_empty()).then(|| listing.sheet("What stands out"))
}

fn lines(fleet: &Fleet) -> Sheet {
    let (head, text) = remark(fleet.by);
    columns(fleet, &fleet.lines).remark(head, text).sheet(title(fleet))
}

/// The column of words: its heading, and what it says of a line.
fn remark(by: FleetBy) -> (&'static str, fn(&FleetLine) -> String) {
    match by {
        FleetBy::Cause => ("worst host", |line| short(&line.worst.host)),
        _ => ("most to", |line| {
            let of = line.cause.as_ref();
            of.map_or_else(String::new, |(of, lost_ns)| {
                format!("{} {}", crate::words::elided(cause(of), CAUSE_CHARS), time(*lost_ns))
            })
        }),
    }
}

fn title(fleet: &Fleet) -> String {
    let (from, until) = fleet.span_unix_ns;
    format!(
        "{}s by time lost{}, {} to {}",
        upper(fleet.by.name()),
        if fleet.by == FleetBy::Cause { "" } else { " (all causes, net)" },
        stamp(from, "%Y-%m-%d %H:%MZ"),
        stamp(until, "%Y-%m-%d %H:%MZ"),
    )
}

/// The columns of lines, without that of words.
fn columns<'a>(fleet: &Fleet, lines: &'a [FleetLine]) -> Listing<'a, FleetLine> {
    let by = fleet.by;
    let group = |line: &FleetLine| match (by, line.group.as_str()) {
        (_, "") => "(unknown)".to_owned(),
        (FleetBy::Cause, group) => cause(group).to_owned(),
        (_, group) => group.to_owned(),
    };
    let percent = |line: &FleetLine| line.percent.map_or("-".into(), |p| significant(p.max(0.0)));
    let response = |ns: Option<u64>| ns.map_or("-".into(), |ns| show_time_ns(ns as f64));
    let mut listing = Listing::of(lines).label(by.name(), group);
    if by != FleetBy::Host {
        listing = listing.figure("", "hosts", |line| line.hosts.to_string());
    }
    listing = listing
        .figure("", "lost", |line| time(line.lost_ns))
        .figure("", "±", |line| if line.half_ns > 0.0 { time(line.half_ns) } else { "-".into() });
    if lines.iter().any(|line| line.percent.is_some()) {
        listing = listing.figure("", "% of waiting", percent);
    }
    if lines.iter().any(|line| line.before_after.is_some()) {
        let side = |place: usize| {
            move |line: &FleetLine| {
                line.before_after.map_or("-".into(), |of| time([of.0, of.1][place]))
            }
        };
        listing = listing.figure("lost a day", "before", side(0));
        listing = listing.figure("lost a day", "after", side(1));
    }
    if by != FleetBy::Cause {
        listing = listing
            .figure("response", "p50", |line| response(line.p50_ns))
            .figure("response", "p99", |line| response(line.p99_ns))
            .figure("response", "max", |line| response(line.max_ns));
        if lines.iter().any(|line| line.failed > 0) {
            listing = listing.figure("", "failed", |line| short_count(line.failed as f64));
        }
    }
    listing
}

/// Storms as a table; none where there was none.
fn storms(storms: &[FleetStorm], about: &About) -> Option<Sheet> {
    let hosts = |storm: &FleetStorm| match storm.hosts {
        1 => short(&storm.worst.host),
        hosts => format!("{hosts} at once"),
    };
    let listing = Listing::of(storms)
        .label("hosts", hosts)
        .label("lost to", |storm| cause(&storm.cause).to_owned())
        .figure("", "hours", |storm| storm.hours.to_string())
        .figure("", "storms", |storm| storm.storms.to_string())
        .figure("", "lost", |storm| time(storm.lost_ns))
        .figure("", "first", |storm| stamp(storm.from_unix_ns, "%m-%d %H:%MZ"))
        .figure("", "last until", |storm| stamp(storm.until_unix_ns, "%m-%d %H:%MZ"))
        .remark("open", |storm| about.open(&storm.worst));
    (!storms.is_empty()).then(|| listing.sheet(STORMS_TITLE))
}

#[cfg(test)]
mod tests;

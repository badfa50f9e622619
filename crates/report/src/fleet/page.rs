//! The page of a fleet: the findings first, then the table of hosts or of what was asked for, time
//! lost by host and hour, response times by device model, and storms. Its size is bounded, however
//! many hosts there are.
//!
//! Non-goals: reckoning a figure (`verdict::fleet`), drawing (`viewer/`).

use super::{About, columns, pictures, remark, storms, told};
use crate::number::short_count;
use crate::page::table::Table;
use crate::page::{Page, RunFacts, Section, first};
use model::fleet::{Fleet, FleetBy, FleetLine};
use model::units::counted;

/// Findings that are cards.
const CARDS: usize = 6;
/// Rows of the table of lines, and of storms.
const LINES: usize = 1_000;
const STORMS: usize = 200;

/// What the page of a fleet says; `command` are the words that made it.
pub fn page(fleet: &Fleet, about: &About, command: &[String]) -> Page {
    let title = format!("A fleet of {}", super::told::counted_of(fleet.hosts, "host"));
    let drawn = fleet.pictures.iter().flat_map(pictures::sections);
    let sections = [lines(fleet, about)].into_iter().chain(drawn).chain(of_storms(fleet, about));
    Page { runs: vec![facts(fleet, about, command)], sections: sections.collect(), title }
}

fn facts(fleet: &Fleet, about: &About, command: &[String]) -> RunFacts {
    let findings = fleet.findings.iter().take(CARDS).enumerate();
    let (from, until) = fleet.span_unix_ns;
    let watched = super::hours(fleet.watched_ns as f64);
    let facts = [
        ("Time", crate::history::span(from, until)),
        ("Hosts", counted(fleet.hosts as u64, "")),
        ("Watched, all hosts", watched),
        ("Waited, all hosts", super::hours(fleet.waited_ns as f64)),
        ("Rows of rollups", short_count(fleet.rows as f64)),
    ];
    let fact = |(label, text): (&str, String)| (label.to_owned(), text.trim().to_owned());
    RunFacts {
        name: String::new(),
        cards: findings.map(|(n, found)| told::card(n + 1, found, fleet, about)).collect(),
        sentences: told::beside_cards(fleet, about, CARDS),
        facts: facts.map(fact).to_vec(),
        doubts: about.notes.iter().map(|note| crate::words::upper(note)).collect(),
        sure: "All inputs were read, and each host counts once.".into(),
        command: first::command(command),
    }
}

/// The table of hosts, or of what was asked for, with the way to the worst host of each.
fn lines(fleet: &Fleet, about: &About) -> Section {
    let shown = fleet.lines.get(..LINES).unwrap_or(&fleet.lines);
    let address = |line: &FleetLine| about.page(&line.worst).to_owned();
    let open = |line: &FleetLine| about.open(&line.worst);
    let (head, text) = remark(fleet.by);
    let listing = columns(fleet, shown).label(head, text).remark("open", open);
    let links: Vec<String> = shown.iter().map(address).collect();
    let mut tables = Table::of_sheet(&listing.sheet(super::title(fleet)));
    let has_links = fleet.by == FleetBy::Host && links.iter().any(|link| !link.is_empty());
    if let Some(table) = tables.last_mut().filter(|_| has_links) {
        table.links = links;
    }
    let left = fleet.lines.len() - shown.len();
    let more = format!("The worst {LINES} lines; --format csv prints {left} more.");
    Section {
        id: "lines".into(),
        title: format!("{}s by time lost", crate::words::upper(fleet.by.name())),
        sentences: (left > 0).then_some(more).into_iter().collect(),
        tables,
        ..Section::default()
    }
}

fn of_storms(fleet: &Fleet, about: &About) -> Option<Section> {
    let shown = fleet.storms.get(..STORMS).unwrap_or(&fleet.storms);
    let sheet = storms(shown, about)?;
    let left = fleet.storms.len() - shown.len();
    let more = format!("The first {STORMS} storms; --all prints {left} more.");
    Some(Section {
        id: "storms".into(),
        title: "Storms".into(),
        sentences: (left > 0).then_some(more).into_iter().collect(),
        tables: Table::of_sheet(&sheet),
        ..Section::default()
    })
}

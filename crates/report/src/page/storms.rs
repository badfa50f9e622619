//! Storms, each opened to what happened in it.
//!
//! Non-goals: finding them, counting (`verdict::opened`).

use super::Fold;
use super::table::Table;
use crate::listing::Listing;
use crate::number::{show_bytes, significant};
use model::units::{show_moment, show_time_ns};

/// Responses of requests of one direction, ns; nothing of none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Side {
    /// How many there were.
    pub count: u64,
    /// Mean, median, 99th percentile and the greatest.
    pub times_ns: Option<[f64; 4]>,
}

/// Who sent how much.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// A role, a process or a file.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Bytes read and written.
    pub bytes: (u64, u64),
    /// Their responses, summed, ns.
    pub held_ns: f64,
}

/// Those that sent most.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Senders {
    /// The most requests first.
    pub rows: Vec<Sent>,
    /// How many more there are.
    pub more: u64,
    /// Whether there are still more than those.
    pub is_cut: bool,
}

/// A storm and what happened in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Storm {
    /// Of what: background writes, or writes and flushes.
    pub kind: String,
    /// The device's name.
    pub device: String,
    /// From when to when, ns.
    pub time_ns: (f64, f64),
    /// Writes and flushes of its kind.
    pub own: u64,
    /// Requests of all kinds that arrived in it.
    pub requests: u64,
    /// Outstanding on average and at the most.
    pub depth: (f64, u64),
    /// Reads, writes and flushes that arrived in it.
    pub inside: [Side; 3],
    /// The same outside of all storms of the device.
    pub outside: [Side; 3],
    /// Who was behind them.
    pub roles: Senders,
    /// Which threads queued them.
    pub threads: Senders,
    /// Which files they were of.
    pub files: Senders,
}

const SIDES: [&str; 3] = ["reads", "writes", "flushes"];

/// What is opened, and what stands over it; `all` storms there are.
pub(super) fn said(shown: usize, all: usize) -> Option<String> {
    let more = all.saturating_sub(shown);
    let what = "Bursts of writes or flushes, which a steady load does not explain, are marked over \
        the figures of time.";
    let which = "by what reads behind it took in all, then by its requests";
    match (shown, more) {
        (0, _) => None,
        (_, 0) => {
            Some(format!("{what} Each opens to what happened in it, the worst first: {which}."))
        }
        _ => Some(format!(
            "{what} The {shown} worst open to what happened in them ({which}); {more} more are in \
             the figures alone."
        )),
    }
}

/// The storm as a part of the page that opens; `number` is its place among the worst.
pub(super) fn fold(storm: &Storm, number: usize, id: String, run: &str) -> Fold {
    let run = if run.is_empty() { String::new() } else { format!("{run}: ") };
    let (from, until) = storm.time_ns;
    let title = format!(
        "{run}{number}. {} to {} at {}: {} long, {} requests, up to {} outstanding",
        storm.kind,
        storm.device,
        show_moment(from),
        show_time_ns(until - from),
        storm.requests,
        storm.depth.1,
    );
    let tables = [
        Some(responses(storm)),
        senders("Who sent most", "who", &storm.roles),
        senders("Which threads queued them", "thread", &storm.threads),
        senders("Which files they were of", "file", &storm.files),
    ];
    Fold { id, title, sentences: sentences(storm), tables: tables.into_iter().flatten().collect() }
}

fn sentences(storm: &Storm) -> Vec<String> {
    let (from, until) = storm.time_ns;
    let when = format!(
        "From {} to {}: {} {} among {} requests; queue depth {} on average, {} at most.",
        show_moment(from),
        show_moment(until),
        storm.own,
        storm.kind,
        storm.requests,
        significant(storm.depth.0),
        storm.depth.1,
    );
    let slower = SIDES.iter().zip(storm.inside.iter().zip(&storm.outside));
    let slower = slower.filter_map(|(name, (inside, outside))| {
        let ([inside, ..], [outside, ..]) = (inside.times_ns?, outside.times_ns?);
        let times = (outside > 0.0).then(|| significant(inside / outside))?;
        let (inside, outside) = (show_time_ns(inside), show_time_ns(outside));
        Some(format!("{name} took {inside}, {times}× as long as outside ({outside})"))
    });
    let slower: Vec<String> = slower.collect();
    let means = (!slower.is_empty()).then(|| format!("On average {}.", slower.join("; ")));
    [Some(when), means].into_iter().flatten().collect()
}

fn responses(storm: &Storm) -> Table {
    let both = SIDES.iter().zip(storm.inside.iter().zip(&storm.outside));
    let both = both.filter(|(_, (inside, outside))| inside.count + outside.count > 0);
    let rows = both.flat_map(|(name, (inside, outside))| {
        [(format!("{name} in it"), inside), (format!("{name} outside"), outside)]
    });
    let rows: Vec<(String, &Side)> = rows.collect();
    let listing = Listing::of(&rows).label("", |(name, _)| name.clone()).figure(
        "",
        "requests",
        |(_, side)| side.count.to_string(),
    );
    let times = ["mean", "p50", "p99", "max"].into_iter().enumerate();
    let listing = times.fold(listing, |listing, (place, head)| {
        listing.figure("", head, |(_, side)| {
            side.times_ns.map_or_else(String::new, |times| show_time_ns(times[place]))
        })
    });
    Table {
        title: "Responses in it, and outside of all bursts on the device".into(),
        cells: listing.grid().cells(),
        ..Table::default()
    }
}

/// None where nothing is known of it.
fn senders(title: &str, head: &'static str, of: &Senders) -> Option<Table> {
    of.rows.first()?;
    let bytes = |bytes: u64| if bytes == 0 { String::new() } else { show_bytes(bytes as f64) };
    let listing = Listing::of(&of.rows)
        .label(head, |sent| sent.name.clone())
        .figure("", "requests", |sent| sent.requests.to_string())
        .figure("", "read", |sent| bytes(sent.bytes.0))
        .figure("", "written", |sent| bytes(sent.bytes.1))
        .figure("", "time, summed", |sent| show_time_ns(sent.held_ns));
    let more = match (of.more, of.is_cut) {
        (0, false) => None,
        (more, false) => Some(format!("{more} more are not shown.")),
        (more, true) => Some(format!("More than {more} more are not shown.")),
    };
    Some(Table {
        title: title.into(),
        cells: listing.grid().cells(),
        notes: more.map(|note| (String::new(), note)).into_iter().collect(),
        ..Table::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storm() -> Storm {
        let sent = |name: &str, requests| Sent {
            name: name.into(),
            requests,
            bytes: (0, 4096),
            held_ns: 2e6,
        };
        Storm {
            kind: "background writes".into(),
            device: "vda".into(),
            time_ns: (30e9, 31.5e9),
            own: 40,
            requests: 50,
            depth: (3.0, 9),
            inside: [
                Side { count: 10, times_ns: Some([8e6, 7e6, 9e6, 9e6]) },
                Side::default(),
                Side::default(),
            ],
            outside: [
                Side { count: 90, times_ns: Some([2e6, 1e6, 4e6, 5e6]) },
                Side::default(),
                Side::default(),
            ],
            roles: Senders { rows: vec![sent("dd", 40)], more: 3, is_cut: true },
            ..Storm::default()
        }
    }

    #[test]
    fn a_storm_says_when_and_how_long_and_who_and_what_it_did_to_others() {
        let fold = fold(&storm(), 2, "storm-1-2".into(), "");
        assert_eq!(
            fold.title,
            "2. background writes to vda at 30 s: 1.50 s long, 50 requests, up to 9 outstanding"
        );
        assert!(fold.sentences[1].contains("reads took 8.00 ms, 4.00× as long as outside ("));
        let titles: Vec<&str> = fold.tables.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(titles.len(), 2, "nothing is said of threads and files: {titles:?}");
        assert_eq!(fold.tables[0].cells.rows.len(), 2, "nor of writes");
        assert_eq!(fold.tables[0].cells.rows[1][..3], ["reads outside", "90", "2.00 ms"]);
        assert_eq!(fold.tables[1].cells.rows, [["dd", "40", "", "4.00 KiB", "2.00 ms"]]);
        assert_eq!(fold.tables[1].notes[0].1, "More than 3 more are not shown.");
    }

    #[test]
    fn how_many_are_not_opened_is_said() {
        assert_eq!(said(0, 0), None);
        assert!(said(3, 3).unwrap_or_default().contains("Each opens"));
        assert!(said(12, 514).unwrap_or_default().contains("502 more"));
    }
}

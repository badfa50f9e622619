//! What is kept of a fleet at the most, and which bound a refusal tells.

use super::*;

/// The hours of thirty days.
const HOURS: i64 = 720;

fn row(counted: Counted, host: &str, (role, cause): (&str, &str), hour: i64) -> Rollup {
    Rollup {
        counted,
        operation: operations::WATCHED.into(),
        host: Some(host.into()),
        device: Some("sda".into()),
        role: Some(role.into()),
        cause: Some(cause.into()),
        from_unix_ns: hour * HOUR_NS,
        until_unix_ns: (hour + 1) * HOUR_NS,
        count: 1,
        lost_ns: 1_000_000_000,
        ..Rollup::default()
    }
}

fn ledger() -> Ledger {
    let (until_unix_ns, by) = (HOURS * HOUR_NS, FleetBy::Host);
    let is_drawn = false;
    Ledger::new(Asked { from_unix_ns: 0, until_unix_ns, by, change_unix_ns: None, is_drawn })
}

/// The ledger, with these rows.
fn with(mut ledger: Ledger, rows: impl IntoIterator<Item = Rollup>) -> Ledger {
    let hosts = Hosts::default();
    let source = Source { number: 0, label: "h", hosts: &hosts, skipped: &[] };
    rows.into_iter().for_each(|row| ledger.take(&row.lent(), &source));
    ledger
}

fn of(rows: impl IntoIterator<Item = Rollup>) -> Ledger {
    with(ledger(), rows)
}

/// Losses of so many roles of a host.
fn roles(numbers: std::ops::Range<usize>) -> impl Iterator<Item = Rollup> {
    numbers.map(|number| row(Counted::Lost, "web", (&format!("role{number}"), "backup"), 0))
}

/// The refusal's words.
fn refused(ledger: &Ledger) -> Option<String> {
    ledger.full().map(|Bound { most, of }| format!("{most} {of}"))
}

#[test]
fn what_is_in_several_pieces_counts_once() {
    let hosts = ["web1", "web2", "web3"].into_iter();
    let rows = hosts.flat_map(|host| {
        let lost = (0..20).map(move |number| {
            row(Counted::Lost, host, (&format!("role{number}"), "backup"), number)
        });
        lost.chain((0..24).map(move |hour| row(Counted::Storm, host, ("", "backup"), hour)))
    });
    let piece = of(rows);
    // The causes of storms count as pairs too.
    assert_eq!((piece.pairs, piece.storms), (3 * 20 + 3, 3 * 24));
    let mut whole = ledger();
    (0..4).for_each(|_| whole.merge(piece.clone()));
    assert_eq!((whole.pairs, whole.storms, refused(&whole)), (piece.pairs, piece.storms, None));
    whole.merge(of([row(Counted::Storm, "web1", ("", "fstrim"), 0)]));
    assert_eq!((whole.pairs, whole.storms), (piece.pairs + 1, piece.storms + 1));
    assert_eq!(whole.finish().storms.iter().map(|storm| storm.storms).sum::<u64>(), 4 * 72 + 1);
}

/// They are among its reads.
#[test]
fn evicted_pages_are_not_waited_for_twice() {
    let waits = |operation: &str, sum_ns| Rollup {
        operation: operation.into(),
        sum_ns,
        ..row(Counted::Waits, "web", ("db", ""), 0)
    };
    let all = of([waits("read", 9), waits(model::record::EVICTED_PAGE, 4)]);
    assert_eq!(all.finish().waited_ns, 9);
}

/// The size that docs/guide/fleet.md promises, with one or two storms in every hour.
#[test]
fn a_thousand_hosts_with_thirty_days_of_storms_are_taken() {
    let hours = |step: usize| (0..HOURS).step_by(step).map(|hour| (hour, Storms::default()));
    let piece = || {
        let mut piece = ledger();
        for number in 0..1_000 {
            let causes = [("backup", 1), ("the journal", 2)];
            let storms = causes
                .map(|(cause, step)| (cause.to_owned(), hours(step).collect::<BTreeMap<_, _>>()));
            let host = OfHost { storms: storms.into(), ..OfHost::default() };
            piece.hosts.insert(format!("web{number}"), host);
        }
        piece
    };
    let mut whole = ledger();
    (0..2).for_each(|_| whole.merge(piece()));
    assert_eq!((whole.storms, refused(&whole)), (1_080_000, None));
}

#[test]
fn a_refusal_tells_which_bound_it_was() {
    let hosts =
        (0..=NAMES_MOST).map(|number| row(Counted::Watch, &format!("web{number}"), ("", ""), 0));
    assert_eq!(refused(&of(hosts)).unwrap(), "65536 hosts");
    let of_one = "4096 pairs of a role and a cause on one device";
    assert_eq!(refused(&of(roles(0..PAIRS_MOST))), None);
    assert_eq!(refused(&of(roles(0..PAIRS_MOST + 1))).unwrap(), of_one);
    // None of two pieces has so many.
    let mut whole = of(roles(0..3_000));
    whole.merge(of(roles(2_000..5_000)));
    assert_eq!(refused(&whole).unwrap(), of_one);
    let storm = || [row(Counted::Storm, "web", ("", "backup"), 0)];
    let storms = with(Ledger { storms: STORMS_MOST, ..ledger() }, storm());
    let all = "4194304 hours with storms, by host and cause";
    assert_eq!(refused(&storms).unwrap(), all);
    let pairs = || Ledger { pairs: ALL_PAIRS_MOST, ..ledger() };
    let all = "1048576 pairs of a cause and a role or a host that it hit";
    for rows in [storm().to_vec(), roles(0..1).collect()] {
        assert_eq!(refused(&with(pairs(), rows)).unwrap(), all);
    }
    // Nothing is taken any more, and what is there stays.
    let full = with(storms, [row(Counted::Lost, "other", ("db", "backup"), 0)]);
    assert_eq!((full.hosts.len(), full.pairs), (1, 1));
}

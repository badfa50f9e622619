//! The first line of a comparison: which side, by how much, of what; or what would tell.
//!
//! Non-goals: the rows.

use super::{About, digits, interval, measured, subject, value};
use crate::number::significant;
use crate::sheet::NOT_MEASURED;
use model::comparison::{Compared, Comparison, Outcome};

/// The answer in a sentence: which side, by how much, of what. It is made of the row that surely
/// differs most.
pub fn answer(compared: &Compared, about: &About) -> String {
    let sure = |row: &&Comparison| {
        matches!(row.outcome, Outcome::Better | Outcome::Worse | Outcome::Differs)
    };
    // What is sure of a change: the end of its interval that is nearer to none.
    let ratio = |percent: Option<f64>| percent.map_or(0.0, |of| (1.0 + of / 100.0).ln().abs());
    let least = |row: &&Comparison| ratio(row.low_percent).min(ratio(row.high_percent));
    let greatest = |is_suspect| {
        let rows = measured(compared).filter(|row| sure(row) && row.is_suspect() == is_suspect);
        rows.max_by(|a, b| least(a).total_cmp(&least(b)))
    };
    match greatest(false).or_else(|| greatest(true)) {
        Some(row) => difference(row),
        None => undecided(compared, about),
    }
}

/// `B is worse: its rate of read_4k is 10 % lower than A's, 90.0 MB/s instead of 100 MB/s …`
fn difference(row: &Comparison) -> String {
    let size = row.difference_percent.map_or_else(String::new, |of| digits(of.abs()) + " ");
    let way = if row.b < row.a { "lower" } else { "higher" };
    let of = subject(&row.subject);
    let of = if of == "all" { String::new() } else { format!(" of {of}") };
    let within = match interval(row) {
        none if none == NOT_MEASURED => String::new(),
        interval => format!(" (95% interval {interval})"),
    };
    let is = match row.outcome {
        Outcome::Better => "is better",
        Outcome::Worse => "is worse",
        _ => "differs",
    };
    let suspect = if row.is_suspect() { "; the row is suspect" } else { "" };
    format!(
        "B {is}: its {}{of} is {size}{way} than A's, {} instead of {}{within}{suspect}.",
        said(&row.quantity),
        value(row.b, &row.unit),
        value(row.a, &row.unit)
    )
}

/// The answer where no difference is sure.
fn undecided(compared: &Compared, about: &About) -> String {
    let of = |outcome| measured(compared).filter(move |row| row.outcome == outcome);
    let (like, open) = (of(Outcome::NoDifference).count(), of(Outcome::CannotTell).count());
    let effect = significant(about.effect_percent);
    match (like, open) {
        (0, 0) if compared.rows.is_empty() => "B and A have nothing in common.".into(),
        (0, 0) if measured(compared).next().is_none() => {
            "No finding was measured on both sides.".into()
        }
        (0, 0) => {
            let mut reasons = of(Outcome::NotComparable).filter_map(|row| row.reason.as_deref());
            format!("B cannot be compared with A: {}.", reasons.next().unwrap_or("see the notes"))
        }
        (like, 0) => format!(
            "B does not differ from A by {effect} % or more in {}.",
            if like == 1 { "the finding".to_owned() } else { format!("any of {like} findings") }
        ),
        (like, open) => {
            let all = like + open;
            let most = of(Outcome::CannotTell).map(|row| row.needed.map(|needed| (needed, row)));
            let most = most.collect::<Option<Vec<_>>>().into_iter().flatten();
            let would = match most.max_by_key(|(needed, _)| *needed) {
                Some((needed, row)) => {
                    format!(": {} would tell", needs(row, needed, &about.units))
                }
                None => "; the rows say why".to_owned(),
            };
            let which = match all {
                1 => "the only finding cannot tell".to_owned(),
                _ => format!("{open} of {all} findings cannot tell"),
            };
            format!("No difference is sure, and {which}{would}.")
        }
    }
}

/// What would tell: `24 passes`, `a trace 3 times as long`.
pub(super) fn needs(row: &Comparison, needed: usize, units: &str) -> String {
    match units {
        // A trace is always divided into as many.
        "stretches" => {
            let times = needed.div_ceil(row.counts.0.min(row.counts.1).max(1));
            format!("a trace {times} times as long")
        }
        units => format!("{needed} {units}"),
    }
}

/// Quantities as they are called in a sentence.
const SAID: &[(&str, &str)] = &[
    ("rate_bytes_per_s", "rate"),
    ("routine_bytes_per_s", "rate"),
    ("routine_operations_per_s", "rate"),
    ("cpu_operation_ns", "CPU time per request"),
    ("cpu_total_operation_ns", "total CPU time per request"),
    ("operation_cpu_thread_ns", "CPU time per request"),
    ("latency_mean_ns", "mean latency"),
    ("latency_p50_ns", "median latency"),
    ("latency_p99_ns", "p99 latency"),
    ("sync_latency_p99_ns", "p99 latency of syncs"),
    ("response_mean_ns", "mean response time"),
    ("response_p50_ns", "median response time"),
    ("response_p99_ns", "p99 response time"),
    ("requested_per_s", "rate of requests"),
    ("lost_ns", "lost time"),
    ("lost_percent", "lost share of the waiting"),
];

fn said(quantity: &str) -> String {
    let known = SAID.iter().find(|(name, _)| *name == quantity);
    known.map_or_else(|| quantity.to_owned(), |(_, words)| (*words).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;
    use model::comparison::SideDoubt;
    use model::record::Doubt;

    #[test]
    fn the_first_line_says_which_side_how_much_and_of_what() {
        let with = |rows: Vec<Comparison>, units: &str| {
            let about = About { units: units.into(), effect_percent: 5.0, ..About::default() };
            answer(&Compared { rows, ..Compared::default() }, &about)
        };
        let small = Comparison { difference_percent: Some(3.0), ..row(Outcome::Better) };
        let doubts = vec![SideDoubt { side: "A", doubt: Doubt::refused("busy") }];
        let suspect = Comparison { doubts, difference_percent: Some(-50.0), ..row(Outcome::Worse) };
        assert_eq!(
            with(vec![small, suspect.clone(), row(Outcome::Worse)], "passes"),
            "B is worse: its rate of read_4k is 10% lower than A's, 90.0 MB/s instead of 100 MB/s \
             (95% interval -12% to -8.0%)."
        );
        assert!(with(vec![suspect], "passes").ends_with("; the row is suspect."));
        let vague = Comparison {
            difference_percent: Some(190.0),
            low_percent: Some(1.5),
            high_percent: Some(900.0),
            ..row(Outcome::Worse)
        };
        let text = with(vec![vague, row(Outcome::Worse)], "passes");
        assert!(text.contains("is 10% lower than A's"), "what is sure: {text}");
        let open = |needed| Comparison { needed, ..row(Outcome::CannotTell) };
        let like = row(Outcome::NoDifference);
        assert_eq!(
            with(vec![open(Some(24)), like.clone(), open(Some(31))], "rounds"),
            "No difference is sure, and 2 of 3 findings cannot tell: 31 rounds would tell."
        );
        assert_eq!(
            with(vec![open(Some(24))], "stretches"),
            "No difference is sure, and the only finding cannot tell: a trace 5 times as long \
             would tell."
        );
        assert!(with(vec![open(None)], "runs").ends_with("cannot tell; the rows say why."));
        assert_eq!(
            with(vec![like.clone(), like], "runs"),
            "B does not differ from A by 5.00 % or more in any of 2 findings."
        );
        let reason = Some("kernel: 6.1 in A, 6.9 in B".into());
        let other = Comparison { reason, ..row(Outcome::NotComparable) };
        let said = with(vec![other], "runs");
        assert_eq!(said, "B cannot be compared with A: kernel: 6.1 in A, 6.9 in B.");
        assert_eq!(with(vec![], "runs"), "B and A have nothing in common.");
        let refused = Comparison { b: None, ..row(Outcome::NotComparable) };
        assert_eq!(with(vec![refused], "runs"), "No finding was measured on both sides.");
    }
}

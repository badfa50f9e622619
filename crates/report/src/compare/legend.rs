//! What the numbers of a comparison are, and which of them are corrected for how many there are.
//!
//! Non-goals: the rows.

use super::{About, measured, subject};
use crate::number::significant;
use model::comparison::{Compared, INTERVALS, Outcome};
use model::units::counted;
use std::collections::BTreeSet;

/// What stands beneath the table.
pub(super) fn legend(compared: &Compared, about: &About) -> Vec<(&'static str, String)> {
    // Few units and many rows have another test than many units.
    let tested = compared.rows.iter().filter(|row| row.probability.is_some());
    let methods: BTreeSet<&str> = tested.map(|row| row.method.as_str()).collect();
    let mut lines = vec![("A", about.a.clone()), ("B", about.b.clone())];
    let [whole, corrected] = corrections(compared);
    let of_which = if whole.is_some() { "Of the other rows, " } else { "" };
    lines.extend(whole.map(|text| ("method", text)));
    if !methods.is_empty() {
        lines.push((
            "method",
            format!(
                "{of_which}A and B are the middles of {} (Hodges-Lehmann), the change is from A to \
                 B; {}. {}A difference matters above {} %.",
                about.units,
                methods.into_iter().collect::<Vec<_>>().join(", or "),
                corrected.map_or_else(String::new, |text| text + " "),
                significant(about.effect_percent)
            ),
        ));
        lines.push((
            "noise",
            "how much two halves of one side differ (A/A), and how much the machine changed \
             between the runs; a difference within it is none"
                .into(),
        ));
    }
    lines.extend(about.notes.iter().map(|note| ("note", note.clone())));
    let left_out = compared.rows.len() - measured(compared).count();
    if left_out > 0 && !about.shows_all {
        let names: BTreeSet<String> = compared
            .rows
            .iter()
            .filter(|row| !row.is_measured())
            .map(|r| subject(&r.subject))
            .collect();
        let more = if names.len() > 3 { ", …" } else { "" };
        let names: Vec<String> = names.into_iter().take(3).collect();
        lines.push((
            "left out",
            format!(
                "{left_out} without a measurement on one side ({}{more}); --all shows them",
                names.join(", ")
            ),
        ));
    }
    for (side, other, count) in [("A", "B", compared.only_a), ("B", "A", compared.only_b)] {
        if count > 0 {
            lines.push((
                "left out",
                counted(count as u64, "finding{s}")
                    + &format!(" of {side} that {other} does not have"),
            ));
        }
    }
    lines
}

/// How rows of whole traces are decided, and what is corrected of the others; none where there are
/// none.
pub(crate) fn corrections(compared: &Compared) -> [Option<String>; 2] {
    let whole = measured(compared).filter(|row| row.method == INTERVALS);
    let whole: BTreeSet<&str> = whole.map(|row| row.quantity.as_str()).collect();
    let whole: Vec<&str> = whole.into_iter().collect();
    let of_which = if whole.is_empty() { "" } else { " of the other rows" };
    // Those are of the row alone.
    let is_alone = |outcome: &Outcome| match outcome {
        Outcome::NoDifference => true,
        Outcome::NotComparable => {
            compared.rows.iter().any(|row| row.outcome == *outcome && row.low_percent.is_some())
        }
        _ => false,
    };
    let alone = Outcome::ALL.into_iter().filter(is_alone);
    let alone: Vec<String> = alone.map(|outcome| format!("\"{}\"", outcome.name())).collect();
    let corrected = (compared.tested > 0).then(|| {
        format!(
            "Verdicts{of_which} are corrected for {} (Holm), and so is each interval but that of \
             {}.",
            counted(compared.tested as u64, "comparison{s}"),
            alone.join(" or ")
        )
    });
    let whole = (!whole.is_empty()).then(|| {
        format!(
            "Of {}, each trace has one value: two differ where their 95 % intervals are apart, \
             without a correction.",
            whole.join(", ")
        )
    });
    [whole, corrected]
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;
    use model::comparison::Comparison;

    #[test]
    fn only_what_is_corrected_is_said_to_be() {
        let whole = Comparison {
            quantity: "lost_percent".into(),
            probability: None,
            method: INTERVALS.into(),
            ..row(Outcome::Worse)
        };
        let said = |rows: Vec<Comparison>, tested: usize| {
            let compared = Compared { rows, tested, ..Compared::default() };
            let about = About { units: "stretches".into(), ..About::default() };
            let lines = legend(&compared, &about).into_iter();
            lines.filter(|(name, _)| *name == "method").map(|(_, text)| text).collect::<Vec<_>>()
        };
        let of_whole = "Of lost_percent, each trace has one value: two differ where their 95 % \
                        intervals are apart, without a correction.";
        assert_eq!(said(vec![whole.clone()], 0), [of_whole]);
        let both = said(vec![whole, row(Outcome::Worse)], 1);
        assert_eq!(both[0], of_whole);
        assert_eq!(
            both[1],
            "Of the other rows, A and B are the middles of stretches (Hodges-Lehmann), the change \
             is from A to B; ranks. Verdicts of the other rows are corrected for 1 comparison \
             (Holm), and so is each interval but that of \"no difference beyond noise\". A \
             difference matters above 0 %."
        );
        let unlike = said(vec![row(Outcome::NotComparable)], 0).concat();
        assert!(unlike.contains("ranks.") && !unlike.contains("corrected"), "{unlike}");
        let mixed = said(vec![row(Outcome::NotComparable), row(Outcome::Worse)], 1).concat();
        assert!(mixed.contains("noise\" or \"not comparable\". A difference"), "{mixed}");
    }
}

//! What a reader must know of rows that seem to contradict each other.
//!
//! Non-goals: verdicts, sentences.

use model::comparison::{Comparison, Outcome, Remark};
use model::record::Subject;
use std::collections::BTreeMap;

/// Remarks rows of one subject that are surely better and surely worse in different quantities.
pub(super) fn opposed(rows: &mut [Comparison]) {
    let mut sure: BTreeMap<Subject, [Vec<String>; 2]> = BTreeMap::new();
    for row in rows.iter() {
        if let Some(way) = way(row.outcome) {
            let ways = sure.entry(row.subject.clone()).or_default();
            ways[way].push(row.quantity.clone());
        }
    }
    for row in rows {
        let Some(way) = way(row.outcome) else { continue };
        let others = sure.get(&row.subject).map(|ways| ways[1 - way].clone());
        row.remarks.extend(others.filter(|o| !o.is_empty()).map(Remark::Opposed));
    }
}

fn way(outcome: Outcome) -> Option<usize> {
    match outcome {
        Outcome::Better => Some(0),
        Outcome::Worse => Some(1),
        _ => None,
    }
}

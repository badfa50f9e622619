//! What is missing from a trace makes its figures doubtful: events that were lost may have been of
//! any request. A few among very many change no figure but the greatest ones. Rows out of order
//! make doubtful what depends on the order.

use model::doubt::{Code, Doubt};
use model::record::requests::Counts;
use model::record::{Finding, Subject};

/// What depends on the order of the rows: the quantities, and what requests are classed by.
const ORDERED: [&str; 9] = [
    "depth_mean",
    "depth_at_arrival_mean",
    "depth_max",
    "little_ratio",
    "busy_percent",
    "arrival_variation_ratio",
    "sequential_percent",
    "seek_p50_bytes",
    "seek_mean_bytes",
];
const ORDERED_BY: [&str; 5] =
    ["writes outstanding", "background writes outstanding", "storms", "storms by process", "storm"];

/// Fewer lost events than this part of what a figure is made of do not make it doubtful: ranks and
/// means move by less than what is shown of them.
const LOST_SHARE_MAX: f64 = 0.001;
/// But for these, which any request can change.
const GREATEST: [&str; 2] = ["_max", "_max_ns"];

/// Marks the findings of the analysis as what the counts and the late rows make of them.
pub fn doubt(findings: &mut [Finding], counts: &Counts, late: u64) {
    let of_rows = late;
    let lost = (counts.lost > 0).then(|| {
        let all = counts.events.saturating_add(counts.lost);
        let percent = counts.lost as f64 / all as f64 * 100.0;
        let values =
            [("lost", counts.lost.into()), ("events", all.into()), ("percent", percent.into())];
        Doubt::new(Code::EventsLost, values)
    });
    let late = (late > 0).then(|| Doubt::new(Code::RowsLate, [("rows", late.into())]));
    for finding in findings.iter_mut().filter(|finding| finding.value.is_some()) {
        let is_late = |_: &&Doubt| {
            is_ordered(finding) || is_of_verdict(finding) && is_changed(finding, of_rows)
        };
        let of_order = late.iter().filter(is_late);
        let of_lost = lost.iter().filter(|_| is_changed(finding, counts.lost));
        let doubts: Vec<Doubt> = of_lost.chain(of_order).cloned().collect();
        doubts.into_iter().for_each(|doubt| finding.doubt(doubt));
    }
}

/// Whether so many lost events can have changed it.
fn is_changed(finding: &Finding, lost: u64) -> bool {
    let is_greatest = GREATEST.iter().any(|end| finding.quantity.ends_with(end));
    is_greatest || lost as f64 > LOST_SHARE_MAX * finding.count as f64
}

fn is_ordered(finding: &Finding) -> bool {
    let by = finding.subject.by_class().map_or("", |(by, _)| by);
    ORDERED.contains(&finding.quantity.as_str()) || ORDERED_BY.contains(&by)
}

/// Whether it tells who waited for whom: what comes late is not compared with what it met.
fn is_of_verdict(finding: &Finding) -> bool {
    let is_of_pair = matches!(finding.subject, Subject::Wait(_) | Subject::Blame(_));
    is_of_pair || finding.quantity == "verdict_span_ns"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::found;
    use model::record::Verdict;
    use model::record::subject::Wait;

    #[test]
    fn lost_events_are_in_figures_that_they_can_change_and_late_rows_in_those_of_order() {
        let of = |by: &str, quantity| found(&Subject::class(by, "x"), quantity, Some(1.0), 1, "");
        let made = || {
            [of("size", "requested_count"), of("storms", "storms_count"), of("device", "depth_max")]
        };
        let mut late = made();
        doubt(&mut late, &Counts::default(), 3);
        assert_eq!(late.each_ref().map(|f| f.verdict.name()), ["ok", "suspect", "suspect"]);
        // Of who waited for whom, unless they are too few.
        let [device, victim, wait] = ["sda", "web", "reads"].map(str::to_owned);
        let wait = Subject::Wait(Wait { device, victim, wait });
        let of_wait = |count| [found(&wait, "waits_ns", Some(1.0), count, "")];
        for (count, verdict) in [(2999, "suspect"), (3000, "ok")] {
            let mut waits = of_wait(count);
            doubt(&mut waits, &Counts::default(), 3);
            assert_eq!(waits[0].verdict.name(), verdict);
        }
        let mut lost = made();
        doubt(&mut lost, &Counts { events: 50, lost: 50, ..Counts::default() }, 0);
        let values = [("lost", 50.0), ("events", 100.0), ("percent", 50.0)];
        let expected =
            Doubt::new(Code::EventsLost, values.map(|(name, value)| (name, value.into())));
        assert!(lost.iter().all(|f| f.doubts == [expected.clone()]));
        let mut many = made().map(|finding| Finding { count: 50_000, ..finding });
        doubt(&mut many, &Counts { events: 150_000, lost: 50, ..Counts::default() }, 0);
        assert_eq!(many.each_ref().map(|f| f.verdict.name()), ["ok", "ok", "suspect"]);
        doubt(&mut many, &Counts { events: 150_000, lost: 51, ..Counts::default() }, 0);
        assert!(many.iter().all(|f| f.verdict == Verdict::Suspect));
        let mut whole = made();
        doubt(&mut whole, &Counts::default(), 0);
        assert!(whole.iter().all(|f| f.verdict == Verdict::Ok));
    }
}

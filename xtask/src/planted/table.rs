//! The table that is printed: a row a case, and how many were right.

use super::case::Case;
use super::judge::Outcome;
use super::told::Told;
use report::listing::Listing;

/// Longer texts are cut.
const TEXT_LENGTH: usize = 90;

type Row<'a> = (&'a Case, Outcome);

pub(super) fn render(rows: &[Row]) -> String {
    let notes = [
        "effect: by the victim's own log, while disturbed against before and after",
        "told: lost to the planted cause by the verdict, of what the victim's own log says; \
             wanted: 0.9 to 1.1",
        "watch: whether `watch` and `history` name the same of the same load",
        "stolen: of the CPUs' time, by the hypervisor; with more than 5 % nothing is judged",
        "disturbed: that, or the machine's own disk stood still in a calm load, by the load's \
             own log, too",
    ];
    Listing::of(rows)
        .label("case", |(case, _)| case.name.clone())
        .label("planted", |(case, _)| short(&case.planted))
        .label("verdict", |(_, outcome)| short(&outcome.said))
        .figure("", "effect", |(_, outcome)| effect(outcome))
        .figure("", "told", |(_, outcome)| told(outcome))
        .figure("", "watch", |(_, outcome)| watch(outcome).to_owned())
        .figure("", "stolen", |(_, outcome)| format!("{:.1} %", outcome.stolen_percent))
        .remark("judged", |(case, outcome)| judged(case, outcome).to_owned())
        .sheet(summary(rows))
        .with_notes(notes.map(str::to_owned))
        .text(None)
}

fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn effect(outcome: &Outcome) -> String {
    outcome.effect.map_or_else(|| "-".to_owned(), |effect| effect.to_string())
}

fn told(outcome: &Outcome) -> String {
    outcome.told.map_or_else(|| "-".to_owned(), |told| told.to_string())
}

fn watch(outcome: &Outcome) -> &'static str {
    match outcome.is_watch_right {
        None => "-",
        Some(true) => "the same",
        Some(false) => "MISSED",
    }
}

fn judged(case: &Case, outcome: &Outcome) -> &'static str {
    match (case.is_calm(), outcome.is_right) {
        (_, None) if outcome.is_disturbed() => "disturbed",
        (_, None) if outcome.has_failed => "FAILED",
        (_, None) => "not run",
        (false, Some(true)) => "named",
        (false, Some(false)) => "NOT NAMED",
        (true, Some(true)) => "nobody blamed",
        (true, Some(false)) => "BLAMED",
    }
}

/// `named 10 of 12 (held out 5 of 6), calm 12 of 12 (held out 6 of 6), 1 not judged; told within
/// 10 % of the own log: 4 of 5; the watch names the same: 5 of 5`.
fn summary(rows: &[Row]) -> String {
    let share = |is_alike: &dyn Fn(&Case) -> bool| {
        let alike = rows.iter().filter(|(case, _)| is_alike(case));
        right(alike, |outcome| outcome.is_right)
    };
    let both = |is_calm: bool| {
        let all = share(&|case| case.is_calm() == is_calm);
        let held_out = share(&|case| case.is_calm() == is_calm && case.held_out);
        format!("{all} (held out {held_out})")
    };
    let skipped = rows.iter().filter(|(_, outcome)| outcome.is_right.is_none()).count();
    let told = right(rows, |outcome| outcome.told.map(Told::is_right));
    let watch = right(rows, |outcome| outcome.is_watch_right);
    format!(
        "named {}, calm {}, {skipped} not judged; told within 10 % of the own log: {told}; the \
         watch names the same: {watch}",
        both(false),
        both(true)
    )
}

/// `5 of 6`: of those that were judged.
fn right<'r, 'c: 'r>(
    rows: impl IntoIterator<Item = &'r Row<'c>>,
    is_right: impl Fn(&Outcome) -> Option<bool>,
) -> String {
    let judged: Vec<bool> = rows.into_iter().filter_map(|(_, outcome)| is_right(outcome)).collect();
    format!("{} of {}", judged.iter().filter(|right| **right).count(), judged.len())
}

#[cfg(test)]
mod tests {
    use super::super::case::Cases;
    use super::*;

    #[test]
    fn the_summary_counts_halves_and_what_was_not_run() {
        let cases = Cases::read().unwrap();
        let mut count = 0;
        let rows = cases.case.iter().map(|case| {
            count += 1;
            let is_right = (count > 1).then_some(!case.held_out);
            let is_watch_right = Some(count > 25);
            let said = "x".repeat(200);
            (case, Outcome { is_right, is_watch_right, said, ..Outcome::default() })
        });
        let text = render(&rows.collect::<Vec<_>>());
        let verdict =
            "named 22 of 41 (held out 0 of 19), calm 14 of 24 (held out 0 of 10), 1 not judged";
        let more = "told within 10 % of the own log: 0 of 0; the watch names the same: 41 of 66";
        assert!(text.starts_with(&format!("{verdict}; {more}")), "{text}");
        assert!(text.contains("NOT NAMED") && text.contains("nobody blamed"), "{text}");
        assert!(text.contains("not run") && text.contains("xxx…"), "{text}");
        assert!(text.contains("the same") && text.contains("MISSED"), "{text}");
        let failed = Outcome::failed(&anyhow::anyhow!("record failed"));
        assert!(render(&[(&cases.case[0], failed)]).contains("FAILED"));
    }
}

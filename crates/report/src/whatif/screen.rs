//! The first screen of a change: who gains, who loses and whether beyond the interval; what the
//! intervals rest on; what to do; then the classes before and after.

use super::undecided::{Cause, at_least, undecided};
use super::{Row, Shown, counts, is_idle, key, plural, rows, table, title};
use crate::doubt;
use crate::figure::Figure;
use crate::number::significant;
use crate::screen::{Screen, short};
use crate::statement::Statement;
use model::record::{Finding, Verdict};
use model::units::{counted, show_change, show_time_ns};
use std::collections::BTreeSet;

const BELOW: &str = "--all has more, and the tables of `lbolt response` before and after.";

/// The screen for a terminal of `width` columns.
pub fn screen(shown: &Shown<'_>, width: Option<u16>) -> String {
    let device = main_device(shown.findings);
    let all = rows(shown.findings);
    let (wanted, several) = wanted(&all, &device);
    // Of all together and of several changes the mean and the tail alone: it is one screen.
    let shows =
        |row: &&Row<'_>| (!several && row.op != "all") || ["mean", "p99"].contains(&row.statistic);
    let shown_rows: Vec<&Row<'_>> = wanted.iter().copied().filter(shows).collect();
    Screen {
        sentences: sentences(shown, (&all, &wanted), &device),
        tables: vec![table(&shown_rows, false, title(shown.findings))],
        which: "first",
        less_needed: &[],
        needed: &[],
        below: BELOW.to_owned(),
    }
    .text(width)
}

/// Who gains, who loses, and what to do.
pub fn answer(shown: &Shown<'_>) -> Vec<Statement<'static>> {
    let device = main_device(shown.findings);
    let all = rows(shown.findings);
    let (wanted, _) = wanted(&all, &device);
    sentences(shown, (&all, &wanted), &device).into_iter().map(Statement::from).collect()
}

/// The rows that the screen is about, and whether they are of several changes.
fn wanted<'r, 'f>(all: &'r [Row<'f>], device: &str) -> (Vec<&'r Row<'f>>, bool) {
    let of_device: Vec<&Row<'_>> = all.iter().filter(|row| row.device == device).collect();
    let several = of_device.iter().any(|row| row.change != of_device[0].change);
    let is_split = of_device.iter().any(|row| row.op == "async write")
        && of_device.iter().any(|row| row.op == "sync write");
    let is_wanted = |row: &&Row<'_>| match row.op.as_str() {
        "async write" | "sync write" => is_split,
        "write" => !is_split,
        "all" => !several,
        _ => true,
    };
    (of_device.into_iter().filter(is_wanted).collect(), several)
}

/// The device with the most requests.
fn main_device(findings: &[Finding]) -> String {
    let whole = counts(findings).filter(|count| key(count, "op") == "all");
    let most =
        whole.max_by(|a, b| a.count.cmp(&b.count).then(key(b, "device").cmp(&key(a, "device"))));
    most.map(|count| key(count, "device")).unwrap_or_default()
}

/// `all` are the rows of every device, `rows` those that the screen is about.
fn sentences(
    shown: &Shown<'_>,
    (all, rows): (&[Row<'_>], &[&Row<'_>]),
    device: &str,
) -> Vec<String> {
    let mut devices: Vec<String> = counts(shown.findings).map(|f| key(f, "device")).collect();
    devices.sort();
    devices.dedup();
    let scope = match devices.len() {
        0 | 1 => String::new(),
        several => {
            format!(" (device {}, the busiest of {several})", short(device))
        }
    };
    let mut changes: Vec<&str> = rows.iter().map(|row| row.change.as_str()).collect();
    changes.dedup();
    let of_change = |change: &&str| {
        if is_idle(all, change) {
            let known = shown.changes.iter().find(|known| known.name == **change);
            let why = known.and_then(|known| known.why_idle.clone());
            let why = why.unwrap_or_else(|| "why is unknown".to_owned());
            return format!(
                "With {}, response times stay as they are: mean, p50, p99 and max of each class \
                 are the same as before ({why}).",
                short(change)
            );
        }
        let of = rows.iter().filter(|row| row.change == **change && row.statistic == "mean");
        let told: Vec<String> = of.filter(|row| row.op != "all").map(|row| told(row)).collect();
        format!("With {}{scope}, the mean response of {}.", short(change), told.join("; of "))
    };
    let suspect = rows.iter().find(|row| row.ratio.verdict == Verdict::Suspect);
    // The change's own is the last.
    let doubts = suspect.into_iter().flat_map(|row| row.ratio.doubts.last());
    let doubts = doubts.map(|doubt| format!("Suspect: {}.", doubt::sentence(doubt)));
    // Of each class the mean is told, and what all of them come to is not.
    let is_told = |row: &Row<'_>| row.statistic == "mean" && row.op != "all";
    let told = changes.iter().map(of_change).chain(would_tell(shown, rows, is_told));
    let told = told.chain(doubts).chain(basis(rows));
    let told = told.chain(Some(shown.arrivals.clone()).filter(|text| !text.is_empty()));
    let active = shown.changes.iter().filter(|change| !is_idle(all, &change.name));
    let notes = shown.changes.iter().flat_map(|change| &change.notes);
    let advice = active.flat_map(|change| &change.advice);
    told.chain(led("Modelled: ", notes)).chain(led("To do it: ", advice)).collect()
}

fn led<'a>(lead: &str, texts: impl Iterator<Item = &'a String>) -> Option<String> {
    // What two alternatives have in common is told once.
    let mut seen = BTreeSet::new();
    let texts: Vec<&str> = texts.map(String::as_str).filter(|text| seen.insert(*text)).collect();
    (!texts.is_empty()).then(|| format!("{lead}{}.", texts.join("; ")))
}

/// A mean that changes by more than this is told as so many times the other.
const LARGE: f64 = 20.0;

/// `reads falls from 39.1 ms to 34.0 ms (-13 % [-20, -6])`.
fn told(row: &Row<'_>) -> String {
    let ratio = row.after / row.before;
    let is_large = !(1.0 / LARGE..=LARGE).contains(&ratio);
    let number = |ratio: f64| match is_large {
        true if ratio < 1.0 => significant(1.0 / ratio),
        true => significant(ratio),
        false => show_change(100.0 * (ratio - 1.0), 0),
    };
    let unit = match is_large {
        true if ratio < 1.0 => "× lower",
        true => "× higher",
        false => " %",
    };
    let ends = Figure::of(row.ratio).ends();
    let is_within = ends.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high);
    let plural = plural(&row.op);
    let (before, after) = (show_time_ns(row.before), show_time_ns(row.after));
    if let Some(undecided) = undecided(row) {
        let why = undecided.why;
        return format!("{plural}: cannot tell yet ({before} before, {after} after; {why})");
    }
    if let Some(least) = ends.and_then(|(low, high)| at_least(low, high)) {
        return format!("{plural} {} from {before} to {after} ({least})", moved(ratio));
    }
    let moves = match () {
        () if (0.9995..=1.0005).contains(&ratio) => "stays at".to_owned(),
        () if is_within => format!("does not clearly change: from {before} to"),
        () => format!("{} from {before} to", moved(ratio)),
    };
    let interval = match ends.map(|(low, high)| (number(low), number(high))) {
        None => ", no interval".to_owned(),
        // One that has no width in these digits is none.
        Some((low, high)) if low == high => String::new(),
        Some((low, high)) => format!(" [{low}, {high}]"),
    };
    format!("{plural} {moves} {after} ({}{unit}{interval})", number(ratio))
}

fn moved(ratio: f64) -> &'static str {
    if ratio < 1.0 { "falls" } else { "rises" }
}

/// What would tell of the numbers that are told which way they go; nothing where that is known of
/// all.
pub(super) fn would_tell(
    shown: &Shown<'_>,
    rows: &[&Row<'_>],
    is_told: impl Fn(&Row<'_>) -> bool,
) -> Vec<String> {
    let open = rows.iter().filter(|row| is_told(row)).filter_map(|row| undecided(row));
    let causes: BTreeSet<Cause> = open.map(|open| open.cause).collect();
    causes.into_iter().map(|cause| cause.remedy(shown.is_calibrated).to_owned()).collect()
}

/// What the intervals rest on; nothing where there is none, for nothing changes.
pub(super) fn basis(rows: &[&Row<'_>]) -> Option<String> {
    if rows.iter().all(|row| row.is_unchanged()) {
        return None;
    }
    let samples = rows.iter().map(|row| row.ratio.count).max().unwrap_or(0);
    let of_samples = match samples {
        0 => "no samples".to_owned(),
        n => format!(
            "{} of the model's uncertain parameters and of when the trace begins",
            counted(n, "paired sample{s}")
        ),
    };
    let mut errors: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| row.statistic == "mean" && row.op != "all") {
        let error = row.error.map(|error| show_change(100.0 * (error - 1.0), 0) + " %");
        let text = error.map(|error| format!("{} {error}", plural(&row.op)));
        errors.extend(text.filter(|text| !errors.contains(text)));
    }
    let (chance, these) = match rows.iter().any(|row| row.chance > 0.0) {
        true => (", and by how much two runs of it differ by chance", "these are"),
        false => ("", "this error is"),
    };
    Some(match errors.is_empty() {
        true => format!(
            "Not validated here: the trace has no completion times. The intervals rest on \
             {of_samples}."
        ),
        false => format!(
            "The intervals rest on {of_samples}, the model's error against the trace (means: \
             {}){chance}. They assume that {these} no greater after the change.",
            errors.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{Named, Run};
    use crate::whatif::{Change as Told, charts, sheet};
    use model::record::Interval;
    use model::record::subject::{Change, Subject, UNCHANGED};

    /// What a change does to the mean of an operation, and within which ratios.
    fn change(op: &str, after_ns: f64, within: (f64, f64)) -> Vec<Finding> {
        missing(op, after_ns, within, (1.1, None))
    }

    /// The same of a model that misses the trace by a factor, and by so much by chance.
    fn missing(
        op: &str,
        after_ns: f64,
        within: (f64, f64),
        (error, chance): (f64, Option<f64>),
    ) -> Vec<Finding> {
        let subject = Subject::Change(Change {
            change: "drives=2".into(),
            device: "sda".into(),
            model: "disk".into(),
            op: op.into(),
        });
        let found = |name: &str, value: f64| Finding::new(&subject, name, Some(value), 8, "m");
        let ends = (Some(within.0), Some(within.1));
        vec![
            found("before_count", 9.0),
            found("before_mean_ns", 1e6),
            found("after_mean_ns", after_ns),
            found("change_mean_ratio", after_ns / 1e6).within(Interval::Parameters, ends),
            found("model_mean_ratio", error).within(
                Interval::Comparison,
                (chance.map(|log| error * (-log).exp()), chance.map(|log| error * log.exp())),
            ),
        ]
    }

    fn said(findings: &[Finding], is_calibrated: bool) -> String {
        let all: Vec<Finding> = change("all", 1e6, (0.9, 1.1));
        let findings = &[&all[..1], findings].concat();
        let shown = Shown { findings, is_calibrated, ..Shown::default() };
        screen(&shown, None).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_wide_interval_on_one_side_of_none_says_at_least_how_much() {
        let worse = said(&change("read", 293e6, (55.0, 1359.0)), false);
        let sentence = "reads rises from 1.00 ms to 293 ms (at least 55.0× higher, at most 1359×).";
        assert!(worse.contains(sentence) && !worse.contains("cannot tell"), "{worse}");
        let little = said(&change("read", 3e5, (0.2, 0.998)), false);
        assert!(little.contains("from 1.00 ms to 300 µs (-70 % [-80, 0])"), "{little}");
        let better = said(&change("write", 1e4, (0.001, 0.02)), false);
        let sentence =
            "writes falls from 1.00 ms to 10.0 µs (at least 50.0× lower, at most 1000×).";
        assert!(better.contains(sentence) && better.contains("[0.00100, 0.0200]"), "{better}");
    }

    #[test]
    fn what_cannot_be_told_of_several_has_one_remedy() {
        let all: Vec<Finding> = ["read", "write", "flush"]
            .into_iter()
            .flat_map(|op| change(op, 2e6, (0.1, 40.0)))
            .collect();
        let text = said(&all, false);
        assert_eq!(text.matches("cannot tell yet").count(), 3, "{text}");
        assert_eq!(text.matches("`lbolt calibrate` fits one").count(), 1, "{text}");
        assert!(text.contains("flushes +10 %") && !text.contains("flushs"), "{text}");
        let calibrated = said(&all, true);
        assert!(calibrated.contains("calibrate again with more --runs"), "{calibrated}");
        assert!(!calibrated.contains("lbolt calibrate"), "{calibrated}");
        assert!(!said(&change("read", 2e6, (1.9, 2.1)), false).contains("narrower"));
        // Nor is it drawn as if it were known.
        let drawn = |findings: &[Finding]| {
            charts(&[Named { name: "", run: Run { findings, rows: &[] } }]).len()
        };
        let firm = missing("read", 30e6, (20.0, 200.0), (2.5, None));
        assert_eq!([drawn(&all), drawn(&firm)], [0, 1]);
    }

    #[test]
    fn what_makes_an_interval_wide_is_named_and_so_is_what_helps_it() {
        const FIT: &str = "A model that fits the trace may tell: `lbolt calibrate` makes one";
        const BOUNDS: &str = "A model with narrower bounds may tell";
        const LONGER: &str = "A longer trace may tell";
        for (after_ns, within, model, why, remedy) in [
            // 25 times off: the change is surely 1.36 times, if the model is wrong all the same.
            (7.2e6, (1.36, 24331.0), (25.36, None), "more than the change", FIT),
            (1.1e6, (0.9, 900.0), (25.36, None), "so the interval spans a factor of 1000", FIT),
            (0.9e6, (0.002, 1.1), (1.0 / 20.0, None), "mean is 95 % below the trace's", FIT),
            (0.94e6, (0.8, 0.96), (0.93, None), "mean is 7 % below the trace's, more", FIT),
            (2e6, (0.1, 40.0), (1.1, None), "spans a factor of 400, more than 4", BOUNDS),
            (1.05e6, (0.1, 40.0), (1.1, Some(0.3)), "spans a factor of 400", BOUNDS),
            (2e6, (0.1, 40.0), (1.0, Some(2.1)), "spans a factor of 400", LONGER),
        ] {
            let findings = missing("read", after_ns, within, model);
            let text = said(&findings, false);
            assert!(text.contains("reads: cannot tell yet (1.00 ms before,"), "{text}");
            assert!(text.contains(why) && !text.contains("at least"), "{why}: {text}");
            for other in [FIT, BOUNDS, LONGER] {
                assert_eq!(text.contains(other), other == remedy, "{other}: {text}");
            }
            let whole = sheet(&Shown { findings: &findings, ..Shown::default() }).text(None);
            assert!(whole.contains(&remedy[..20]) && !whole.contains("--runs"), "{whole}");
        }
        // An error that is less than what is sure leaves it so, however wide.
        let firm = missing("read", 30e6, (20.0, 200.0), (2.5, None));
        assert!(said(&firm, false).contains("at least 20.0× higher, at most 200×"));
        let misfit = missing("read", 7.2e6, (1.36, 24331.0), (25.36, None));
        assert!(said(&misfit, true).contains("calibrate the device that was traced"));
    }

    #[test]
    fn what_changes_nothing_is_told_so_and_is_not_recommended() {
        let same = |name: &str, op: &str| {
            let all = change(op, 1e6, (1.0, 1.0)).into_iter().map(|found| {
                let Subject::Change(of) = found.subject else { return found };
                let subject = Subject::Change(Change { change: name.into(), ..of });
                let found = Finding { subject, ..found };
                if found.quantity != "change_mean_ratio" {
                    return found;
                }
                let found = Finding { method: UNCHANGED.into(), ..found };
                found.within(Interval::Parameters, (None, None))
            });
            all.collect::<Vec<_>>()
        };
        let findings = [same("a", "all"), same("a", "read"), change("read", 5e5, (0.4, 0.6))];
        let told = |name: &str, why: Option<&str>| Told {
            name: name.into(),
            advice: vec![format!("do {name}")],
            why_idle: why.map(str::to_owned),
            ..Told::default()
        };
        let said = |why: Option<&str>, findings: &[Finding]| {
            let changes = vec![told("a", why), told("drives=2", None)];
            let shown = Shown { findings, changes, ..Shown::default() };
            screen(&shown, None).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = said(Some("no queue"), &findings.concat());
        let sentence = "With a, response times stay as they are: mean, p50, p99 and max of each \
            class are the same as before (no queue). With drives=2, the mean response of reads \
            falls";
        assert!(text.starts_with(sentence), "{text}");
        assert!(text.contains("To do it: do drives=2.") && !text.contains("do a"), "{text}");
        let alone = said(None, &findings[..2].concat());
        assert!(alone.contains("(why is unknown)") && !alone.contains("intervals"), "{alone}");
        assert!(!alone.contains("do a.") && !alone.contains("cannot tell"), "{alone}");
        // Equal numbers of one class do not say that of all, and no number says nothing.
        let still =
            said(None, &[same("a", "all")[..1].to_vec(), change("read", 1e6, (0.9, 1.1))].concat());
        assert!(still.contains("stays at 1.00 ms") && still.contains("do drives=2"), "{still}");
        assert!(!still.contains("as they are") && still.contains("do a"), "{still}");
    }
}

//! The first screen of a simulation: how well the model agrees with the trace, or which variant has
//! the least mean response and by how much; then the table, the best variant first.
//!
//! Non-goals: requests of one operation where there are variants (the whole table has them).

use super::{Variants, all_rows, sheet, table, title};
use crate::doubt;
use crate::number::significant;
use crate::ranking::{Contest, Entrant};
use crate::screen::{Screen, short};
use crate::sheet::Sheet;
use crate::statement::Statement;
use model::record::{Finding, Verdict};
use model::units::show_time_ns;

/// The columns that go first where a terminal is narrow.
const LESS_NEEDED: [&str; 10] = [
    "demerit of service",
    "demerit of service %",
    "measured response max",
    "simulated response max",
    "busy %",
    "requests",
    "measured response p50",
    "simulated response p50",
    "demerit",
    "measured response p99",
];

const BELOW: &str = "--all has every column and each operation; lbolt response OUTPUT what each \
    request of the model went through.";

/// The screen with a sentence on when requests arrive, for a terminal of `width` columns.
pub fn screen(variants: &Variants<'_>, arrivals: &str, width: Option<u16>) -> String {
    let Some(main) = Main::of(variants) else { return sheet(variants).text(width) };
    let (table, which) = match variants {
        [_] => (table(&all_rows(variants), |_| true, title(variants)), "first"),
        several => (table_of(several, &main), "best"),
    };
    let below = BELOW.to_owned();
    let sentences = main.sentences(variants).into_iter().chain([arrivals.to_owned()]).collect();
    let (tables, less_needed) = (vec![table], &LESS_NEEDED);
    Screen { sentences, tables, which, less_needed, needed: &[], below }.text(width)
}

/// How well the model agrees with the trace, or which variant is the best; when requests arrive.
pub fn answer(variants: &Variants<'_>, arrivals: &str) -> Vec<Statement<'static>> {
    let main = Main::of(variants).into_iter();
    let told = main.flat_map(|main| main.sentences(variants));
    told.chain([arrivals.to_owned()]).map(Statement::from).collect()
}

/// All requests of each variant, that of the least mean first.
fn table_of(variants: &Variants<'_>, main: &Main) -> Sheet {
    let is_of_all = |finding: &&Finding| finding.subject.get("op").is_none_or(|op| op == "all");
    let of_all = |findings: &[Finding]| findings.iter().filter(is_of_all).cloned().collect();
    let mut kept: Vec<(String, Vec<Finding>)> =
        variants.iter().map(|(label, findings)| (short_keys(label), of_all(findings))).collect();
    let mean = |findings: &[Finding]| main.of_quantity(findings, MEAN).and_then(|f| f.value);
    let order = |(_, findings): &(String, Vec<Finding>)| mean(findings).unwrap_or(f64::INFINITY);
    kept.sort_by(|a, b| order(a).total_cmp(&order(b)));
    let named: Vec<(&str, &[Finding])> =
        kept.iter().map(|(label, f)| (label.as_str(), &f[..])).collect();
    let title = format!("The trace on {} variants of a model", variants.len());
    // All rows are of all operations, and of one device where there is no other.
    let has_label = |head: &str| head != "op" && (head != "device" || main.devices > 1);
    table(&all_rows(&named), has_label, title)
}

/// A label whose keys are without what goes before their last point, where that tells them apart.
fn short_keys(label: &str) -> String {
    let last = |word: &str| match word.split_once('=') {
        Some((key, value)) => {
            let key = key.rsplit('.').next().unwrap_or(key);
            (key.to_owned(), format!("{key}={value}"))
        }
        None => (String::new(), word.to_owned()),
    };
    let words: Vec<(String, String)> = label.split(' ').map(last).collect();
    let is_alone = |key: &String| words.iter().filter(|(other, _)| other == key).count() == 1;
    match words.iter().all(|(key, _)| key.is_empty() || is_alone(key)) {
        true => words.into_iter().map(|(_, word)| word).collect::<Vec<_>>().join(" "),
        false => label.to_owned(),
    }
}

const MEAN: &str = "simulated_mean_ns";

/// The device with the most requests, and of how many it is one.
struct Main {
    device: String,
    devices: usize,
}

impl Main {
    /// None where nothing was simulated.
    fn of(variants: &Variants<'_>) -> Option<Self> {
        let (_, first) = variants.first()?;
        let is_whole = |f: &&Finding| f.quantity == "simulated_count" && is_all(f);
        let counts: Vec<&Finding> = first.iter().filter(is_whole).collect();
        let most = counts.iter().max_by(|a, b| {
            let of = |finding: &Finding| finding.value.unwrap_or(0.0);
            of(a).total_cmp(&of(b))
        });
        Some(Self { device: most?.subject.get("device")?, devices: counts.len() })
    }

    /// What is found of all its requests.
    fn of_quantity<'a>(&self, findings: &'a [Finding], quantity: &str) -> Option<&'a Finding> {
        findings.iter().find(|finding| {
            finding.quantity == quantity
                && is_all(finding)
                && finding.subject.get("device").as_ref() == Some(&self.device)
        })
    }

    /// ` (device 0, the busiest of 3)`.
    fn scope(&self) -> String {
        match self.devices {
            1 => String::new(),
            several => format!(" (device {}, the busiest of {several})", short(&self.device)),
        }
    }

    fn sentences(&self, variants: &Variants<'_>) -> Vec<String> {
        let Some((_, first)) = variants.first() else { return vec![] };
        let told = match variants {
            [_] => self.agreement(first),
            several => self.best(several).into_iter().collect(),
        };
        let mean = self.of_quantity(first, MEAN);
        let doubts = mean.filter(|mean| mean.verdict == Verdict::Suspect);
        let doubts = doubts.into_iter().flat_map(|mean| &mean.doubts);
        told.into_iter()
            .chain(doubts.map(|d| format!("Suspect: {}.", doubt::sentence(d))))
            .collect()
    }

    /// The model's mean response, and how far it is from the trace's.
    fn agreement(&self, findings: &[Finding]) -> Vec<String> {
        let value = |quantity| self.of_quantity(findings, quantity).and_then(|found| found.value);
        let Some(mean) = self.of_quantity(findings, MEAN).and_then(|f| entrant("", f)) else {
            return vec![];
        };
        let model = findings.iter().find_map(|finding| finding.subject.get("model"));
        let lead = format!(
            "The model {} gives {} mean response{}{}",
            short(&model.unwrap_or_default()),
            show_time_ns(mean.value),
            self.scope(),
            mean.worth(&show_time_ns)
        );
        let measured = value("measured_mean_ns").filter(|measured| *measured > 0.0);
        let Some(measured) = measured else {
            let nothing = "the trace has no completion times to compare with";
            return vec![format!("{lead}; {nothing}.")];
        };
        let first = format!("{lead}, {}.", against(&mean, measured));
        let demerit = value("demerit_ns").zip(value("demerit_percent"));
        let second = demerit.map(|(ns, percent)| {
            format!(
                "The demerit (RMS distance between the two distributions' quantiles) is {}, {} % \
                 of the trace's mean.",
                show_time_ns(ns),
                significant(percent)
            )
        });
        [first].into_iter().chain(second).collect()
    }

    /// The variant of the least mean response.
    fn best(&self, variants: &Variants<'_>) -> Option<String> {
        let of = |(label, findings): &(&str, &[Finding])| {
            entrant(&short_keys(label), self.of_quantity(findings, MEAN)?)
        };
        let entrants: Vec<Entrant> = variants.iter().filter_map(of).collect();
        let of = format!(" mean response{}", self.scope());
        let show = &show_time_ns;
        let contest = Contest { verb: "gives", of: &of, is_greatest_first: false, show };
        contest.sentence_of_each(entrants)
    }
}

fn is_all(finding: &Finding) -> bool {
    finding.subject.get("op").is_some_and(|op| op == "all")
}

/// A variant's mean. A model without uncertain parameters gives it exactly.
fn entrant(label: &str, finding: &Finding) -> Option<Entrant> {
    let found = Entrant::of(label, &crate::figure::Figure::of(finding))?;
    Some(Entrant { interval: found.interval.or(Some((found.value, found.value))), ..found })
}

/// `12.1 % less than the trace's 5.00 ms`. A wide range of the model is no agreement.
fn against(mean: &Entrant, measured: f64) -> String {
    let trace = show_time_ns(measured);
    let is_within = mean.interval.is_some_and(|(low, high)| low <= measured && measured <= high);
    let percent = 100.0 * (mean.value / measured - 1.0);
    let how = if percent < 0.0 { "less" } else { "more" };
    let range = match is_within {
        true if percent != 0.0 => ", which lies within the model's range",
        _ => "",
    };
    match percent.abs() {
        0.0 => format!("as the trace's {trace}"),
        percent => format!("{} % {how} than the trace's {trace}{range}", significant(percent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::Interval;
    use model::record::subject::{ModelOp, Subject};

    /// Findings of a device's requests of an operation.
    fn of(device: &str, op: &str, values: &[(&str, f64)]) -> Vec<Finding> {
        let (device, model, op) = (device.into(), "disk".into(), op.into());
        let subject = Subject::ModelOp(ModelOp { device, model, op });
        let found = |(name, value): &(&str, f64)| Finding::new(&subject, name, Some(*value), 1, "");
        values.iter().map(found).collect()
    }

    fn model(mean: f64, span: Option<(f64, f64)>, more: &[(&str, f64)]) -> Vec<Finding> {
        let mut all = of("0", "all", &[("simulated_count", 9.0), (MEAN, mean)]);
        let ends = span.map_or((None, None), |(low, high)| (Some(low), Some(high)));
        all[1] = all[1].clone().within(Interval::Parameters, ends);
        all.extend(of("0", "all", more));
        all
    }

    const MEASURED: [(&str, f64); 3] =
        [("measured_mean_ns", 5e6), ("demerit_ns", 1e6), ("demerit_percent", 20.0)];

    #[test]
    fn a_model_is_held_against_the_trace() {
        let said =
            |findings: &[Finding]| screen(&[("", findings)], "Open.", None).replace('\n', " ");
        let text = said(&model(4e6, Some((3e6, 4.5e6)), &MEASURED));
        assert!(
            text.starts_with(
                "The model disk gives 4.00 ms mean response (model range 3.00–4.50), 20.0 % less \
             than the trace's 5.00 ms. The demerit (RMS distance between the two distributions' \
             quantiles) is 1.00 ms, 20.0 % of the trace's mean."
            ),
            "{text}"
        );
        let near = said(&model(4e6, Some((3e6, 6e6)), &MEASURED));
        let words = "20.0 % less than the trace's 5.00 ms, which lies within the model's range.";
        assert!(near.contains(words) && !near.contains("agreement"), "{near}");
        let untimed = said(&model(4e6, None, &[]));
        assert!(
            untimed.contains("no completion times") && !untimed.contains("demerit ("),
            "{untimed}"
        );
    }

    #[test]
    fn the_best_variant_is_named_where_the_spans_are_apart() {
        let (slow, fast) = (model(9e6, None, &MEASURED), model(4e6, None, &MEASURED));
        let text = screen(&[("a=1", &slow), ("a=2", &fast)], "Open.", None);
        assert!(
            text.starts_with("a=2 gives 4.00 ms mean response, a=1 9.00 ms (at least 2.25×)."),
            "{text}"
        );
        assert!(text.lines().any(|line| line == "Open."), "when requests arrive: {text}");
        let place = |label: &str| text.rfind(label).unwrap();
        assert!(place("a=2") < place("a=1"), "the best first: {text}");
        let slowest = model(20e6, None, &MEASURED);
        let three = [("a=1", &slow[..]), ("a=3", &slowest), ("a=2", &fast)];
        let text = screen(&three, "Open.", None).replace('\n', " ");
        let words = "a=1 9.00 ms (at least 2.25×), a=3 20.0 ms (at least 5.00×).";
        assert!(text.contains(words), "each has its place: {text}");
        let wide = model(4e6, Some((2e6, 9e6)), &[]);
        let text = screen(&[("a=1", &slow), ("a=2", &wide)], "Open.", None);
        assert!(text.contains("a=2 gives 4.00 ms") && !text.contains("at least"));
        assert!(text.contains("a=1 cannot be told apart from it"), "{text}");
    }

    #[test]
    fn keys_are_short_where_that_is_clear() {
        assert_eq!(short_keys("drive.speed=10 rpm queue.policy=a.b"), "speed=10 rpm policy=a.b");
        assert_eq!(short_keys("drive.rate=1 bus.rate=2"), "drive.rate=1 bus.rate=2");
    }

    #[test]
    fn of_several_devices_the_busiest_is_named() {
        let mut all = model(4e6, None, &MEASURED);
        all.extend(of("1", "all", &[("simulated_count", 2.0), (MEAN, 1e6)]));
        let text = screen(&[("", &all)], "Open.", None);
        assert!(text.contains("gives 4.00 ms mean response (device 0, the busiest of 2)"));
    }

    #[test]
    fn hundreds_of_variants_are_one_screen() {
        let labels: Vec<String> =
            (0..300).map(|n| format!("{}={n}", "a.long.key".repeat(9))).collect();
        let findings = model(4e6, None, &MEASURED);
        let all: Vec<(&str, &[Finding])> =
            labels.iter().map(|l| (l.as_str(), &findings[..])).collect();
        let text = screen(&all, "Open.", Some(200));
        assert!(text.lines().count() <= 40 && text.contains("of 300)"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

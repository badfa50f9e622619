//! What a side's turn told: the figures of lbolt's or fio's JSON, and what was counted meanwhile.

use super::formula::Figure;
use analyze::compare::fio::{Fio, Names};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

/// The quantity whose doubts are passed on.
const DOUBTED: &str = "rate_operations_per_s";

/// A turn's figures.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Findings as lbolt's JSON has them; what was counted has no subject.
    findings: Vec<Value>,
}

impl Turn {
    /// What a program printed: fio's report, lbolt's JSON, or lines of a name and a number.
    pub(super) fn of(program: &str, printed: &str) -> anyhow::Result<Self> {
        match program {
            "fio" => Self::of_fio(printed),
            _ if printed.starts_with('{') => Self::of_json(printed),
            _ => Ok(Self::of_lines(printed)),
        }
    }

    fn of_lines(printed: &str) -> Self {
        let mut turn = Self::default();
        let lines = printed.lines().filter_map(|line| line.split_once(' '));
        let numbers = lines.filter_map(|(name, number)| Some((name, number.parse().ok()?)));
        numbers.for_each(|(name, number)| turn.add(name, number));
        turn
    }

    fn of_json(printed: &str) -> anyhow::Result<Self> {
        let json: Value = serde_json::from_str(printed).context("lbolt's JSON is broken")?;
        let mut turn = Self::default();
        let Some(schema) = json["schema"].as_str() else {
            // A report that is no list of findings.
            let fields = json.as_object().into_iter().flatten();
            let numbers = fields.filter_map(|(name, value)| Some((name, value.as_f64()?)));
            numbers.for_each(|(name, value)| turn.add(name, value));
            return Ok(turn);
        };
        if schema.starts_with("lbolt.calibration/") {
            return Self::of_calibration(&json);
        }
        ensure!(schema.starts_with("lbolt.findings/"), "lbolt printed the schema \"{schema}\"");
        let findings = json["findings"].as_array().context("lbolt's JSON has no findings")?;
        turn.findings.clone_from(findings);
        // Only there where the processor's own counter stamps the requests.
        if json.pointer("/run/calibration/clock").is_some_and(|clock| clock == "tsc") {
            turn.add("tsc", 1.0);
        }
        Ok(turn)
    }

    /// How many of the classes that were held out the profile predicts.
    fn of_calibration(json: &Value) -> anyhow::Result<Self> {
        let classes = json["classes"].as_array().context("lbolt's JSON has no classes")?;
        let held = classes.iter().filter(|class| class["holds"] == true).count();
        let mut turn = Self::default();
        turn.add("classes_held_percent", 100.0 * held as f64 / classes.len().max(1) as f64);
        Ok(turn)
    }

    fn of_fio(printed: &str) -> anyhow::Result<Self> {
        let series = Fio::parse(printed).context("failed to read fio's JSON")?.series(Names::Jobs);
        let mut turn = Self::default();
        for one in series {
            one.values.first().iter().for_each(|value| turn.add(&one.quantity, **value));
        }
        Ok(turn)
    }

    /// Adds what was counted.
    pub(super) fn add(&mut self, quantity: &str, value: f64) {
        self.findings.push(json!({ "quantity": quantity, "value": value }));
    }

    /// Adds what another program told.
    pub(super) fn join(&mut self, other: Self) {
        self.findings.extend(other.findings);
    }

    /// The value of a quantity, whatever its subject.
    pub(super) fn quantity(&self, name: &str) -> anyhow::Result<f64> {
        let found = self.all(name).find_map(|finding| finding["value"].as_f64());
        found.with_context(|| format!("there is no {name}"))
    }

    /// A figure's value.
    pub(super) fn value(&self, figure: &Figure) -> anyhow::Result<f64> {
        let of = || figure.subject.first().map_or("", |(_, of)| of);
        match figure.quantity.as_str() {
            "unlike_count" => return Ok(self.unlike(of())),
            "greatest_error_percent" => return self.greatest_error(of()),
            _ => {}
        }
        let name = &figure.quantity;
        let finding = self.finding(figure).with_context(|| format!("there is no {name}"))?;
        let number = &finding[if figure.is_count { "count" } else { "value" }];
        number.as_f64().with_context(|| format!("no {name}: {}", doubts(finding).join("; ")))
    }

    /// What was found of a figure.
    pub(super) fn finding(&self, figure: &Figure) -> Option<&Value> {
        self.all(&figure.quantity).find(|finding| is_of(finding, &figure.subject))
    }

    fn all(&self, quantity: &str) -> impl Iterator<Item = &Value> {
        self.findings.iter().filter(move |finding| finding["quantity"] == quantity)
    }

    /// How many of a paper's values emerge from its model and are others than those printed.
    fn unlike(&self, quantity: &str) -> f64 {
        let modelled = format!("model_{quantity}");
        let emerging = self.all(&modelled).filter(|finding| finding["method"] == "emerges");
        emerging.filter(|finding| finding["verdict"] != "ok").count() as f64
    }

    /// How far the model is from what the paper prints, at the most, in per cent.
    fn greatest_error(&self, quantity: &str) -> anyhow::Result<f64> {
        let [modelled, printed] = ["model", "published"].map(|of| format!("{of}_{quantity}"));
        let errors = self.all(&printed).filter_map(|of_paper| {
            let of_model = self.all(&modelled).find(|f| f["subject"] == of_paper["subject"])?;
            let ratio = of_model["value"].as_f64()? / of_paper["value"].as_f64()?;
            Some(100.0 * (ratio - 1.0).abs())
        });
        errors.reduce(f64::max).with_context(|| format!("there is no {printed}"))
    }

    /// What lbolt doubts of its rate.
    pub(super) fn doubts(&self) -> Vec<String> {
        self.all(DOUBTED).flat_map(doubts).collect()
    }
}

/// Whether a finding's subject has these keys with these values.
fn is_of(finding: &Value, subject: &[(String, String)]) -> bool {
    subject.iter().all(|(key, wanted)| match &finding["subject"][key] {
        Value::String(text) => text == wanted,
        other => other.to_string().as_str() == wanted,
    })
}

/// A finding's doubts, by their codes; in the first schema by their sentences without figures.
fn doubts(finding: &Value) -> Vec<String> {
    let codes = finding["doubts"].as_array().into_iter().flatten();
    let codes = codes.map(|doubt| doubt["code"].as_str().unwrap_or("another").to_owned());
    codes.chain(finding["reason"].as_str().unwrap_or_default().lines().map(kind)).collect()
}

/// A sentence without its figures, so that equal ones are counted together.
fn kind(sentence: &str) -> String {
    let is_figure = |c: char| c.is_ascii_digit() || c == '.';
    let parts = sentence.split(is_figure).enumerate();
    let kept = parts.filter(|(place, part)| *place == 0 || !part.is_empty());
    kept.map(|(_, part)| part).collect::<Vec<_>>().join("…")
}

#[cfg(test)]
mod tests {
    use super::super::formula;
    use super::*;

    fn value(turn: &Turn, figure: &str) -> anyhow::Result<f64> {
        turn.value(formula::figures(&formula::parse(&format!("a.{figure}")).unwrap())[0])
    }

    const FIRST: &str = r#"{"schema": "lbolt.findings/1", "run": {"calibration": {"clock": "tsc"}},
 "findings": [
  {"subject": {"engine": "sync", "direct": "0"}, "quantity": "t_call_ns", "value": 1.0},
  {"subject": {"engine": "mmap"}, "quantity": "t_call_ns", "value": null, "reason": "because"},
  {"subject": {}, "quantity": "rate_operations_per_s", "value": 2.5, "count": 7,
   "reason": "11.5 % of a CPU\nbusy"}]}"#;

    #[test]
    fn a_calibration_tells_how_many_classes_hold() {
        let printed = r#"{"schema": "lbolt.calibration/1",
            "classes": [{"holds": true}, {"holds": false}, {"holds": true}, {"holds": true}]}"#;
        let turn = Turn::of("lbolt", printed).unwrap();
        assert_eq!(value(&turn, "classes_held_percent").unwrap(), 75.0);
    }

    #[test]
    fn a_finding_is_found_by_its_subject() {
        let turn = Turn::of("lbolt", FIRST).unwrap();
        assert_eq!(value(&turn, "t_call_ns[engine=sync,direct=0]").unwrap(), 1.0);
        assert_eq!(value(&turn, "rate_operations_per_s.count").unwrap(), 7.0);
        assert_eq!(value(&turn, "tsc").unwrap(), 1.0);
        let error = |figure: &str| value(&turn, figure).unwrap_err().to_string();
        assert!(error("t_call_ns[engine=mmap]").contains("because"));
        assert!(error("t_call_ns[engine=vsync]").contains("no t_call_ns"));
        assert_eq!(turn.doubts(), ["… % of a CPU", "busy"]);
    }

    #[test]
    fn the_second_schema_has_numbers_and_codes() {
        let second = FIRST.replace("findings/1", "findings/2").replace("\"0\"", "0").replace(
            r#""reason": "11.5 % of a CPU\nbusy""#,
            r#""doubts": [{"code": "cpu_stolen", "values": {}}]"#,
        );
        let turn = Turn::of("lbolt", &second.replace("tsc", "clock_gettime")).unwrap();
        assert_eq!(value(&turn, "t_call_ns[engine=sync,direct=0]").unwrap(), 1.0);
        assert_eq!(turn.doubts(), ["cpu_stolen"]);
        assert!(value(&turn, "tsc").is_err());
    }

    #[test]
    fn fios_jobs_and_what_was_counted_are_figures_too() {
        let printed = r#"note: …
            {"fio version": "fio-3.33", "jobs": [{"jobname": "a", "error": 0, "job_runtime": 578,
             "write": {"iops": 56692.0, "total_ios": 32768}, "usr_cpu": 10.0, "sys_cpu": 40.0}]}"#;
        let mut turn = Turn::of("fio", printed).unwrap();
        turn.add("cpu_s", 3.0);
        assert_eq!(value(&turn, "rate_operations_per_s").unwrap(), 56692.0);
        // Half of 578 ms over the requests.
        assert!((value(&turn, "cpu_operation_ns").unwrap() - 8819.6).abs() < 0.1);
        assert_eq!(value(&turn, "cpu_s").unwrap(), 3.0);
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        assert!(Turn::of("fio", "fio: failed parsing fadvise_hint=none\n").is_err());
        assert!(Turn::of("lbolt", "{\"schema\": \"sheep/1\", \"findings\": []}").is_err());
        assert!(Turn::of("lbolt", "{").is_err());
        assert!(Turn::of("lbolt", "").unwrap().findings.is_empty());
    }

    #[test]
    fn a_model_is_held_against_what_is_printed() {
        let finding = |quantity: &str, machine: &str, value: f64, verdict: &str| {
            json!({"quantity": quantity, "subject": {"machine": machine}, "value": value,
                   "method": "emerges", "verdict": verdict})
        };
        let findings = vec![
            finding("published_x", "a", 100.0, "ok"),
            finding("model_x", "b", 300.0, "ok"),
            finding("model_x", "a", 102.0, "suspect"),
        ];
        let turn = Turn { findings };
        assert!((value(&turn, "greatest_error_percent[of=x]").unwrap() - 2.0).abs() < 1e-9);
        assert!(value(&turn, "greatest_error_percent[of=y]").is_err());
        assert_eq!(value(&turn, "unlike_count[of=x]").unwrap(), 1.0);
    }
}

//! The cases: the tables `planted.toml` and `planted-kinds.toml`.

use anyhow::Context as _;
use regex_lite::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;

const TABLES: [(&str, &str); 2] = [
    ("planted.toml", include_str!("../../planted.toml")),
    ("planted-kinds.toml", include_str!("../../planted-kinds.toml")),
];

/// All cases, and what their scripts share.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cases {
    /// What every script begins with.
    #[serde(default)]
    pub(super) prelude: String,
    /// Programs of our own, by name.
    pub(super) programs: BTreeMap<String, String>,
    pub(super) case: Vec<Case>,
}

/// A load, with a planted cause or calm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    /// Written before the verdict, and never tuned on.
    #[serde(default)]
    pub(super) held_out: bool,
    /// What is planted, or what calm load this is.
    pub(super) planted: String,
    /// Programs, and files under /sys or /proc, without which the case is skipped.
    pub(super) needs: Vec<String>,
    pub(super) device_mib: u64,
    /// What the device is formatted with and mounted; `none` leaves it raw.
    #[serde(default = "ext4")]
    pub(super) file_system: String,
    /// In place of a loop device: a modelled drive, as `lbolt device` takes it.
    pub(super) model: Option<String>,
    /// The image lies on an ext4 on a device of its own.
    #[serde(default)]
    pub(super) beneath: bool,
    /// Runs before the recording.
    #[serde(default)]
    pub(super) prepare: String,
    /// Runs while it is recorded.
    pub(super) load: String,
    /// Runs at the end, however that came.
    #[serde(default)]
    pub(super) clean: String,
    /// What the verdict must say of who waited: all of these. A calm load has none.
    #[serde(default)]
    pub(super) victim: Vec<Pattern>,
    /// What it must say of the cause: all of these.
    #[serde(default)]
    pub(super) cause: Vec<Pattern>,
    /// What it must not say: none of these.
    #[serde(default)]
    pub(super) never: Vec<Pattern>,
    /// The role whose own log the logs are: what it is told to have lost is held against them.
    pub(super) own_log: Option<Pattern>,
    /// A watch runs, too, and must name the same cause.
    #[serde(default)]
    pub(super) watched: bool,
}

/// A regular expression, upper and lower case alike.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = regex_lite::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Regex::new(&format!("(?i){text}")).map(Self)
    }
}

impl Pattern {
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn ext4() -> String {
    "ext4".to_owned()
}

impl Cases {
    pub(super) fn read() -> anyhow::Result<Self> {
        let mut all = Self::default();
        for (name, text) in TABLES {
            let more: Self = toml::from_str(text).context(name)?;
            all.prelude += &more.prelude;
            all.programs.extend(more.programs);
            all.case.extend(more.case);
        }
        Ok(all)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.case.iter().map(|case| &case.name)
    }
}

impl Case {
    pub(super) fn is_calm(&self) -> bool {
        self.victim.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn nearly_half_of_the_planted_and_of_the_calm_are_held_out() {
        let cases = Cases::read().unwrap().case;
        let count = |is_calm: bool, held_out: bool| {
            let alike = |case: &&Case| case.is_calm() == is_calm && case.held_out == held_out;
            cases.iter().filter(alike).count()
        };
        for (is_calm, expected) in [(false, (23, 19)), (true, (14, 10))] {
            let halves = (count(is_calm, false), count(is_calm, true));
            assert_eq!(halves, expected, "calm {is_calm}");
        }
    }

    #[test]
    fn every_case_has_a_name_of_its_own_and_is_whole() {
        let cases = Cases::read().unwrap();
        assert_eq!(cases.names().collect::<BTreeSet<_>>().len(), cases.case.len());
        for case in &cases.case {
            assert_eq!(case.victim.is_empty(), case.cause.is_empty(), "{}", case.name);
            assert!(!case.planted.is_empty() && !case.load.is_empty(), "{}", case.name);
            let is_judged = case.own_log.is_some() || case.watched;
            assert!(!(is_judged && case.is_calm()), "{}", case.name);
        }
    }

    #[test]
    fn a_pattern_knows_no_case_and_must_compile() {
        assert!(Pattern::try_from(r"\bdd\b".to_owned()).unwrap().is_in("writes of DD (12)"));
        assert!(Pattern::try_from("(".to_owned()).is_err());
    }
}

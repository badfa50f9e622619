//! What is run and what must be reached: the table `bench.toml`.

use super::formula::{self, Term};
use super::judge::Wanted;
use anyhow::Context as _;
use serde::Deserialize;
use std::collections::BTreeMap;

const TABLE: &str = include_str!("../../bench.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    words: BTreeMap<String, String>,
    scripts: BTreeMap<String, String>,
    case: Vec<Case>,
}

/// One piece of work, which its sides do in turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    /// At most so many rounds.
    pub(super) pairs: Option<usize>,
    /// Words that all sides share.
    #[serde(default)]
    both: String,
    /// The case's own meanings of words.
    #[serde(default)]
    words: BTreeMap<String, String>,
    /// Commands that run once before.
    #[serde(default)]
    pub(super) prepare: Vec<String>,
    /// Each side's command.
    pub(super) run: BTreeMap<String, String>,
    /// Tracers that work while a side's command runs.
    #[serde(default)]
    pub(super) beside: BTreeMap<String, String>,
    /// Doubts of lbolt with these words are the case's own doing.
    #[serde(default)]
    pub(super) expected: Vec<String>,
    /// The file of a side whose command names it.
    pub(super) file_mib: Option<u64>,
    #[serde(default)]
    pub(super) cold: bool,
    #[serde(default)]
    pub(super) warmup: u32,
    pub(super) device: Option<Image>,
    /// Where that of a second one lies.
    pub(super) other: Option<Image>,
    pub(super) rows: Vec<Row>,
}

/// Where a device's image lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Image {
    Memory,
    Disk,
}

/// A figure and what is wanted of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "(String, String, String)")]
pub(super) struct Row {
    pub(super) name: String,
    formula: String,
    pub(super) wanted: Wanted,
}

impl TryFrom<(String, String, String)> for Row {
    type Error = anyhow::Error;

    fn try_from((name, formula, wanted): (String, String, String)) -> anyhow::Result<Self> {
        let wanted = Wanted::parse(&wanted).with_context(|| format!("{name}: \"{wanted}\""))?;
        Ok(Self { name, formula, wanted })
    }
}

impl Row {
    pub(super) fn terms(&self) -> anyhow::Result<Vec<Term>> {
        formula::parse(&self.formula).with_context(|| self.name.clone())
    }
}

fn table() -> anyhow::Result<Table> {
    toml::from_str(TABLE).context("bench.toml")
}

/// The scripts by their names, each behind what all begin with.
pub(super) fn scripts() -> anyhow::Result<BTreeMap<String, String>> {
    let mut scripts = table()?.scripts;
    let prelude = scripts.remove("prelude").unwrap_or_default();
    scripts.values_mut().for_each(|text| text.insert_str(0, &prelude));
    Ok(scripts)
}

/// The cases, of each the rows whose names hold the text; none without such a row.
pub(super) fn with_rows(only: &str) -> anyhow::Result<Vec<Case>> {
    let Table { words, case: mut cases, .. } = table()?;
    for case in &mut cases {
        case.rows.retain(|row| row.name.contains(only));
        case.expand(&words);
    }
    cases.retain(|case| !case.rows.is_empty());
    Ok(cases)
}

impl Case {
    /// Puts the texts in the places of their names.
    fn expand(&mut self, words: &BTreeMap<String, String>) {
        let mut words = words.clone();
        words.insert("both".to_owned(), self.both.clone());
        words.append(&mut self.words);
        let formulas = self.rows.iter_mut().map(|row| &mut row.formula);
        let commands = self.run.values_mut().chain(self.beside.values_mut());
        for text in commands.chain(&mut self.prepare).chain(formulas) {
            *text = expanded(text, &words);
        }
    }
}

/// How deep texts may name texts.
const DEPTH: usize = 4;

fn expanded(text: &str, words: &BTreeMap<String, String>) -> String {
    let once = |text: String| {
        words
            .iter()
            .fold(text, |text, (name, meaning)| text.replace(&format!("{{{name}}}"), meaning))
    };
    (0..DEPTH).fold(text.to_owned(), |text, _| once(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn commands(case: &Case) -> impl Iterator<Item = &str> {
        let all = case.run.values().chain(case.beside.values()).chain(&case.prepare);
        all.flat_map(|command| command.split(['&'])).map(str::trim)
    }

    #[test]
    fn every_row_has_a_name_of_its_own_and_a_formula_of_its_cases_sides() {
        let cases = with_rows("").unwrap();
        let mut names: Vec<String> = vec![];
        for case in &cases {
            let has =
                |side: &str| side == super::super::runner::PREPARE || case.run.contains_key(side);
            for row in &case.rows {
                let terms = row.terms().unwrap();
                assert!(formula::figures(&terms).iter().all(|f| has(&f.side)), "{}", row.name);
                names.push(row.name.clone());
            }
            assert!(case.beside.keys().all(|side| has(side)), "{}", case.name);
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn lbolt_itself_understands_its_commands() {
        for command in with_rows("").unwrap().iter().flat_map(commands) {
            if let Some(words) = command.strip_prefix("lbolt ") {
                let all = std::iter::once("lbolt").chain(words.split_whitespace());
                if let Err(error) = ::cli::Cli::try_parse_from(all) {
                    panic!("{command}: {error}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_to_expand_but_places() {
        let known = [
            "{place}",
            "{file}",
            "{records}",
            "{run}",
            "{root}",
            "{data}",
            "{device}",
            "{other}",
            "{lbolt}",
            "{at}",
        ];
        for command in with_rows("").unwrap().iter().flat_map(commands) {
            let rest = known.iter().fold(command.to_owned(), |text, place| text.replace(place, ""));
            assert!(!rest.contains('{'), "{command}");
        }
    }

    #[test]
    fn fio_uses_files_as_lbolt_uses_them() {
        for case in with_rows("").unwrap() {
            for command in case.run.values().filter(|c| c.contains("{file}")) {
                let has = |word: &str| command.split_whitespace().any(|w| w == word);
                assert!(has("--fallocate=none") && has("--fadvise_hint=0"), "{command}");
                assert_eq!(has("--end_fsync=1"), has("--rw=write"), "{command}");
                assert_eq!(case.file_mib.is_none(), has("--rw=write"), "{command}");
            }
        }
    }

    #[test]
    fn rows_are_chosen_by_their_names() {
        let cases = with_rows("harness cost").unwrap();
        assert_eq!((cases.len(), cases[0].rows.len()), (1, 1));
        assert!(with_rows("no such row").unwrap().is_empty());
    }
}

//! `planted`: does the verdict name a cause that was planted, and nobody in calm loads? Real
//! programs run on fresh loop devices under `lbolt record`. `planted.toml` and `planted-kinds.toml`
//! say what is run, what is planted, and which words the verdict needs.

mod case;
mod effect;
mod judge;
mod modelled;
mod rig;
mod stage;
mod table;
mod told;

use crate::command;
use anyhow::ensure;
use case::{Case, Cases};
use clap::Parser;
use judge::Outcome;
use rig::Rig;
use std::path::PathBuf;
use std::process::ExitCode;

/// How often a case is run while the hypervisor takes the CPUs away.
const TRIES: usize = 3;

/// Record planted causes and calm loads, and judge what the verdict says of them.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask planted")]
pub(crate) struct Options {
    /// Only these cases.
    #[arg(value_name = "CASE", conflicts_with_all = ["held_out", "open"])]
    cases: Vec<String>,
    /// Only the cases that nobody may tune on.
    #[arg(long, conflicts_with = "open")]
    held_out: bool,
    /// Only the other cases.
    #[arg(long)]
    open: bool,
    /// The program that records [default: target/release/lbolt].
    #[arg(long, value_name = "FILE")]
    lbolt: Option<PathBuf>,
    /// Directory on the disk that holds the devices' images and the printed texts
    /// [default: target/planted].
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
}

/// Runs the chosen cases and prints the table.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let cases = Cases::read()?;
    let chosen = options.chosen(&cases)?;
    let rig = options.rig(&cases)?;
    let mut done = vec![];
    for case in chosen {
        eprintln!("{}: {}", case.name, case.planted);
        let outcome = tried(&rig, case);
        if rig.is_stopped() {
            eprintln!("interrupted; nothing is left behind");
            return Ok(ExitCode::from(130));
        }
        done.push((case, outcome));
    }
    print!("{}", table::render(&done));
    Ok(crate::code(done.iter().all(|(_, outcome)| outcome.is_fine())))
}

/// A case, again while the machine is disturbed.
fn tried(rig: &Rig, case: &Case) -> Outcome {
    let mut outcome = Outcome::default();
    for _ in 0..TRIES {
        outcome = rig.run(case).unwrap_or_else(|error| Outcome::failed(&error));
        let Some(disturbance) = outcome.disturbance() else { break };
        if rig.is_stopped() {
            break;
        }
        eprintln!("{}: {disturbance}; not judged", case.name);
    }
    outcome
}

impl Options {
    fn chosen<'a>(&self, cases: &'a Cases) -> anyhow::Result<Vec<&'a Case>> {
        if let Some(name) = self.cases.iter().find(|name| !cases.names().any(|n| n == *name)) {
            let names = cases.names().map(String::as_str).collect::<Vec<_>>().join(", ");
            anyhow::bail!("no case is called {name}; there are {names}");
        }
        let is_named = |case: &Case| self.cases.is_empty() || self.cases.contains(&case.name);
        let is_half = |case: &Case| match (self.held_out, self.open) {
            (false, false) => true,
            (held_out, _) => case.held_out == held_out,
        };
        Ok(cases.case.iter().filter(|case| is_named(case) && is_half(case)).collect())
    }

    fn rig(&self, cases: &Cases) -> anyhow::Result<Rig> {
        ensure!(rustix::process::geteuid().is_root(), "loop devices and mounts need root");
        let at = self.at.clone().unwrap_or_else(|| crate::target().join("planted"));
        Rig::new(at, command::lbolt(self.lbolt.as_deref())?, cases, command::stop_flag()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(words: &str) -> anyhow::Result<Vec<String>> {
        let words = std::iter::once("planted").chain(words.split_whitespace());
        let cases = Cases::read()?;
        let chosen = Options::try_parse_from(words)?.chosen(&cases)?;
        Ok(chosen.into_iter().map(|case| case.name.clone()).collect())
    }

    #[test]
    fn cases_are_chosen_by_half_or_by_name() {
        assert_eq!(chosen("").unwrap().len(), 66);
        assert_eq!(chosen("--held-out").unwrap().len(), 29);
        assert_eq!(chosen("--open").unwrap().len(), 37);
        assert_eq!(chosen("idle").unwrap(), ["idle"]);
        assert!(chosen("no_such_case").unwrap_err().to_string().contains("there are "));
        assert!(chosen("--open --held-out").is_err() && chosen("--open idle").is_err());
    }
}

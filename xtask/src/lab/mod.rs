//! `lab`: lbolt on the kernels and storage stacks that people run. Debian's kernels are booted
//! under QEMU; `lab.toml` says which stacks are made there, what is run on them, and what must
//! hold: what lbolt says against the kernel's own counts, fio's, and known delays.
//!
//! Non-goals: speed. Nothing that is timed in an emulator tells how fast anything is.

mod cache;
mod evidence;
mod judge;
mod matrix;
mod plan;
mod results;
mod runner;
mod table;
mod vm;

use crate::command;
use cache::Cache;
use clap::Parser;
use plan::Choice;
use runner::Runner;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use table::Table;

/// Try lbolt on kernels and storage stacks, and print what holds.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask lab")]
pub(crate) struct Options {
    /// Only what each submission must pass: minutes.
    #[arg(long)]
    short: bool,
    /// Only these kernels.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    kernel: Vec<String>,
    /// Only stacks with such a part in their names.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    stack: Vec<String>,
    /// Only cases with such a part in their names.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    case: Vec<String>,
    /// The program that is tried [default: target/release/lbolt].
    #[arg(long, value_name = "FILE")]
    lbolt: Option<PathBuf>,
    /// Where kernels, roots and results are kept [default: target/lab].
    #[arg(long, value_name = "DIR", env = "LAB_DIR")]
    at: Option<PathBuf>,
    /// Guests that run at once; each takes a core.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Run nothing: judge what the last guests left.
    #[arg(long)]
    judge: bool,
    /// Run nothing: print the last results as docs/kernels.md has them.
    #[arg(long)]
    table: bool,
}

/// Runs the chosen cases and prints the matrix.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let table = Table::read()?;
    let at = options.at.clone().unwrap_or_else(|| crate::target().join("lab"));
    let cache = Cache::new(&at, options.short)?;
    if options.table {
        print!(
            "{}",
            matrix::markdown(&table, &results::read(cache.at())?, |name| cache.release(name))
        );
        return Ok(ExitCode::SUCCESS);
    }
    let plans = plan::plans(&table, &options.choice())?;
    anyhow::ensure!(!plans.is_empty(), "no case is chosen");
    if options.judge {
        print!("{}", matrix::text(&runner::judged_again(cache.at(), &plans)));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(program) = cache.missing_program() {
        println!("lab: skipped: {program} is not installed");
        return Ok(ExitCode::SUCCESS);
    }
    let began = Instant::now();
    let lbolt = stripped(&command::lbolt(options.lbolt.as_deref())?, cache.at())?;
    let runner = Runner::new(&cache, &table.machine, lbolt)?;
    let boots = runner.boots(&plans);
    if boots.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let all = runner.run(&plans, &boots, options.jobs)?;
    results::add(cache.at(), &all.rows)?;
    print!("{}", matrix::text(&all.rows));
    println!("{}", matrix::last_line(&all, began.elapsed()));
    Ok(crate::code(all.is_passed()))
}

impl Options {
    fn choice(&self) -> Choice {
        Choice {
            is_short: self.short,
            kernels: self.kernel.clone(),
            stacks: self.stack.clone(),
            cases: self.case.clone(),
        }
    }
}

/// The program without what is for debuggers: a guest reads it slowly.
fn stripped(lbolt: &Path, at: &Path) -> anyhow::Result<PathBuf> {
    let to = at.join(format!("lbolt-{}", std::process::id()));
    let stripped = Command::new("strip").arg("-o").arg(&to).arg(lbolt).status();
    if !stripped.is_ok_and(|status| status.success()) {
        std::fs::copy(lbolt, &to)?;
    }
    Ok(to)
}

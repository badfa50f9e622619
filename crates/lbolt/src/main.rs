//! lbolt: a storage I/O performance laboratory.
#![forbid(unsafe_code)]

use lbolt::cli::Command;
use lbolt::command;
use lbolt::print::output;

fn main() -> std::process::ExitCode {
    output::end(run())
}

fn run() -> anyhow::Result<()> {
    let Some(typed) = command::typed()? else { return Ok(()) };
    match typed.command {
        Command::Survey(options) => command::survey::run(&options),
        Command::Throughput(options) => command::throughput::run(&options),
        Command::Overhead(options) => command::overhead::run(&options),
        Command::Record(options) => command::record::run(&options),
        Command::Response(options) => command::response::run(&options),
        Command::Sql(options) => command::sql::run(&options),
        Command::Simulate(options) => command::simulate::run(&options),
        Command::Papers(options) => command::papers::run(&options),
        Command::Import(options) => command::import::run(&options),
        Command::Export(options) => command::export::run(&options),
        Command::Compare(options) => command::compare::run(&options),
        Command::Runs(options) => command::runs::run(&options),
        Command::Doctor(options) => command::doctor::run(&options),
    }
}

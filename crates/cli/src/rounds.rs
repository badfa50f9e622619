//! How often the cells of an experiment take turns.

use super::time;
use clap::Args;
use std::time::Duration;

/// Rounds over all cells.
#[derive(Debug, Clone, Args)]
pub struct RoundsOptions {
    /// Rounds over all cells: exactly N, unless --max-time is over before [default: --min-runs,
    /// then more until every rate is known to ±10 % or --max-time is over].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with = "min_runs", help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Rounds over all cells: at least N, also when --max-time is over [default: 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000),
        help_heading = "Passes")]
    pub min_runs: Option<u32>,
    /// Stop after this time. Without --min-runs that may be within a round: cells without a pass
    /// are then not measured [default: 1m, and the least rounds in any case].
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Passes")]
    pub max_time: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use crate::Cli;
    use clap::CommandFactory;

    #[test]
    fn each_command_tells_its_own_default_alone() {
        let cli = Cli::command();
        for (name, rounds) in [("overhead", "4"), ("curve", "3"), ("sync", "3"), ("storm", "3")] {
            let command = cli.find_subcommand(name).unwrap();
            let least = command.get_arguments().find(|option| option.get_id() == "min_runs");
            let help = least.unwrap().get_help().unwrap().to_string();
            assert!(help.ends_with(&format!("[default: {rounds}]")), "{name}: {help}");
            assert!(!help.contains("overhead"), "{name}");
        }
    }
}

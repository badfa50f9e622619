//! How often the cells of an experiment take turns.

use super::time;
use clap::Args;
use std::time::Duration;

/// Rounds over all cells.
#[derive(Debug, Clone, Args)]
pub struct RoundsOptions {
    /// Rounds over all cells: exactly N [default: --min-runs, then more until every rate is known
    /// to ±10 % or --max-time is over].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with_all = ["min_runs", "max_time"], help_heading = "Passes")]
    pub runs: Option<u32>,
    /// Rounds over all cells: at least N.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000),
        default_value = "3", help_heading = "Passes")]
    pub min_runs: u32,
    /// Start no new round after this time.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1m",
        help_heading = "Passes")]
    pub max_time: Duration,
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
            let least = least.unwrap();
            assert_eq!(least.get_default_values(), [rounds], "{name}");
            assert!(!least.get_help().unwrap().to_string().contains("overhead"), "{name}");
        }
    }
}

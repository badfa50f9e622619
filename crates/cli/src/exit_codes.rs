//! The exit codes at the end of each command's help: a table of the commands that have others than
//! all have. The codes themselves stand in `messages::fault`.

use crate::help::paragraphs;
use clap::Command;

/// Those that every command can end with.
const COMMON: [(u8, &str); 5] = [
    (0, "success"),
    (1, "I/O error"),
    (2, "usage error"),
    (6, "output not printed"),
    (130, "interrupted"),
];

/// What else a command can end with, or what a code means besides.
const OWN: &[(&str, u8, &str)] = &[
    ("calibrate", 2, "usage error or not predictable"),
    ("calibrate", 3, GUARD),
    ("compare", 4, "worse by --fail-on"),
    ("compare", 7, UNSURE),
    ("curve", 3, GUARD),
    ("device", 1, "I/O error or the command's failure"),
    ("overhead", 3, GUARD),
    ("record", 1, "I/O error or the command's failure"),
    ("replay", 3, GUARD),
    ("replay", 5, "unfaithful"),
    ("simulate", 1, "I/O or simulation error"),
    ("storm", 3, GUARD),
    ("throughput", 3, GUARD),
    ("throughput", 4, "worse by --fail-on"),
    ("throughput", 5, "not steady"),
    ("throughput", 7, UNSURE),
    ("whatif", 1, "I/O or simulation error"),
];

const UNSURE: &str = "--fail-on cannot tell";
const GUARD: &str = "refused by the guard";

/// A command whose help ends with its exit codes.
pub(super) fn with_exit_codes(command: Command) -> Command {
    let codes = sentence(command.get_name());
    let help = command.get_after_long_help().map(|help| paragraphs(&help.to_string()) + "\n\n");
    command.after_long_help(help.unwrap_or_default() + &codes)
}

/// `Exit codes: 0 success, 1 I/O error, …`.
fn sentence(command: &str) -> String {
    let own = OWN.iter().filter(|(name, ..)| *name == command);
    let own: Vec<(u8, &str)> = own.map(|(_, code, meaning)| (*code, *meaning)).collect();
    let common = COMMON.into_iter().filter(|(code, _)| own.iter().all(|(other, _)| other != code));
    let mut codes: Vec<(u8, &str)> = common.chain(own.iter().copied()).collect();
    codes.sort_by_key(|(code, _)| *code);
    let codes: Vec<String> =
        codes.iter().map(|(code, meaning)| format!("{code} {meaning}")).collect();
    format!("Exit codes: {}.", codes.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::Cli;
    use clap::CommandFactory;

    #[test]
    fn a_paragraph_of_help_fits_any_terminal_and_a_list_one_of_100_columns() {
        let cli = Cli::command();
        for command in cli.get_subcommands() {
            let help = command.get_after_long_help().unwrap().to_string();
            let is_listed = |line: &&str| line.starts_with(' ') || line.starts_with("lbolt ");
            for line in help.lines().filter(is_listed) {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
            let curve = "beyond the knee only latency rises. The knee is the queue depth with";
            assert!(command.get_name() != "curve" || help.contains(curve), "{help}");
        }
    }

    #[test]
    fn every_command_tells_its_exit_codes_once() {
        let cli = Cli::command();
        for command in cli.get_subcommands() {
            let help = command.get_after_long_help().unwrap().to_string();
            assert_eq!(help.matches("Exit codes: 0 success").count(), 1, "{}", command.get_name());
        }
        for (name, ..) in super::OWN {
            assert!(cli.find_subcommand(name).is_some(), "{name}");
        }
        let help = cli.find_subcommand("throughput").unwrap().get_after_long_help().unwrap();
        let help = help.to_string();
        assert!(help.contains("4 worse by --fail-on, 5 not steady, 6 output"), "{help}");
    }
}

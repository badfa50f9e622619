//! What `lbolt` prints by itself: every command, by what it is for, with one example.
//!
//! Non-goals: what a command does; that is the first line of its own help.

use super::Command;
use clap::{Command as Definition, Subcommand as _};

/// Commands by what they are for, each with an example.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Measure",
        &[
            "lbolt survey",
            "lbolt throughput fresh:ext4",
            "lbolt curve .",
            "lbolt sync .",
            "lbolt overhead .",
            "lbolt storm .",
        ],
    ),
    (
        "Observe",
        &["lbolt top", "lbolt record -d vda -- fio job.fio", "lbolt watch", "lbolt history"],
    ),
    (
        "Explain",
        &[
            "lbolt response RUN",
            "lbolt explore RUN",
            "lbolt report RUN",
            "lbolt compare RUN1 RUN2",
            "lbolt runs",
            "lbolt rollup RUN1 RUN2 -o FILE",
            "lbolt fleet HISTORY1 HISTORY2",
            "lbolt sql --requests RUN",
        ],
    ),
    (
        "Predict",
        &[
            "lbolt calibrate . -o drive.toml",
            "lbolt simulate RUN --model drive.toml",
            "lbolt whatif RUN --model M --change drives=2",
            "lbolt replay RUN --on FILE",
            "lbolt device model:generic-7200rpm",
            "lbolt profile RUN",
            "lbolt synthesize profile.toml",
        ],
    ),
    ("Papers", &["lbolt papers 1983"]),
    ("Convert", &["lbolt import trace.blktrace.0", "lbolt export RUN --output-format msr -o FILE"]),
    ("This machine", &["lbolt doctor"]),
];

/// The text.
pub(super) fn overview() -> String {
    let commands = Command::augment_subcommands(Definition::new("lbolt"));
    let about = |example: &str| {
        let command = commands.find_subcommand(name_of(example))?;
        command.get_about().map(ToString::to_string)
    };
    let examples = GROUPS.iter().flat_map(|(_, examples)| *examples);
    let width = examples.map(|example| example.len()).max().unwrap_or(0);
    let mut text = "lbolt measures storage, traces its requests, explains where their time went, \
        and predicts changes\n\n"
        .to_owned();
    for (group, examples) in GROUPS {
        text.push_str(&format!("{group}:\n"));
        for example in *examples {
            let about = about(example).unwrap_or_default();
            text.push_str(&format!("  {example:width$}  {about}\n"));
        }
    }
    text.push_str(
        "`lbolt COMMAND -h` lists the options of a command; `lbolt --version` the version\n",
    );
    text
}

fn name_of(example: &str) -> &str {
    example.split_whitespace().nth(1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::Parser as _;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_has_one_example_that_is_understood() {
        let commands = Command::augment_subcommands(Definition::new("lbolt"));
        let shown = commands.get_subcommands().filter(|command| !command.is_hide_set());
        let mut left: BTreeSet<_> = shown.map(Definition::get_name).collect();
        for example in GROUPS.iter().flat_map(|(_, examples)| *examples) {
            assert!(left.remove(name_of(example)), "{example}");
            Cli::try_parse_from(example.split_whitespace()).unwrap();
            let mut words = example.split_whitespace();
            if words.any(|word| word == "--output-format") {
                formats::export::named(words.next().unwrap()).unwrap();
            }
        }
        assert!(left.is_empty(), "without an example: {left:?}");
    }

    #[test]
    fn it_fits_on_a_screen() {
        let text = overview();
        assert!(text.lines().count() <= 40, "{}", text.lines().count());
        let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 100, "{widest}");
    }
}

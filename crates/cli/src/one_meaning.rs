//! One option, one meaning: what follows an option is the same in all commands that have it.

use super::Cli;
use clap::{Arg, Command, CommandFactory};
use std::collections::{BTreeMap, BTreeSet};

/// Every option, and what follows it in all commands; nothing follows a flag. A new option gets a
/// row, and a name that is there already keeps its meaning.
const OPTIONS: &[(&str, &str)] = &[
    ("abab", ""),
    ("account", "ACCOUNT"),
    ("across", "WHAT"),
    ("after", "TIME"),
    ("against", "RUN"),
    ("all", ""),
    ("arrivals", "ARRIVALS"),
    ("as-published", ""),
    ("at", "DIR"),
    ("batch", ""),
    ("before", "TIME"),
    ("before-after", "MOMENT"),
    ("before-size", "SIZE"),
    ("bs", "SIZE"),
    ("by", "WHAT"),
    ("calm", ""),
    ("change", "CHANGE"),
    ("clean", ""),
    ("commits", "RATE"),
    ("compare", "FROM..TO"),
    ("compute", "COMPUTE"),
    ("days", "N"),
    ("destroy", "TARGET"),
    ("device", "DEV"),
    ("direct", "0|1"),
    ("dirty", "SIZE"),
    ("draws", "N"),
    ("dry-run", ""),
    ("duration", "TIME"),
    ("engine", "ENGINE"),
    ("every", "TIME"),
    ("fail-on", "PERCENT"),
    ("fdatasync", "N"),
    ("file", "NAME"),
    ("firmware", "NAME"),
    ("folded", "WEIGHT"),
    ("format", "FORMAT"),
    ("from", "MOMENT"),
    ("fsync", "N"),
    ("full", ""),
    ("history-size", "SIZE"),
    ("host", "NAME"),
    ("hosts", "N"),
    ("incidents", ""),
    ("incidents-size", "SIZE"),
    ("input-format", "FORMAT"),
    ("iodepth", "N"),
    ("ioengine", "IOENGINE"),
    ("keep", "TIME"),
    ("keep-size", "SIZE"),
    ("kernel", "NAME"),
    ("last", "TIME"),
    ("lateness-p50", "TIME"),
    ("lateness-p99", "TIME"),
    ("level", "LEVEL"),
    ("limit", "KEY=NUMBER"),
    ("list-models", ""),
    ("listen-public", ""),
    ("max-incidents", "N"),
    ("max-time", "TIME"),
    ("measure-overhead", ""),
    ("method", "METHOD"),
    ("metric", "QUANTITY"),
    ("min-runs", "N"),
    ("model", "M"),
    ("no-ceiling", ""),
    ("no-cold", ""),
    ("no-sync", ""),
    ("number_ios", "N"),
    ("numjobs", "N"),
    ("on", "TARGET"),
    ("open", ""),
    ("otlp", "URL"),
    ("output", "PATH"),
    ("output-format", "FORMAT"),
    ("overlap", "0|1"),
    ("page", "FILE"),
    ("part", "K/N"),
    ("period", "TIME"),
    ("periods", "N"),
    ("port", "PORT"),
    ("precision", "PERCENT"),
    ("prepare", "COMMAND"),
    ("process", "WHO"),
    ("programs", "FILE"),
    ("prometheus", "ADDRESS"),
    ("quick", ""),
    ("rate_iops", "RATE"),
    ("remedies", "LIST"),
    ("report", ""),
    ("requests", "PATH"),
    ("resume", "RUN"),
    ("ring-size", "SIZE"),
    ("role", "NAME"),
    ("rollups", "PATH"),
    ("rpm", "N"),
    ("runs", "N"),
    ("runs-dir", "RUNS"),
    ("runtime", "TIME"),
    ("rw", "RW"),
    ("rwmixread", "PERCENT"),
    ("scale", "FACTOR"),
    ("seed", "SEED"),
    ("seeds", "N"),
    ("set", "KEY=VALUE"),
    ("show-model", ""),
    ("simulate", ""),
    ("size", "SIZE"),
    ("size-unit", "UNIT"),
    ("slower-than", "TIME"),
    ("spark-script", ""),
    ("stacks", ""),
    ("started", "MOMENT"),
    ("steady", "PERCENT"),
    ("syscalls", ""),
    ("test-interval", "TIME"),
    ("ticks", ""),
    ("time-unit", "UNIT"),
    ("time_based", "0|1"),
    ("to", "MOMENT"),
    ("top", "N"),
    ("trace", ""),
    ("tracer", "TRACER"),
    ("warmup", "N"),
    ("when", "CONDITION"),
    ("wide", ""),
    ("with-own", ""),
    ("wrap", ""),
];

/// Every command with its name, those of commands included.
fn commands(command: &Command, above: &str) -> Vec<(String, Command)> {
    let name = format!("{above}{}", command.get_name());
    let below = command.get_subcommands().flat_map(|sub| commands(sub, &format!("{name} ")));
    let below: Vec<_> = below.collect();
    [(name, command.clone())].into_iter().chain(below).collect()
}

/// What follows an option.
fn value(option: &Arg) -> String {
    let takes = option.get_action().takes_values();
    let names = option.get_value_names().unwrap_or_default();
    names.iter().filter(|_| takes).map(|name| name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn each_option_is_followed_by_the_same_in_all_commands() {
    let table: BTreeMap<&str, &str> = OPTIONS.iter().copied().collect();
    assert_eq!(table.len(), OPTIONS.len(), "each has one row");
    let mut known = BTreeSet::new();
    for (name, command) in commands(&Cli::command(), "") {
        for option in command.get_arguments() {
            let Some(long) = option.get_long() else { continue };
            let own = value(option);
            assert_eq!(table.get(long), Some(&own.as_str()), "{name} --{long}");
            known.insert(long.to_owned());
        }
    }
    let stale: Vec<_> = table.keys().filter(|name| !known.contains(**name)).collect();
    assert!(stale.is_empty(), "no command has {stale:?}");
}

#[test]
fn a_letter_or_another_name_is_of_one_option() {
    let mut of: BTreeMap<String, String> = BTreeMap::new();
    for (name, command) in commands(&Cli::command(), "") {
        for option in command.get_arguments() {
            let Some(long) = option.get_long() else { continue };
            let letter = option.get_short().map(String::from);
            let aliases = option.get_all_aliases().unwrap_or_default().into_iter();
            for short in letter.into_iter().chain(aliases.map(str::to_owned)) {
                let known = of.entry(short.clone()).or_insert_with(|| long.to_owned());
                assert_eq!(known, long, "{name} {short}");
                assert!(OPTIONS.iter().all(|(option, _)| *option != short), "{name} {short}");
            }
        }
    }
}

/// `--runs N` means exactly N passes: no option that adds passes goes with it. One that ends them
/// does, and then whichever comes first counts.
#[test]
fn runs_are_exact_in_every_command() {
    const MORE: [&str; 2] = ["min-runs", "precision"];
    let (mut with_both, mut with_time) = (0, 0);
    for (name, command) in commands(&Cli::command(), "") {
        let has = |long: &str| command.get_arguments().find(|o| o.get_long() == Some(long));
        let Some(runs) = has("runs") else { continue };
        let help = runs.get_help().unwrap().to_string();
        assert!(help.contains("exactly N"), "{name}: {help}");
        let excludes = |a: &Arg, b: &Arg| {
            command.get_arg_conflicts_with(a).iter().any(|known| known.get_id() == b.get_id())
        };
        for other in MORE.iter().filter_map(|long| has(long)) {
            assert!(excludes(runs, other) || excludes(other, runs), "{name} {other}");
            with_both += 1;
        }
        if let Some(time) = has("max-time") {
            assert!(!excludes(runs, time) && !excludes(time, runs), "{name}");
            assert!(help.contains("--max-time"), "{name}: {help}");
            with_time += 1;
        }
    }
    assert!(with_both >= 5 && with_time >= 6, "{with_both} {with_time}");
}

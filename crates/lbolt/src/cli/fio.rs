//! Options as fio's users type them, where ours have other names: an error that names the option
//! meant.

use super::Cli;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

/// What is meant by a name that is not ours.
enum Meant {
    /// The first of these options that the command has.
    Option(&'static [&'static str]),
    /// Something else, in a sentence.
    Said(&'static str),
}
use Meant::{Option as Ours, Said};

/// Names that fio or habit knows, in lower case with underscores, and what is meant by them.
const NAMES: &[(&[&str], Meant)] = &[
    (&["blocksize", "block_size", "bsize", "block"], Ours(&["bs"])),
    (
        &["bsrange", "bssplit"],
        Said("requests of a row are of one size; --bs takes a list of sizes"),
    ),
    (
        &["time", "timeout", "duration", "seconds", "run_time", "runtime"],
        Ours(&["runtime", "duration"]),
    ),
    (&["timebased", "time_base"], Ours(&["time_based"])),
    (&["o_direct", "odirect", "unbuffered"], Ours(&["direct"])),
    (&["buffered"], Said("requests go through the page cache unless --direct is given")),
    (&["readwrite", "access", "mode", "pattern", "workload"], Ours(&["rw"])),
    (&["io_depth", "depth", "queue_depth", "queuedepth", "qd"], Ours(&["iodepth"])),
    (&["num_jobs", "jobs", "threads", "workers", "nrjobs"], Ours(&["numjobs"])),
    (&["engine", "io_engine"], Ours(&["ioengine"])),
    (&["filesize", "file_size", "io_size", "io_limit"], Ours(&["size"])),
    (&["rwmixwrite"], Said("the option meant is --rwmixread, which is 100 less what is to write")),
    (&["rwmix", "mix", "read_percent"], Ours(&["rwmixread"])),
    (&["fdatasync", "sync"], Ours(&["fsync"])),
    (
        &["end_fsync", "fsync_on_close"],
        Said("a pass that writes ends with fdatasync by itself; --no-sync leaves it out"),
    ),
    (&["rate", "iops", "rateiops"], Ours(&["rate_iops"])),
    (
        &["invalidate"],
        Said("caches are emptied before each pass by themselves; --no-cold leaves it out"),
    ),
    (&["ramp_time", "ramp", "warm_up"], Ours(&["warmup"])),
    (&["loops", "repeat", "repeats", "passes"], Ours(&["runs"])),
    (&["randseed", "rand_seed"], Ours(&["seed"])),
    (&["output_format", "json"], Ours(&["format"])),
    (
        &["filename", "directory", "file", "dir", "target"],
        Said("name it as TARGET, without an option"),
    ),
    (&["name"], Said("rows are named by what they do; --output names the run")),
    (
        &["group_reporting", "thread", "randrepeat", "norandommap", "eta"],
        Said(
            "leave it out: lbolt reports the jobs of a row together and each order has its --seed",
        ),
    ),
];

/// Values that fio or habit knows, and ours.
const VALUES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("aio", "libaio"),
    ("uring", "io_uring"),
    ("iouring", "io_uring"),
    ("io_uring_cmd", "io_uring"),
    ("posix", "posixaio"),
    ("pread", "psync"),
    ("preadv", "pvsync"),
    ("preadv2", "pvsync2"),
];

/// The error with the option or the value that was meant, and without tips that are none.
pub(crate) fn explain(error: &mut clap::Error, arguments: &[String]) {
    let known = Cli::command();
    let words = arguments.iter().skip(1);
    let command = words.filter_map(|word| known.find_subcommand(word)).next().unwrap_or(&known);
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            // To pass `--time` behind `--` would make a TARGET of it.
            let tip = text(ContextKind::InvalidArg).and_then(|name| option(&name, command));
            error.remove(ContextKind::Suggested);
            if tip.is_some() {
                error.remove(ContextKind::SuggestedArg);
            }
            tip
        }
        ErrorKind::InvalidValue => {
            let typed = text(ContextKind::InvalidValue);
            let found = VALUES.iter().find(|(name, _)| typed.as_deref() == Some(*name));
            found.map(|(_, ours)| format!("the value meant is '{ours}'"))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedValue);
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
    }
}

/// What is meant by the name of an option that the command does not have.
fn option(typed: &str, command: &Command) -> Option<String> {
    let name = typed.trim_start_matches('-').to_lowercase().replace('-', "_");
    let (_, meant) = NAMES.iter().find(|(names, _)| names.contains(&name.as_str()))?;
    Some(match meant {
        Said(sentence) => (*sentence).to_owned(),
        Ours(options) => match options.iter().find(|option| has(command, option)) {
            Some(option) => format!("the option meant is '--{option}'"),
            None => format!("'lbolt throughput' has it as '--{}'", options.first()?),
        },
    })
}

/// Whether a command has an option of that long name.
fn has(command: &Command, option: &str) -> bool {
    command.get_arguments().any(|known| known.get_long() == Some(option))
}

/// fio's 0 and 1.
pub(super) fn zero_or_one(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("\"{text}\" is neither 0 nor 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_and_value_that_is_named_exists_and_no_name_is_ours() {
        let known = Cli::command();
        let throughput = known.find_subcommand("throughput").unwrap();
        for (names, meant) in NAMES {
            if let Ours(options) = meant {
                assert!(has(throughput, options[0]), "--{}", options[0]);
            }
            if let Said(sentence) = meant {
                let words = sentence.split([' ', ',', ';']).filter_map(|w| w.strip_prefix("--"));
                words.for_each(|word| assert!(has(throughput, word), "--{word}"));
            }
            // What throughput has, other commands may lack.
            let other = |name: &&&str| !has(throughput, name) || **name == "runtime";
            assert!(names.iter().all(|name| other(&name)), "{names:?}");
        }
        let values: Vec<String> = throughput
            .get_arguments()
            .flat_map(clap::Arg::get_possible_values)
            .map(|value| value.get_name().to_owned())
            .collect();
        for (name, ours) in VALUES {
            assert!(values.contains(&(*ours).to_owned()) && !values.contains(&(*name).to_owned()));
        }
    }

    #[test]
    fn what_was_meant_is_named() {
        for (words, tip) in [
            ("throughput . --time 30", Some("tip: the option meant is '--runtime'")),
            ("throughput . --time=30", Some("tip: the option meant is '--runtime'")),
            ("throughput . --block-size=4k", Some("tip: the option meant is '--bs'")),
            ("throughput . --blocksize 4k", Some("tip: the option meant is '--bs'")),
            ("overhead . --io_depth 4", Some("tip: the option meant is '--iodepth'")),
            ("throughput . --o_direct", Some("tip: the option meant is '--direct'")),
            ("throughput . --filename=/dev/sdb", Some("tip: name it as TARGET")),
            ("record --time 10s", Some("tip: the option meant is '--duration'")),
            ("survey --bs 4k", None),
            ("survey --blocksize 4k", Some("tip: 'lbolt throughput' has it as '--bs'")),
            ("throughput . --rw read --ioengine aio", Some("tip: the value meant is 'libaio'")),
            ("throughput . --rw readwrite", Some("tip: the value meant is 'rw'")),
            ("throughput . --verify crc32c", None),
        ] {
            let arguments: Vec<String> =
                std::iter::once("lbolt").chain(words.split(' ')).map(str::to_owned).collect();
            let mut error =
                super::super::Cli::command().try_get_matches_from(&arguments).unwrap_err();
            explain(&mut error, &arguments);
            let said = error.render().to_string();
            assert!(!said.contains("as a value"), "{said}");
            match tip {
                Some(tip) => {
                    assert!(said.contains(tip), "{words}: {said}");
                    assert_eq!(said.matches("tip:").count(), 1, "{said}");
                }
                None => assert!(!said.contains("meant") && !said.contains("has it as"), "{said}"),
            }
        }
    }
}

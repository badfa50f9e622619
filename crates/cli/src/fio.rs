//! Options and values as fio's users type them, where ours have other names, and options that had
//! other names here: an error that says what to use.

use super::Cli;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory};

/// What is meant by a name that is not ours.
enum Meant {
    /// The first of these options that the command has.
    Option(&'static [&'static str]),
    /// What is measured: a positional argument.
    Target,
    /// Something else, in a sentence.
    Said(&'static str),
}
use Meant::{Option as Ours, Said, Target};

/// Names that fio or habit knows, in lower case with underscores (* stands for any end), and what
/// is meant by them.
const NAMES: &[(&[&str], Meant)] = &[
    (&["blocksize", "block_size", "bsize", "block"], Ours(&["bs"])),
    (
        &["bsrange", "bssplit"],
        Said("all requests of a row have one size; --bs takes a list of sizes"),
    ),
    (
        &["time", "timeout", "duration", "seconds", "run_time", "runtime"],
        Ours(&["runtime", "duration"]),
    ),
    (&["timebased", "time_base"], Ours(&["time_based"])),
    (&["o_direct", "odirect", "unbuffered"], Ours(&["direct"])),
    (&["buffered"], Said("requests use the page cache unless --direct is given")),
    (&["readwrite", "access", "mode", "pattern", "workload"], Ours(&["rw"])),
    (&["io_depth", "depth", "queue_depth", "queuedepth", "qd"], Ours(&["iodepth"])),
    (&["iodepth_*"], Said("requests are submitted one by one, until --iodepth are outstanding")),
    (&["num_jobs", "jobs", "threads", "workers", "nrjobs"], Ours(&["numjobs"])),
    (&["engine", "io_engine"], Ours(&["ioengine"])),
    (
        &["registerfiles", "fixedbufs"],
        Said("use --ioengine io_uring_fixed, which registers its file and buffers"),
    ),
    (
        &["sqthread_poll*"],
        Said("use --ioengine io_uring_sqpoll, whose kernel thread polls for submissions"),
    ),
    (
        &["hipri*"],
        Said("use --ioengine pvsync2_hipri or io_uring_iopoll, which poll for completions"),
    ),
    (&["filesize", "file_size", "io_size", "io_limit"], Ours(&["size"])),
    (&["number_ios"], Said("a pass ends after its --size or its --runtime")),
    (
        &["nrfiles", "openfiles", "file_service_type", "offset", "offset_increment", "zone*"],
        Said("each job uses one file of its own, of --size bytes"),
    ),
    (&["rwmixwrite"], Said("use --rwmixread, the percentage of reads (100 minus the writes)")),
    (&["rwmix", "mix", "read_percent"], Ours(&["rwmixread"])),
    (&["sync"], Said("use --fsync or --fdatasync; lbolt sync also measures O_SYNC and O_DSYNC")),
    (
        &["end_fsync", "fsync_on_close"],
        Said("passes that write always end with fdatasync, unless --no-sync is given"),
    ),
    (
        &["rate", "rate_min", "ratemin"],
        Said("bandwidth cannot be limited; --rate_iops sets the IOPS of each job"),
    ),
    (&["iops", "rateiops"], Ours(&["rate_iops"])),
    (&["thinktime*"], Said("requests are sent as fast as possible, or at --rate_iops")),
    (
        &["latency_target", "latency_window", "latency_percentile", "latency_run"],
        Said("lbolt curve finds the highest rate with low latency"),
    ),
    (&["invalidate"], Said("caches are emptied before each pass, unless --no-cold is given")),
    (&["ramp_time", "ramp"], Said("use --warmup N, which skips whole passes instead of a time")),
    (&["warm_up"], Ours(&["warmup"])),
    (&["loops", "repeat", "repeats", "passes"], Ours(&["runs"])),
    (
        &["steadystate*", "ss", "ss_*"],
        Said("passes are added until --precision is reached; --steady checks them afterwards"),
    ),
    (&["randseed", "rand_seed"], Ours(&["seed"])),
    (
        &["randrepeat", "allrandrepeat", "norandommap", "randommap", "softrandommap"],
        Said("leave it out: random order visits each block once per round and depends on --seed"),
    ),
    (&["output_format", "json", "minimal"], Ours(&["format"])),
    (
        &["write_*", "log_*", "per_job_logs"],
        Said(
            "--format json has the rate of each second, samples.parquet of the run a histogram for \
             each pass; --trace keeps each request",
        ),
    ),
    (
        &["percentile_list", "lat_percentiles", "clat_percentiles", "slat_percentiles"],
        Said(
            "--format json has p50, p99, p99.9 and the maximum; samples.parquet has the histogram",
        ),
    ),
    (&["filename", "directory", "file", "dir", "target"], Target),
    (
        &["job_file", "jobfile", "jobs_file", "section"],
        Said("use --programs FILE, a list of programs in TOML with fio's option names"),
    ),
    (&["name"], Said("rows get their names from their options; --output names the run")),
    (&["group_reporting"], Said("leave it out: the jobs of a row are reported together")),
    (&["thread"], Said("leave it out: each job is a thread")),
    (
        &["eta", "eta_*", "status_interval"],
        Said("leave it out: a terminal shows progress, results come at the end"),
    ),
    (
        &["verify", "verify_*", "do_verify"],
        Said("data is not verified; use fio for that, under lbolt record to trace it"),
    ),
    (&["cpus_allowed*", "cpumask", "numa_*"], Said("run lbolt under taskset(1) or numactl(8)")),
];

/// A command, a name that it does not have, and its option that is meant. Most are names of before
/// each option had one meaning in all commands.
const OF_COMMANDS: &[(&str, &str, &str)] = &[
    ("record", "method", "tracer"),
    ("top", "method", "tracer"),
    ("watch", "method", "tracer"),
    ("watch", "keep", "history-size"),
    ("watch", "incidents", "max-incidents"),
    ("export", "to", "output-format"),
    ("export", "format", "output-format"),
    ("synthesize", "requests", "number_ios"),
    ("compare", "report", "page"),
    ("papers", "report", "page"),
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

/// What a name of a job file of fio's ends with.
const JOB_FILES: [&str; 3] = [".fio", ".job", ".ini"];

/// What to do with a job file of fio's.
pub const JOB_FILE: &str = "lbolt does not read fio job files; write the jobs as \
                                   [[program]] tables in TOML, with fio's option names, for `lbolt \
                                   throughput --programs FILE` (see docs/guide/throughput.md), or \
                                   trace fio: `lbolt record -- fio FILE`";

/// Whether a text is a job file of fio's: it begins with a section, where TOML of ours has a key or
/// a list.
pub fn is_job_file(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    first
        .is_some_and(|line| line.starts_with('[') && line.ends_with(']') && !line.starts_with("[["))
}

/// Letters that a mistyped option may differ by.
const MISTYPED: usize = 2;

/// The error with the option or the value that was meant, and without tips that are none.
pub fn explain(error: &mut clap::Error, arguments: &[String]) {
    let known = Cli::command();
    let words = arguments.iter().skip(1);
    let command = words.filter_map(|word| known.find_subcommand(word)).next().unwrap_or(&known);
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            let typed = text(ContextKind::InvalidArg).unwrap_or_default();
            let guess = text(ContextKind::SuggestedArg);
            // To pass `--time` behind `--` would make a TARGET of it.
            error.remove(ContextKind::Suggested);
            let tip = option(&typed, command);
            let is_typo = |guess| strsim::damerau_levenshtein(&typed, guess) <= MISTYPED;
            if tip.is_some() || !guess.as_deref().is_some_and(is_typo) {
                error.remove(ContextKind::SuggestedArg);
            }
            tip
        }
        ErrorKind::InvalidSubcommand => {
            let typed = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            let is_job_file = JOB_FILES.iter().any(|end| typed.ends_with(end));
            is_job_file.then(|| JOB_FILE.to_owned())
        }
        ErrorKind::InvalidValue => {
            let typed = text(ContextKind::InvalidValue);
            let found = VALUES.iter().find(|(name, _)| typed.as_deref() == Some(*name));
            found.map(|(_, ours)| format!("use the value '{ours}'"))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedValue);
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
    }
}

/// What is meant by the name of an option that the command does not have.
fn option(typed: &str, command: &Command) -> Option<String> {
    let name = typed.trim_start_matches('-').to_lowercase().replace('-', "_");
    let own = |(of, known, _): &&(&str, &str, &str)| (*of, *known) == (command.get_name(), &*name);
    if let Some((.., option)) = OF_COMMANDS.iter().find(own) {
        return Some(format!("use '--{option}'"));
    }
    let is_it = |known: &&str| match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => **known == name,
    };
    let (_, meant) = NAMES.iter().find(|(names, _)| names.iter().any(&is_it))?;
    Some(match meant {
        Said(sentence) if options_in(sentence).all(|option| has(command, option)) => {
            (*sentence).to_owned()
        }
        Said(sentence) => format!("in 'lbolt throughput', {sentence}"),
        Target if takes_target(command) => "name it as TARGET, without an option".to_owned(),
        Target if has(command, "device") => "use '--device'".to_owned(),
        Target => "'lbolt throughput' takes it as TARGET, without an option".to_owned(),
        Ours(options) => match options.iter().find(|option| has(command, option)) {
            Some(option) => format!("use '--{option}'"),
            None => format!("'lbolt throughput' has it as '--{}'", options.first()?),
        },
    })
}

/// The options of ours that a sentence names.
fn options_in(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split([' ', ',', ';', ':']).filter_map(|word| word.strip_prefix("--"))
}

/// Whether a command has an option of that long name.
fn has(command: &Command, option: &str) -> bool {
    command.get_arguments().any(|known| known.get_long() == Some(option))
}

fn takes_target(command: &Command) -> bool {
    let names = |argument: &Arg| {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().any(|name| name == "TARGET")
    };
    command.get_positionals().any(names)
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
            match meant {
                Ours(options) => assert!(has(throughput, options[0]), "--{}", options[0]),
                Said(sentence) => {
                    options_in(sentence).for_each(|word| assert!(has(throughput, word), "--{word}"))
                }
                Target => assert!(takes_target(throughput)),
            }
            // What throughput has, other commands may lack.
            let other = |name: &&&str| !has(throughput, name) || **name == "runtime";
            assert!(names.iter().all(|name| other(&name)), "{names:?}");
        }
        for (command, name, option) in OF_COMMANDS {
            let command = known.find_subcommand(command).unwrap();
            assert!(has(command, option) && !has(command, name), "{name} {option}");
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
            ("throughput . --time 30", Some("tip: use '--runtime'")),
            ("throughput . --time=30", Some("tip: use '--runtime'")),
            ("throughput . --block-size=4k", Some("tip: use '--bs'")),
            ("throughput . --blocksize 4k", Some("tip: use '--bs'")),
            ("overhead . --io_depth 4", Some("tip: use '--iodepth'")),
            ("throughput . --o_direct", Some("tip: use '--direct'")),
            ("throughput . --filename=/dev/sdb", Some("tip: name it as TARGET")),
            ("record --time 10s", Some("tip: use '--duration'")),
            ("survey --bs 4k", None),
            ("survey --blocksize 4k", Some("tip: 'lbolt throughput' has it as '--bs'")),
            ("throughput . --rw read --ioengine aio", Some("tip: use the value 'libaio'")),
            ("throughput . --rw readwrite", Some("tip: use the value 'rw'")),
            ("throughput . --verify crc32c", Some("tip: data is not verified; use fio")),
            ("throughput . --verify_pattern=0xff", Some("tip: data is not verified")),
            ("throughput . --thread", Some("tip: leave it out: each job is a thread")),
            ("throughput . --rate 10m", Some("tip: bandwidth cannot be limited; --rate_iops")),
            ("record --rate 10m", Some("tip: in 'lbolt throughput', bandwidth")),
            ("throughput . --status-interval=1", Some("tip: leave it out: a terminal shows")),
            ("throughput . --sync=1", Some("tip: use --fsync or --fdatasync; lbolt sync also")),
            ("throughput . --ramp_time=5s", Some("tip: use --warmup N, which skips whole passes")),
            ("throughput . --cpus_allowed=0-3", Some("tip: run lbolt under taskset(1)")),
            ("record --filename=/dev/sdb", Some("tip: use '--device'")),
            ("simulate --filename=/dev/sdb", Some("tip: 'lbolt throughput' takes it as TARGET")),
            ("watch --keep 1g", Some("tip: use '--history-size'")),
            ("watch --incidents 3", Some("tip: use '--max-incidents'")),
            ("record --method bpf", Some("tip: use '--tracer'")),
            ("export run --to msr", Some("tip: use '--output-format'")),
            ("synthesize p --requests 9", Some("tip: use '--number_ios'")),
            ("compare a b --report x", Some("tip: use '--page'")),
            ("job.fio", Some("tip: lbolt does not read fio job files; write the jobs as")),
            ("throughput . --runtim 5s", Some("tip: a similar argument exists: '--runtime'")),
            // What is no slip of the fingers is no tip.
            ("throughput . --refill_buffers", None),
            ("throughput . --numbers", None),
            ("curve . --zipf 1.2", None),
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
                None => assert!(!said.contains("tip:"), "{said}"),
            }
        }
    }

    #[test]
    fn a_job_file_is_known_by_its_first_section() {
        for (text, is) in [
            ("[global]\nrw=randread\n[job1]\n", true),
            ("; a comment\n# another\n\n [seq-read]\nrw=read", true),
            ("[[program]]\nname = \"a\"\n", false),
            ("rows = [\"a\"]\n[[program]]\n", false),
            ("just a text\n[global]\n", false),
            ("", false),
        ] {
            assert_eq!(is_job_file(text), is, "{text}");
        }
        assert!(!is_job_file(experiment::throughput::BATTERY));
    }
}

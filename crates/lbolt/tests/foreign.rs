//! Parquet files that are damaged, or that another program wrote anew, as the commands meet them.
//! The files are those of crate model's `tests/parquet`.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{Lab, tool};
use model::record::requests::RequestFile;
use model::record::{Finding, RecordError, read_bytes};
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/parquet");
    std::fs::read(folder.join(name)).unwrap()
}

fn read_operations(bytes: Vec<u8>) -> Result<(), RecordError> {
    let file = RequestFile::of_bytes(Path::new("x"), bytes.into())?;
    // A column that every command reads.
    let mut reader = file.read(0..file.groups(), &["op"])?;
    while reader.next_batch()?.is_some() {}
    Ok(())
}

/// The bytes with one of them changed, so that what decodes them panics.
fn panicking(bytes: &[u8], read: impl Fn(Vec<u8>) -> Result<(), RecordError>) -> Option<Vec<u8>> {
    let changes = (0..bytes.len()).flat_map(|at| [0xff, 0x7f].map(|byte| (at, byte)));
    let mut changed = changes.map(|(at, byte)| {
        let mut changed = bytes.to_vec();
        changed[at] = byte;
        changed
    });
    let stops = |bytes: &Vec<u8>| {
        read(bytes.clone()).is_err_and(|error| error.to_string().contains("its decoder stopped"))
    };
    changed.find(stops)
}

/// A run of a few requests.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("log", "fio version 3 iolog\n10 /dev/sda read 0 4096\n20 /dev/sda write 8192 512\n");
    assert_eq!(lab.run("import log -o run").code, 0);
    lab
}

#[test]
fn one_changed_byte_is_an_error_of_every_command_and_nothing_panics() {
    let lab = lab();
    let changed = panicking(&fixture("delta_byte_array.parquet"), read_operations).unwrap();
    lab.file("run/requests.parquet", changed);
    for words in [
        "response run",
        "response run --format json",
        "export run --output-format blkparse -o out",
        "export run --output-format msr -o out",
        "simulate run --model atlas10k -o simulated",
        "compare run run",
    ] {
        let ended = lab.run(words);
        assert!(ended.code == 1 || ended.code == 2, "{words}: {} {}", ended.code, ended.err);
        assert_eq!(ended.out, "", "{words}");
        let said: Vec<&str> =
            ended.err.lines().filter(|line| line.starts_with("lbolt: ")).collect();
        assert_eq!(said.len(), 1, "{words}: {}", ended.err);
        assert!(said[0].contains("run/requests.parquet"), "{words}: {}", ended.err);
        assert!(said[0].contains("use another copy"), "{words}: {}", ended.err);
        assert!(!ended.err.contains("panicked"), "{words}: {}", ended.err);
    }
    assert!(!lab.path("simulated").exists());
    // What only names files reads none of them.
    assert_eq!(lab.run("sql --requests run").code, 0);
}

#[test]
fn findings_that_are_damaged_are_named() {
    let lab = lab();
    let path = lab.path("run/findings.parquet");
    let read = |bytes: Vec<u8>| read_bytes::<Finding>(Path::new("x"), bytes.into()).map(|_| ());
    let bytes = std::fs::read(&path).unwrap();
    // Some change is an error, whether the library panics or not.
    let changed = panicking(&bytes, read).unwrap_or_else(|| bytes[..bytes.len() - 1].to_vec());
    std::fs::write(&path, changed).unwrap();
    let ended = lab.run("runs --runs-dir . list");
    assert!(ended.out.contains("damaged"), "{} {}", ended.out, ended.err);
    for words in ["runs show run", "compare run run"] {
        let ended = lab.run(words);
        assert!(ended.code == 1 || ended.code == 2, "{words}: {}", ended.err);
        assert!(ended.err.contains("run/findings.parquet"), "{words}: {}", ended.err);
        assert!(!ended.err.contains("panicked"), "{words}: {}", ended.err);
    }
}

#[test]
fn what_a_lost_footer_told_is_unknown_and_never_zero() {
    let lab = Lab::new();
    lab.file("spark.parquet", fixture("spark.parquet"));
    let ended = lab.run("response spark.parquet --all");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.out.contains("0 events lost"), "{}", ended.out);
    assert!(ended.out.contains("Unknown, for the file's footer does not tell"), "{}", ended.out);
    assert!(
        ended.out.contains("events lost") && ended.out.contains("60 requests"),
        "{}",
        ended.out
    );
    assert!(ended.err.contains("rewritten by parquet-cpp-arrow"), "{}", ended.err);
    let ended = lab.run("response spark.parquet --format json");
    let report = ended.report();
    let of = |quantity: &str| {
        report.findings().iter().find(|f| f["quantity"] == quantity).unwrap().clone()
    };
    for quantity in ["lost_count", "events_count", "reused_count", "rejected_count"] {
        assert!(of(quantity)["value"].is_null(), "{quantity}");
        assert_eq!(of(quantity)["verdict"], "not_measured");
        assert_eq!(of(quantity)["doubts"][0]["code"], "count_unknown");
    }
    // What the rows themselves tell.
    assert_eq!(of("requests_count")["value"], 60.0);
    assert_eq!(of("unanswered_count")["value"], 5.0);
    assert_eq!(of("unsorted_count")["value"], 0.0);
    assert!(ended.out.contains("\"origin\": \"unknown\""), "{}", ended.out);
    let devices: Vec<_> =
        report.findings().iter().filter(|f| f["subject"]["by"] == "device").collect();
    assert!(devices.iter().any(|f| f["subject"]["class"] == "8:0"));
    // The same rows of the other programs are the same findings.
    for name in ["default", "pandas", "gzip", "lz4", "checksums"] {
        lab.file("other.parquet", fixture(&format!("{name}.parquet")));
        let other = lab.run("response other.parquet --format json");
        assert_eq!(other.report().findings(), report.findings(), "{name}");
    }
    let ended = lab.run("simulate spark.parquet --model generic-7200rpm -o simulated");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("--arrivals"), "{}", ended.err);
    let ended = lab.run("export spark.parquet --output-format msr -o out.csv");
    assert_eq!(ended.code, 0, "{}", ended.err);
}

/// A Python that has pyarrow: the one beside what is built, or the machine's own.
fn python() -> Option<String> {
    let ours = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../python/bin/python3");
    let found = [ours.display().to_string(), "python3".to_owned()]
        .into_iter()
        .find(|python| tool(python, &["-c", "import pyarrow.parquet"]).is_some());
    if found.is_none() {
        println!("skipped: needs python3 with the module pyarrow");
    }
    found
}

/// Some rows of a run of ours. Where the footer is copied, it counts rows that are not there.
#[test]
fn what_pyarrow_filters_or_shuffles_is_read_for_what_it_is() {
    let Some(python) = python() else { return };
    let lab = Lab::new();
    let line = |n: u64| {
        format!("{} /dev/sda {} {} 4096\n", n * 10, ["read", "write"][n as usize % 2], n << 20)
    };
    let log: String = (1..=100).map(line).collect();
    lab.file("log", format!("fio version 3 iolog\n{log}"));
    assert_eq!(lab.run("import log -o run").code, 0);
    let script = "
import pyarrow.parquet as pq, pyarrow.compute as pc
table = pq.read_table('run/requests.parquet')
reads = table.filter(pc.equal(table['op'].cast('string'), 'read'))
footer = pq.ParquetFile('run/requests.parquet').metadata.metadata
pq.write_table(reads.replace_schema_metadata(footer), 'reads.parquet')
pq.write_table(reads.take(list(range(49, -1, -1))), 'shuffled.parquet')
pq.write_table(table.drop_columns(['cgroup', 'command']), 'narrow.parquet')
pq.write_table(table.drop_columns(['completed_ns']), 'no-completions.parquet')
";
    let mut command = lab.command(&python);
    command.args(["-c", script]);
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);

    let ended = lab.run("response reads.parquet --all");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("50 requests"), "{}", ended.out);
    assert!(!ended.out.contains("0 events lost") && ended.out.contains("Unknown"), "{}", ended.out);
    // Devices' names are still there.
    assert!(ended.out.contains("sda"), "{}", ended.out);

    let ended = lab.run("response shuffled.parquet --all");
    assert!(ended.out.contains("49 rows follow a row that arrived later"), "{}", ended.out);
    for words in [
        "export shuffled.parquet --output-format fio-iolog -o out",
        "simulate shuffled.parquet --model generic-7200rpm -o simulated",
    ] {
        let ended = lab.run(words);
        assert_eq!(ended.code, 1, "{words}: {}", ended.err);
        assert!(ended.err.contains("sort the rows"), "{words}: {}", ended.err);
    }
    let ended = lab.run("response narrow.parquet --all");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended.err.contains("narrow.parquet lacks the columns cgroup, command"),
        "{}",
        ended.err
    );
    let ended = lab.run("response no-completions.parquet --all");
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains("column completed_ns is missing"), "{}", ended.err);
}

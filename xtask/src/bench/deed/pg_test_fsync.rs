//! PostgreSQL's pg_test_fsync, whose table of methods is read: its first part is one write of 8 KiB
//! by each of them. Source: PostgreSQL's src/bin/pg_test_fsync/pg_test_fsync.c.

use super::super::turn::Turn;
use anyhow::{Context as _, bail, ensure};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Where Debian puts it, by version.
const HOME: &str = "/usr/lib/postgresql";

/// SECONDS FILE: so long for each method.
pub(in super::super) fn pg_test_fsync(words: &[&str]) -> anyhow::Result<Turn> {
    let [seconds, file] = words else { bail!("pg-test-fsync SECONDS FILE") };
    let mut command = Command::new(program("pg_test_fsync")?);
    command.args(["-s", seconds, "-f", file]).stdin(Stdio::null());
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut turn = Turn::default();
    let told = first_part(&String::from_utf8_lossy(&output.stdout));
    ensure!(!told.is_empty(), "pg_test_fsync printed no rate");
    told.into_iter().for_each(|(method, rate)| turn.add(&format!("{method}_per_s"), rate));
    Ok(turn)
}

/// The newest one of a name that is installed.
pub(super) fn program(name: &str) -> anyhow::Result<PathBuf> {
    let versions = std::fs::read_dir(HOME).context("PostgreSQL is not installed")?;
    let all = versions.flatten().map(|version| version.path().join("bin").join(name));
    all.filter(|path| path.is_file()).max().with_context(|| format!("there is no {name}"))
}

/// Methods with their commits a second, until one comes again: then the next part has begun.
fn first_part(printed: &str) -> Vec<(String, f64)> {
    let mut told: Vec<(String, f64)> = Vec::new();
    for line in printed.lines().filter(|line| line.contains(" ops/sec")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [method, rate, ..] = words[..] else { continue };
        let Ok(rate) = rate.parse() else { continue };
        if told.iter().any(|(known, _)| known == method) {
            break;
        }
        told.push((method.to_owned(), rate));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_of_its_table_is_read() {
        let printed = "1 second per test\n\nCompare file sync methods using one 8kB write:\n\
            (in wal_sync_method preference order)\n        \
            open_datasync                      3171.404 ops/sec     315 usecs/op\n        \
            fdatasync                          2900.5 ops/sec     345 usecs/op\n        \
            fsync_writethrough                              n/a\n\n\
            Compare file sync methods using two 8kB writes:\n        \
            open_datasync                      1585.7 ops/sec     631 usecs/op\n";
        let told = first_part(printed);
        assert_eq!(told, [("open_datasync".into(), 3171.404), ("fdatasync".into(), 2900.5)]);
        assert_eq!(first_part("nothing"), []);
    }
}

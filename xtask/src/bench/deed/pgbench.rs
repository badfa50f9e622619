//! PostgreSQL's pgbench on a cluster of its own: what transactions a second its clients reach.
//!
//! Non-goals: how fast PostgreSQL can be: its settings are its own.

use super::super::turn::Turn;
use super::pg_test_fsync::program;
use anyhow::{Context as _, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory on a disk that PostgreSQL's user can reach.
const AT: &str = "/var/tmp";
/// It does not run as root.
const USER: &str = "postgres";

/// CLIENTS SECONDS: each writes a little and commits, again and again.
pub(in super::super) fn pgbench(words: &[&str]) -> anyhow::Result<Turn> {
    let [clients, seconds] = words else { bail!("pgbench CLIENTS SECONDS") };
    let cluster = Cluster::start()?;
    let on = ["-h", cluster.at(), "postgres"];
    cluster.run("pgbench", &["-i", "-q", "-s", "4"], &on)?;
    let load = ["-n", "-N", "-c", clients, "-j", "2", "-T", seconds];
    let printed = cluster.run("pgbench", &load, &on)?;
    let mut turn = Turn::default();
    turn.add("transactions_per_s", rate(&printed).context("pgbench printed no rate")?);
    Ok(turn)
}

/// `tps = 1523.4 (without initial connection time)`
fn rate(printed: &str) -> Option<f64> {
    let rest = printed.lines().find_map(|line| line.strip_prefix("tps = "))?;
    rest.split(' ').next()?.parse().ok()
}

/// A server, which ends with this.
struct Cluster {
    programs: PathBuf,
    home: tempfile::TempDir,
}

impl Cluster {
    fn start() -> anyhow::Result<Self> {
        let programs = program("initdb")?.parent().context("no directory")?.to_owned();
        let home = tempfile::Builder::new().prefix("lbolt-bench-").tempdir_in(AT)?;
        let owned = Command::new("chown").arg(USER).arg(home.path()).status()?;
        ensure!(owned.success(), "failed to give {} to {USER}", home.path().display());
        let cluster = Self { programs, home };
        cluster.run("initdb", &["-N", "-A", "trust"], &["-D", &cluster.data()])?;
        let options = format!("-c listen_addresses= -c unix_socket_directories={}", cluster.at());
        let log = format!("{}/log", cluster.at());
        let words = ["-w", "-D", &cluster.data(), "-l", &log, "-o", &options];
        cluster.run("pg_ctl", &words, &["start"])?;
        Ok(cluster)
    }

    fn at(&self) -> &str {
        self.home.path().to_str().unwrap_or(AT)
    }

    fn data(&self) -> String {
        format!("{}/data", self.at())
    }

    /// Runs one of its programs as its user, and tells what it printed.
    fn run(&self, name: &str, words: &[&str], more: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--init-groups"]);
        command.arg(self.programs.join(name)).args(words).args(more).current_dir("/");
        // A server that goes on would keep a pipe open.
        let told = self.home.path().join("told");
        let file = std::fs::File::create(&told)?;
        let status = command.stdout(file.try_clone()?).stderr(file).status()?;
        let printed = std::fs::read_to_string(&told)?;
        ensure!(status.success(), "{name}: {printed}");
        Ok(printed)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if Path::new(&self.data()).exists() {
            let _ = self.run("pg_ctl", &["-m", "immediate", "-D", &self.data()], &["stop"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn the_rate_is_read() {
        let printed = "number of failed transactions: 0 (0.000%)\nlatency average = 2.6 ms\n\
            initial connection time = 4.1 ms\ntps = 1523.4 (without initial connection time)\n";
        assert_eq!(rate(printed), Some(1523.4));
        assert_eq!(rate("pgbench: error"), None);
    }
}

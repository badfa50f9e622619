//! What the indirect way loses against the direct one. The same program runs on a device, which is
//! the direct way, and on a fast disk, where it is traced. From that trace come the indirect ways:
//! requests made of its profile, simulated; the trace itself, simulated; and the trace replayed on
//! the device. Each is held against the direct one.
//!
//! The program is four processes that each wait for a request before the next, think, and sync
//! now and then: what one request takes decides when the next one comes.

use super::super::turn::Turn;
use super::devices::{Device, Modelled, done, loop_disk, profile};
use super::rows;
use super::statistic::Times;
use anyhow::bail;
use model::record::{Op, Request};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Places of the program, from the device's beginning.
const AREA: &str = "300m";
const AREA_BYTES: u64 = 300 << 20;
const LENGTH_BYTES: u32 = 4096;
const JOBS: u32 = 4;

/// LBOLT DRIVE SLOW OUTSTANDING REQUESTS AT: ratios of each indirect way to the direct one.
pub(in super::super) fn indirect(words: &[&str]) -> anyhow::Result<Turn> {
    let [lbolt, drive, slow, outstanding, requests, at] = words else {
        bail!("indirect LBOLT DRIVE SLOW OUTSTANDING REQUESTS AT");
    };
    let directory = tempfile::tempdir_in(at)?;
    let directory = directory.path();
    let (slow, depth): (f64, u32) = (slow.parse()?, outstanding.parse()?);
    let model = directory.join("model.toml");
    std::fs::write(&model, profile(drive, depth, slow))?;
    let requests: u32 = requests.parse()?;
    let device = Device::Modelled(Modelled { model, slow, depth, keys: vec![] });
    let lab = Lab { lbolt, directory, slow, requests };
    let disk = loop_disk(Path::new(at))?;
    let direct = lab.traced(&device)?;
    let source = lab.traced(&Device::Real(&disk))?;
    lab.ways(&device, &direct, &source)
}

struct Lab<'a> {
    lbolt: &'a str,
    directory: &'a Path,
    slow: f64,
    requests: u32,
}

impl Lab<'_> {
    /// A path for what is made now, at which nothing is.
    fn fresh(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.directory.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        Ok(path)
    }

    /// The program's requests on a device.
    fn traced(&self, device: &Device<'_>) -> anyhow::Result<Vec<Request>> {
        let run = self.fresh("traced")?;
        let line = format!(
            "{} record -d $(basename $LBOLT_DEVICE) -o {} -- fio --name=p \
             --filename=$LBOLT_DEVICE --direct=1 --ioengine=psync --rw=randrw --rwmixread=70 \
             --bs=4k --size={AREA} --norandommap --numjobs={JOBS} --number_ios={} --fsync=16 \
             --thinktime=4ms --thinktime_blocks=1 --output=/dev/null >&2",
            self.lbolt,
            run.display(),
            self.requests / JOBS,
        );
        device.run(self.lbolt, "none", &line)?;
        let mut rows = rows::read(&run)?;
        rows.retain(is_programs);
        Ok(rows)
    }

    /// The source's requests on the device again.
    fn replayed(
        &self,
        device: &Device<'_>,
        trace: &Path,
        arrivals: &str,
    ) -> anyhow::Result<Vec<Request>> {
        let run = self.fresh("replayed")?;
        let line = format!(
            "{} replay {} --arrivals {arrivals} --on $LBOLT_DEVICE --destroy $LBOLT_DEVICE \
             --lateness-p50 1h --lateness-p99 1h -o {} > {}",
            self.lbolt,
            trace.display(),
            run.display(),
            self.directory.join("said").display(),
        );
        device.run(self.lbolt, "none", &line)?;
        rows::read(&run)
    }

    /// A trace on the model, in the device's time.
    fn simulated(&self, trace: &Path, arrivals: &str) -> anyhow::Result<Vec<Request>> {
        let run = self.fresh("simulated")?;
        let mut command = Command::new(self.lbolt);
        command.arg("simulate").arg(trace).arg("--model").arg(self.directory.join("model.toml"));
        command.args(["--arrivals", arrivals, "--draws", "0", "--output"]).arg(&run);
        done(&mut command)?;
        Ok(rows::quickened(&rows::read(&run)?, 1.0 / self.slow))
    }

    /// Requests made of a trace's profile.
    fn synthesized(&self, trace: &Path) -> anyhow::Result<PathBuf> {
        let (mix, made) = (self.directory.join("mix.toml"), self.fresh("made")?);
        if mix.exists() {
            std::fs::remove_file(&mix)?;
        }
        done(Command::new(self.lbolt).arg("profile").arg(trace).arg("-o").arg(&mix))?;
        done(Command::new(self.lbolt).arg("synthesize").arg(&mix).arg("-o").arg(&made))?;
        Ok(made)
    }

    /// Every way over the direct one.
    fn ways(
        &self,
        device: &Device<'_>,
        direct: &[Request],
        source: &[Request],
    ) -> anyhow::Result<Turn> {
        let (trace, quick) =
            (self.directory.join("trace.parquet"), self.directory.join("quick.parquet"));
        rows::write(&trace, source)?;
        // In the model's own time.
        rows::write(&quick, &rows::quickened(source, self.slow))?;
        let made = self.synthesized(&quick)?;
        let ways = [
            ("source", source.to_vec()),
            ("profile", self.simulated(&made, "open")?),
            ("simulated", self.simulated(&quick, "dependent")?),
            ("simulated_open", self.simulated(&quick, "open")?),
            ("replayed", self.replayed(device, &trace, "dependent")?),
            ("replayed_open", self.replayed(device, &trace, "open")?),
        ];
        let direct = times(direct);
        let mut turn = Turn::default();
        for (way, rows) in ways {
            let found = times(&rows);
            for class in ["read", "write"] {
                for number in ["p50", "mean", "p99"] {
                    let known = found.number(class, number).zip(direct.number(class, number));
                    let Some((own, truth)) = known else { continue };
                    turn.add(&format!("{way}_{class}_{number}"), own / truth);
                    turn.add(&format!("direct_{class}_{number}"), truth);
                }
            }
        }
        Ok(turn)
    }
}

/// Whether the program made it: what looks at a device that has changed reads elsewhere.
fn is_programs(row: &Request) -> bool {
    let is_in_area = row.offset_bytes.is_none_or(|place| place < AREA_BYTES);
    let has_length = matches!(row.op, Op::Read | Op::Write) && row.length_bytes == LENGTH_BYTES;
    row.completed_ns.is_some() && is_in_area && (has_length || row.op == Op::Flush)
}

fn times(rows: &[Request]) -> Times {
    let mut times = Times::default();
    for row in rows.iter().filter(|row| is_programs(row)) {
        if let Some((came_ns, done_ns)) = row.arrival_ns().zip(row.completed_ns) {
            times.add(row.op.name(), (done_ns - came_ns) as f64);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_did_not_make_is_left_out() {
        let row = |op, offset_bytes, length_bytes| Request {
            op,
            offset_bytes,
            length_bytes,
            queued_ns: Some(0),
            completed_ns: Some(9),
            ..Request::default()
        };
        let rows = [
            row(Op::Read, Some(4096), 4096),
            row(Op::Read, Some(4096), 512),
            row(Op::Read, Some(AREA_BYTES), 4096),
            row(Op::Flush, None, 0),
            Request { completed_ns: None, ..row(Op::Write, Some(0), 4096) },
        ];
        let times = times(&rows);
        assert_eq!(times.classes().collect::<Vec<_>>(), ["flush", "read"]);
        assert_eq!(times.count("read"), 1);
    }
}

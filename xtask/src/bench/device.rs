//! A modelled device against its model: random reads of 4 KiB, on the device or through ext4 on it,
//! as `lbolt record` has them, and what the model says of the same places in the same order.

use super::turn::Turn;
use anyhow::{Context as _, bail};
use model::record::Request;
use model::record::requests::RequestFile;
use sim::profile::CATALOG;
use sim::replay::{Live, ReplayMachine};
use std::path::Path;
use std::process::{Command, Stdio};

/// LBOLT MODEL raw|ext4 DEPTH SECONDS: a device's times and its model's; MODEL may have other
/// keys of a device.
pub(super) fn device(words: &[&str]) -> anyhow::Result<Turn> {
    let [lbolt, model, way, depth, seconds] = words else {
        bail!("device LBOLT MODEL raw|ext4 DEPTH SECONDS");
    };
    // The bench's own directory has no name that a mount could be at.
    let directory = tempfile::tempdir()?;
    let directory = directory.path();
    let run = directory.join("run").display().to_string();
    let fio = format!(
        "fio --name=r --direct=1 --rw=randread --bs=4k --ioengine=psync --numjobs={depth} \
         --runtime={seconds} --time_based --norandommap --output=/dev/null"
    );
    let record =
        |fio: &str| format!("{lbolt} record -d $(basename $LBOLT_DEVICE) -o {run} -- {fio} >&2");
    let (prepare, script) = match *way {
        "raw" => ("true".to_owned(), record(&format!("{fio} --filename=$LBOLT_DEVICE"))),
        _ => {
            // Whole at once: else the kernel goes on with it while it is measured.
            let mkfs =
                "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 $LBOLT_DEVICE 400m";
            let mount = "mkdir -p m && mount -o noatime $LBOLT_DEVICE m";
            let lay_out = "fio --name=l --filename=m/f --size=300m --rw=write --bs=1m \
                           --end_fsync=1 --output=/dev/null";
            let prepare = format!("{mkfs} && {mount} && {lay_out}; umount m");
            let read = record(&format!("{fio} --filename=m/f --size=300m"));
            (prepare, format!("{mount} && {read}; umount m"))
        }
    };
    // Mounts of its own: they go with it.
    let output = Command::new("unshare")
        .args(["-m", lbolt, "device", &format!("model:{model}"), "--format", "json"])
        .args(["--prepare", &prepare, "--", "sh", "-c", &script])
        .current_dir(directory)
        .stderr(Stdio::null())
        .output()
        .context("failed to run unshare")?;
    let late: serde_json::Value = serde_json::from_slice(&output.stdout)
        .context("the device did not say how late it was: is this root, with fio and ext4?")?;
    let (offsets, measured_ns) = read_back(Path::new(&run))?;
    let (name, slow) = (model.split(',').next().unwrap_or(model), slow_of(model));
    let modelled_ns = modelled_mean_ns(name, &offsets, depth.parse()?)? * slow;
    let mut turn = Turn::default();
    turn.add("measured_mean_ns", measured_ns);
    turn.add("modelled_mean_ns", modelled_ns);
    turn.add("requests", offsets.len() as f64);
    for key in ["p50_ns", "p99_ns"] {
        turn.add(&format!("lateness_{key}"), late[key].as_f64().unwrap_or(f64::NAN));
    }
    Ok(turn)
}

fn slow_of(model: &str) -> f64 {
    let slow = model.split(',').find_map(|part| part.strip_prefix("slow="));
    slow.and_then(|slow| slow.parse().ok()).unwrap_or(1.0)
}

/// The places of the reads in the order of their coming, and what they took on average, ns.
fn read_back(run: &Path) -> anyhow::Result<(Vec<u64>, f64)> {
    let file = RequestFile::open(&run.join("requests.parquet"))?;
    let columns =
        &["op", "offset_bytes", "length_bytes", "queued_ns", "started_ns", "completed_ns"];
    let mut reader = file.read(0..file.groups(), columns)?;
    let (mut offsets, mut sum_ns) = (Vec::new(), 0.0);
    while let Some(batch) = reader.next_batch()? {
        for row in batch.rows().filter(|row| row.length_bytes == 4096) {
            let Some((came_ns, done_ns)) = row.arrival_ns().zip(row.completed_ns) else { continue };
            offsets.push(row.offset_bytes.unwrap_or(0));
            sum_ns += (done_ns - came_ns) as f64;
        }
    }
    if offsets.is_empty() {
        bail!("nothing was read");
    }
    let mean_ns = sum_ns / offsets.len() as f64;
    Ok((offsets, mean_ns))
}

/// What the model says that reads of these places take on average, so many at once, ns.
fn modelled_mean_ns(model: &str, offsets: &[u64], depth: usize) -> anyhow::Result<f64> {
    let mut live = Live::new(ReplayMachine::of(&CATALOG.load(model)?)?);
    let (mut came, mut sum_ns, mut now_ns) = (Vec::new(), 0.0, 0);
    let mut known = Vec::new();
    let give = |live: &mut Live, now_ns: u64, came: &mut Vec<u64>| {
        let Some(offset) = offsets.get(came.len()) else { return Ok(()) };
        let request = Request {
            request_id: came.len() as u64,
            queued_ns: Some(0),
            offset_bytes: Some(*offset),
            length_bytes: 4096,
            ..Request::default()
        };
        came.push(now_ns);
        live.come(now_ns, request)
    };
    for _ in 0..depth {
        give(&mut live, now_ns, &mut came)?;
    }
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut done = 0;
    while done < offsets.len() {
        live.advance(now_ns, &mut known);
        open.extend(known.drain(..).map(|(number, at_ns)| (at_ns, number)));
        open.sort_unstable();
        let over = open.iter().take_while(|(at_ns, _)| *at_ns <= now_ns).count();
        for (at_ns, number) in open.drain(..over) {
            sum_ns += (at_ns - came[number as usize]) as f64;
            done += 1;
            give(&mut live, now_ns, &mut came)?;
        }
        let next_ns = [open.first().map(|(at_ns, _)| *at_ns), live.next_ns()];
        now_ns = next_ns
            .into_iter()
            .flatten()
            .filter(|at_ns| *at_ns > now_ns)
            .min()
            .unwrap_or(now_ns + 1);
    }
    Ok(sum_ns / offsets.len() as f64)
}

//! `lbolt device`: a modelled drive as a device of this machine: its data, its times, its end, and
//! what is refused.

use crate::common::{Ended, Lab, is_root, tool, wait_for};
use model::record::requests::RequestFile;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;

/// Runs a shell's script on a modelled device.
fn on_device(lab: &Lab, target: &str, script: &str) -> Ended {
    let mut command = lab.lbolt(&format!("device {target} -- sh -c"));
    command.arg(script);
    let ended = lab.end(command);
    assert_eq!(ended.code, 0, "{}", ended.err);
    ended
}

#[test]
fn root_what_was_written_is_read_and_a_file_system_is_sound() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let script = "set -e; e2fsck -fn $LBOLT_DEVICE >&2; \
                  head -c 3000000 /dev/urandom > d/data; \
                  dd if=d/data of=$LBOLT_DEVICE bs=64k conv=fsync status=none; \
                  head -c 3000000 $LBOLT_DEVICE | cmp - d/data; \
                  blockdev --flushbufs $LBOLT_DEVICE; \
                  head -c 3000000 $LBOLT_DEVICE | cmp - d/data";
    let mut command = lab.lbolt("device model:cheetah9lp,size=64m --prepare");
    command.args(["mkfs.ext4 -q -F $LBOLT_DEVICE 16m", "--", "sh", "-c", script]);
    let ran = lab.end(command);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("The device completed"), "{}", ran.out);
    lab.assert_clean();
}

/// The kernel's own times are the model's: those that `record` has of the device, and those that
/// the device says that its model had. Everything takes 20 times as long, so that what a busy
/// machine adds is a small part.
#[test]
fn root_requests_take_as_long_as_the_model_says() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let lbolt = env!("CARGO_BIN_EXE_lbolt");
    let reads = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do dd if=$LBOLT_DEVICE of=/dev/null bs=4k \
                 count=1 skip=$((i * 104729 % 2000000)) iflag=direct status=none; done";
    let script = format!(
        "export R='{reads}'; {lbolt} record -d $(basename $LBOLT_DEVICE) -o r -- sh -c \"$R\""
    );
    let ran = on_device(&lab, "model:atlas10k,slow=20", &script);
    let modelled_ms = ran.out.split("mean response time of ").nth(1).unwrap();
    let modelled_ms: f64 = modelled_ms.split(" ms").next().unwrap().parse().unwrap();
    let file = RequestFile::open(&lab.path("r/requests.parquet")).unwrap();
    let columns = &["length_bytes", "queued_ns", "started_ns", "completed_ns"];
    let mut reader = file.read(0..file.groups(), columns).unwrap();
    let mut times: Vec<f64> = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        let rows = batch.rows().filter(|row| row.length_bytes == 4096);
        times.extend(
            rows.map(|row| (row.completed_ns.unwrap() - row.arrival_ns().unwrap()) as f64 / 1e6),
        );
    }
    assert_eq!(times.len(), 12);
    let mean_ms = times.iter().sum::<f64>() / times.len() as f64;
    assert!((mean_ms / modelled_ms - 1.0).abs() < 0.1, "{mean_ms} ms, model {modelled_ms} ms");
    assert!((100.0..400.0).contains(&mean_ms), "{mean_ms}");
    lab.assert_clean();
}

#[test]
fn root_killed_it_leaves_nothing_that_doctor_does_not_remove() {
    if !is_root() {
        return;
    }
    for which in ["lbolt device", "device-part"] {
        let lab = Lab::new();
        let mut running = lab.start(lab.lbolt("device model:ra81"));
        let err = running.err_path();
        let said = running.until("the device", || {
            let said = std::fs::read_to_string(&err).unwrap();
            said.contains("Ctrl-C ends it").then_some(said)
        });
        let name = said.split(':').next().unwrap().trim_start_matches("/dev/");
        let device = Path::new("/sys/block").join(name);
        assert!(device.join("loop/backing_file").exists(), "{said}");
        match which {
            "device-part" => {
                let part = Pid::from_raw(part_of(running.child.id())).unwrap();
                kill_process(part, Signal::KILL).unwrap();
            }
            _ => running.signal(Signal::KILL),
        }
        let ended = running.wait();
        assert_ne!(ended.code, 0, "{which}: {}", ended.err);
        wait_for("the device's end", || (!device.join("loop/backing_file").exists()).then_some(()));
        assert_eq!(lab.run("doctor --clean").code, 0);
        wait_for("the device's number", || (!device.exists()).then_some(()));
        assert!(lab.run("doctor --clean").out.contains("Nothing to clean"));
    }
}

/// The process that serves the device of another.
fn part_of(parent: u32) -> i32 {
    wait_for("the part that serves", || {
        let found = tool("pgrep", &["-P", &parent.to_string(), "-f", "device-part"])?;
        found.lines().next()?.parse().ok()
    })
}

#[test]
fn what_cannot_be_a_device_is_refused_in_a_sentence() {
    let lab = Lab::new();
    for (words, sentence) in [
        ("device ra81", "write model:NAME"),
        ("device model:ra82", "did you mean \"ra81\""),
        ("device model:ra81,slow=0", "from 1 to 1000000"),
        ("device model:ra81,size=1t", "size=1t is out of range; give 4k to 445536k"),
        ("device model:vax780-uda50-ra81", "cannot replay a trace"),
        ("device-part", "use `lbolt device`"),
    ] {
        lab.run(words).assert_refused(2, &[sentence]);
    }
    let plan = lab.run("device model:ra81,slow=3 --dry-run");
    assert!(plan.out.contains("\"slow\": 3.0"), "{}", plan.out);
    if is_root() {
        lab.run("device model:ra81 --at nowhere")
            .assert_refused(2, &["nowhere", "a writable directory"]);
        // Some 1 µs: what no kernel takes to a process and back, however quick the machine.
        let quick = "model:flash-nvme-2020,drive.command.read=0.1us,drive.nand.read=0.1us,\
                     drive.nand.read_level=0.1us,drive.nand.channel_rate=100000MB/s,\
                     drive.link.rate=100000MB/s";
        let quick = lab.run(&format!("device {quick} -- true"));
        quick.assert_refused(2, &["too slow for", "slow="]);
        let mut failing = lab.lbolt("device model:ra81 --prepare");
        failing.arg("exit 3");
        lab.end(failing).assert_refused(1, &["--prepare", "exit status: 3"]);
        lab.run("device model:ra81 -- no-such-program").assert_refused(2, &["no-such-program"]);
    }
    lab.assert_clean();
}

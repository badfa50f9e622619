//! A guest: QEMU with the disks of the table, the shared folder of a plan, and a limit of time.
//!
//! Emulated, by one thread for both CPUs: with several, the emulator crashes in code that the
//! kernel patches. So nothing that is timed in a guest means anything, but delays far above the
//! emulator's.

use super::cache::Boot;
use super::plan::{Case, Plan};
use super::table::{Guest, Machine};
use crate::command::Child;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const PRELUDE: &str = include_str!("guest/prelude.sh");
const DRIVER: &str = include_str!("guest/driver.sh");

/// A guest in which nothing happens for so long is stuck.
const SILENCE: Duration = Duration::from_secs(1200);
/// How often is looked for what it has done: there are many cases.
const TICK: Duration = Duration::from_millis(500);

/// How a guest ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It ran its whole plan.
    Done,
    /// It died before; why, by its console.
    Died(String),
    /// Because the lab was interrupted.
    Stopped,
}

/// A guest's folder.
#[derive(Debug)]
pub(super) struct Place {
    at: PathBuf,
}

impl Place {
    /// A new one for a plan: its scripts, the program, images of disks without content.
    /// Errors: a refusal of the file system.
    pub(super) fn make(
        at: PathBuf,
        plan: &Plan,
        lbolt: &Path,
        is_wanted: &dyn Fn(&Case) -> bool,
    ) -> anyhow::Result<Self> {
        let share = at.join("share");
        if share.join("plan").exists() {
            std::fs::remove_dir_all(share.join("plan"))?;
        }
        std::fs::create_dir_all(share.join("out"))?;
        std::fs::create_dir_all(share.join("plan"))?;
        _ = std::fs::remove_file(share.join("out/done"));
        std::fs::write(share.join("prelude.sh"), PRELUDE)?;
        std::fs::write(share.join("driver.sh"), DRIVER)?;
        _ = std::fs::remove_file(share.join("lbolt"));
        std::fs::copy(lbolt, share.join("lbolt"))?;
        plan.write(&share.join("plan"), is_wanted)?;
        Ok(Self { at })
    }

    /// Where the evidence of its cases is.
    pub(super) fn out(&self) -> PathBuf {
        self.at.join("share/out")
    }

    /// Boots it and waits for its end; `look` is called meanwhile.
    /// Errors: QEMU cannot be started.
    pub(super) fn run(
        &self,
        boot: &Boot,
        machine: &Machine,
        of: &Guest,
        is_stopped: &dyn Fn() -> bool,
        look: &mut dyn FnMut() -> bool,
    ) -> anyhow::Result<End> {
        let mut command = self.command(boot, machine, of)?;
        let mut guest = Child::start("QEMU", &mut command, &self.at.join("qemu"))?;
        let (mut last, mut end) = (Instant::now(), None);
        let status = guest.until(|| {
            std::thread::sleep(TICK);
            if look() {
                last = Instant::now();
            }
            end = if self.out().join("done").exists() {
                Some(End::Done)
            } else if is_stopped() {
                Some(End::Stopped)
            } else {
                let is_stuck = last.elapsed() > SILENCE;
                is_stuck.then(|| End::Died("nothing happened any more".to_owned()))
            };
            Ok(end.is_some())
        })?;
        drop(guest);
        self.remove_disks(machine);
        let is_done = self.out().join("done").exists();
        let end = if is_done { End::Done } else { end.unwrap_or_else(|| ended(status)) };
        Ok(match end {
            End::Died(why) => End::Died(why + &self.last_words()),
            end => end,
        })
    }

    fn disk(&self, number: usize) -> PathBuf {
        self.at.join(format!("disk{number}.img"))
    }

    fn remove_disks(&self, machine: &Machine) {
        for number in 0..machine.disks.len() {
            _ = std::fs::remove_file(self.disk(number));
        }
    }

    fn command(&self, boot: &Boot, machine: &Machine, of: &Guest) -> anyhow::Result<Command> {
        let mut command = Command::new("qemu-system-x86_64");
        let memory = machine.memory_mib.to_string();
        command.args(["-accel", "tcg,thread=single,tb-size=512", "-cpu", "max"]);
        command.arg("-smp").arg(of.cpus.to_string());
        command.args(["-m", &memory, "-nographic", "-no-reboot", "-nodefaults", "-net", "none"]);
        command.arg("-serial").arg(format!("file:{}", self.at.join("console").display()));
        command.arg("-kernel").arg(&boot.kernel).arg("-initrd").arg(&boot.initramfs);
        let mut line = "console=ttyS0 panic=-1 loglevel=4 mitigations=off norandmaps".to_owned();
        if let Some(image) = &boot.image {
            let drive = format!("file={},if=none,id=root,format=raw,snapshot=on", image.display());
            let device = "virtio-blk-pci,drive=root,addr=2,serial=root";
            command.args(["-drive", &format!("{drive},cache=unsafe"), "-device", device]);
            line += " lab.image=1";
        }
        for (path, tag, more) in
            [(self.at.join("share"), "lab", ""), (boot.modules.clone(), "modules", ",readonly=on")]
        {
            let path = path.display();
            let options = format!("local,path={path},mount_tag={tag},security_model=none{more}");
            command.args(["-virtfs", &options]);
        }
        for (number, disk) in machine.disks.iter().enumerate() {
            let file = self.disk(number);
            File::create(&file)?.set_len(machine.disk_mib << 20)?;
            command.args(disk.replace("FILE", &file.display().to_string()).split_whitespace());
        }
        command.arg("-append").arg(format!("{line} {}", of.parameters));
        command.stdout(Stdio::null());
        Ok(command)
    }

    /// What its console said last of why.
    fn last_words(&self) -> String {
        let text = |name: &str| {
            let bytes = std::fs::read(self.at.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let said = text("console") + &text("qemu");
        const SIGNS: [&str; 6] = ["Kernel panic", "BUG:", "Oops", "lab: ", "qemu-system", "int3"];
        let sign = said.lines().find(|line| SIGNS.iter().any(|sign| line.contains(sign)));
        sign.map(|line| format!(": {}", line.trim())).unwrap_or_default()
    }
}

fn ended(status: Option<ExitStatus>) -> End {
    End::Died(format!("QEMU ended{}", status.map(|s| format!(" ({s})")).unwrap_or_default()))
}

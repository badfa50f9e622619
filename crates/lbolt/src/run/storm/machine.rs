//! What a remedy changes of this machine, and how it is put back: noted before the first change,
//! put back by whatever ends the run, and by `doctor --clean` if it is killed.

use super::beside::Beside;
use super::predicted::{self, together};
use crate::run::device::ModelDevice;
use capture::leftover::{Kept, Note};
use experiment::storm::{Load, NONE, Plan, Surroundings, Window};
use host::device::Tree;
use host::group::{self, Group};
use host::remedy::{MountOption, Place, Remedy};
use host::remount;
use host::settings::{Setting, SettingError, Snapshot};
use messages::output::note;
use model::doubt::{Code, Doubt};
use model::seam::{PreparedTarget, SubjectError};
use sim::kernel::Layout;
use std::path::{Path, PathBuf};

/// The machine around the passes.
pub(super) struct Machine {
    device: Option<ModelDevice>,
    run: PathBuf,
    place: Place,
    /// What is measured at last, when that is known.
    plan: Option<Plan>,
    /// Where the files lie on a modelled drive.
    layout: Option<Layout>,
    /// The user's own load.
    beside: Option<Beside>,
    /// The target as it was named.
    target: String,
    /// The writer's cgroup under the present remedy.
    group: Option<Group>,
    /// What puts the changed mount options back.
    remounts: Vec<String>,
    /// As all was before anything was changed.
    before: Option<Snapshot>,
    /// How that is put back: [`Snapshot::restore`], but in tests.
    restore: fn(&Snapshot) -> Result<Vec<Setting>, SettingError>,
    /// As the present remedy has it.
    expected: Snapshot,
    /// The note of what was; dropped after all is put back.
    kept: Option<Kept>,
}

impl Machine {
    pub(super) fn new(device: Option<ModelDevice>, run: &Path) -> Self {
        let place = Place { device: None, dirty_bytes: 0, period_ns: 0, mounted: None };
        Self {
            device,
            run: run.to_owned(),
            place,
            plan: None,
            layout: None,
            beside: None,
            target: String::new(),
            group: None,
            remounts: vec![],
            before: None,
            restore: Snapshot::restore,
            expected: Snapshot::default(),
            kept: None,
        }
    }

    /// With the user's own load in the place of ours.
    pub(super) fn beside(mut self, beside: Option<Beside>) -> Self {
        self.beside = beside;
        self
    }

    /// The plan with its rates, once they are known.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Where the files lie on a modelled drive, as its file system told.
    pub(super) fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Where remedies are to help.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Notes how all is, before the first change.
    fn note(&mut self) -> Result<&Snapshot, String> {
        if self.before.is_none() {
            // The group that some remedy may make.
            let groups = group::place(std::process::id()).into_iter().collect();
            let note = Note { run: self.run.clone(), groups, ..Note::default() };
            let device = self.place.device.as_deref();
            let look = || Snapshot::of(device).map_err(|error| format!("failed to {error}"));
            let (kept, before) = Kept::of_settings(note, look)?;
            (self.before, self.kept) = (Some(before), Some(kept));
        }
        self.before.as_ref().ok_or_else(String::new)
    }

    /// All as it was before anything was changed.
    fn put_back(&mut self) -> Result<(), String> {
        self.group = None;
        let disk = self.place.device.clone().unwrap_or_default();
        if let Some(root) = self.place.mounted.clone() {
            while let Some(option) = self.remounts.last() {
                remount::set(&root, &disk, option)?;
                self.remounts.pop();
            }
        }
        match &self.before {
            Some(before) => {
                (self.restore)(before).map(drop).map_err(|error| format!("failed to {error}"))
            }
            None => Ok(()),
        }
    }

    /// Has a remedy beside those that there are.
    fn have(&mut self, remedy: &Remedy) -> Result<(), String> {
        if self.beside.is_some() {
            if let Some(what) = remedy.in_program {
                return Err(format!("only your program can do this: {what}"));
            }
            if !remedy.limits(&self.place)?.is_empty() {
                return Err("it applies only to the writer, and lbolt cannot tell which part of \
                            your program writes"
                    .into());
            }
        }
        if let Some(option) = remedy.mount {
            self.remount(option)?;
        }
        let (settings, limits) = (remedy.settings(&self.place)?, remedy.limits(&self.place)?);
        if !settings.is_empty() || !limits.is_empty() {
            self.note()?;
        }
        self.apply(&settings)?;
        if !limits.is_empty() {
            let group = match self.group.take() {
                Some(group) => group,
                None => Group::make(&group::place(std::process::id())?)?,
            };
            let group = self.group.insert(group);
            limits.iter().try_for_each(|limit| group.limit(limit))?;
        }
        Ok(())
    }

    /// Mounts our own file system with an option, and keeps what puts it back.
    fn remount(&mut self, option: MountOption) -> Result<(), String> {
        let Some(root) = self.place.mounted.clone() else {
            return Err(
                "lbolt changes mount options only on its own file systems: use fresh:FS or \
                        model:NAME"
                    .into(),
            );
        };
        let disk = self.place.device.clone().unwrap_or_default();
        let before = remount::now(&disk, option.set);
        let before = before.unwrap_or_else(|| option.otherwise.to_owned());
        if before == option.set || self.target.contains(option.set) {
            return Err(format!("the file system is already mounted with {}", option.set));
        }
        remount::set(&root, &disk, option.set)?;
        self.remounts.push(before);
        Ok(())
    }

    /// Writes all of these, or none where one of them could not be put back.
    fn apply(&self, settings: &[Setting]) -> Result<(), String> {
        // A scheduler's own settings go with it.
        let is_of_scheduler =
            |of: &Setting| of.path.components().any(|part| part.as_os_str() == "iosched");
        let is_noted =
            |of: &Setting| self.before.iter().flat_map(|all| &all.0).any(|was| was.path == of.path);
        if let Some(unnoted) = settings.iter().find(|of| !is_noted(of) && !is_of_scheduler(of)) {
            return Err(format!(
                "{} could not be put back: it cannot be read or written now, or has a value that \
                 lbolt does not know",
                unnoted.path.display()
            ));
        }
        let apply = |of: &Setting| of.apply().map_err(|error| format!("failed to {error}"));
        settings.iter().try_for_each(apply)
    }
}

impl Surroundings for Machine {
    fn laid_out(&mut self, target: &PreparedTarget) -> Result<(), String> {
        let devices = &target.devices;
        self.place.mounted.clone_from(&target.mounted);
        let tree = Tree::system();
        // The queue is the whole disk's.
        let disk = devices.first().map(|name| {
            let disk = tree.by_name(name).and_then(|number| tree.whole_disk(number).ok());
            disk.and_then(|disk| tree.name(disk).ok()).unwrap_or_else(|| name.clone())
        });
        self.place.device = disk;
        if let Some(device) = &mut self.device {
            device.hurry(false).map_err(|error| error.to_string())?;
        }
        self.beside.as_mut().map_or(Ok(()), |beside| beside.begin(devices))
    }

    fn load(&mut self) -> Option<&mut dyn Load> {
        self.beside.is_some().then_some(self as &mut dyn Load)
    }

    fn begin(&mut self, plan: &Plan) {
        self.place.period_ns = plan.period_ns;
        self.target = plan.systems.first().map_or_else(String::new, |s| s.target.clone());
        self.place.dirty_bytes = plan.dirty_bytes();
        self.plan = Some(plan.clone());
        if let (Some(root), Some(_)) = (&self.place.mounted, &self.device) {
            self.layout = predicted::found(root, plan.files().map(|(name, _)| name));
        }
        if let Some(device) = &mut self.device {
            // What the probe met is not of the passes.
            let _ = device.lateness();
        }
    }

    fn change(&mut self, remedy: &str) -> Result<(), String> {
        self.put_back()?;
        if remedy != NONE {
            together(remedy).into_iter().try_for_each(|remedy| self.have(remedy))?;
        }
        self.expected = Snapshot::of(self.place.device.as_deref()).unwrap_or_default();
        // A modelled drive begins each pass as new: of a flash drive the few places that are
        // written would become its history, and storms would go away by themselves.
        match &mut self.device {
            Some(device) => device.renew().map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    fn writer_group(&self) -> Option<PathBuf> {
        self.group.as_ref().map(|group| group.path().to_owned())
    }

    fn half_of(&self, logs: &[f64], tried: usize) -> Option<f64> {
        analyze::storm::half_of(logs, tried)
    }

    fn doubts(&mut self) -> Vec<Doubt> {
        let changed = self.expected.differences().into_iter().map(|(was, is)| {
            let what = format!("{} from {} to {}", was.path.display(), was.value, is.value);
            Doubt::new(Code::SettingChanged, [("what", what.into())])
        });
        let lateness = self.device.as_mut().and_then(|device| device.lateness().ok());
        let late = lateness.filter(host::served::Lateness::is_suspect).map(|late| {
            let values = [
                ("mean_ns", late.mean_ns.into()),
                ("p99_ns", (late.p99_ns as f64).into()),
                ("response_ns", late.response_mean_ns.into()),
            ];
            Doubt::new(Code::DeviceLate, values)
        });
        let untold = self.beside.as_ref().and_then(Beside::doubt);
        changed.chain(late).chain(untold).collect()
    }
}

/// The user's own load.
impl Load for Machine {
    fn settle(&mut self, for_ns: u64) -> Result<(), SubjectError> {
        self.beside.as_mut().map_or(Ok(()), |beside| beside.settle(for_ns))
    }

    fn watch(&mut self, for_ns: u64) -> Result<Window, SubjectError> {
        let written_bytes = |machine: &Self| {
            let tree = Tree::system();
            let number = tree.by_name(machine.place.device.as_deref()?)?;
            tree.stat(number).ok().map(|stat| stat.write_bytes)
        };
        let before = written_bytes(self);
        let Some(beside) = &mut self.beside else {
            return Err(SubjectError::Failed("no load is running; this is a bug".into()));
        };
        let window = beside.watch(for_ns)?;
        // Limits of dirty pages are shares of what the load writes in a period when nothing is
        // changed yet.
        if let (0, Some(before), Some(after)) =
            (self.place.dirty_bytes, before, written_bytes(self))
        {
            let share = self.place.period_ns as f64 / window.wall_ns.max(1) as f64;
            self.place.dirty_bytes = (after.saturating_sub(before) as f64 * share) as u64;
        }
        Ok(window)
    }
}

impl Machine {
    /// Has passes run in it, and puts all back when they have ended, however that was: what is made
    /// of the records takes its time, and the machine is others', too.
    pub(super) fn around<T>(&mut self, passes: impl FnOnce(&mut Self) -> T) -> T {
        let ran = passes(self);
        self.end().unwrap_or_else(|not_put_back| note(&not_put_back));
        ran
    }

    /// All is put back before the note goes; what could not be keeps it.
    /// Errors: what could not, in a sentence.
    fn end(&mut self) -> Result<(), String> {
        // The load ends first: nothing of it is to see settings change.
        self.beside = None;
        // The mount has ended with its subject.
        self.remounts.clear();
        let ended = self.put_back();
        self.before = None;
        self.kept = None;
        ended
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    thread_local! {
        /// What was put back, were it this machine's.
        static RESTORED: RefCell<Vec<Snapshot>> = const { RefCell::new(Vec::new()) };
    }

    fn restored() -> Vec<Snapshot> {
        RESTORED.take()
    }

    /// No machine has that disk.
    fn setting(name: &str) -> Setting {
        let path = Path::new("/sys/block/no-such-disk/queue").join(name);
        Setting { path, value: "8".into() }
    }

    /// A machine that noted how these are, and puts nothing back but in `RESTORED`.
    fn machine(run: &Path, noted: &[&str]) -> Machine {
        let mut machine = Machine::new(None, run);
        machine.before = Some(Snapshot(noted.iter().copied().map(setting).collect()));
        machine.restore = |before| {
            RESTORED.with_borrow_mut(|all| all.push(before.clone()));
            Ok(vec![])
        };
        machine
    }

    #[test]
    fn settings_are_put_back_when_the_passes_have_ended_however_that_was() {
        let run = tempfile::tempdir().unwrap();
        for outcome in [Ok(()), Err("interrupted")] {
            let mut machine = machine(run.path(), &["nr_requests"]);
            let passes = |machine: &mut Machine| {
                assert!(machine.before.is_some() && restored().is_empty(), "not before");
                outcome
            };
            assert_eq!(machine.around(passes), outcome);
            // Now, while the machine is still there: the analysis comes next.
            assert_eq!(restored(), [Snapshot(vec![setting("nr_requests")])]);
            drop(machine);
            assert!(restored().is_empty(), "once");
        }
        drop(machine(run.path(), &["nr_requests"]));
        assert_eq!(restored().len(), 1, "what unwinds puts back, too");
    }

    #[test]
    fn what_could_not_be_put_back_is_said() {
        let run = tempfile::tempdir().unwrap();
        let mut machine = machine(run.path(), &["nr_requests"]);
        machine.restore = |_| Err(SettingError::Unknown { path: "nr_requests".into() });
        let said = machine.end().unwrap_err();
        assert!(said.starts_with("failed to change nr_requests"), "{said}");
        assert_eq!(machine.end(), Ok(()), "it has ended");
    }

    #[test]
    fn a_setting_that_was_not_noted_is_not_changed_and_none_beside_it() {
        let run = tempfile::tempdir().unwrap();
        let machine = machine(run.path(), &["nr_requests"]);
        let apply = |names: &[&str]| {
            let settings: Vec<Setting> = names.iter().copied().map(setting).collect();
            machine.apply(&settings).unwrap_err()
        };
        let refused = apply(&["nr_requests", "wbt_lat_usec"]);
        assert!(refused.contains("queue/wbt_lat_usec could not be put back"), "{refused}");
        // It would be written, and the disk is not there.
        for names in [&["nr_requests"], &["iosched/fifo_batch"]] {
            let tried = apply(names);
            assert!(tried.starts_with("failed to write 8 to /sys/block/no-such-disk"), "{tried}");
        }
    }
}

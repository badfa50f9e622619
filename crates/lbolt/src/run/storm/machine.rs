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
use host::settings::{Setting, Snapshot};
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
            for option in std::mem::take(&mut self.remounts) {
                remount::set(&root, &disk, &option)?;
            }
        }
        match &self.before {
            Some(before) => {
                before.restore().map(drop).map_err(|error| format!("failed to {error}"))
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

    fn apply(&mut self, settings: &[Setting]) -> Result<(), String> {
        // A scheduler's own settings go with it.
        let is_of_scheduler =
            |of: &Setting| of.path.components().any(|part| part.as_os_str() == "iosched");
        for setting in settings {
            let is_noted =
                self.before.iter().flat_map(|all| &all.0).any(|was| was.path == setting.path);
            if !is_noted && !is_of_scheduler(setting) {
                return Err(format!(
                    "what {} says now cannot be read, so it could not be put back",
                    setting.path.display()
                ));
            }
            setting.apply().map_err(|error| format!("failed to {error}"))?;
        }
        Ok(())
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
    /// All is put back before the note goes; what could not be keeps it.
    /// Errors: what could not, in a sentence.
    pub(super) fn end(&mut self) -> Result<(), String> {
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

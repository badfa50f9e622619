//! What a remedy changes of this machine, and how it is put back: noted before the first change,
//! put back by whatever ends the run, and by `doctor --clean` if it is killed.

use super::beside::Beside;
use crate::run::device::ModelDevice;
use crate::run::leftover::{Kept, Note, settings_of_others};
use experiment::storm::{Load, NONE, Plan, Surroundings, Window};
use host::device::Tree;
use host::remedy::{Place, Remedy};
use host::settings::{Setting, Snapshot};
use model::doubt::{Code, Doubt};
use model::seam::SubjectError;
use std::path::{Path, PathBuf};

/// The machine around the passes.
pub(super) struct Machine {
    device: Option<ModelDevice>,
    run: PathBuf,
    place: Place,
    /// The user's own load, and how much of its time makes a period.
    beside: Option<Beside>,
    period_ns: u64,
    /// As all was before anything was changed.
    before: Option<Snapshot>,
    /// As the present remedy has it.
    expected: Snapshot,
    /// The note of what was; dropped after all is put back.
    kept: Option<Kept>,
}

impl Machine {
    pub(super) fn new(device: Option<ModelDevice>, run: &Path) -> Self {
        let place = Place { device: None, dirty_bytes: 0 };
        let (before, expected, kept) = (None, Snapshot::default(), None);
        let (beside, period_ns) = (None, 0);
        Self { device, run: run.to_owned(), place, beside, period_ns, before, expected, kept }
    }

    /// With the user's own load in the place of ours.
    pub(super) fn beside(mut self, beside: Option<Beside>) -> Self {
        self.beside = beside;
        self
    }

    /// Where remedies are to help.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Notes how all is, before the first change.
    fn note(&mut self) -> Result<&Snapshot, String> {
        if self.before.is_none() {
            let before = Snapshot::of(self.place.device.as_deref())
                .map_err(|error| format!("failed to {error}"))?;
            let note = Note { run: self.run.clone(), settings: before.clone(), ..Note::default() };
            let kept = Kept::note(note).map_err(|reason| {
                format!("settings are not changed where no note of them can be left: {reason}")
            })?;
            // After the note, so that of two that begin at once none goes on.
            if let Some(why) = settings_of_others() {
                return Err(why);
            }
            (self.before, self.kept) = (Some(before), Some(kept));
        }
        self.before.as_ref().ok_or_else(String::new)
    }

    fn apply(&mut self, settings: &[Setting]) -> Result<(), String> {
        for setting in settings {
            setting.apply().map_err(|error| format!("failed to {error}"))?;
        }
        Ok(())
    }
}

impl Surroundings for Machine {
    fn laid_out(&mut self, devices: &[String]) -> Result<(), String> {
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
        self.period_ns = plan.period_ns;
        let rate = plan.write.rate.unwrap_or(0.0);
        let bytes = rate * plan.write.block_bytes as f64 * plan.period_ns as f64 / 1e9;
        self.place.dirty_bytes = bytes as u64;
        if let Some(device) = &mut self.device {
            // What the probe met is not of the passes.
            let _ = device.lateness();
        }
    }

    fn change(&mut self, remedy: &str) -> Result<(), String> {
        if let Some(before) = &self.before {
            before.restore().map_err(|error| format!("failed to {error}"))?;
        }
        let named = Remedy::named(remedy).filter(|_| remedy != NONE);
        if let (Some(what), true) = (named.and_then(|r| r.in_program), self.beside.is_some()) {
            return Err(format!("your program would have to do it: {what}"));
        }
        let settings = named.map_or(Ok(vec![]), |remedy| remedy.settings(&self.place))?;
        if !settings.is_empty() {
            self.note()?;
            self.apply(&settings)?;
        }
        self.expected = Snapshot::of(self.place.device.as_deref()).unwrap_or_default();
        Ok(())
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
        changed.chain(late).collect()
    }
}

/// The user's own load.
impl Load for Machine {
    fn watch(&mut self, for_ns: u64) -> Result<Window, SubjectError> {
        let written_bytes = |machine: &Self| {
            let tree = Tree::system();
            let number = tree.by_name(machine.place.device.as_deref()?)?;
            tree.stat(number).ok().map(|stat| stat.write_bytes)
        };
        let before = written_bytes(self);
        let Some(beside) = &mut self.beside else {
            return Err(SubjectError::Failed("there is no load; this is a bug".into()));
        };
        let window = beside.watch(for_ns)?;
        // Limits of dirty pages are shares of what the load writes in a period when nothing is
        // changed yet.
        if let (0, Some(before), Some(after)) =
            (self.place.dirty_bytes, before, written_bytes(self))
        {
            let share = self.period_ns as f64 / window.wall_ns.max(1) as f64;
            self.place.dirty_bytes = (after.saturating_sub(before) as f64 * share) as u64;
        }
        Ok(window)
    }
}

impl Drop for Machine {
    /// All is put back before the note goes; what could not be keeps it.
    fn drop(&mut self) {
        // The load ends first: nothing of it is to see settings change.
        self.beside = None;
        if let Some(before) = &self.before {
            let _ = before.restore();
        }
        self.kept = None;
    }
}

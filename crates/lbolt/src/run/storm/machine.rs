//! What a remedy changes of this machine, and how it is put back: noted before the first change,
//! put back by whatever ends the run, and by `doctor --clean` if it is killed.

use crate::run::device::ModelDevice;
use crate::run::leftover::{Kept, Note, settings_of_others};
use experiment::storm::{NONE, Plan, Surroundings};
use host::device::Tree;
use host::remedy::{Place, Remedy};
use host::settings::{Setting, Snapshot};
use model::doubt::{Code, Doubt};
use std::path::{Path, PathBuf};

/// The machine around the passes.
pub(super) struct Machine {
    device: Option<ModelDevice>,
    run: PathBuf,
    place: Place,
    /// What is measured at last, when that is known.
    plan: Option<Plan>,
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
        let (plan, before, expected, kept) = (None, None, Snapshot::default(), None);
        Self { device, run: run.to_owned(), place, plan, before, expected, kept }
    }

    /// The plan with its rates, once they are known.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
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
        match &mut self.device {
            Some(device) => device.hurry(false).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    fn begin(&mut self, plan: &Plan) {
        self.place.dirty_bytes = plan.dirty_bytes();
        self.plan = Some(plan.clone());
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

impl Drop for Machine {
    /// All is put back before the note goes; what could not be keeps it.
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = before.restore();
        }
        self.kept = None;
    }
}

//! The same storm in virtual time: a modelled kernel above the modelled drive, with the settings
//! that each remedy would have.
//!
//! Non-goals: the kernel (`sim::kernel`), and the comparison with what was measured
//! (`analyze::storm`).

use crate::resolve::device::DevicePlan;
use crate::resolve::modelled::load;
use experiment::storm::{NONE, Plan, Surroundings, run_system};
use experiment::throughput::Observer;
use host::device::{file_map, space_map};
use host::remedy::{Kind, Place, Remedy};
use host::served::LEAST_DEPTH;
use host::settings::Setting;
use model::doubt::Doubt;
use model::seam::{PreparedTarget, SubjectError};
use sim::kernel::{Extent, Layout, LinuxMachine, Settings};
use sim::replay::ReplayMachine;
use sim::subject::ModelSubject;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// The remedies of a name: several where it names them together. The scheduler's goes first: the
/// queue's other settings follow it.
pub(super) fn together(name: &str) -> Vec<&'static Remedy> {
    let mut named: Vec<_> = name.split('+').filter_map(Remedy::named).collect();
    named.sort_by_key(|remedy| remedy.kind != Kind::Scheduler);
    named
}

/// Rounds of a prediction at the least: they cost a moment each, and no remedy has to leave early.
const ROUNDS: u32 = 24;

/// Runs the plan in virtual time, all remedies in all rounds, with the files where they were found.
/// Errors: a profile that no drive can be made of, or what of the model was refused or failed.
pub(super) fn run(
    plan: &Plan,
    (device, layout): (&DevicePlan, Option<Layout>),
    column: &str,
    observer: &mut dyn Observer,
) -> Result<Vec<SubjectError>, SubjectError> {
    let failed = |error: &dyn std::fmt::Display| SubjectError::Failed(error.to_string());
    let profile = load(&device.model, &device.changes).map_err(|error| failed(&error))?;
    let drive = ReplayMachine::of(&profile).map_err(|error| failed(&error))?;
    let present =
        Settings { hardware_requests: device.depth.max(LEAST_DEPTH), ..Settings::default() };
    let settings = Rc::new(RefCell::new(present.clone()));
    let mut assumed = assumed(plan, device);
    if let Some(found) = layout {
        assumed.files = found.files;
        if found.journal_bytes.1 > 0 {
            assumed.journal_bytes = found.journal_bytes;
        }
    }
    let machine = LinuxMachine::new((drive, device.slow), assumed, settings.clone());
    let mut subject = ModelSubject::new(Box::new(machine));
    let clock = subject.clock();
    let rounds = plan.rounds.max(ROUNDS);
    let plan = &Plan { rounds, time_ns: 0, trace: false, ..plan.clone() };
    let device = Some("modelled".into());
    let place = Place { device, dirty_bytes: 0, period_ns: 0, mounted: None };
    let mut surroundings = Modelled { present, settings, place };
    run_system(&mut subject, column, plan, (&clock, &mut surroundings), observer)
}

/// Where the files are taken to lie while nobody has laid them out.
fn assumed(plan: &Plan, device: &DevicePlan) -> Layout {
    let sizes = plan.files().map(|(name, stream)| (name, stream.file_bytes));
    Layout::of_sizes(device.size_bytes, sizes)
}

/// Where they lie, as their file system tells; none where it does not tell all. A journal that it
/// does not tell of has no bytes.
pub(super) fn found(root: &Path, names: [&str; 3]) -> Option<Layout> {
    let mut layout = Layout::default();
    for name in names {
        let extents = file_map(&root.join(name))?.into_iter().map(|of| Extent {
            logical_bytes: of.logical_bytes,
            physical_bytes: of.physical_bytes,
            length_bytes: of.length_bytes,
        });
        layout.files.insert(name.to_owned(), extents.collect());
    }
    let areas = space_map(root).unwrap_or_default();
    if let Some((bytes, _)) = areas.into_iter().find(|(_, name)| *name == "journal") {
        layout.journal_bytes = (bytes.start, bytes.end - bytes.start);
    }
    Some(layout)
}

/// The modelled kernel around the passes.
struct Modelled {
    /// As it is without a remedy.
    present: Settings,
    /// As the kernel has it.
    settings: Rc<RefCell<Settings>>,
    place: Place,
}

impl Surroundings for Modelled {
    fn laid_out(&mut self, _: &PreparedTarget) -> Result<(), String> {
        Ok(())
    }

    fn begin(&mut self, plan: &Plan) {
        self.place.dirty_bytes = plan.dirty_bytes();
        self.place.period_ns = plan.period_ns;
    }

    fn change(&mut self, remedy: &str) -> Result<(), String> {
        let mut changed = self.present.clone();
        for remedy in together(remedy).into_iter().filter(|remedy| remedy.name != NONE) {
            if remedy.kind == Kind::Group {
                return Err("the model has no cgroups".into());
            }
            let mount = remedy.mount.map(|option| ("mount".to_owned(), option.set.to_owned()));
            let settings = remedy.wanted(&self.place)?;
            let settings = settings.into_iter().map(|of| (name(&of), of.value));
            for (name, value) in settings.chain(mount) {
                changed.set(&name, &value).map_err(|error| error.to_string())?;
            }
        }
        *self.settings.borrow_mut() = changed;
        Ok(())
    }

    fn doubts(&mut self) -> Vec<Doubt> {
        vec![]
    }
}

/// A setting's name behind `queue/` or `vm/`.
fn name(setting: &Setting) -> String {
    let path = setting.path.to_string_lossy();
    let behind = ["/queue/", "/vm/"].iter().find_map(|part| path.split_once(part));
    behind.map_or_else(|| path.to_string(), |(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::parameter_samples::Samples;
    use experiment::storm::{Stream, Tried};
    use host::remedy::Remedy;
    use model::record::subject::{StormStream, Subject};

    fn plan(remedies: &[&str], seed: u64) -> Plan {
        let tried = |name: &&str| {
            let writer = Remedy::named(name).map(|remedy| remedy.writer).unwrap_or_default();
            Tried { name: (*name).into(), writer, ..Tried::default() }
        };
        let stream = |rate, file_bytes| Stream {
            rate: Some(rate),
            block_bytes: 4096,
            file_bytes,
            ..Stream::default()
        };
        Plan {
            read: stream(8.0, 32 << 20),
            commit: stream(2.0, 4 << 20),
            write: stream(10.0, 32 << 20),
            period_ns: 5_000_000_000,
            periods: 1,
            remedies: [NONE].iter().chain(remedies).map(tried).collect(),
            seed,
            ..Plan::default()
        }
    }

    /// The remedies that are recommended on an RA81.
    fn recommended(remedies: &[&str], seed: u64) -> Vec<String> {
        let device = DevicePlan::parse("model:ra81", None).unwrap();
        let mut samples = Samples::default();
        let met = run(&plan(remedies, seed), (&device, None), "ra81", &mut samples).unwrap();
        assert_eq!(met, []);
        let found = analyze::storm::findings(&samples.0);
        let is_it = |finding: &&model::record::Finding| {
            finding.quantity == "recommended" && finding.value == Some(1.0)
        };
        let name = |finding: &model::record::Finding| match &finding.subject {
            Subject::Storm(storm) if storm.stream == StormStream::Victims => storm.remedy.clone(),
            other => panic!("{other:?}"),
        };
        found.iter().filter(is_it).map(name).collect()
    }

    #[test]
    fn of_a_hundred_runs_of_remedies_that_do_nothing_at_most_five_recommend_one() {
        // No remedy of these names is known: all is as it was.
        let nothing = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let wrong = (0..100).filter(|seed| !recommended(&nothing, *seed).is_empty()).count();
        assert!(wrong <= 5, "{wrong} of 100 runs");
    }

    #[test]
    fn what_spares_the_others_the_storm_is_recommended_among_what_does_not() {
        let remedies = ["direct", "ioprio-idle", "mq-deadline", "a"];
        for seed in 0..5 {
            assert_eq!(recommended(&remedies, seed), ["direct"], "seed {seed}");
        }
    }
}

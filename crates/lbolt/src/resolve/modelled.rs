//! Modelled machines as they are requested: from a name or a file to a profile, and from a profile
//! to a subject.

use crate::resolve::target::ModelTarget;
use messages::fault::{Fault, failure};
use model::text_file;
use papers::CATALOG;
use papers::machine::{self, Options};
use sim::profile::{Calibrated, Profile, ProfileError};
use sim::replay::ReplayMachine;
use sim::subject::ModelSubject;
use std::cell::RefCell;
use std::path::Path;

/// A modelled machine, ready to be run.
#[derive(Debug)]
pub(crate) struct ModelPlan {
    drawable: Drawable,
    /// Made once to see that it can be, and kept for its first run.
    made: RefCell<Option<ModelSubject>>,
}

impl ModelPlan {
    /// The machine that a TARGET means.
    /// Errors: an unknown model, key or value: file, key and reason.
    pub(crate) fn of(target: &ModelTarget) -> anyhow::Result<Self> {
        let of_target =
            |error| failure(Fault::Usage, format!("TARGET model:{}: {error}", target.model));
        let profile = load(&target.model, &target.changes()).map_err(of_target)?;
        let options = Options { drives: target.drives as usize, ..Options::default() };
        let drawable = Drawable { profile, options };
        let made = RefCell::new(Some(drawable.subject(0).map_err(refused)?));
        Ok(Self { drawable, made })
    }

    /// A fresh one.
    /// Errors: what was refused when it was first made would be refused again.
    pub(crate) fn subject(&self) -> Result<ModelSubject, ProfileError> {
        match self.made.borrow_mut().take() {
            Some(made) => Ok(made),
            None => self.drawable.subject(0),
        }
    }

    /// What draws of it are made of.
    pub(crate) fn drawable(&self) -> Drawable {
        self.drawable.clone()
    }
}

/// What a machine and its draws are made of.
#[derive(Debug, Clone)]
pub(crate) struct Drawable {
    profile: Profile,
    options: Options,
}

impl Drawable {
    /// Whether any number of it is known only to lie between two others.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.profile.is_uncertain()
    }

    /// The machine of a draw; the one numbered 0 is the profile's own. Outside of what the model
    /// was held against, it doubts itself.
    /// Errors: a machine that cannot be.
    pub(crate) fn subject(&self, draw: u64) -> Result<ModelSubject, ProfileError> {
        let machine = machine::build(&self.profile.drawn(draw), self.options)?;
        let calibrated = Calibrated::read(&self.profile)?;
        let doubt = calibrated.and_then(|range| range.beyond_drives(self.options.drives as u64));
        Ok(ModelSubject::new(machine).doubted(doubt))
    }
}

/// The profile of that name or in that file, with other values for some keys.
/// Errors: an unknown name, a file that cannot be read, an unknown key, or a profile at fault.
pub(crate) fn load(model: &str, changes: &[(String, String)]) -> anyhow::Result<Profile> {
    let path = Path::new(model);
    let is_file = path.extension().is_some_and(|extension| extension == "toml");
    let mut profile = if is_file {
        let text = text_file::read(path)
            .map_err(|e| failure(Fault::Usage, format!("failed to read the model {model}: {e}")))?;
        let stem = path.file_stem().map_or(model.into(), |stem| stem.to_string_lossy());
        CATALOG.load_text(&stem, model, &text).map_err(refused)?
    } else {
        CATALOG.load(model).map_err(refused)?
    };
    for (key, value) in changes {
        profile.set(key, value).map_err(refused)?;
    }
    Ok(profile)
}

/// Whether a trace can be replayed on it.
/// Errors: what cannot be: file, key and reason.
pub(crate) fn check(profile: &Profile) -> anyhow::Result<()> {
    ReplayMachine::of(profile).map(|_| ()).map_err(refused)
}

/// A profile at fault, as the user's to mend.
pub(crate) fn refused(error: ProfileError) -> anyhow::Error {
    failure(Fault::Usage, format!("failed to load the model: {error}"))
}

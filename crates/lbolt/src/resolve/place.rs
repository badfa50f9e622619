//! From a target as typed to the place that is measured: whether it is there, has space, and may be
//! written. The guard is asked here, before anything is opened for writing.

use crate::resolve::modelled::{Drawable, ModelPlan};
use crate::resolve::target::{FreshTarget, Target};
use cli::fio;
use experiment::throughput::SystemName;
use host::device::{DeviceNumber, Tree};
use host::guard;
use host::machine::{place_of_device, place_of_directory};
use host::subject::{FreshPlan, may_be_made};
use messages::fault::{Fault, failure};
use model::plan::{SystemPlan, TargetFacts};
use model::text_file;
use model::units::show_size;
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Beyond the files, an image has space for the file system's own structures.
const IMAGE_SLACK_BYTES: u64 = 256 << 20;

/// One column.
pub(crate) struct System {
    pub(crate) name: SystemName,
    pub(crate) kind: SystemKind,
}

/// What the second of two equal targets has more in its name.
const AGAIN: &str = " (again)";

impl System {
    /// One target twice goes under two names, or all passes would be one cell's.
    pub(crate) fn name_again(&mut self) {
        self.name.column.push_str(AGAIN);
    }

    /// Whether it is the same place, however it is spelled.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        let identity = |path: &Path| std::fs::metadata(path).map(|of| (of.dev(), of.ino())).ok();
        match (&self.kind, &other.kind) {
            (SystemKind::Directory(a), SystemKind::Directory(b)) => {
                a == b || identity(a).is_some_and(|place| identity(b) == Some(place))
            }
            (SystemKind::Device { number: a, .. }, SystemKind::Device { number: b, .. }) => a == b,
            _ => self.name == other.name,
        }
    }

    /// What its scratch files are named after in a run, so that a directory can be there twice.
    pub(crate) fn scratch_name(&self, run: &str) -> String {
        format!("{run}{}", if self.name.column.ends_with(AGAIN) { "-again" } else { "" })
    }

    /// Whether it is a modelled machine.
    pub(crate) fn is_model(&self) -> bool {
        matches!(self.kind, SystemKind::Model(_))
    }

    /// Where it lies on this machine; a model lies nowhere.
    pub(crate) fn places(&self) -> Vec<TargetFacts> {
        let found: BTreeSet<TargetFacts> = match &self.kind {
            SystemKind::Directory(path) => [place_of_directory(path)].into(),
            SystemKind::Device { number, .. } => [place_of_device(*number)].into(),
            SystemKind::Fresh(fresh) => {
                fresh.at.iter().map(|at| place_of_directory(existing(at))).collect()
            }
            SystemKind::Model(_) => BTreeSet::new(),
        };
        found.into_iter().collect()
    }

    /// What a plan says of it.
    pub(crate) fn described(&self) -> SystemPlan {
        let (kind, image_bytes) = match &self.kind {
            SystemKind::Directory(_) => ("directory", None),
            SystemKind::Device { .. } => ("block device", None),
            SystemKind::Fresh(fresh) => ("fresh file system", Some(fresh.image_bytes)),
            SystemKind::Model(_) => ("model", None),
        };
        let SystemName { column, target, drives } = self.name.clone();
        SystemPlan {
            column,
            target,
            drives,
            kind: kind.to_owned(),
            image_bytes,
            places: self.places(),
        }
    }

    /// What draws of it are made of, where it is a modelled machine.
    pub(crate) fn drawable(&self) -> Option<Drawable> {
        match &self.kind {
            SystemKind::Model(model) => Some(model.drawable()),
            _ => None,
        }
    }
}

/// How a column is made.
pub(crate) enum SystemKind {
    Directory(PathBuf),
    Device { path: PathBuf, number: DeviceNumber, permit: Option<guard::Permit> },
    Fresh(FreshPlan),
    Model(ModelPlan),
}

impl System {
    /// Why this user may not measure there, as far as that is known at once.
    pub(crate) fn refusal(&self) -> Option<String> {
        match &self.kind {
            SystemKind::Fresh(_) => may_be_made().err().map(|error| error.to_string()),
            SystemKind::Device { path, .. } => {
                let error = std::fs::File::open(path).err()?;
                Some(format!("{} cannot be opened: {error}; run as root", path.display()))
            }
            SystemKind::Directory(_) | SystemKind::Model(_) => None,
        }
    }
}

/// What a run wants of each of its places.
pub(crate) struct Needs<'a> {
    /// Bytes of files on each drive.
    pub(crate) bytes: u64,
    /// Something existing is overwritten: on a block device, that is what it holds.
    pub(crate) writes: bool,
    /// The device that the user named a second time.
    pub(crate) destroy: Option<&'a Path>,
}

/// Resolves one target among all.
/// Errors: a sentence for whatever cannot be done as requested, or what the guard refuses.
pub(crate) fn system(
    target: &Target,
    targets: &[Target],
    needs: &Needs<'_>,
    output_directory: &Path,
) -> anyhow::Result<System> {
    let kind = match target {
        Target::Fresh(fresh) => fresh_kind(target, fresh, needs.bytes, output_directory)?,
        Target::Path(path) => path_kind(path, needs)?,
        Target::Model(model) => SystemKind::Model(ModelPlan::of(model)?),
    };
    let name = SystemName {
        column: target.column_among(targets),
        target: target.canonical(),
        drives: target.drives(),
    };
    Ok(System { name, kind })
}

/// A consent that nothing needs is a mistake: what was meant is written elsewhere, or not at all.
pub(crate) fn refuse_idle_consent(
    destroy: Option<&Path>,
    systems: &[System],
) -> anyhow::Result<()> {
    let is_written = |s: &System| matches!(&s.kind, SystemKind::Device { permit: Some(_), .. });
    match destroy {
        Some(device) if !systems.iter().any(is_written) => Err(failure(
            Fault::Usage,
            format!(
                "--destroy {}: no TARGET is a block device that would be written; leave the option \
                 out, or also name the device as TARGET (in a directory, use --rw rewrite, because \
                 write creates files)",
                device.display()
            ),
        )),
        _ => Ok(()),
    }
}

/// The space that a target has, before anything is made there.
pub(crate) fn free_bytes(target: &Target, output_directory: &Path) -> Option<u64> {
    let free = |path: &Path| {
        let fs = rustix::fs::statvfs(existing(path)).ok()?;
        Some(fs.f_bavail * fs.f_frsize)
    };
    match target {
        Target::Fresh(FreshTarget { image_bytes: Some(size), .. }) => Some(*size),
        Target::Fresh(fresh) => {
            let at = fresh.at.first().map_or(output_directory, PathBuf::as_path);
            Some(free(at)? / fresh.drives as u64)
        }
        Target::Path(path) => match guard::resolve(path) {
            Ok((number, _)) => Tree::system().size_bytes(number).ok(),
            Err(_) => free(path),
        },
        Target::Model(_) => None,
    }
}

/// The nearest directory above a path that is there.
fn existing(path: &Path) -> &Path {
    let found = path.ancestors().find(|p| p.exists());
    found.filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn fresh_kind(
    target: &Target,
    fresh: &FreshTarget,
    needed: u64,
    output_directory: &Path,
) -> anyhow::Result<SystemKind> {
    let usage = |message: String| Err(failure(Fault::Usage, message));
    let with_slack = (needed + needed / 8 + IMAGE_SLACK_BYTES).next_multiple_of(1 << 20);
    let image_bytes = fresh.image_bytes.unwrap_or(with_slack.max(fresh.file_system.least_bytes));
    if needed > image_bytes {
        return usage(format!(
            "{}: --size needs {} per drive, more than the image's size={}; give a smaller --size \
             or a larger size=",
            target.canonical(),
            show_size(needed),
            show_size(image_bytes)
        ));
    }
    let at = if fresh.at.is_empty() { vec![output_directory.to_owned()] } else { fresh.at.clone() };
    if let Some(missing) = fresh.at.iter().find(|directory| !directory.is_dir()) {
        return usage(format!(
            "{}: at={} is not a directory; name an existing directory",
            target.canonical(),
            missing.display()
        ));
    }
    for directory in &at {
        let share = (0..fresh.drives).filter(|drive| at[drive % at.len()] == *directory).count();
        let wanted = image_bytes * share as u64;
        let fs = rustix::fs::statvfs(existing(directory))?;
        let free = fs.f_bavail * fs.f_frsize;
        if wanted > free {
            return usage(format!(
                "{}: {share} images of {} do not fit into {} ({} free); give a smaller --size or \
                 size=, or another at=",
                target.canonical(),
                show_size(image_bytes),
                directory.display(),
                show_size(free >> 20 << 20)
            ));
        }
    }
    Ok(SystemKind::Fresh(FreshPlan {
        file_system: fresh.file_system,
        block_bytes: fresh.block_bytes,
        image_bytes,
        drives: fresh.drives,
        at,
        options: fresh.options.clone(),
        device: None,
    }))
}

fn path_kind(path: &Path, needs: &Needs<'_>) -> anyhow::Result<SystemKind> {
    let needed = needs.bytes;
    let usage = |message: String| failure(Fault::Usage, message);
    let shown = path.display();
    let metadata = std::fs::metadata(path).map_err(|e| {
        usage(format!("TARGET {shown}: {e}; name a directory, a block device or fresh:FS"))
    })?;
    if metadata.is_dir() {
        return directory_kind(path, needed);
    }
    if metadata.is_file() && text_file::read(path).is_ok_and(|text| fio::is_job_file(&text)) {
        return Err(usage(format!("TARGET {shown}: {}", fio::JOB_FILE)));
    }
    if !metadata.file_type().is_block_device() {
        return Err(usage(format!(
            "TARGET {shown} is neither a directory nor a block device; name a \
                                  directory, a block device or fresh:FS"
        )));
    }
    let (number, path) = guard::resolve(path).map_err(|e| usage(e.to_string()))?;
    let size_bytes = Tree::system().size_bytes(number).map_err(|e| usage(e.to_string()))?;
    if needed > size_bytes {
        return Err(usage(format!(
            "TARGET {shown}: --size needs {}, but the device has {}; give a smaller --size",
            show_size(needed),
            show_size(size_bytes)
        )));
    }
    let permit = needs.writes.then(|| permit(&path, number, needs.destroy)).transpose()?;
    Ok(SystemKind::Device { path, number, permit })
}

/// Asks the guard.
fn permit(
    path: &Path,
    number: DeviceNumber,
    consent: Option<&Path>,
) -> anyhow::Result<guard::Permit> {
    let guarded = |e: &dyn std::fmt::Display| failure(Fault::Guard, e.to_string());
    let consent = consent.map(guard::resolve).transpose().map_err(|e| guarded(&e))?;
    let consent = consent.map(|(number, _)| number);
    let prober = guard::Blkid::through(path);
    let tree = Tree::system();
    let permit = guard::examine(&tree, &prober, number, consent).map_err(|e| guarded(&e))?;
    // The run claims it when its turn comes. Here it is tried, so that what only a claim can find
    // is found before anything is measured.
    guard::claim(&tree, path, &permit).map_err(|e| guarded(&e))?;
    Ok(permit)
}

fn directory_kind(path: &Path, needed: u64) -> anyhow::Result<SystemKind> {
    use rustix::fs::Access as Permission;
    let usage = |message: String| failure(Fault::Usage, message);
    let shown = path.display();
    rustix::fs::access(path, Permission::WRITE_OK | Permission::EXEC_OK).map_err(|e| {
        usage(format!(
            "TARGET {shown} cannot hold scratch files ({e}); choose a writable directory"
        ))
    })?;
    let fs = rustix::fs::statvfs(path)?;
    let free = fs.f_bavail * fs.f_frsize;
    if needed > free {
        return Err(usage(format!(
            "TARGET {shown}: --size needs {}, but only {} are free; give a smaller --size",
            show_size(needed),
            show_size(free >> 20 << 20)
        )));
    }
    Ok(SystemKind::Directory(path.to_owned()))
}

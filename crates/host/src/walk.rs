//! A path, opened one directory after the other, so that no link is followed, and so that it can be
//! told of each whether another user could have put something else in its place.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Why a directory was not opened. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum Distrust {
    #[error("open {path}: {source}", path = path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("trust {path}: {why}", path = path.display())]
    Foreign { path: PathBuf, why: String },
}

impl Distrust {
    /// Whether there just is none.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Links that lead there are not followed; that is all.
    NoLinks,
    /// The directory is this user's and nobody else may write to it; nor may anybody but root and
    /// this user put something else in the place of a directory above. Links above are followed,
    /// and what they lead to is held to the same. So many of the last names are made if they are
    /// missing, for this user alone.
    Owner { makes: usize },
}

impl Trust {
    fn makes(self) -> usize {
        match self {
            Self::NoLinks => 0,
            Self::Owner { makes } => makes,
        }
    }
}

pub(crate) fn walk(path: &Path, trust: Trust) -> Result<OwnedFd, Distrust> {
    let io = |path: &Path, source: std::io::Error| Distrust::Io { path: path.to_owned(), source };
    let absolute = std::path::absolute(path).map_err(|e| io(path, e))?;
    let direct = match trust {
        Trust::NoLinks => absolute,
        Trust::Owner { .. } => without_links(&absolute),
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut seen = PathBuf::from("/");
    let mut open =
        rustix::fs::open(&seen, flags, Mode::empty()).map_err(|e| io(&seen, e.into()))?;
    let names: Vec<Component<'_>> =
        direct.components().filter(|c| matches!(c, Component::Normal(_))).collect();
    for (place, component) in names.iter().enumerate() {
        let behind = names.len() - place - 1;
        seen.push(component);
        let failed = |e: Errno| io(&seen, e.into());
        let name = component.as_os_str();
        open = match rustix::fs::openat(&open, name, flags, Mode::empty()) {
            Err(Errno::NOENT) if trust.makes() > behind => {
                match rustix::fs::mkdirat(&open, name, Mode::from_raw_mode(0o700)) {
                    // Another run of ours was quicker, or somebody else, which is seen below.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(failed(errno)),
                }
                rustix::fs::openat(&open, name, flags, Mode::empty()).map_err(failed)?
            }
            next => next.map_err(failed)?,
        };
        if let Trust::Owner { .. } = trust {
            let stat = rustix::fs::fstat(&open).map_err(failed)?;
            if let Some(why) = distrust(&stat, behind == 0) {
                return Err(Distrust::Foreign { path: seen, why });
            }
        }
    }
    // Such a descriptor only names: another one reads.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(&open, ".", flags, Mode::empty()).map_err(|e| io(&seen, e.into()))
}

/// Why a directory on the way, or the last one, cannot be relied on.
fn distrust(stat: &rustix::fs::Stat, is_last: bool) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    // In a directory with the sticky bit others cannot touch what is not theirs.
    let is_shared = stat.st_mode & 0o022 != 0 && (is_last || stat.st_mode & 0o1000 == 0);
    match stat.st_uid {
        owner if owner != own && (is_last || owner != 0) => {
            Some(format!("it belongs to user {owner}"))
        }
        _ if is_shared => Some("other users can write there".to_owned()),
        _ => None,
    }
}

/// The path without links, as far as it exists: a home may well be one.
fn without_links(path: &Path) -> PathBuf {
    let existing = path.ancestors().skip(1).find_map(|above| {
        let direct = above.canonicalize().ok()?;
        Some(direct.join(path.strip_prefix(above).ok()?))
    });
    existing.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_place_that_others_could_have_made_is_not_relied_on() {
        let root = tempfile::tempdir().unwrap();
        let made = root.path().join("a/b");
        let trust = |path: &Path| walk(path, Trust::Owner { makes: 0 });
        assert!(trust(&made).unwrap_err().is_missing());
        assert!(walk(&made, Trust::Owner { makes: 1 }).unwrap_err().is_missing());
        walk(&made, Trust::Owner { makes: 2 }).unwrap();
        trust(&made).unwrap();
        let allow = |path: &Path, mode| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        for (mode, is_fine) in [(0o770, false), (0o707, false), (0o1777, true), (0o755, true)] {
            allow(&root.path().join("a"), mode);
            assert_eq!(trust(&made).is_ok(), is_fine, "{mode:o}");
        }
        for (mode, is_fine) in [(0o1777, false), (0o720, false), (0o755, true)] {
            allow(&made, mode);
            assert_eq!(trust(&made).is_ok(), is_fine, "{mode:o}");
        }
        // A link above leads to what is relied on for itself; the last name must be none.
        symlink(root.path().join("a"), root.path().join("home")).unwrap();
        trust(&root.path().join("home/b")).unwrap();
        assert!(walk(&root.path().join("home/b"), Trust::NoLinks).is_err());
        symlink(&made, root.path().join("b")).unwrap();
        assert!(trust(&root.path().join("b")).is_err());
        walk(&made, Trust::NoLinks).unwrap();
    }

    #[test]
    fn root_what_belongs_to_another_is_not_relied_on() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let made = root.path().join("home/state");
        std::fs::create_dir_all(&made).unwrap();
        std::os::unix::fs::chown(root.path().join("home"), Some(65534), None).unwrap();
        let refused = walk(&made, Trust::Owner { makes: 2 }).unwrap_err().to_string();
        assert!(refused.contains("home") && refused.contains("user 65534"), "{refused}");
    }
}

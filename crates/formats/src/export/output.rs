//! A file that is written: its errors bear its name, and it has that name when it is whole.
//!
//! Until then it has none (`O_TMPFILE`), so that neither a kill nor a full disk leaves a part of
//! it. A name is needed for a moment where an earlier file is replaced, and all the while where the
//! file system knows no files without: then it lies in a scratch directory ([`scratch_of`]), which
//! our caller notes for `doctor`. A pipe, a character device and what /dev/stdout stands for are
//! written as they are; a block device never, wherever a link to it lies.

use super::ExportError;
use model::run::SCRATCH_PREFIX;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A file that is written.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    writer: BufWriter<File>,
    place: Destination,
}

/// Where a file is until it is whole.
#[derive(Debug)]
enum Destination {
    /// Nowhere.
    Nameless,
    /// Under this name in the scratch directory.
    Scratch(PathBuf),
    /// Where it is to be: it is a pipe or a character device.
    Itself,
}

/// A file that is whole, and not yet under its name.
#[derive(Debug)]
pub(super) struct Whole {
    path: PathBuf,
    file: File,
    place: Destination,
}

/// Where an export to this name has what needs a name before it is whole.
pub fn scratch_of(output: &Path) -> PathBuf {
    let name = format!("{SCRATCH_PREFIX}export-{}", std::process::id());
    parent(&final_name(output)).join(name)
}

impl Output {
    /// Begins a file, with so many of the rights that a new file has.
    pub(super) fn create(path: &Path, mode: u32) -> Result<Self, ExportError> {
        let begun = match is_file_or_none(path) {
            true => begin(&final_name(path), mode),
            false => open_as_it_is(path).map(|file| (file, Destination::Itself)),
        };
        let (file, place) = begun.map_err(|source| Destination::Nameless.refused(path, source))?;
        let writer = BufWriter::with_capacity(64 * 1024, file);
        Ok(Self { path: path.to_owned(), writer, place })
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), ExportError> {
        self.writer.write_all(bytes).map_err(|source| self.place.refused(&self.path, source))
    }

    pub(super) fn text(&mut self, text: std::fmt::Arguments<'_>) -> Result<(), ExportError> {
        self.writer.write_fmt(text).map_err(|source| self.place.refused(&self.path, source))
    }

    /// Ends the file: only now a full disk may show.
    pub(super) fn finish(self) -> Result<Whole, ExportError> {
        let Self { path, writer, place } = self;
        let file = writer.into_inner().map_err(|e| place.refused(&path, e.into_error()))?;
        Ok(Whole { path, file, place })
    }
}

impl Whole {
    /// Gives the file its name; an earlier one of that name is replaced, or kept and complained of.
    pub(super) fn publish(&self, replaces: bool) -> Result<(), ExportError> {
        let path = final_name(&self.path);
        let published = match &self.place {
            Destination::Itself => Ok(()),
            Destination::Nameless => match link(&self.file, &path) {
                Err(Errno::EXIST) if replaces => in_scratch(&path)
                    .and_then(|held| Ok(link(&self.file, &held).map(|()| held)?))
                    .and_then(|held| std::fs::rename(held, &path)),
                linked => linked.map_err(io::Error::from),
            },
            Destination::Scratch(held) if replaces => std::fs::rename(held, &path),
            Destination::Scratch(held) => std::fs::hard_link(held, &path),
        };
        published.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ExportError::Exists { path: self.path.clone() },
            _ => self.place.refused(&self.path, source),
        })
    }

    /// What it is called.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes its name back, where it has one by us.
    pub(super) fn retract(&self) {
        if !matches!(self.place, Destination::Itself) {
            // The error that this is about is known already.
            let _ = std::fs::remove_file(final_name(&self.path));
        }
    }
}

/// Removes what an export to this name had for a moment; of no effect where there was nothing.
pub(super) fn clean_up(output: &Path) {
    let scratch = scratch_of(output);
    for entry in std::fs::read_dir(&scratch).into_iter().flatten().filter_map(Result::ok) {
        let _ = std::fs::remove_file(entry.path());
    }
    let _ = std::fs::remove_dir(scratch);
}

impl Destination {
    fn refused(&self, path: &Path, source: io::Error) -> ExportError {
        let rest = match self {
            // What went there is gone.
            Self::Itself => "",
            _ => "; nothing was written",
        };
        ExportError::Output { path: path.to_owned(), rest, source }
    }
}

/// Whether a name is free or a file's; a link counts as what it leads to, but for those by which
/// the kernel names what is open (/dev/stdout).
fn is_file_or_none(path: &Path) -> bool {
    let is_open = path.is_symlink() && (path.starts_with("/dev") || path.starts_with("/proc"));
    !is_open && path.metadata().map_or(true, |metadata| metadata.is_file())
}

/// Opens what is no file. It is looked at before, for opening is an act by itself, and after, for
/// another may be there by then.
fn open_as_it_is(path: &Path) -> io::Result<File> {
    refuse_disk(&path.metadata()?)?;
    let file = OpenOptions::new().write(true).custom_flags(libc::O_NOCTTY).open(path)?;
    refuse_disk(&file.metadata()?)?;
    Ok(file)
}

fn refuse_disk(metadata: &Metadata) -> io::Result<()> {
    match metadata.file_type().is_block_device() {
        true => Err(io::Error::other(
            "it is a block device, and lbolt does not export onto a disk; \
                                      name a file",
        )),
        false => Ok(()),
    }
}

/// The name that a file gets: where a link leads, as far as that is there.
fn final_name(path: &Path) -> PathBuf {
    match path.is_symlink() {
        true => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        false => path.to_owned(),
    }
}

fn parent(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn begin(path: &Path, mode: u32) -> io::Result<(File, Destination)> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match rustix::fs::open(parent(path), flags, Mode::from_raw_mode(mode)) {
        Ok(file) => Ok((file.into(), Destination::Nameless)),
        // A file system that knows no such files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => begin_in_scratch(path, mode),
        Err(errno) => Err(errno.into()),
    }
}

fn begin_in_scratch(path: &Path, mode: u32) -> io::Result<(File, Destination)> {
    let held = in_scratch(path)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&held)?;
    Ok((file, Destination::Scratch(held)))
}

/// A free name in the scratch directory, which is made where it is not there.
fn in_scratch(path: &Path) -> io::Result<PathBuf> {
    let scratch = scratch_of(path);
    match DirBuilder::new().mode(0o700).create(&scratch) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let names = (0u32..).map(|number| scratch.join(format!("file.{number}")));
    let free = names.into_iter().find(|name| !name.is_symlink() && !name.exists());
    free.ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// Gives a file without a name one, which must be free.
fn link(file: &File, path: &Path) -> rustix::io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Both ways to the same end: a file without a name, and where there are none one in scratch.
    type Way = fn(&Path, u32) -> io::Result<(File, Destination)>;
    const WAYS: [Way; 2] = [begin, begin_in_scratch];

    fn written(way: Way, path: &Path, text: &str) -> Whole {
        let (file, place) = way(path, 0o600).unwrap();
        let writer = BufWriter::new(file);
        let mut output = Output { path: path.to_owned(), writer, place };
        output.bytes(text.as_bytes()).unwrap();
        output.finish().unwrap()
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole_and_an_earlier_one_until_then() {
        for way in WAYS {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join("out");
            let first = written(way, &path, "first");
            assert!(!path.exists());
            first.publish(false).unwrap();
            let second = written(way, &path, "second");
            assert_eq!(std::fs::read(&path).unwrap(), b"first");
            assert!(matches!(second.publish(false), Err(ExportError::Exists { .. })));
            assert_eq!(std::fs::read(&path).unwrap(), b"first");
            second.publish(true).unwrap();
            clean_up(&path);
            assert_eq!(std::fs::read(&path).unwrap(), b"second");
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(names(root.path()), ["out"]);
        }
    }

    #[test]
    fn a_link_is_replaced_where_it_leads_and_a_device_is_written_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let (path, link) = (root.path().join("out"), root.path().join("link"));
        std::fs::write(&path, "first").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut output = Output::create(&link, 0o666).unwrap();
        output.bytes(b"second").unwrap();
        output.finish().unwrap().publish(true).unwrap();
        clean_up(&link);
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        let mut null = Output::create(Path::new("/dev/null"), 0o666).unwrap();
        null.bytes(b"x").unwrap();
        null.finish().unwrap().publish(true).unwrap();
        assert_eq!(names(root.path()), ["link", "out"]);
    }
}

//! A file that is written: its errors bear its name, and it has that name when it is whole.
//!
//! Until then it has none (`O_TMPFILE`), so that neither a kill nor a full disk leaves a part of
//! it. A name is needed for a moment where an earlier file is replaced, and all the while where the
//! file system knows no files without: then it lies in a scratch directory ([`scratch_of`]), which
//! our caller notes for `doctor`. A pipe, a character device and what /dev/stdout stands for are
//! written as they are; a block device never, wherever a link to it lies.

use super::ExportError;
use model::held::{Held, shown};
use model::run::{SCRATCH_PREFIX, parent_of};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a pipe with a name may be without a reader: both sides may begin at once.
const READER_WAIT: Duration = Duration::from_secs(5);

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
    /// Nowhere; it is to have this name.
    Nameless(Place),
    /// Under the second name, in the scratch directory.
    Scratch(Place, Place),
    /// Where it is to be: it is a pipe or a character device.
    Itself,
}

/// A name in a directory that is held, so that no link leads elsewhere.
#[derive(Debug)]
struct Place {
    held: Held,
    name: OsString,
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
    let at = Held::of_output(output).map(|(held, _)| shown(&held.at(".")));
    at.unwrap_or_else(|_| parent_of(output).to_owned()).join(scratch_name())
}

fn scratch_name() -> String {
    format!("{SCRATCH_PREFIX}export-{}", std::process::id())
}

impl Output {
    /// Begins a file, with so many of the rights that a new file has.
    pub(super) fn create(path: &Path, mode: u32) -> Result<Self, ExportError> {
        let begun = match is_open(path) {
            true => open_as_it_is(path, OFlags::empty()).map(|file| (file, Destination::Itself)),
            false => Place::of(path).and_then(|place| match place.is_file_or_none()? {
                true => begin(place, mode),
                false => {
                    let file = open_as_it_is(&place.path(), OFlags::NOFOLLOW)?;
                    Ok((file, Destination::Itself))
                }
            }),
        };
        let (file, place) = begun.map_err(|source| refused(path, source))?;
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
        let published = match &self.place {
            Destination::Itself => Ok(()),
            Destination::Nameless(place) => match link(&self.file, &place.path()) {
                Err(Errno::EXIST) if replaces => place
                    .in_scratch()
                    .and_then(|held| Ok(link(&self.file, &held.path()).map(|()| held)?))
                    .and_then(|held| std::fs::rename(held.path(), place.path())),
                linked => linked.map_err(io::Error::from),
            },
            Destination::Scratch(place, held) if replaces => {
                std::fs::rename(held.path(), place.path())
            }
            Destination::Scratch(place, held) => std::fs::hard_link(held.path(), place.path()),
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
        if let Destination::Nameless(place) | Destination::Scratch(place, _) = &self.place {
            // The error that this is about is known already.
            let _ = place.held.remove(&place.name);
        }
    }
}

/// Removes what an export to this name had for a moment; of no effect where there was nothing.
pub(super) fn clean_up(output: &Path) {
    let Ok(place) = Place::of(output) else { return };
    let Ok(scratch) = place.scratch() else { return };
    for name in scratch.names().unwrap_or_default() {
        let _ = scratch.remove(name);
    }
    let _ = std::fs::remove_dir(place.held.at(scratch_name()));
}

fn refused(path: &Path, source: io::Error) -> ExportError {
    ExportError::Output { path: path.to_owned(), rest: "; nothing was written", source }
}

impl Destination {
    fn refused(&self, path: &Path, source: io::Error) -> ExportError {
        match self {
            // What went there is gone.
            Self::Itself => ExportError::Output { path: path.to_owned(), rest: "", source },
            _ => refused(path, source),
        }
    }
}

/// Whether it is a name by which the kernel names what is open.
fn is_open(path: &Path) -> bool {
    let names = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
    path.is_symlink() && names.iter().any(|name| path.starts_with(name))
}

/// Opens what is no file. It is looked at before, for opening is an act by itself, and what was
/// looked at is what is opened, whatever has its name by then.
fn open_as_it_is(path: &Path, links: OFlags) -> io::Result<File> {
    let looked: File =
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | links, Mode::empty())?.into();
    let metadata = looked.metadata()?;
    let kind = metadata.file_type();
    refuse_disk(&metadata)?;
    if kind.is_symlink() || kind.is_file() && !links.is_empty() {
        return Err(io::Error::other("another was put in its place meanwhile"));
    }
    let own = PathBuf::from(format!("/proc/self/fd/{}", looked.as_raw_fd()));
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NOCTTY);
    match kind.is_fifo() && !is_open(path) {
        true => open_pipe(&own, &mut options),
        false => options.open(own),
    }
}

/// Opens a pipe that has a name. Until somebody reads from it, opening it would wait for ever.
fn open_pipe(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK);
    let until = Instant::now() + READER_WAIT;
    let file = loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                if Instant::now() > until {
                    let sentence = "it is a pipe that nobody reads; start its reader first";
                    return Err(io::Error::other(sentence));
                }
                std::thread::sleep(READER_WAIT / 50);
            }
            opened => break opened?,
        }
    };
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
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

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        let (held, name) = Held::of_output(path)?;
        Ok(Self { held, name })
    }

    fn path(&self) -> PathBuf {
        self.held.at(&self.name)
    }

    /// Whether the name is free or a file's.
    fn is_file_or_none(&self) -> io::Result<bool> {
        match self.path().symlink_metadata() {
            Ok(metadata) => Ok(metadata.is_file()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The scratch directory, if it is there and nobody else's.
    fn scratch(&self) -> io::Result<Held> {
        let held = self.held.within(scratch_name())?;
        match held.file().metadata()?.uid() == rustix::process::geteuid().as_raw() {
            true => Ok(held),
            false => Err(io::Error::other("somebody else's directory has the name of lbolt's own")),
        }
    }

    /// A free name in the scratch directory, which is made where it is not there.
    fn in_scratch(&self) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(self.held.at(scratch_name())) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let held = self.scratch()?;
        let names = (0u32..).map(|number| OsString::from(format!("file.{number}")));
        let is_free = |name: &OsString| held.at(name).symlink_metadata().is_err();
        let name = names.into_iter().find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
        Ok(Self { held, name })
    }
}

fn begin(place: Place, mode: u32) -> io::Result<(File, Destination)> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match rustix::fs::open(place.held.at("."), flags, Mode::from_raw_mode(mode)) {
        Ok(file) => Ok((file.into(), Destination::Nameless(place))),
        // A file system that knows no such files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => begin_in_scratch(place, mode),
        Err(errno) => Err(errno.into()),
    }
}

fn begin_in_scratch(place: Place, mode: u32) -> io::Result<(File, Destination)> {
    let held = place.in_scratch()?;
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(held.path())?;
    Ok((file, Destination::Scratch(place, held)))
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
    type Way = fn(Place, u32) -> io::Result<(File, Destination)>;
    const WAYS: [Way; 2] = [begin, begin_in_scratch];

    fn written(way: Way, path: &Path, text: &str) -> Whole {
        let (file, place) = way(Place::of(path).unwrap(), 0o600).unwrap();
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
    fn a_pipe_without_a_reader_is_refused_and_one_with_a_reader_is_written() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        let error = Output::create(&pipe, 0o600).unwrap_err().to_string();
        assert!(error.contains("a pipe that nobody reads"), "{error}");
        let reader = pipe.clone();
        let reader = std::thread::spawn(move || std::fs::read(reader).unwrap());
        let mut output = Output::create(&pipe, 0o600).unwrap();
        output.bytes(b"text").unwrap();
        output.finish().unwrap().publish(true).unwrap();
        assert_eq!(reader.join().unwrap(), b"text");
    }

    /// Who can write in the directory puts a link in place of the pipe, before or while it waits.
    #[test]
    fn a_link_that_takes_the_place_of_a_pipe_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let [pipe, second, link, precious] =
            ["pipe", "second", "link", "precious"].map(|name| root.path().join(name));
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        std::fs::hard_link(&pipe, &second).unwrap();
        std::fs::write(&precious, "mine").unwrap();
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        let place = Place::of(&pipe).unwrap();
        let path = place.path();
        let waiting = std::thread::spawn(move || open_as_it_is(&path, OFlags::NOFOLLOW));
        let is_open = || {
            let mut open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            open.any(|entry| std::fs::read_link(entry.path()).is_ok_and(|led| led == pipe))
        };
        while !is_open() {
            std::thread::yield_now();
        }
        std::fs::rename(&link, &pipe).unwrap();
        let reader = std::thread::spawn(move || std::fs::read_to_string(second).unwrap());
        waiting.join().unwrap().unwrap().write_all(b"text").unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(open_as_it_is(&place.path(), OFlags::NOFOLLOW).is_err());
        assert_eq!(std::fs::read_to_string(precious).unwrap(), "mine");
    }

    /// Who can write in the directory puts a link in place of the scratch directory.
    #[test]
    fn a_link_in_place_of_the_scratch_directory_loses_nobody_a_file() {
        let root = tempfile::tempdir().unwrap();
        let (path, precious) = (root.path().join("out"), root.path().join("precious"));
        std::fs::create_dir(&precious).unwrap();
        std::fs::write(precious.join("file"), "mine").unwrap();
        std::os::unix::fs::symlink(&precious, scratch_of(&path)).unwrap();
        assert!(begin_in_scratch(Place::of(&path).unwrap(), 0o600).is_err());
        clean_up(&path);
        assert_eq!(names(&precious), ["file"]);
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

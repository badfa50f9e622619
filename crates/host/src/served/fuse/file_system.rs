//! The file system with one file, whose bytes are the disk's.

use super::mount::NAME;
use crate::served::Wanted;
use crate::served::clerk::{Clerk, now_ns};
use crate::served::data::Store;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The file's number, which no other such file of this machine has: the guard takes loop devices
/// over files of one number for twins where it cannot tell their file systems apart.
fn own_inode() -> INodeNo {
    INodeNo(u64::from(std::process::id()) << 16 | 2)
}

/// Requests that the kernel lets wait for us at once: as many as a loop device sends, and more.
const BACKGROUND_MOST: u16 = 512;
/// The largest request.
const REQUEST_BYTES_MOST: u32 = 1 << 20;
/// Nothing changes but by ourselves.
const FOR_GOOD: Duration = Duration::from_secs(1 << 30);

/// The file system.
pub(super) struct DiskFile {
    clerk: Arc<Clerk>,
    store: Store,
    inode: INodeNo,
}

impl DiskFile {
    pub(super) fn new(clerk: Arc<Clerk>, store: Store) -> Self {
        Self { clerk, store, inode: own_inode() }
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let (kind, perm, size) = match inode == self.inode {
            true => (FileType::RegularFile, 0o600, self.store.size_bytes),
            false => (FileType::Directory, 0o700, 0),
        };
        let never = SystemTime::UNIX_EPOCH;
        FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: never,
            mtime: never,
            ctime: never,
            crtime: never,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 512,
            flags: 0,
        }
    }
}

/// Of the kernel's numbers those that one of ours may have.
fn errno(errno: rustix::io::Errno) -> Errno {
    match errno {
        rustix::io::Errno::NOSPC => Errno::ENOSPC,
        _ => Errno::EIO,
    }
}

impl Filesystem for DiskFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Else the loop device's one worker waits for each request.
        if config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).is_err() {
            return Err(io::Error::other("this kernel's FUSE serves one request at a time"));
        }
        // What it does not grant in full it grants in part.
        let _ = config.add_capabilities(InitFlags::FUSE_MAX_PAGES);
        let _ = config.set_max_write(REQUEST_BYTES_MOST);
        let _ = config.set_max_background(BACKGROUND_MOST);
        let _ = config.set_congestion_threshold(BACKGROUND_MOST);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == NAME {
            true => reply.entry(&FOR_GOOD, &self.attributes(self.inode), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_GOOD, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let came_ns = now_ns();
        match self.store.read(offset, size) {
            Err(error) => reply.error(errno(error)),
            Ok(bytes) => {
                let reply = Box::new(move || reply.data(&bytes));
                self.clerk.give(came_ns, Wanted::Read, (offset, size), reply);
            }
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let came_ns = now_ns();
        match self.store.write(offset, data) {
            Err(error) => reply.error(errno(error)),
            Ok(()) => {
                let length_bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
                let reply = Box::new(move || reply.written(length_bytes));
                self.clerk.give(came_ns, Wanted::Write, (offset, length_bytes), reply);
            }
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let came_ns = now_ns();
        self.clerk.give(came_ns, Wanted::Flush, (0, 0), Box::new(move || reply.ok()));
    }
}

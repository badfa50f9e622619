//! The thread that takes requests and hands their answers back: the driver wants both from one
//! thread. Answers come from the clerk, with a bell (eventfd(2)) that wakes this one.

use super::abi::{
    COMMIT_AND_FETCH, Description, FETCH, OP_FLUSH, OP_READ, OP_WRITE, QueueCommand, data_at,
};
use crate::served::Wanted;
use crate::served::clerk::{Clerk, now_ns};
use crate::served::data::{Store, errno_of};
use crate::served::real_time::be_prompt;
use io_uring::{IoUring, opcode, squeue, types};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, pread, pwrite, read, write};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// The bell, where a completion names a tag.
const BELL: u64 = u64::MAX;

/// Answers on their way to the driver: tags, and bytes done or the negative number of an error.
struct Outbox {
    answers: Mutex<Vec<(u16, i32)>>,
    bell: OwnedFd,
}

impl Outbox {
    fn add(&self, tag: u16, result: i32) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push((tag, result));
        // A bell that cannot be rung more is ringing.
        let _ = write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// All that is there; the bell is still then.
    fn take(&self) -> Vec<(u16, i32)> {
        let _ = read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the driver says of each request, by its tag; mapped.
struct Descriptions {
    first: NonNull<Description>,
    depth: u16,
}

// SAFETY: it is memory that the kernel writes and one thread reads, wherever that one runs.
unsafe impl Send for Descriptions {}

impl Descriptions {
    fn bytes(depth: u16) -> usize {
        usize::from(depth) * size_of::<Description>()
    }

    fn map(device: &OwnedFd, depth: u16) -> Result<Self, Errno> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let mapped = unsafe {
            let null = std::ptr::null_mut();
            mmap(null, Self::bytes(depth), ProtFlags::READ, flags, device, 0)?
        };
        let first = NonNull::new(mapped.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { first, depth })
    }

    /// None of a tag that is none.
    fn of(&self, tag: u16) -> Option<Description> {
        // SAFETY: the mapping has `depth` descriptions, and the driver has written this one before
        // it completed the command that fetched it.
        let read = || unsafe { self.first.as_ptr().add(usize::from(tag)).read_volatile() };
        (tag < self.depth).then(read)
    }
}

impl Drop for Descriptions {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`, which nothing refers to any more.
        let _ = unsafe { munmap(self.first.as_ptr().cast::<c_void>(), Self::bytes(self.depth)) };
    }
}

/// A device's one queue.
pub(super) struct Queue {
    ring: IoUring,
    device: OwnedFd,
    descriptions: Descriptions,
    depth: u16,
    store: Store,
    clerk: Arc<Clerk>,
    outbox: Arc<Outbox>,
}

impl Queue {
    /// Over the character device.
    pub(super) fn new(
        device: OwnedFd,
        depth: u16,
        store: Store,
        clerk: Arc<Clerk>,
    ) -> Result<Self, Errno> {
        let ring = IoUring::new((u32::from(depth) + 1).next_power_of_two());
        let ring = ring.map_err(|error| errno_of(&error))?;
        let descriptions = Descriptions::map(&device, depth)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let answers = Mutex::default();
        let outbox = Arc::new(Outbox { answers, bell });
        Ok(Self { ring, device, descriptions, depth, store, clerk, outbox })
    }

    /// Asks for requests, says so, and serves them until the device is stopped.
    pub(super) fn work(mut self, asked: &Sender<Result<(), Errno>>) {
        be_prompt();
        let begun = self.begin();
        let is_begun = begun.is_ok();
        // Nobody listens who has ended.
        let _ = asked.send(begun);
        if is_begun {
            self.serve();
        }
    }

    /// Asks for a request with each tag.
    fn begin(&mut self) -> Result<(), Errno> {
        (0..self.depth).for_each(|tag| self.push(command(&self.device, FETCH, tag, 0)));
        self.listen();
        self.ring.submit().map_err(|error| errno_of(&error))?;
        // Commands that the driver refuses are completed at once.
        let refused = self.ring.completion().map(|done| done.result()).find(|result| *result < 0);
        refused.map_or(Ok(()), |result| Err(Errno::from_raw_os_error(-result)))
    }

    fn serve(&mut self) {
        let mut tags = self.depth;
        while tags > 0 {
            let waited = self.ring.submit_and_wait(1);
            if waited.is_err_and(|error| error.kind() != std::io::ErrorKind::Interrupted) {
                return;
            }
            let done: Vec<_> =
                self.ring.completion().map(|done| (done.user_data(), done.result())).collect();
            for (whose, result) in done {
                match (whose, result) {
                    (BELL, _) => {
                        for (tag, result) in self.outbox.take() {
                            self.push(command(&self.device, COMMIT_AND_FETCH, tag, result));
                        }
                        self.listen();
                    }
                    (tag, 0) => self.come(tag as u16),
                    // The device is stopped.
                    _ => tags -= 1,
                }
            }
        }
    }

    /// A request has come.
    fn come(&mut self, tag: u16) {
        let came_ns = now_ns();
        let Some(description) = self.descriptions.of(tag) else { return };
        let (at, length) = description.place();
        let moved = match description.op() {
            OP_READ => self.read(tag, at, length).map(|()| Wanted::Read),
            OP_WRITE => self.write(tag, at, length).map(|()| Wanted::Write),
            OP_FLUSH => Ok(Wanted::Flush),
            _ => Err(Errno::OPNOTSUPP),
        };
        match moved {
            Err(errno) => {
                let result = -errno.raw_os_error();
                self.push(command(&self.device, COMMIT_AND_FETCH, tag, result));
            }
            Ok(wanted) => {
                let place = if wanted == Wanted::Flush { (0, 0) } else { (at, length) };
                let (outbox, result) = (self.outbox.clone(), i32::try_from(place.1).unwrap_or(0));
                let reply = Box::new(move || outbox.add(tag, result));
                self.clerk.give(came_ns, wanted, place, reply);
            }
        }
    }

    fn read(&self, tag: u16, at: u64, length: u32) -> Result<(), Errno> {
        let bytes = self.store.read(at, length)?;
        let written = pwrite(&self.device, &bytes, data_at(tag))?;
        if written == bytes.len() { Ok(()) } else { Err(Errno::IO) }
    }

    fn write(&self, tag: u16, at: u64, length: u32) -> Result<(), Errno> {
        let mut bytes = vec![0; length as usize];
        let read = pread(&self.device, &mut *bytes, data_at(tag))?;
        if read == bytes.len() { self.store.write(at, &bytes) } else { Err(Errno::IO) }
    }

    /// Waits for the bell.
    fn listen(&mut self) {
        let bell = types::Fd(self.outbox.bell.as_raw_fd());
        self.push(opcode::PollAdd::new(bell, libc::POLLIN as u32).build().user_data(BELL));
    }

    /// There is room for one entry of each tag and for the bell, and no more are pushed before they
    /// are handed over.
    fn push(&mut self, entry: squeue::Entry) {
        // SAFETY: neither a command of the queue nor a poll has an address.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        debug_assert!(pushed.is_ok(), "the ring has room");
    }
}

fn command(device: &OwnedFd, number: u32, tag: u16, result: i32) -> squeue::Entry {
    let bytes = QueueCommand::of(tag, result).bytes();
    let device = types::Fd(device.as_raw_fd());
    opcode::UringCmd16::new(device, number).cmd(bytes).build().user_data(u64::from(tag))
}

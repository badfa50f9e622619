//! The kernel's first asynchronous interface: io_setup(2), io_submit(2), io_getevents(2),
//! io_destroy(2), called without the library of this name. Completions are looked for in the ring
//! that the kernel shares with the program (fs/aio.c, `struct aio_ring`; fio's `user_io_getevents`
//! does the same), and waited for by io_getevents. Requests through the page cache are served
//! inside io_submit.
//!
//! Non-goals: submitting several requests by one call.

use super::{Buffers, JobFile, last_errno, sleep, timespec};
use model::seam::{Completion, Engine, JobPlacement, Operation, Request};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// AIO_RING_MAGIC, fs/aio.c.
const MAGIC: u32 = 0xa10a_10a1;

/// Commands of include/uapi/linux/aio_abi.h.
const COMMANDS: [(Operation, u16); 4] =
    [(Operation::Read, 0), (Operation::Write, 1), (Operation::Fsync, 2), (Operation::Fdatasync, 3)];

/// `struct io_event`, include/uapi/linux/aio_abi.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

impl From<Event> for Completion {
    fn from(event: Event) -> Self {
        Self { token: event.data as u32, result: event.result }
    }
}

/// `struct iocb`, include/uapi/linux/aio_abi.h, of little-endian machines: what musl does not
/// declare.
#[repr(C)]
#[derive(Default)]
struct Block {
    data: u64,
    key: u32,
    flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    block_flags: u32,
    event_file: u32,
}

/// `struct aio_ring`, fs/aio.c; the events follow it.
#[repr(C)]
struct Ring {
    id: u32,
    entries: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compat_features: u32,
    incompat_features: u32,
    header_bytes: u32,
}

pub(crate) struct Libaio {
    /// The kernel's name of the context, which is the address of its ring.
    context: libc::c_ulong,
    /// The ring is of the known kind, so that it can be read here.
    is_readable: bool,
    file: JobFile,
    buffers: ManuallyDrop<Buffers>,
    /// Space for what io_getevents gives.
    events: Box<[Event]>,
    outstanding: u64,
}

/// Gives the kernel's result, or the errno that it left.
fn checked(result: libc::c_long) -> io::Result<u32> {
    if result < 0 { Err(last_errno().into()) } else { Ok(result as u32) }
}

impl Libaio {
    pub(crate) fn new(file: JobFile, placement: &JobPlacement) -> io::Result<Self> {
        let buffers = ManuallyDrop::new(Buffers::new(placement.depth, placement.block_bytes)?);
        let events = vec![Event::default(); placement.depth.max(1) as usize].into_boxed_slice();
        let mut context: libc::c_ulong = 0;
        // SAFETY: io_setup writes the context's name into a zero of our own, and nothing else.
        checked(unsafe { libc::syscall(libc::SYS_io_setup, placement.depth, &raw mut context) })?;
        // SAFETY: the name of a context is the address at which the kernel mapped its ring, until
        // io_destroy; the header's first page is always there.
        let ring = unsafe { &*(context as *const Ring) };
        let is_readable = ring.magic == MAGIC
            && ring.incompat_features == 0
            && ring.header_bytes as usize == size_of::<Ring>();
        Ok(Self { context, is_readable, file, buffers, events, outstanding: 0 })
    }

    /// Takes what the ring holds, without entering the kernel.
    #[inline(always)]
    fn collect(&mut self, completions: &mut Vec<Completion>) -> io::Result<u32> {
        if !self.is_readable {
            return self.enter(0, 0, completions);
        }
        let ring = self.context as *const Ring;
        // SAFETY: the ring is mapped until `drop`, and its layout was checked by its magic. The
        // kernel changes head and tail, which are atomics here; the rest stays as it was set up.
        let (header, entries) = unsafe { (&*ring, ring.add(1).cast::<Event>()) };
        let tail = header.tail.load(Ordering::Acquire);
        let mut head = header.head.load(Ordering::Relaxed);
        let mut found = 0;
        while head != tail {
            // SAFETY: head is below `entries` of the ring, and what lies between head and tail was
            // written before the tail (acquired above) and stays until the head has passed it.
            completions.push(unsafe { entries.add(head as usize).read() }.into());
            head = if head + 1 == header.entries { 0 } else { head + 1 };
            found += 1;
        }
        if found > 0 {
            header.head.store(head, Ordering::Release);
            self.outstanding = self.outstanding.saturating_sub(u64::from(found));
        }
        Ok(found)
    }

    fn enter(
        &mut self,
        min: u32,
        timeout_ns: u64,
        completions: &mut Vec<Completion>,
    ) -> io::Result<u32> {
        let min = u64::from(min).min(self.outstanding);
        let time = timespec(timeout_ns);
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let (room, events) = (self.events.len(), self.events.as_mut_ptr());
        // SAFETY: `events` has space for so many; the time is read only, or absent.
        let got = checked(unsafe {
            libc::syscall(libc::SYS_io_getevents, self.context, min, room, events, time)
        });
        let found = match got {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
            other => other?,
        };
        completions.extend(self.events.iter().take(found as usize).map(|e| Completion::from(*e)));
        self.outstanding = self.outstanding.saturating_sub(u64::from(found));
        Ok(found)
    }

    /// Hands a request over: nothing where the kernel took it, else a negative errno.
    #[inline(always)]
    fn send(&mut self, request: &Request, command: u16) -> Result<(), i64> {
        let fd = self.file.fd().map_err(|errno| -i64::from(errno.raw_os_error()))?;
        let buffer = self.buffers.get(request.token, request.length_bytes);
        if buffer.len() != request.length_bytes as usize {
            return Err(-i64::from(libc::EINVAL));
        }
        let (data, file) = (u64::from(request.token), fd.as_raw_fd() as u32);
        let mut block = Block { data, opcode: command, file, ..Block::default() };
        // A sync takes neither place nor length.
        if matches!(request.operation, Operation::Read | Operation::Write) {
            block.buffer = buffer.as_mut_ptr() as u64;
            block.bytes = u64::from(request.length_bytes);
            block.offset = request.offset_bytes as i64;
        }
        let blocks = [&raw mut block];
        // SAFETY: the kernel copies the block; the buffer and the descriptor stay until the
        // completion is there (`drop` waits for what is left).
        let sent = unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1, blocks.as_ptr()) };
        match checked(sent) {
            Ok(_) => {
                self.outstanding += 1;
                Ok(())
            }
            Err(e) => Err(-i64::from(e.raw_os_error().unwrap_or(libc::EIO))),
        }
    }
}

impl Engine for Libaio {
    fn name(&self) -> &'static str {
        "libaio"
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        let command = COMMANDS.iter().find(|(operation, _)| *operation == request.operation);
        let result = match command {
            Some((_, command)) => match self.send(request, *command) {
                Ok(()) => return Ok(()),
                Err(result) => result,
            },
            None => self.file.serve(request.operation),
        };
        completions.push(Completion { token: request.token, result });
        Ok(())
    }

    #[inline(always)]
    fn reap(
        &mut self,
        min: u32,
        timeout_ns: u64,
        completions: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let found = self.collect(completions)?;
        if found >= min {
            return Ok(());
        }
        if self.outstanding == 0 && found == 0 {
            return sleep(timeout_ns);
        }
        self.enter(min - found, timeout_ns, completions).map(|_| ())
    }
}

impl Drop for Libaio {
    /// The kernel may still write into the buffers: they go only when all is completed.
    /// Where the kernel refuses to say, they are never freed.
    fn drop(&mut self) {
        let mut ignored = Vec::new();
        let mut is_known = true;
        while is_known && self.outstanding > 0 {
            is_known = self.enter(1, u64::MAX, &mut ignored).is_ok();
        }
        // SAFETY: the context is this engine's own, and nothing reads its ring after.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
        if is_known {
            // SAFETY: dropped once, here, and not used after; nothing is in flight.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}

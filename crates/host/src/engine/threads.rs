//! A pool of as many threads as requests can be outstanding, each with pread(2) and pwrite(2):
//! how programs overlap requests without an asynchronous interface. The threads are named after the
//! job's own, so that no other account counts them.
//!
//! Non-goals: growing and shrinking pools, queues of their own.

use super::{Buffers, JobFile, io_result, sleep};
use model::job_role::JobRole;
use model::seam::{Completion, Engine, JobPlacement, Operation, Request};
use rustix::fd::BorrowedFd;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A request with all that a thread needs for it.
struct Task {
    request: Request,
    file: RawFd,
    buffer: *mut u8,
}

// SAFETY: the buffer is its token's own: nobody touches it between submission and completion.
unsafe impl Send for Task {}

impl Task {
    fn run(&self) -> Completion {
        let Request { token, operation, offset_bytes, length_bytes } = self.request;
        // SAFETY: a job closes its file only when all is completed, and `drop` ends the threads
        // first.
        let file = unsafe { BorrowedFd::borrow_raw(self.file) };
        // SAFETY: so many bytes of a buffer that is this request's alone until it is completed.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.buffer, length_bytes as usize) };
        let moved = match operation {
            Operation::Read => rustix::io::pread(file, buffer, offset_bytes),
            Operation::Write => rustix::io::pwrite(file, buffer, offset_bytes),
            Operation::Fsync => rustix::fs::fsync(file).map(|()| 0),
            _ => rustix::fs::fdatasync(file).map(|()| 0),
        };
        Completion { token, result: io_result(moved) }
    }
}

/// What is to be done, in order.
#[derive(Default)]
struct Work {
    tasks: VecDeque<Task>,
    is_over: bool,
}

/// Between the job's thread and its pool.
#[derive(Default)]
struct Shared {
    work: Mutex<Work>,
    is_work: Condvar,
    done: Mutex<Vec<Completion>>,
    is_done: Condvar,
    /// How many are done: all that a look reads.
    count: AtomicU32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// One thread of the pool: until there is nothing more to do and never will be.
    fn serve(&self) {
        while let Some(task) = self.next() {
            let completion = task.run();
            let mut done = lock(&self.done);
            done.push(completion);
            self.count.store(done.len() as u32, Ordering::Release);
            drop(done);
            self.is_done.notify_one();
        }
    }

    fn next(&self) -> Option<Task> {
        let mut work = lock(&self.work);
        loop {
            match work.tasks.pop_front() {
                None if work.is_over => return None,
                None => work = self.is_work.wait(work).unwrap_or_else(PoisonError::into_inner),
                task => return task,
            }
        }
    }

    /// Sleeps until so many are done, or the time is over.
    fn wait(&self, min: u32, timeout_ns: u64) {
        let begin = Instant::now();
        let mut done = lock(&self.done);
        while done.len() < min as usize {
            let rest = Duration::from_nanos(timeout_ns).saturating_sub(begin.elapsed());
            if rest.is_zero() {
                return;
            }
            let waited = self.is_done.wait_timeout(done, rest);
            done = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn take(&self, completions: &mut Vec<Completion>) -> u32 {
        let mut done = lock(&self.done);
        self.count.store(0, Ordering::Release);
        let found = done.len() as u32;
        completions.append(&mut done);
        found
    }
}

pub(crate) struct Threads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    outstanding: u64,
    file: JobFile,
    buffers: Buffers,
}

impl Threads {
    pub(crate) fn new(file: JobFile, placement: &JobPlacement) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        lock(&shared.work).tasks.reserve(placement.depth as usize);
        lock(&shared.done).reserve(placement.depth as usize);
        let buffers = Buffers::new(placement.depth, placement.block_bytes)?;
        let mut engine = Self { shared, threads: vec![], outstanding: 0, file, buffers };
        for _ in 0..placement.depth {
            let shared = engine.shared.clone();
            let name = JobRole::thread_name(placement.role);
            let builder = std::thread::Builder::new().name(name);
            engine.threads.push(builder.spawn(move || shared.serve())?);
        }
        Ok(engine)
    }

    /// The request as a task; a negative errno where it cannot be requested.
    #[inline(always)]
    fn task(&mut self, request: &Request) -> Result<Task, i64> {
        let fd = self.file.fd().map_err(|errno| -i64::from(errno.raw_os_error()))?;
        let buffer = self.buffers.get(request.token, request.length_bytes);
        if buffer.len() != request.length_bytes as usize {
            return Err(-i64::from(libc::EINVAL));
        }
        Ok(Task { request: *request, file: fd.as_raw_fd(), buffer: buffer.as_mut_ptr() })
    }
}

impl Engine for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    #[inline(always)]
    fn submit(&mut self, request: &Request, completions: &mut Vec<Completion>) -> io::Result<()> {
        let result = match request.operation {
            Operation::Read | Operation::Write | Operation::Fdatasync | Operation::Fsync => {
                match self.task(request) {
                    Ok(task) => {
                        lock(&self.shared.work).tasks.push_back(task);
                        self.shared.is_work.notify_one();
                        self.outstanding += 1;
                        return Ok(());
                    }
                    Err(result) => result,
                }
            }
            other => self.file.serve(other),
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
        let count = self.shared.count.load(Ordering::Acquire);
        if count < min {
            if self.outstanding == 0 {
                return sleep(timeout_ns);
            }
            self.shared.wait(u64::from(min).min(self.outstanding) as u32, timeout_ns);
        } else if count == 0 {
            return Ok(());
        }
        self.outstanding -= u64::from(self.shared.take(completions));
        Ok(())
    }
}

impl Drop for Threads {
    /// Ends the pool, before file and buffers go; what was still to be done is done first.
    fn drop(&mut self) {
        lock(&self.shared.work).is_over = true;
        self.shared.is_work.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked is gone too, and has its buffer no more.
            let _ = thread.join();
        }
    }
}

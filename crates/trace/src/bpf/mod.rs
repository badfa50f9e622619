//! Loading a committed BPF object and attaching its programs to the kernel's tracepoints.
//!
//! Tracepoints alone: they work under lockdown=integrity, where kprobes and fentry do not. By their
//! kernel types (`tp_btf`) or raw (`raw_tp`), as the object says. The objects are moved to the
//! running kernel's types at loading (CO-RE), so that no compiler is needed here.
//!
//! Non-goals: other kinds of programs; what a map holds.

mod again;
mod cost;
mod error;
pub(crate) mod whoami;

pub use cost::{RunCounting, RunTime};
pub use error::LoadError;

use crate::kernel::{self, Kept, NoTypes};
use again::again;
use aya::programs::{Program, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, Endianness};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CapabilitySet;
use std::sync::Arc;
use std::time::Duration;

/// How long a program is waited for that runs at a switch of threads.
const PATIENCE: Duration = Duration::from_secs(1);

/// A program of an object and the tracepoint that it is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hook {
    pub(crate) program: &'static str,
    pub(crate) tracepoint: &'static str,
    /// Whether the object is of no use without it.
    pub(crate) is_required: bool,
    /// The first kernel that has it.
    pub(crate) since: &'static str,
    /// Whether it may interrupt itself, and has a second program there.
    pub(crate) is_twice: bool,
}

impl Hook {
    /// A program that has to be attached, named as its tracepoint is.
    pub(crate) const fn required(name: &'static str) -> Self {
        Self { program: name, tracepoint: name, is_required: true, since: "5.12", is_twice: false }
    }

    /// A program for a tracepoint that not every kernel has.
    pub(crate) const fn optional(name: &'static str) -> Self {
        Self { program: name, tracepoint: name, is_required: false, since: "5.12", is_twice: false }
    }

    /// It interrupts itself on every kernel.
    pub(crate) const fn twice(self) -> Self {
        Self { is_twice: true, ..self }
    }

    /// A program at the switches of threads.
    pub(crate) const fn at_a_switch(program: &'static str) -> Self {
        Self { program, ..Self::required("sched_switch") }
    }
}

/// An object in the kernel; dropping it detaches and removes everything.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) ebpf: Ebpf,
}

impl Loaded {
    /// Creates an object's maps. `object` is aligned as `aya::include_bytes_aligned` does it.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn new(object: &[u8]) -> Result<Self, LoadError> {
        Self::with(object, EbpfLoader::new())
    }

    /// The same with maps of other sizes and constants of other values than the object's own.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn with(object: &[u8], loader: EbpfLoader<'_>) -> Result<Self, LoadError> {
        check_permission()?;
        let types = own_types()?;
        // It borrows the types, and has to go before them.
        let mut loader = loader;
        let _lifted = LockedMemory::lift();
        // A task storage is not read from here, and aya has no type for it.
        loader.allow_unsupported_maps();
        let ebpf = loader.btf(Some(&types)).load(object);
        let ebpf = ebpf.map_err(|e| LoadError::new("the object", &e))?;
        Ok(Self { ebpf })
    }

    /// Attaches one program; false if it is optional and the kernel has no such tracepoint.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn attach(&mut self, hook: &Hook) -> Result<bool, LoadError> {
        self.attach_as(hook, hook.program)
    }

    /// Attaches the second program of a point, for what its first one is left out for.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn attach_again(&mut self, hook: &Hook) -> Result<(), LoadError> {
        self.count_made_good(hook.program)?;
        self.attach_as(hook, &again(hook.program)).map(drop)
    }

    fn attach_as(&mut self, hook: &Hook, program: &str) -> Result<bool, LoadError> {
        let name = hook.program;
        let program = self.ebpf.program_mut(program).ok_or(LoadError::NoProgram(name))?;
        let _lifted = LockedMemory::lift();
        let loaded = load(program, hook)?;
        let attached = loaded.and_then(|()| match program {
            Program::BtfTracePoint(program) => program.attach().map(drop),
            Program::RawTracePoint(program) => program.attach(hook.tracepoint).map(drop),
            _ => Err(ProgramError::UnexpectedProgramType),
        });
        match attached {
            Ok(()) => Ok(true),
            Err(e) if !is_no_tracepoint(&e) => Err(LoadError::new(name, &e)),
            Err(_) if hook.is_required => {
                Err(LoadError::NoTracepoint { name: hook.tracepoint, since: hook.since })
            }
            // A raw one is loaded before it is known that there is no such tracepoint.
            Err(_) => self.remove(hook).or(Ok(())).map(|()| false),
        }
    }

    /// Has the kernel verify a program, which is attached later.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn verify(&mut self, hook: &Hook) -> Result<(), LoadError> {
        self.verify_as(hook, hook.program)
    }

    /// The same of the second program of a point.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn verify_again(&mut self, hook: &Hook) -> Result<(), LoadError> {
        self.verify_as(hook, &again(hook.program))
    }

    fn verify_as(&mut self, hook: &Hook, program: &str) -> Result<(), LoadError> {
        let name = hook.program;
        let _lifted = LockedMemory::lift();
        let program = self.ebpf.program_mut(program).ok_or(LoadError::NoProgram(name))?;
        load(program, hook)?.map_err(|e| LoadError::new(name, &e))
    }

    /// Lets a program run at switches of threads, of this one too, until it has done what it is
    /// for, and removes it; false if it has not for a second.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn run_at_switches(
        &mut self,
        hook: &Hook,
        is_done: impl Fn(&Self) -> Result<bool, LoadError>,
    ) -> Result<bool, LoadError> {
        self.attach(hook)?;
        let begin = std::time::Instant::now();
        let mut pause = Duration::from_micros(100);
        // Sleeping switches this thread out, which the program sees; but not if the time is over
        // before the thread is off the CPU, as on a slow machine.
        let done = loop {
            std::thread::sleep(pause);
            match is_done(self) {
                Ok(false) if begin.elapsed() < PATIENCE => pause *= 2,
                done => break done,
            }
        };
        self.remove(hook)?;
        done
    }

    /// Detaches one program and removes it from the kernel.
    /// Errors: a program that is not loaded.
    pub(crate) fn remove(&mut self, hook: &Hook) -> Result<(), LoadError> {
        self.remove_as(hook.program, hook.program)
    }

    /// The same of the second program of a point.
    /// Errors: a program that is not loaded.
    pub(crate) fn remove_again(&mut self, hook: &Hook) -> Result<(), LoadError> {
        self.remove_as(hook.program, &again(hook.program))
    }

    fn remove_as(&mut self, name: &'static str, program: &str) -> Result<(), LoadError> {
        let program = self.ebpf.program_mut(program).ok_or(LoadError::NoProgram(name))?;
        let unloaded = match program {
            Program::BtfTracePoint(program) => program.unload(),
            Program::RawTracePoint(program) => program.unload(),
            _ => return Err(LoadError::NoProgram(name)),
        };
        unloaded.map_err(|e| LoadError::new(name, &e))
    }
}

/// The kernel's types as the loader reads them, once for all objects: they do not change.
static TYPES: Kept<Btf> = Kept::nothing();

fn own_types() -> Result<Arc<Btf>, NoTypes> {
    TYPES.get_or(|| {
        let types = Btf::parse(kernel::own_types()?.bytes(), Endianness::default());
        types.map_err(|e| NoTypes::Absent(e.to_string()))
    })
}

/// Frees what was read of the kernel's types: 16 MB that nobody needs once all programs are loaded.
/// Whoever loads another one reads them anew.
pub fn forget_types() {
    TYPES.forget();
    kernel::forget_types();
}

/// Has the kernel verify a program and keep it, if it has not yet; what the kernel said.
/// Errors: a kernel that shows no types.
fn load(program: &mut Program, hook: &Hook) -> Result<Result<(), ProgramError>, NoTypes> {
    Ok(match program {
        Program::BtfTracePoint(program) if program.fd().is_err() => {
            program.load(hook.tracepoint, &*own_types()?)
        }
        Program::RawTracePoint(program) if program.fd().is_err() => program.load(),
        Program::BtfTracePoint(_) | Program::RawTracePoint(_) => Ok(()),
        _ => Err(ProgramError::UnexpectedProgramType),
    })
}

/// Whether a program could not be attached because there is nothing to attach it to.
fn is_no_tracepoint(error: &ProgramError) -> bool {
    match error {
        ProgramError::Btf(_) => true,
        ProgramError::SyscallError(refused) => {
            refused.io_error.kind() == std::io::ErrorKind::NotFound
        }
        _ => false,
    }
}

/// Before Linux 5.11 maps and programs count as locked memory, of which even root has little by
/// custom (64 KiB). The limit is lifted while they are made, and is as before when this is
/// dropped: commands that are started have it, too.
#[derive(Debug)]
struct LockedMemory(Rlimit);

impl LockedMemory {
    /// None where it may not be lifted.
    fn lift() -> Option<Self> {
        let before = getrlimit(Resource::Memlock);
        let all = Rlimit { current: None, maximum: None };
        setrlimit(Resource::Memlock, all).ok().map(|()| Self(before))
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // Whoever may lift it may lower it.
        let _ = setrlimit(Resource::Memlock, self.0);
    }
}

/// Asked for first, because without it the kernel's errors mislead.
fn check_permission() -> Result<(), LoadError> {
    let held = rustix::thread::capabilities(None).map_err(|_| LoadError::NotPermitted)?.effective;
    let needed = CapabilitySet::BPF | CapabilitySet::PERFMON;
    match held.contains(needed) || held.contains(CapabilitySet::SYS_ADMIN) {
        true => Ok(()),
        false => Err(LoadError::NotPermitted),
    }
}

//! Loading a committed BPF object and attaching its programs to the kernel's tracepoints.
//!
//! Tracepoints by their kernel types (`tp_btf`) alone: they work under lockdown=integrity, where
//! kprobes and fentry do not. The objects are moved to the running kernel's types at loading
//! (CO-RE), so that no compiler is needed here.
//!
//! Non-goals: other kinds of programs; what a map holds.

mod cost;
mod error;
pub(crate) mod whoami;

pub use cost::{RunCounting, RunTime};
pub use error::LoadError;

use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};
use rustix::thread::CapabilitySet;

/// A program of an object and the tracepoint that it is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hook {
    pub(crate) program: &'static str,
    pub(crate) tracepoint: &'static str,
    /// Whether the object is of no use without it.
    pub(crate) is_required: bool,
    /// The first kernel that has it.
    pub(crate) since: &'static str,
}

impl Hook {
    /// A program that has to be attached, named as its tracepoint is.
    pub(crate) const fn required(name: &'static str) -> Self {
        Self { program: name, tracepoint: name, is_required: true, since: "5.12" }
    }

    /// The same, of a tracepoint that is younger than all else that an object needs.
    pub(crate) const fn since(self, kernel: &'static str) -> Self {
        Self { since: kernel, ..self }
    }

    /// A program for a tracepoint that not every kernel has.
    pub(crate) const fn optional(name: &'static str) -> Self {
        Self { program: name, tracepoint: name, is_required: false, since: "5.12" }
    }
}

/// An object in the kernel; dropping it detaches and removes everything.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) ebpf: Ebpf,
    types: Btf,
}

impl Loaded {
    /// Creates an object's maps. `object` is aligned as `aya::include_bytes_aligned` does it.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn new(object: &[u8]) -> Result<Self, LoadError> {
        Self::with(object, EbpfLoader::new())
    }

    /// The same with maps of other sizes and constants of other values than the object's own.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn with(object: &[u8], mut loader: EbpfLoader<'_>) -> Result<Self, LoadError> {
        check_permission()?;
        let types = Btf::from_sys_fs().map_err(|e| LoadError::NoTypes(e.to_string()))?;
        // A task storage is not read from here, and aya has no type for it.
        loader.allow_unsupported_maps();
        let ebpf = load(loader, &types, object)?;
        Ok(Self { ebpf, types })
    }

    /// Attaches one program; false if it is optional and the kernel has no such tracepoint.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn attach(&mut self, hook: &Hook) -> Result<bool, LoadError> {
        let name = hook.program;
        let program = program(&mut self.ebpf, name)?;
        match program.load(hook.tracepoint, &self.types) {
            Ok(()) => {}
            Err(ProgramError::Btf(_)) if !hook.is_required => return Ok(false),
            Err(ProgramError::Btf(_)) => {
                return Err(LoadError::NoTracepoint { name: hook.tracepoint, since: hook.since });
            }
            Err(e) => return Err(LoadError::new(name, &e)),
        }
        program.attach().map_err(|e| LoadError::new(name, &e))?;
        Ok(true)
    }

    /// Lets a program run at a few switches of threads, of this one too, and removes it.
    /// Errors: whatever stands in the way, with its remedy.
    pub(crate) fn run_at_a_switch(&mut self, hook: &Hook) -> Result<(), LoadError> {
        self.attach(hook)?;
        // Sleeping switches this thread out, which the program sees.
        std::thread::sleep(std::time::Duration::from_micros(100));
        self.remove(hook)
    }

    /// Detaches one program and removes it from the kernel.
    /// Errors: a program that is not loaded.
    pub(crate) fn remove(&mut self, hook: &Hook) -> Result<(), LoadError> {
        let name = hook.program;
        program(&mut self.ebpf, name)?.unload().map_err(|e| LoadError::new(name, &e))
    }
}

/// The loader only borrows the types while it loads.
fn load<'a>(mut loader: EbpfLoader<'a>, types: &'a Btf, object: &[u8]) -> Result<Ebpf, LoadError> {
    loader.btf(Some(types)).load(object).map_err(|e| LoadError::new("the object", &e))
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut BtfTracePoint, LoadError> {
    let program = ebpf.program_mut(name).ok_or(LoadError::NoProgram(name))?;
    program.try_into().map_err(|_| LoadError::NoProgram(name))
}

/// DeviceSelection for first, because without it the kernel's errors mislead.
fn check_permission() -> Result<(), LoadError> {
    let held = rustix::thread::capabilities(None).map_err(|_| LoadError::NotPermitted)?.effective;
    let needed = CapabilitySet::BPF | CapabilitySet::PERFMON;
    match held.contains(needed) || held.contains(CapabilitySet::SYS_ADMIN) {
        true => Ok(()),
        false => Err(LoadError::NotPermitted),
    }
}

//! What the running kernel is: its types and its modules' by name, its functions, its tracepoints.
//!
//! The one place where anything is looked up in a kernel. Nothing is guessed: what is not found is
//! a capability that is missing, with its consequence and its remedy (`capability`).
//!
//! Source: /sys/kernel/btf (since Linux 5.4; of modules since 5.11), /proc/kallsyms, and tracefs
//! for the tracepoints of modules that tell no types.
//!
//! Non-goals: what a program may do (`bpf`), which devices there are (crate `host`).

mod btf;
mod capability;
mod facts;
mod functions;
mod kept;
mod tested;
mod tracefs;
pub(crate) mod waiting;

pub use capability::{Capability, Status};
pub(crate) use facts::Words;
pub(crate) use kept::Kept;
pub use tested::{Standing, Tried, oldest, standing};
pub(crate) use tracefs::Tracefs;

use btf::Types;
use rustix::io::Errno;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Where the kernel shows its types and its modules'.
const TYPES: &str = "/sys/kernel/btf";

/// Modules whose types or tracepoints are used, where they are no part of the kernel.
const MODULES: [&str; 5] = ["ext4", "jbd2", "xfs", "btrfs", "f2fs"];

/// What tracepoints are guarded by since Linux 7.0, where they leave preemption on. Kernels up to
/// 6.12 have it for something else, and no `struct tracepoint_ext` (kernel/tracepoint.c).
const TRACEPOINTS_GUARD: &str = "tracepoint_srcu";

/// Why nothing is known of the kernel's types. A clause with its remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTypes {
    /// It shows none of itself.
    #[error(
        "load BPF: the kernel has no type information in /sys/kernel/btf/vmlinux ({0}); use a \
         kernel built with CONFIG_DEBUG_INFO_BTF"
    )]
    Absent(String),
    /// It was not asked: this process may have no more files open.
    #[error(
        "load BPF: /sys/kernel/btf/vmlinux cannot be read ({0}); raise the limit of open files \
         (ulimit -n)"
    )]
    TooManyFiles(String),
}

impl NoTypes {
    /// For that refusal of the file system.
    pub(crate) fn of(error: &std::io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE) => Self::TooManyFiles(error.to_string()),
            _ => Self::Absent(error.to_string()),
        }
    }
}

/// The running kernel.
pub struct Kernel {
    types: Arc<Types>,
    modules: Vec<Types>,
    functions: HashMap<&'static str, u64>,
    tracefs: Option<Tracefs>,
}

shows!(Kernel: types);

impl Kernel {
    /// Looks at the running kernel, and at the modules that are loaded now.
    /// Errors: a kernel that shows no types of itself.
    pub fn look() -> Result<Self, NoTypes> {
        let types = own_types()?;
        let of_module = |name: &&str| {
            let bytes = std::fs::read(Path::new(TYPES).join(name)).ok()?;
            Types::new(bytes, Some(types.clone())).ok()
        };
        let modules = MODULES.iter().filter_map(of_module).collect();
        let mut kernel =
            Self { types, modules, functions: HashMap::new(), tracefs: Tracefs::open().ok() };
        let may_be_there = |name: &&str| kernel.may_have(name);
        let guard = Some(TRACEPOINTS_GUARD).filter(|_| kernel.guards_tracepoints());
        kernel.functions = functions::read(facts::functions().filter(may_be_there).chain(guard));
        Ok(kernel)
    }

    /// Whether there may be such a function, as far as types tell.
    fn may_have(&self, function: &str) -> bool {
        self.all_types().any(|types| types.has_name(function)) || has_silent_modules()
    }

    /// The value of an enumerator of the kernel's own types.
    pub(crate) fn enumerator(&self, name: &str) -> Option<u64> {
        self.types.enumerator(name)
    }

    fn argument(&self, tracepoint: &str, of: &str) -> Option<u64> {
        self.types.argument(tracepoint, of)
    }

    fn function(&self, name: &str) -> Option<u64> {
        self.functions.get(name).copied()
    }

    fn offset(&self, of: &str, field: &str) -> Option<u64> {
        self.all_types().find_map(|types| types.offset(of, field))
    }

    /// Whether there is such a tracepoint, in the kernel or in a module that is loaded.
    pub(crate) fn has_tracepoint(&self, name: &str) -> bool {
        let by_types = self.all_types().any(|types| types.has_tracepoint(name));
        by_types || self.tracefs.as_ref().is_some_and(|tracefs| tracefs.has(name))
    }

    /// Whether there may be such a tracepoint, as far as types and tracefs tell.
    pub(crate) fn may_have_tracepoint(&self, name: &str) -> bool {
        self.has_tracepoint(name) || (self.tracefs.is_none() && has_silent_modules())
    }

    /// Whether a program at a tracepoint may be preempted, and another step on its CPU miss it.
    pub(crate) fn preempts_programs(&self) -> bool {
        self.guards_tracepoints() && self.function(TRACEPOINTS_GUARD).is_some()
    }

    /// Whether, if there is a guard, it is that of all tracepoints: older kernels have one for few.
    fn guards_tracepoints(&self) -> bool {
        self.offset("tracepoint_ext", "regfunc").is_some()
    }

    fn all_types(&self) -> impl Iterator<Item = &Types> {
        std::iter::once(&*self.types).chain(&self.modules)
    }
}

/// Whether a module is loaded whose types the kernel does not tell, as none does before 5.11.
fn has_silent_modules() -> bool {
    MODULES.iter().any(|module| {
        let is_loaded = Path::new("/sys/module").join(module).join("initstate").exists();
        is_loaded && !Path::new(TYPES).join(module).exists()
    })
}

/// The kernel's own types, which do not change while it runs.
static OWN: Kept<Types> = Kept::nothing();

/// The kernel's own types.
pub(crate) fn own_types() -> Result<Arc<Types>, NoTypes> {
    OWN.get_or(|| {
        let path = Path::new(TYPES).join("vmlinux");
        let bytes = std::fs::read(path).map_err(|e| NoTypes::of(&e))?;
        Types::new(bytes, None).map_err(|e| NoTypes::Absent(e.to_string()))
    })
}

/// Frees the kernel's own types, which take some MiB.
pub(crate) fn forget_types() {
    OWN.forget();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_open_files_is_not_taken_for_a_kernel_without_types() {
        let of = |errno: Errno| NoTypes::of(&errno.into()).to_string();
        assert!(of(Errno::MFILE).ends_with("raise the limit of open files (ulimit -n)"));
        assert!(of(Errno::NOENT).ends_with("CONFIG_DEBUG_INFO_BTF"));
    }

    /// A function is sought in the kernel's list only if some type has its name.
    #[test]
    fn root_no_function_is_missed_because_no_type_has_its_name() {
        let Ok(kernel) = Kernel::look() else { return println!("skipped: no types here") };
        let listed = functions::read(facts::functions());
        if listed.is_empty() {
            return println!("skipped: the kernel hides its functions from this user");
        }
        assert_eq!(kernel.functions, listed);
    }
}

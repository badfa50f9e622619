//! Why an object could not be loaded, as a clause with its remedy.

use aya::programs::ProgramError;
use std::error::Error;
use std::io;

/// Why a BPF object does not run on this kernel. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum LoadError {
    #[error(
        "load BPF: the kernel shows no types of itself in /sys/kernel/btf/vmlinux ({0}); \
         use a kernel built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoTypes(String),
    #[error(
        "load BPF: not permitted; run as root or with CAP_BPF and CAP_PERFMON, outside user \
         namespaces, on a kernel whose lockdown is at most integrity"
    )]
    NotPermitted,
    /// No memory for a map or a program; before Linux 5.11 the limit of locked memory counts.
    #[error(
        "load BPF: no memory is granted for {0}; raise the memory limit of the control group, \
         or the limit of locked memory (ulimit -l)"
    )]
    NoMemory(&'static str),
    #[error(
        "load BPF: the kernel's verifier refused {program}: {line}; use another kernel (5.12 or \
         later), and report this with its version"
    )]
    Refused { program: &'static str, line: String },
    #[error("load BPF: the kernel has no tracepoint {name}; use Linux {since} or later")]
    NoTracepoint { name: &'static str, since: &'static str },
    #[error(
        "learn this process's number in the first PID namespace: {0}; \
         mount /proc, or run outside of containers"
    )]
    WhoAmI(String),
    #[error("load BPF: the object has no {0}; rebuild it with `cargo xtask bpf`")]
    NoProgram(&'static str),
    #[error("load BPF: {what}: {why}; use Linux 5.12 or later")]
    Other { what: &'static str, why: String },
}

impl LoadError {
    /// Sorts the loader's errors by what the user can do.
    pub(crate) fn new(what: &'static str, error: &(dyn Error + 'static)) -> Self {
        let errno = chain(error)
            .filter_map(|e| e.downcast_ref::<io::Error>())
            .find_map(io::Error::raw_os_error)
            .map(rustix::io::Errno::from_raw_os_error);
        match errno {
            Some(rustix::io::Errno::PERM) => return Self::NotPermitted,
            Some(rustix::io::Errno::NOMEM) => return Self::NoMemory(what),
            _ => {}
        }
        let log = chain(error).find_map(|e| match e.downcast_ref::<ProgramError>()? {
            ProgramError::LoadError { verifier_log, .. } => Some(verifier_log.to_string()),
            _ => None,
        });
        match log.as_deref().and_then(telling_line) {
            Some(line) => Self::Refused { program: what, line: line.to_owned() },
            None => Self::Other { what, why: sentence(error) },
        }
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&e| e.source())
}

/// All that a chain of errors says, each thing once.
fn sentence(error: &(dyn Error + 'static)) -> String {
    let mut said = String::new();
    for text in chain(error).map(ToString::to_string) {
        if !said.contains(&text) {
            said = if said.is_empty() { text } else { format!("{said}: {text}") };
        }
    }
    said
}

/// The verifier's reason: the last line of its log before its statistics.
fn telling_line(log: &str) -> Option<&str> {
    let is_statistics = |line: &&str| {
        ["processed ", "verification time", "stack depth"].iter().any(|s| line.starts_with(s))
    };
    log.lines().map(str::trim).rfind(|line| !line.is_empty() && !is_statistics(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verifiers_reason_is_the_line_before_its_statistics() {
        let log = "func#0 @0\n0: R1=ctx() R10=fp0\n; x = *p;\n3: (79) r1 = *(u64 *)(r2 +0)\n\
                   R2 invalid mem access 'scalar'\nverification time 5 usec\nstack depth 0+0\n\
                   processed 3 insns (limit 1000000) max_states_per_insn 0\n";
        assert_eq!(telling_line(log), Some("R2 invalid mem access 'scalar'"));
        assert_eq!(telling_line("processed 1 insns\n"), None);
    }

    #[test]
    fn errors_are_sorted_by_their_remedy() {
        let of = |errno| {
            let io_error = io::Error::from_raw_os_error(errno);
            let error = ProgramError::SyscallError(aya::sys::SyscallError { call: "y", io_error });
            LoadError::new("x", &error).to_string()
        };
        assert!(of(1).contains("CAP_BPF and CAP_PERFMON"), "{}", of(1));
        assert!(of(12).contains("memory limit"), "{}", of(12));
        assert!(of(22).contains("Invalid argument"), "{}", of(22));
    }
}

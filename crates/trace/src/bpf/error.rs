//! Why an object could not be loaded, as a clause with its remedy.

use crate::kernel::NoTypes;
use aya::programs::ProgramError;
use std::error::Error;
use std::io;

/// Why a BPF object does not run on this kernel. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum LoadError {
    #[error(transparent)]
    NoTypes(#[from] NoTypes),
    #[error(
        "load BPF: not permitted; run as root or with CAP_BPF and CAP_PERFMON, outside user \
         namespaces"
    )]
    NotPermitted,
    #[error(
        "load BPF: the kernel is locked down (/sys/kernel/security/lockdown: confidentiality), so \
         programs must not read its memory; boot with lockdown=integrity"
    )]
    LockedDown,
    /// No memory for a map or a program; before Linux 5.11 the limit of locked memory counts.
    #[error(
        "load BPF: not enough memory for {0}; raise the memory limit of the cgroup or the limit of \
         locked memory (ulimit -l)"
    )]
    NoMemory(&'static str),
    #[error(
        "load BPF: the kernel's verifier refused the program {program}: {line}; report this with \
         the kernel's version and the verifier's log"
    )]
    Refused {
        program: &'static str,
        /// Its reason.
        line: String,
        /// All that it said.
        log: String,
    },
    #[error("load BPF: the kernel has no tracepoint {name}; use Linux {since} or later")]
    NoTracepoint { name: &'static str, since: &'static str },
    #[error(
        "load BPF: the kernel has no per-task storage for BPF programs; use Linux 5.12 or later"
    )]
    NoStorage,
    #[error(
        "find this process's PID in the initial PID namespace: {0}; mount /proc, or run outside \
         containers"
    )]
    WhoAmI(String),
    #[error("load BPF: the object has no {0}; rebuild it with `cargo xtask bpf`")]
    NoProgram(&'static str),
    #[error("load BPF: {what}: {why}")]
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
            Some(rustix::io::Errno::PERM) if is_locked_down() => return Self::LockedDown,
            Some(rustix::io::Errno::PERM) => return Self::NotPermitted,
            Some(rustix::io::Errno::NOMEM) => return Self::NoMemory(what),
            _ => {}
        }
        let log = chain(error).find_map(|e| match e.downcast_ref::<ProgramError>()? {
            ProgramError::LoadError { verifier_log, .. } => Some(verifier_log.to_string()),
            _ => None,
        });
        let Some(log) = log else { return Self::Other { what, why: sentence(error) } };
        match telling_line(&log) {
            // The kernel has that helper, and does not give it.
            Some(line) if line.contains(READING) && is_locked_down() => Self::LockedDown,
            Some(line) => Self::Refused { program: what, line: line.to_owned(), log },
            None => Self::Other { what, why: sentence(error) },
        }
    }

    /// All that the verifier said, where it refused.
    pub fn log(&self) -> Option<&str> {
        match self {
            Self::Refused { log, .. } => Some(log),
            _ => None,
        }
    }
}

/// By which programs read the kernel's memory.
const READING: &str = "bpf_probe_read";

/// Whether lockdown forbids to read the kernel's memory (LOCKDOWN_BPF_READ_KERNEL). Where
/// securityfs is not mounted, the command line tells what was asked for at boot.
fn is_locked_down() -> bool {
    let in_force = std::fs::read_to_string("/sys/kernel/security/lockdown");
    let at_boot = || std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
    match in_force {
        Ok(text) => text.contains("[confidentiality]"),
        Err(_) => at_boot().split_whitespace().any(|word| word == "lockdown=confidentiality"),
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

/// Words of the lines in which the verifier counts what it did, whatever it decided.
const STATISTICS: [&str; 5] =
    ["processed ", "verification time", "stack depth", "max_states_per_insn", "combined stack"];

/// The verifier's reason: the last line of its log before its statistics, which differ by kernel.
fn telling_line(log: &str) -> Option<&str> {
    let is_statistics = |line: &&str| STATISTICS.iter().any(|words| line.contains(words));
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
        // As Linux 7.2 has it.
        let log = "invalid func unknown#195896080\ninsns processed 271\n";
        assert_eq!(telling_line(log), Some("invalid func unknown#195896080"));
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

//! Functions by their addresses: the kernel's, and those of processes while they live.
//!
//! By blazesym, which reads /proc/kallsyms, /proc/PID/maps and the symbols of ELF files; debugging
//! information is not read, so that a function that was inlined is its caller.
//!
//! Non-goals: walking stacks (the kernel did); functions that a program makes while it runs, but
//! for those that it writes to /tmp/perf-PID.map.

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolizer};
use blazesym::{MaybeDefault, Pid};

/// What an address without a name is called.
pub const UNKNOWN: &str = "[unknown]";

/// How the functions are called by which a tracepoint calls its programs, and a program is run:
/// frames up to the outermost of them are the tracer's own. Which of them are there differs by
/// kernel (include/linux/tracepoint.h, include/trace/bpf_probe.h, kernel/trace/bpf_trace.c).
const TRACER: [&str; 3] = ["__traceiter_", "__bpf_trace_", "bpf_trace_run"];

/// Finds functions, and remembers where they are.
#[derive(Debug)]
pub struct Functions {
    symbolizer: Symbolizer,
    kernel: Source<'static>,
}

impl Default for Functions {
    fn default() -> Self {
        // The addresses of /proc/kallsyms are those that it has; no image of the kernel is needed.
        let kernel = Kernel { vmlinux: MaybeDefault::None, ..Kernel::default() };
        Self { symbolizer: Symbolizer::new(), kernel: Source::Kernel(kernel) }
    }
}

impl Functions {
    /// The kernel's functions of a stack, innermost first, as the addresses are; without those of
    /// the tracer.
    pub fn of_kernel(&self, addresses: &[u64]) -> Vec<String> {
        let unknown = || UNKNOWN.to_owned();
        let name = |address: &u64| self.name(&self.kernel, *address).unwrap_or_else(unknown);
        let mut named: Vec<String> = addresses.iter().map(name).collect();
        named.drain(..of_the_tracer(&named));
        named
    }

    /// Those of a process; what has no name is called as its file is, `[libc.so.6]`. Where the
    /// process is gone, or may not be looked at, nothing has a name. What lies in no program is
    /// none: a program without frame pointers has other things where they are looked for.
    pub fn of_process(&self, process: u32, addresses: &[u64]) -> Vec<String> {
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        let source = Source::Process(Process::new(Pid::from(process)));
        let name = |address: &u64| {
            let file = file_at(&maps, *address)?;
            let known = self.name(&source, *address);
            Some(known.unwrap_or_else(|| format!("[{}]", harmless(file))))
        };
        let named: Vec<String> = addresses.iter().map_while(name).collect();
        if named.is_empty() { vec![UNKNOWN.to_owned()] } else { named }
    }

    fn name(&self, source: &Source<'_>, address: u64) -> Option<String> {
        let found = self.symbolizer.symbolize_single(source, Input::AbsAddr(address)).ok()?;
        found.into_sym().map(|symbol| harmless(&symbol.name))
    }
}

/// The name of the program that is mapped at an address, as proc(5) has it: `begin-end rights
/// offset device inode path`.
fn file_at(maps: &str, address: u64) -> Option<&str> {
    let is_it = |line: &&str| {
        let (begin, rest) = line.split_once('-').unwrap_or_default();
        let (end, rights) = rest.split_once(' ').unwrap_or_default();
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let range = number(begin).zip(number(end));
        range.is_some_and(|(begin, end)| (begin..end).contains(&address))
            && rights.as_bytes().get(2) == Some(&b'x')
    };
    let line = maps.lines().find(is_it)?;
    let name = line.rsplit(['/', ' ']).next().filter(|name| !name.is_empty());
    Some(name.unwrap_or("anonymous"))
}

/// Without what divides functions in a folded stack, and without control characters.
fn harmless(name: &str) -> String {
    name.replace(|c: char| c == ';' || c.is_control() || c.is_whitespace(), "_")
}

/// How many of the innermost frames are the tracer's.
fn of_the_tracer(named: &[String]) -> usize {
    let is_tracer = |name: &String| TRACER.iter().any(|begin| name.starts_with(begin));
    named.iter().rposition(is_tracer).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_tracer_are_left_out_whatever_the_kernel_calls_them() {
        let of = |names: &[&str]| {
            of_the_tracer(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        // Linux 6.18; and 6.12, where the program's own address looks like another function's.
        assert_eq!(of(&["__traceiter_block_io_start", "blk_mq_submit_bio"]), 1);
        assert_eq!(of(&["__init_scratch_end", "bpf_trace_run1", "blk_mq_submit_bio"]), 2);
        assert_eq!(of(&["blk_mq_submit_bio", "submit_bio"]), 0);
    }

    #[test]
    fn own_functions_have_names_and_nobodys_are_unknown() {
        let functions = Functions::default();
        let address = libc::getpid as *const () as u64;
        let named = functions.of_process(std::process::id(), &[address, 8, address]);
        assert!(named.len() == 1 && named[0].contains("getpid"), "{named:?}");
        assert_eq!(functions.of_process(u32::MAX, &[address]), [UNKNOWN]);
    }

    #[test]
    fn what_has_no_name_is_called_as_its_file() {
        let maps = "55d0-55f0 r-xp 00002000 fe:00 77   /usr/bin/my dd\n\
            55f0-55ff rw-p 00002000 fe:00 77   /usr/bin/dd\n\
            7f00-7f10 r-xp 00000000 00:00 0 \nstrange\n-";
        assert_eq!(file_at(maps, 0x55d0), Some("dd"));
        assert_eq!(file_at(maps, 0x7f01), Some("anonymous"));
        for address in [0x55f0, 0x7f10, 0] {
            assert_eq!(file_at(maps, address), None, "{address:x}");
        }
    }

    #[test]
    fn a_name_does_not_divide_a_folded_stack() {
        assert_eq!(harmless("operator new; a\n"), "operator_new__a_");
    }
}

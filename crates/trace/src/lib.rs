//! What the kernel's tracepoints tell: the CPU account, and the capture of requests.
//! BPF lives here and nowhere else.
//!
//! A probe is one folder: the program that runs in the kernel (`NAME.bpf.c`), its committed object
//! (`NAME.bpf.o`, which `cargo xtask bpf` rebuilds and a test compares) and the code that attaches
//! and reads it. What probes share is in [`bpf`]. What it tells of requests are [`event`]s.
//!
//! Non-goals: what the figures mean (`analyze`), printing.

/// Shows of a value what is small enough to be shown.
#[macro_export]
macro_rules! shows {
    ($type:ident $(<$life:lifetime>)? $(: $member:ident)?) => {
        impl std::fmt::Debug for $type $(<$life>)? {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter
                    .debug_struct(stringify!($type))
                    $(.field(stringify!($member), &self.$member))?
                    .finish_non_exhaustive()
            }
        }
    };
}

pub mod account;
pub mod bpf;
pub mod capture;
pub mod clock;
pub mod event;
pub mod intake;
pub mod kernel;
pub mod output;
pub mod pair;
pub mod process;
pub mod rwbs;

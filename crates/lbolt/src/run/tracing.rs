//! The trace of CPU time as crate `host` asks for it, by crate `trace`: the two know nothing of
//! each other.

use host::subject::CpuTrace;
use model::seam::TracedCpu;
use std::io;
use trace::account::CpuAccount;

/// A source of CPU time by trace, or why there is none.
pub(crate) type TraceSource = Result<Box<dyn CpuTrace>, String>;

/// The account by BPF, or why this machine has none. It is in the kernel only around the passes
/// that it traces: attached, it costs something at every switch even while it does not count.
pub(crate) fn tracer(is_wanted: bool) -> TraceSource {
    if !is_wanted {
        return Err("no trace was requested".into());
    }
    match CpuAccount::load() {
        Ok(account) => {
            drop(account);
            Ok(Box::new(Bpf(None)))
        }
        Err(error) => Err(format!("CPU time is not traced: failed to {error}")),
    }
}

struct Bpf(Option<CpuAccount>);

impl Bpf {
    fn account(&mut self) -> io::Result<&mut CpuAccount> {
        let account = match self.0.take() {
            Some(account) => account,
            None => CpuAccount::load().map_err(io::Error::other)?,
        };
        Ok(self.0.insert(account))
    }
}

impl CpuTrace for Bpf {
    fn start(&mut self) -> io::Result<()> {
        self.account()?.start().map_err(io::Error::other)
    }

    fn read(&mut self) -> io::Result<TracedCpu> {
        let time = self.account()?.read().map_err(io::Error::other)?;
        Ok(TracedCpu {
            job_ns: time.jobs_ns,
            harness_ns: time.harness_ns,
            kernel_threads_ns: time.kernel_threads_ns + time.work_items_ns,
            interrupt_ns: time.hard_interrupts_ns + time.soft_interrupts_ns,
            elsewhere_ns: time.programs_ns,
            idle_ns: time.idle_ns,
            events: time.events,
        })
    }

    fn stop(&mut self) -> io::Result<()> {
        self.account()?.stop().map_err(io::Error::other)
    }

    fn release(&mut self) {
        self.0 = None;
    }
}

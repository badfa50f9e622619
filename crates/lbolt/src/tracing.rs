//! The trace of CPU time as crate `host` asks for it, by crate `trace`: the two know nothing of each
//! other.

use host::subject::CpuTrace;
use model::seam::TracedCpu;
use std::io;
use trace::account::CpuAccount;

/// The account by BPF, or why this machine has none.
pub(crate) fn tracer() -> Result<Box<dyn CpuTrace>, String> {
    match CpuAccount::load() {
        Ok(account) => Ok(Box::new(Bpf(account))),
        Err(error) => Err(format!("no trace of CPU time: failed to {error}")),
    }
}

struct Bpf(CpuAccount);

impl CpuTrace for Bpf {
    fn start(&mut self) -> io::Result<()> {
        self.0.start().map_err(io::Error::other)
    }

    fn read(&mut self) -> io::Result<TracedCpu> {
        let time = self.0.read().map_err(io::Error::other)?;
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
        self.0.stop().map_err(io::Error::other)
    }
}

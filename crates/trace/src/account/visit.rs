//! Making something happen on every CPU: this thread moves onto each in turn, which is a switch
//! of threads there. So a stretch that would go on for long is charged up to now.

use rustix::thread::{
    CpuSet, Timespec, nanosleep, sched_getaffinity, sched_getcpu, sched_setaffinity,
};

/// A CPU that this thread could not be moved onto.
pub(super) struct Unvisited {
    pub(super) cpu: usize,
    pub(super) errno: rustix::io::Errno,
}

/// Moves this thread onto each CPU, and back to where it may be.
pub(super) fn all(cpus: &[usize]) -> Result<(), Unvisited> {
    let failed = |cpu| move |errno| Unvisited { cpu, errno };
    let home = sched_getaffinity(None).map_err(failed(0))?;
    // The CPU that it is on comes last: only a move is a switch.
    let here = sched_getcpu();
    let (last, others): (Vec<usize>, Vec<usize>) = cpus.iter().partition(|cpu| **cpu == here);
    let visited = others.into_iter().chain(last).try_for_each(|cpu| visit(cpu, cpus.len()));
    sched_setaffinity(None, &home).map_err(failed(0))?;
    visited
}

fn visit(cpu: usize, cpus: usize) -> Result<(), Unvisited> {
    let failed = |errno| Unvisited { cpu, errno };
    if cpu >= CpuSet::MAX_CPU {
        return Err(failed(rustix::io::Errno::INVAL));
    }
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one).map_err(failed)?;
    if cpus == 1 {
        // There is no other CPU to come from; sleeping is a switch too.
        let _woken_early = nanosleep(&Timespec { tv_sec: 0, tv_nsec: 1 });
    }
    Ok(())
}

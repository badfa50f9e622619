//! The machine as the experiments' jobs see it.

use super::process::{Process, Waiting};
use super::{BsdMachine, Buffer, Event};
use crate::processor::ProcessTime;
use model::seam::{
    Counters, CpuCounters, DeviceCounters, DeviceRole, JobCpu, JobPlacement, PreparedTarget,
    SubjectError, Turn,
};
use model::workload::EngineKind;
use sim::subject::{Machine, Wake, broken};

impl BsdMachine {
    fn process(&self, placement: &JobPlacement, index: usize) -> Process {
        Process {
            drive: placement.drive,
            name: placement.file.clone(),
            file: self.names.get(&(placement.drive, placement.file.clone())).copied(),
            quantum_from_ns: self.now_ns,
            cpu_before: self.processor.process(index),
            ..Process::default()
        }
    }

    /// Processor time of a process of the present run, ns: its own program's, and the kernel's with
    /// the interrupts that hit it.
    pub(crate) fn process_time(&self, job: usize) -> ProcessTime {
        let index = self.first + job;
        let before = self.processes.get(index).map(|process| process.cpu_before);
        let (now, before) = (self.processor.process(index), before.unwrap_or_default());
        ProcessTime {
            user_ns: now.user_ns - before.user_ns,
            system_ns: now.system_ns - before.system_ns,
            interrupted_ns: now.interrupted_ns - before.interrupted_ns,
        }
    }

    fn cpu_ns(&self, job: usize) -> (u64, u64) {
        let time = self.process_time(job);
        (time.user_ns as u64, (time.system_ns + time.interrupted_ns) as u64)
    }

    fn mark(&mut self, job: usize) {
        let (user_ns, system_ns) = self.cpu_ns(job);
        let now_ns = user_ns + system_ns;
        if let Some(process) = self.processes.get_mut(self.first + job) {
            let first_ns = process.marks.map_or(now_ns, |(first_ns, _)| first_ns);
            process.marks = Some((first_ns, now_ns));
        }
    }

    fn wait(&mut self, job: usize, min: u32, until_ns: u64) {
        let index = self.first + job;
        let process = &mut self.processes[index];
        let has_completion = !process.completions.is_empty();
        let is_owed = process.call.is_some() || !process.requests.is_empty();
        if !has_completion && (min == 0 || (!is_owed && until_ns == u64::MAX)) {
            self.wakes.push_back(Wake { job, completion: None });
            return;
        }
        process.waiting = Waiting::TimedCompletion;
        if has_completion {
            self.deliver(index);
        } else if until_ns != u64::MAX {
            let timer = Event::Timer(index, process.timer);
            self.events.schedule(until_ns.max(self.now_ns), timer);
        }
    }

    /// Writes everything that is still to be written.
    fn settle(&mut self) {
        let dirty: Vec<usize> = self.cache.in_state(Buffer::Dirty).collect();
        for slot in dirty {
            let transfer = self.transfer(slot, true);
            self.controller.submit(self.now_ns, transfer, &mut self.wishes);
            self.grant();
        }
        while !self.in_flight.is_empty() && self.advance().is_some() {}
    }

    /// Every transfer is done or on its way, each moment of the processor is in one account, nobody
    /// is busy for longer than time went, and the bus carried no more than it can.
    fn check_laws(&self) -> Result<(), SubjectError> {
        let drives = || (0..self.settings.drives).map(|drive| self.controller.traffic(drive));
        let (begun, in_flight) = (self.next_number, self.in_flight.len() as u64);
        let done: u64 = drives().map(|traffic| traffic.transfers).sum();
        if done + in_flight != begun {
            let found = format!("{begun} begun, {done} done, {in_flight} on their way");
            return Err(broken("transfers in are transfers out", found));
        }
        let now_ns = self.now_ns as f64;
        let accounts = self.processor.accounts();
        let all_ns =
            accounts.user_ns + accounts.system_ns + accounts.interrupt_ns + accounts.idle_ns;
        // Sums of millions of pieces.
        let rounding_ns = 1.0 + now_ns * 1e-9;
        if (all_ns - now_ns).abs() > rounding_ns {
            let found = format!("{all_ns} ns of {now_ns} ns");
            return Err(broken("each moment of the processor is in one account", found));
        }
        let sector_bytes = (self.block_bytes / self.block_sectors) as f64;
        let bytes: f64 = drives()
            .map(|traffic| (traffic.read_sectors + traffic.write_sectors) as f64 * sector_bytes)
            .sum();
        let most_bytes = self.settings.bus_bytes_per_s * now_ns / 1e9;
        if bytes > most_bytes * (1.0 + 1e-9) {
            let found = format!("{bytes} bytes of {most_bytes}");
            return Err(broken("no bus is faster than its rate", found));
        }
        // What is on its way has its time reserved already.
        let busiest_ns =
            drives().map(|t| t.data_ns).fold(self.controller.channel_busy_ns(), f64::max);
        if in_flight == 0 && busiest_ns > now_ns + rounding_ns {
            let found = format!("{busiest_ns} ns of {now_ns} ns");
            return Err(broken("nobody is busy for longer than time went", found));
        }
        Ok(())
    }

    fn device(&self, drive: usize, role: DeviceRole) -> DeviceCounters {
        let traffic = self.controller.traffic(drive);
        let sector_bytes = self.block_bytes / self.block_sectors;
        DeviceCounters {
            name: format!("drive{drive}"),
            role,
            read_bytes: traffic.read_sectors * sector_bytes,
            write_bytes: traffic.write_sectors * sector_bytes,
            requests: traffic.transfers,
            flushes: None,
            in_flight_ns: traffic.in_flight_ns,
        }
    }
}

impl Machine for BsdMachine {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        let system = self.settings.file_system();
        let capacity_bytes = system.data_blocks() * self.block_bytes * 9 / 10;
        self.make_cold(&[])?;
        self.systems = vec![system; self.settings.drives];
        self.names.clear();
        self.files.clear();
        Ok(PreparedTarget {
            drives: self.settings.drives,
            capacity_bytes,
            remounts: true,
            ..PreparedTarget::default()
        })
    }

    fn start(&mut self, placements: &[JobPlacement]) -> Result<(), SubjectError> {
        for placement in placements {
            let refused = |what: String| Err(SubjectError::Unavailable(what));
            if placement.engine != EngineKind::Sync && placement.engine != EngineKind::Psync {
                return refused(format!("4.2BSD has no {}; it has sync", placement.engine.name()));
            }
            if placement.direct {
                return refused("4.2BSD has no direct I/O on files".into());
            }
            if !placement.arithmetic.is_empty() {
                return refused("this model knows what calls cost, not what computing does".into());
            }
            if placement.drive >= self.settings.drives {
                return refused(format!("there is no drive {}", placement.drive));
            }
        }
        self.first = self.processes.len();
        for (job, placement) in placements.iter().enumerate() {
            let process = self.process(placement, self.first + job);
            self.processes.push(process);
            self.wakes.push_back(Wake { job, completion: None });
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Wake> {
        loop {
            if let Some(wake) = self.wakes.pop_front() {
                return Some(wake);
            }
            if self.processes[self.first..].iter().all(|p| p.waiting == Waiting::Over) {
                return None;
            }
            self.dispatch();
            if self.wakes.is_empty() {
                self.advance()?;
            }
        }
    }

    fn take(&mut self, job: usize, turn: Turn) {
        let index = self.first + job;
        if index >= self.processes.len() {
            return;
        }
        match turn {
            Turn::Submit(request) => {
                self.processes[index].requests.push_back(request);
                self.enter(index);
                self.wakes.push_front(Wake { job, completion: None });
            }
            Turn::Wait { min, until_ns } => self.wait(job, min, until_ns),
            Turn::Compute { .. } => self.wakes.push_back(Wake { job, completion: None }),
            Turn::Mark => {
                self.mark(job);
                self.wakes.push_front(Wake { job, completion: None });
            }
            Turn::Done => self.processes[index].waiting = Waiting::Over,
        }
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn job_cpu(&self, job: usize) -> JobCpu {
        let (user_ns, system_ns) = self.cpu_ns(job);
        let marks = self.processes.get(self.first + job).and_then(|process| process.marks);
        let timed_ns = marks.filter(|(a, b)| b > a).map(|(first_ns, last_ns)| last_ns - first_ns);
        JobCpu { user_ns, system_ns, timed_ns, process_ns: None }
    }

    fn make_cold(&mut self, _: &[(usize, String)]) -> Result<(), SubjectError> {
        self.settle();
        (0..self.cache.len()).for_each(|slot| self.cache.forget(slot));
        Ok(())
    }

    fn counters(&mut self) -> Result<Counters, SubjectError> {
        self.processor.settle(self.now_ns);
        self.check_laws()?;
        let drives = 0..self.settings.drives;
        let roles = [DeviceRole::Tested, DeviceRole::Lowest];
        let devices = drives.flat_map(|drive| roles.map(|role| self.device(drive, role)));
        Ok(Counters {
            at_ns: self.now_ns,
            devices: devices.collect(),
            cpu: CpuCounters {
                cpus: 1,
                idle_ns: self.processor.accounts().idle_ns as u64,
                elsewhere_ns: Some(0),
                ..CpuCounters::default()
            },
        })
    }
}

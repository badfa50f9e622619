//! The supercomputer as a machine that runs the experiments' jobs.

use super::*;
use model::engine::names_where;
use sim::drive::Mechanics;
use sim::subject::broken;

/// Interfaces by which a call returns when it is completed.
const BLOCKING: [EngineKind; 2] = [EngineKind::Sync, EngineKind::Psync];

impl Supercomputer {
    fn check(&self, placement: &JobPlacement) -> Result<(), SubjectError> {
        if placement.engine.overlaps() || BLOCKING.contains(&placement.engine) {
            return Ok(());
        }
        Err(SubjectError::Unavailable(format!(
            "this machine has no interface like {}: use psync, or one that overlaps ({})",
            placement.engine.name(),
            names_where(|engine| engine.overlaps)
        )))
    }

    fn mark(&mut self, job: usize) {
        let cpu = self.processor.job_cpu(job);
        let cpu_ns = cpu.user_ns + cpu.system_ns;
        let marks = &mut self.tasks[job].marks;
        *marks = Some((marks.map_or(cpu_ns, |(first_ns, _)| first_ns), cpu_ns));
    }
}

impl Supercomputer {
    /// The processor is not busy for longer than time went, and no drive moves more sectors than
    /// come under its heads.
    fn check_laws(&self) -> Result<(), SubjectError> {
        let jobs = (0..self.tasks.len()).map(|job| self.processor.job_cpu(job));
        let of_jobs_ns: u64 = jobs.map(|cpu| cpu.user_ns + cpu.system_ns).sum();
        let all_ns = self.processor.idle_ns + self.processor.interrupt_ns + of_jobs_ns;
        if all_ns > self.now_ns {
            let found = format!("{all_ns} ns of {} ns", self.now_ns);
            return Err(broken("each moment of the processor is in one account", found));
        }
        let Mechanics { layout, revolution_ns, .. } = &self.parameters.mechanics;
        let track_bytes = u64::from(layout.spot(0).left_on_track) * u64::from(layout.sector_bytes);
        // A write's last sector is counted when it leaves memory.
        let most_bytes = (self.now_ns as f64 / revolution_ns) * track_bytes as f64
            + f64::from(layout.sector_bytes);
        let too_fast =
            self.counts.iter().find(|c| (c.read_bytes + c.write_bytes) as f64 > most_bytes);
        match too_fast {
            Some(count) => {
                let bytes = count.read_bytes + count.write_bytes;
                let found = format!("{}: {bytes} bytes of {most_bytes}", count.name);
                Err(broken("no drive is faster than its platter", found))
            }
            None => Ok(()),
        }
    }
}

impl Machine for Supercomputer {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        let layout = &self.parameters.mechanics.layout;
        Ok(PreparedTarget {
            drives: self.drives,
            capacity_bytes: layout.blocks * u64::from(layout.sector_bytes),
            is_device: true,
            devices: self.counts.iter().map(|count| count.name.clone()).collect(),
            ..PreparedTarget::default()
        })
    }

    fn start(&mut self, placements: &[JobPlacement]) -> Result<(), SubjectError> {
        placements.iter().try_for_each(|placement| self.check(placement))?;
        self.run += 1;
        self.channels.iter_mut().for_each(Channel::reset);
        self.processor.start(placements.iter().map(|placement| placement.is_background));
        let task = |placement: &JobPlacement| Task {
            placement: placement.clone(),
            after: After::Turn,
            flights: vec![],
            found: VecDeque::new(),
            waits: None,
            marks: None,
            is_done: false,
        };
        self.tasks = placements.iter().map(task).collect();
        self.turns = (0..placements.len()).collect();
        Ok(())
    }

    fn next(&mut self) -> Option<Wake> {
        loop {
            if let Some(job) = self.turns.pop_front() {
                let completion = self.tasks.get_mut(job)?.found.pop_front();
                return Some(Wake { job, completion });
            }
            if self.tasks.iter().all(|task| task.is_done) || !self.step() {
                return None;
            }
        }
    }

    fn take(&mut self, job: usize, turn: Turn) {
        match turn {
            Turn::Submit(request) => self.submit(job, request),
            Turn::Compute { arithmetic, loops } => self.compute(job, arithmetic, loops),
            Turn::Wait { min, until_ns } => self.wait(job, min, until_ns),
            Turn::Mark => {
                self.mark(job);
                self.turns.push_back(job);
            }
            Turn::Done => self.tasks[job].is_done = true,
        }
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn job_cpu(&self, job: usize) -> JobCpu {
        let marks = self.tasks.get(job).and_then(|task| task.marks);
        let timed_ns = marks.map(|(first_ns, last_ns)| last_ns - first_ns);
        JobCpu { timed_ns, ..self.processor.job_cpu(job) }
    }

    fn counters(&mut self) -> Result<Counters, SubjectError> {
        self.check_laws()?;
        let of =
            |role| self.counts.iter().map(move |count| DeviceCounters { role, ..count.clone() });
        Ok(Counters {
            at_ns: self.now_ns,
            devices: of(DeviceRole::Tested).chain(of(DeviceRole::Lowest)).collect(),
            cpu: CpuCounters {
                cpus: 1,
                idle_ns: self.processor.idle_ns,
                elsewhere_ns: Some(0),
                kernel_threads_ns: Some(0),
                ..CpuCounters::default()
            },
        })
    }
}

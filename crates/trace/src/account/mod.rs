//! The CPU account by BPF: who used the CPUs, in nanoseconds, so that the classes sum to the CPUs'
//! whole time. One of three accounts of a job's total CPU; the others are in crate `host`.
//!
//! Programs at the kernel's tracepoints (account.bpf.c) charge each CPU's time, event by event,
//! to the class of what ran. Source: the kernel's own clock (CLOCK_MONOTONIC) at each event.
//!
//! An interrupt is taken out of what it interrupted; hard interrupts out of soft ones. The time of
//! `ksoftirqd` in a soft interrupt is the soft interrupt's. Time that a hypervisor steals is
//! charged to whatever ran: it is not visible from within.
//!
//! Non-goals: which thread, function or request; interrupts without a tracepoint (before a
//! handler's entry, on x86 the rarer vectors, on aarch64 those between processors) are charged to
//! what they interrupted. On a PREEMPT_RT kernel soft interrupts are switched out like threads, and
//! are partly charged as kernel threads.

mod visit;

use crate::bpf::{Hook, LoadError, Loaded, whoami};
use crate::kernel::Kernel;
use aya::maps::{Array, Map, MapError, PerCpuArray};
use std::ops::Sub;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The object that account.bpf.c is compiled to.
const OBJECT: &[u8] = aya::include_bytes_aligned!("account.bpf.o");

/// All programs of the account; on each event several may run.
const HOOKS: &[Hook] = &[
    Hook::required("irq_handler_entry"),
    Hook::required("irq_handler_exit"),
    Hook::required("softirq_entry"),
    Hook::required("softirq_exit"),
    Hook::required("workqueue_execute_start"),
    Hook::required("workqueue_execute_end"),
    Hook::optional("local_timer_entry"),
    Hook::optional("local_timer_exit"),
    Hook::optional("reschedule_entry"),
    Hook::optional("reschedule_exit"),
    Hook::optional("call_function_entry"),
    Hook::optional("call_function_exit"),
    Hook::optional("call_function_single_entry"),
    Hook::optional("call_function_single_exit"),
    Hook::optional("irq_work_entry"),
    Hook::optional("irq_work_exit"),
    Hook::required("sched_switch"),
];

/// Why there is no account. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum AccountError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("list the CPUs in {path}: {source}; mount /sys")]
    Cpus { path: &'static str, source: std::io::Error },
    #[error(
        "visit CPU {cpu}: {why}; run without a CPU restriction (cpuset, taskset) and with all CPUs \
         online"
    )]
    Unvisited { cpu: usize, why: String },
    #[error("read the CPU account: it has not been started; report this")]
    NotStarted,
    #[error("read the CPU account: {0}; report this with the kernel's version")]
    Map(#[from] MapError),
}

/// CPU time by class, in ns, summed over all CPUs since the account was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct CpuTime {
    /// From the first event to the last, over all CPUs: what the classes must sum to.
    pub covered_ns: u64,
    /// Events that were accounted for: runs of a BPF program.
    pub events: u64,
    /// Nothing ran.
    pub idle_ns: u64,
    /// Our process's threads that run a job, and io_uring's workers for them.
    pub jobs_ns: u64,
    /// Our process's other threads.
    pub harness_ns: u64,
    /// Kernel threads while they executed a work item.
    pub work_items_ns: u64,
    /// Kernel threads otherwise.
    pub kernel_threads_ns: u64,
    /// Other programs.
    pub programs_ns: u64,
    /// Hard interrupts, whatever they interrupted.
    pub hard_interrupts_ns: u64,
    /// Soft interrupts, in an interrupt's wake or in ksoftirqd.
    pub soft_interrupts_ns: u64,
}

impl CpuTime {
    /// Sum of all classes, in ns.
    pub fn total_ns(&self) -> u64 {
        self.words()[2..].iter().sum()
    }

    /// As the program publishes them: covered, events, and the classes in their order.
    fn words(self) -> [u64; 2 + CLASSES] {
        zerocopy::transmute!(self)
    }

    fn from_words(words: [u64; 2 + CLASSES]) -> Self {
        zerocopy::transmute!(words)
    }
}

impl Sub for CpuTime {
    type Output = Self;

    /// What was used between an earlier reading and this one, of the same run.
    fn sub(self, earlier: Self) -> Self {
        let (mut words, earlier) = (self.words(), earlier.words());
        words
            .iter_mut()
            .zip(earlier)
            .for_each(|(word, before)| *word = word.saturating_sub(before));
        Self::from_words(words)
    }
}

/// The classes of account.bpf.c.
const CLASSES: usize = 8;

/// `struct control` of account.bpf.c: run, reading, tgid.
type Control = [u64; 3];
const RUN: usize = 0;
const READING: usize = 1;
const TGID: usize = 2;

/// `struct published` of account.bpf.c: reading, then [`CpuTime::words`].
type Published = [u64; 3 + CLASSES];

/// The account in the kernel; dropping it detaches and removes all of it.
#[derive(Debug)]
pub struct CpuAccount {
    loaded: Loaded,
    missing: Vec<&'static str>,
    cpus: Vec<usize>,
    control: Control,
    /// Runs so far: each has its own number, and 0 is none.
    runs: u64,
}

/// A kernel that does not know a kind of map says so of its arguments.
fn of_old_kernels(refused: LoadError) -> LoadError {
    let has_storage = |kernel: Kernel| kernel.enumerator("BPF_MAP_TYPE_TASK_STORAGE").is_some();
    match Kernel::look().map_or(true, has_storage) {
        true => refused,
        false => LoadError::NoStorage,
    }
}

impl CpuAccount {
    /// Loads and attaches the programs; nothing is counted yet.
    /// Errors: whatever stands in the way, with its remedy.
    pub fn load() -> Result<Self, AccountError> {
        let cpus = aya::util::online_cpus();
        let cpus = cpus.map_err(|(path, source)| AccountError::Cpus { path, source })?;
        let cpus = cpus.into_iter().map(|cpu| cpu as usize).collect();
        let mut loaded = Loaded::new(OBJECT).map_err(of_old_kernels)?;
        let mut control = Control::default();
        control[TGID] = u64::from(whoami::find_self(&mut loaded)?);
        let mut missing = Vec::new();
        for hook in HOOKS {
            if !loaded.attach(hook)? {
                missing.push(hook.tracepoint);
            }
        }
        Ok(Self { loaded, missing, cpus, control, runs: 0 })
    }

    /// Tracepoints that this kernel has not: what they would show is charged to what they
    /// interrupt.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// CPUs that are accounted for.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Begins to count, from nothing.
    /// Errors: a CPU that cannot be visited.
    pub fn start(&mut self) -> Result<(), AccountError> {
        self.runs += 1;
        self.control[RUN] = self.runs;
        let started = self.read().map(drop);
        if started.is_err() {
            self.stop()?;
        }
        started
    }

    /// What was used since the start, up to now on each CPU. Visits every CPU, which takes some
    /// ten µs each, or longer where another thread does not give way.
    /// Errors: an account that is not started; a CPU that cannot be visited.
    pub fn read(&mut self) -> Result<CpuTime, AccountError> {
        if self.control[RUN] == 0 {
            return Err(AccountError::NotStarted);
        }
        self.control[READING] += 1;
        self.write_control()?;
        visit::all(&self.cpus).map_err(|unvisited| AccountError::Unvisited {
            cpu: unvisited.cpu,
            why: std::io::Error::from(unvisited.errno).to_string(),
        })?;
        self.published()
    }

    /// Counts no more; the programs stay attached and return at once.
    /// Errors: a kernel that refuses.
    pub fn stop(&mut self) -> Result<(), AccountError> {
        self.control[RUN] = 0;
        self.write_control()
    }

    fn write_control(&mut self) -> Result<(), AccountError> {
        Ok(control(&mut self.loaded)?.set(0, self.control, 0)?)
    }

    /// The sum of what the CPUs published for the present reading.
    fn published(&self) -> Result<CpuTime, AccountError> {
        let map = self.loaded.ebpf.map("published").ok_or(LoadError::NoProgram("published"))?;
        let published = PerCpuArray::<_, Published>::try_from(map)?.get(&0, 0)?;
        let mut sum = [0; 2 + CLASSES];
        for &cpu in &self.cpus {
            let [reading, words @ ..] = published.get(cpu).copied().unwrap_or_default();
            if reading != self.control[READING] {
                let why = "no switch of threads was seen there".to_owned();
                return Err(AccountError::Unvisited { cpu, why });
            }
            sum.iter_mut().zip(words).for_each(|(sum, word)| *sum += word);
        }
        Ok(CpuTime::from_words(sum))
    }
}

/// The program's only global variable.
fn control(loaded: &mut Loaded) -> Result<Array<&mut aya::maps::MapData, Control>, AccountError> {
    let map: &mut Map = loaded.ebpf.map_mut(".bss").ok_or(LoadError::NoProgram("control"))?;
    Ok(Array::try_from(map)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each field bears the name of its class: `JOBS` is `jobs_ns`.
    #[test]
    fn the_program_and_this_module_number_the_classes_alike() {
        let source = include_str!("account.bpf.c");
        let (_, classes) = source.split_once("enum class {").unwrap();
        let (classes, _) = classes.split_once("CLASSES,").unwrap();
        let classes: Vec<String> =
            classes.split(',').map(|name| name.trim().to_lowercase()).collect();
        let classes = &classes[..classes.len() - 1];
        assert_eq!(classes.len(), CLASSES);
        for (place, class) in classes.iter().enumerate() {
            let mut words = [0; 2 + CLASSES];
            words[2 + place] = 7;
            let shown = format!("{:?}", CpuTime::from_words(words));
            assert!(shown.contains(&format!(" {class}_ns: 7")), "{class}: {shown}");
            assert_eq!(CpuTime::from_words(words).words(), words);
            assert_eq!(CpuTime::from_words(words).total_ns(), 7);
        }
    }

    /// `struct state` of account.bpf.c: run, reading, begun, last, two depths, events, classes.
    type State = [u64; 7 + CLASSES];

    fn states(account: &CpuAccount) -> Vec<State> {
        let map = account.loaded.ebpf.map("states").unwrap();
        PerCpuArray::<_, State>::try_from(map).unwrap().get(&0, 0).unwrap().to_vec()
    }

    #[test]
    fn nothing_is_counted_before_the_start_and_after_the_stop() {
        let mut account = match CpuAccount::load() {
            Ok(account) => account,
            Err(e) => return println!("skipped: failed to {e}"),
        };
        let sleep = || std::thread::sleep(std::time::Duration::from_millis(100));
        sleep();
        assert!(states(&account).iter().flatten().all(|word| *word == 0));
        account.start().unwrap();
        sleep();
        account.stop().unwrap();
        // An event that had begun on another CPU may still end, whenever the hypervisor lets it.
        let mut stopped = states(&account);
        let is_still = |_: &u32| {
            sleep();
            let before = std::mem::replace(&mut stopped, states(&account));
            stopped == before
        };
        assert!((0..100).any(|time| is_still(&time)));
        assert!(stopped.iter().flatten().any(|word| *word > 0));
        sleep();
        assert_eq!(states(&account), stopped);
    }
    /// Whether the kernel holds any of these programs.
    fn are_loaded(ids: &[u32]) -> bool {
        let loaded = aya::programs::loaded_programs().filter_map(Result::ok);
        loaded.into_iter().any(|program| ids.contains(&program.id()))
    }

    #[test]
    fn nothing_remains_in_the_kernel() {
        let mut account = match CpuAccount::load() {
            Ok(account) => account,
            Err(e) => return println!("skipped: failed to {e}"),
        };
        let programs = account.loaded.ebpf.programs();
        let ids: Vec<u32> = programs.filter_map(|(_, p)| Some(p.info().ok()?.id())).collect();
        assert_eq!(ids.len(), HOOKS.len() - account.missing().len());
        assert!(are_loaded(&ids));
        account.start().unwrap();
        drop(account);
        // The kernel lets go of a program when no CPU can be in it any more.
        let is_gone = |_: &u32| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            !are_loaded(&ids)
        };
        assert!((0..6000).any(|time| is_gone(&time)));
    }
}

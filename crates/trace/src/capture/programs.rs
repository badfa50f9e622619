//! The programs of the capture: which of its two builds a kernel gets, what they are told of it,
//! and at which of its points they are attached.
//!
//! The *typed* build loads the kernel's fields itself and counts by atomic operations with a
//! result; the *plain* one runs on every kernel since 5.8. A kernel that refuses the first gets the
//! second. Both are the same source, and see the same, but for the start of a request where there
//! is no block_io_start (before 6.5): there it is block_getrq, which the plain build alone has.
//!
//! Non-goals: what the programs do (block.bpf.c); which points exist (`kernel`).

use super::filter::Filter;
use super::flight::OnWay;
use super::kernel_ring::KernelRing;
use super::repeated::Repeats;
use super::ring::{Rings, Shape};
use super::summed::{Sizes, Sums};
use super::{CaptureError, CaptureOptions, Records, bios, decode, repeated, syscalls, wait};
use crate::bpf::{Hook, LoadError, Loaded, whoami};
use crate::kernel::waiting::{Functions, OwnRequests};
use crate::kernel::{Kernel, Words};
use aya::EbpfLoader;
use aya::maps::{Array, Map, MapData};
use std::os::fd::AsFd as _;

/// What block.bpf.c is compiled to, once for each build.
const TYPED: &[u8] = aya::include_bytes_aligned!("block.bpf.o");
const PLAIN: &[u8] = aya::include_bytes_aligned!("block_plain.bpf.o");

/// Whether this machine's processors see each other's stores in the order in which they are made
/// (x86's "total store order"; Intel's manual, volume 3A, 9.2).
pub(super) const STORES_IN_ORDER: u32 = cfg!(target_arch = "x86_64") as u32;

/// Stacks that are kept, by a hash: what has the place of another has none.
const STACKS_MOST: u32 = 1 << 14;

/// Where a request starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Starts {
    /// Where it is allocated: it is known from then on.
    Requests,
    /// Where its bio asks for one: it is known at its first step after that.
    Bios,
}

/// Ends. They come first: what is seen to begin is seen to end.
const ENDS: [Hook; 5] = [
    Hook::required("block_rq_complete").twice(),
    ENDS_OF_BIOS,
    Hook::required("block_rq_merge"),
    Hook::required("block_rq_requeue"),
    Hook::required("block_rq_issue"),
];
/// Attached where there are disks whose bios never become requests.
pub(super) const ENDS_OF_BIOS: Hook = Hook::required("block_bio_complete").twice();
const STARTS_OF_REQUESTS: [Hook; 1] = [Hook::required(START)];
const STARTS_OF_BIOS: [Hook; 2] =
    [Hook::required("block_rq_insert"), Hook::required("block_getrq")];
const BIOS: [Hook; 3] = [
    Hook::required("block_split"),
    Hook::required("block_bio_queue"),
    Hook::optional("block_bio_remap"),
];

/// Since Linux 6.5.
const START: &str = "block_io_start";

/// What tells of calls that make files durable, where the kernel has these file systems, and which
/// facts each needs (`struct facts`).
const OF_CALLS: [(Hook, &[&str]); 16] = [
    (Hook::optional("ext4_sync_file_exit"), &[]),
    (Hook::optional("ext4_sync_file_enter"), &[]),
    (Hook::optional("jbd2_handle_stats"), &[]),
    (Hook::optional("jbd2_end_commit"), COMMITS),
    (Hook::optional("jbd2_commit_logging"), COMMITS),
    (Hook::optional("jbd2_commit_flushing"), COMMITS),
    (Hook::optional("jbd2_commit_locking"), COMMITS),
    (Hook::optional("jbd2_start_commit"), COMMITS),
    (Hook::optional("f2fs_sync_file_exit"), &[]),
    (Hook::optional("f2fs_sync_file_enter"), &[]),
    // Their ends are told by no tracepoint.
    (Hook::optional("xfs_file_fsync"), &["xfs_vnode"]),
    (Hook::optional("xfs_dir_fsync"), &["xfs_vnode"]),
    (Hook::optional("btrfs_sync_file"), &[]),
    // Of newer kernels (7.2), with an end.
    (Hook::optional("btrfs_sync_file_exit"), &[]),
    (Hook::optional("btrfs_sync_file_enter"), &[]),
    (Hook::optional("writeback_mark_inode_dirty"), &[]),
];
const COMMITS: &[&str] = &["journal_device", "transaction_number"];

/// What tells of waits. Its tracepoint leaves interrupts off, so that it misses none.
const OF_WAITS: Hook = Hook::at_a_switch("see_waits");
/// Whose lock is waited for, since Linux 5.19.
const OF_LOCKS: Hook = Hook::optional("contention_begin");
/// Who sleeps until another one has waited.
const OF_SLEEPS: Hook = Hook::optional("sched_waking");
/// Which pages are evicted from memory.
const OF_EVICTIONS: Hook =
    Hook { program: "see_evictions", ..Hook::optional("mm_filemap_delete_from_page_cache") };

/// Which of these a kernel takes or refuses together, and what is then not told.
const WITH_CALLS: [(&[Hook], &str); 2] = [
    (&[OF_WAITS, OF_LOCKS, OF_SLEEPS], "waits of threads without a request or call are not traced"),
    (&[OF_EVICTIONS], "reads of pages that had been evicted are not marked"),
];

/// The same by system calls, which every one of the machine pays for.
const OF_SYSCALLS: [Hook; 2] = [Hook::optional("sys_exit"), Hook::optional("sys_enter")];

/// The programs, loaded and not attached.
pub(super) struct Begun {
    pub(super) loaded: Loaded,
    pub(super) records: Records,
    pub(super) own_tgid: u32,
    pub(super) starts: Starts,
    /// Their descriptors stand in the programs until these are loaded.
    pub(super) maps: Vec<MapData>,
    /// Requests that are told of when they are finished; none where all are told by steps.
    pub(super) on_way: Option<OnWay>,
    /// Sums of those that repeat; none where all are told.
    pub(super) repeats: Option<Repeats>,
}

/// Loads the build that this kernel takes; if that is the plain one, with the reason.
/// Errors: whatever stands in the way of both, with its remedy.
pub(super) fn load(
    kernel: &Kernel,
    functions: &Functions,
    options: &CaptureOptions,
) -> Result<(Begun, Option<LoadError>), CaptureError> {
    let told = Told::new(kernel, functions, options)?;
    if !kernel.has_tracepoint(START) {
        let why = LoadError::NoTracepoint { name: START, since: "6.5" };
        return Ok((plain(&told, options, Starts::Bios)?, Some(why)));
    }
    match typed(&told, options) {
        Ok(begun) => Ok((begun, None)),
        // What is not the programs' own fault is the same for the others.
        Err(CaptureError::Load(why @ (LoadError::Refused { .. } | LoadError::Other { .. }))) => {
            Ok((plain(&told, options, Starts::Requests)?, Some(why)))
        }
        Err(e) => Err(e),
    }
}

fn typed(told: &Told, options: &CaptureOptions) -> Result<Begun, CaptureError> {
    let shape = Shape::new(super::cpus(), possible_cpus(), options.ring_bytes);
    let sizes = Sizes::new(shape.cpus, told.slower_than_ns);
    let mut loader = EbpfLoader::new();
    loader
        .override_global("slower_than_ns", &told.slower_than_ns, true)
        .override_global("summed_buckets", &sizes.buckets, true)
        .override_global("repeated_files", &told.repeated_files, true)
        .map_max_entries("summed", sizes.places)
        .map_max_entries("summed_counts", sizes.counts())
        .override_global("cells_cpus", &shape.cpus, true)
        .override_global("cells_each", &shape.each, true)
        .override_global("stores_in_order", &STORES_IN_ORDER, true)
        .map_max_entries("last_queued", shape.rings)
        .override_global("steps_wanted", &told.steps_wanted, true)
        .override_global("sequence_flags", &told.sequence_flags, true)
        .map_max_entries("rings", shape.rings)
        .map_max_entries("cells", shape.cells());
    let (mut loaded, own_tgid) = told.load(loader, TYPED)?;
    // The verifier sees a program when it is loaded: here, where there is another build.
    for hook in ENDS.iter().chain(&STARTS_OF_REQUESTS).chain(&BIOS) {
        loaded.verify(hook)?;
    }
    let (rings, cells) = (array(&mut loaded, "rings")?, array(&mut loaded, "cells")?);
    let on_way = Some(OnWay::new(array(&mut loaded, "flight")?)?);
    let repeats = match told.slower_than_ns {
        0 => None,
        ns => {
            let maps = [array(&mut loaded, "summed")?, array(&mut loaded, "summed_counts")?];
            let (sums, names) = (Sums::new(maps, sizes, ns)?, array(&mut loaded, "repeated")?);
            Some(Repeats::new(sums, names, told.repeated_files != 0)?)
        }
    };
    let mapped = Rings::map(rings.fd().as_fd(), cells.fd().as_fd(), shape);
    let records = Records::Own(mapped.map_err(CaptureError::Rings)?);
    let (starts, maps) = (Starts::Requests, vec![rings, cells]);
    Ok(Begun { loaded, records, own_tgid, starts, maps, on_way, repeats })
}

fn plain(told: &Told, options: &CaptureOptions, starts: Starts) -> Result<Begun, CaptureError> {
    let starts_are_requests = u32::from(starts == Starts::Requests);
    let mut loader = EbpfLoader::new();
    loader
        .override_global("starts_are_requests", &starts_are_requests, true)
        .override_global("filter_extents", &told.filter.extents, true)
        .map_max_entries("rings", possible_cpus().max(super::cpus()))
        .map_max_entries("cells", KernelRing::bytes(options.ring_bytes));
    let (mut loaded, own_tgid) = told.load(loader, PLAIN)?;
    let counts = Array::try_from(Map::Array(array(&mut loaded, "rings")?))?;
    let ring = match loaded.ebpf.take_map("cells") {
        Some(ring) => ring.try_into()?,
        None => return Err(LoadError::NoProgram("cells").into()),
    };
    let records = Records::Kernel(Box::new(KernelRing::new(ring, counts)));
    let (on_way, repeats) = (None, None);
    Ok(Begun { loaded, records, own_tgid, starts, maps: Vec::new(), on_way, repeats })
}

/// What either build is told: what it is to look for, and what this kernel is.
#[derive(Debug)]
struct Told {
    filter: Filter,
    facts: Words,
    /// Whether each point has two programs (twice.h).
    twice: u32,
    waiting_calls: syscalls::Numbers,
    with_descriptor: wait::Numbers,
    own_requests: OwnRequests,
    interrupts: [u64; 2],
    stacks_wanted: u32,
    names_wanted: u32,
    /// Whether requests are told by steps, and the flags of those that are in any case (flight.h).
    steps_wanted: u32,
    sequence_flags: u32,
    /// Below which requests that are named are summed up; 0: none are.
    slower_than_ns: u64,
    /// Whether those of different files differ.
    repeated_files: u32,
}

impl Told {
    fn new(
        kernel: &Kernel,
        functions: &Functions,
        options: &CaptureOptions,
    ) -> Result<Self, CaptureError> {
        let bit = |name| decode::mask(kernel.enumerator(name)?);
        let sequence_flags = bit("__REQ_PREFLUSH").zip(bit("__REQ_FUA"));
        Ok(Self {
            filter: Filter::new(&options.devices)?.with_file_systems(&options.file_systems),
            facts: kernel.words(),
            twice: kernel.preempts_programs().into(),
            waiting_calls: syscalls::numbers(),
            with_descriptor: wait::numbers(),
            own_requests: functions.own_requests(),
            interrupts: functions.interrupts(),
            stacks_wanted: u32::from(options.stacks),
            names_wanted: u32::from(options.calls),
            steps_wanted: u32::from(options.by_steps || sequence_flags.is_none()),
            sequence_flags: sequence_flags.map_or(0, |(preflush, fua)| preflush | fua),
            slower_than_ns: options.repeats_below.map_or(0, repeated::threshold_ns),
            repeated_files: u32::from(options.repeats_by_file),
        })
    }

    /// Loads an object; with our process's number in the first PID namespace.
    fn load<'a>(
        &'a self,
        mut loader: EbpfLoader<'a>,
        object: &[u8],
    ) -> Result<(Loaded, u32), CaptureError> {
        let stacks = if self.stacks_wanted == 0 { 1 } else { STACKS_MOST };
        loader
            .override_global("filters_used", &self.filter.used, true)
            .override_global("filters", &self.filter.words, true)
            .override_global("facts", &self.facts, true)
            .override_global("twice", &self.twice, true)
            .override_global("waiting_calls", &self.waiting_calls, true)
            .override_global("with_descriptor", &self.with_descriptor, true)
            .override_global("wait_ns_least", &wait::LEAST_NS, true)
            .override_global("number_of_futex", &wait::NUMBER_OF_FUTEX, true)
            .override_global("own_requests", &self.own_requests, true)
            .override_global("interrupts", &self.interrupts, true)
            .override_global("stacks_wanted", &self.stacks_wanted, true)
            .override_global("names_wanted", &self.names_wanted, true)
            .map_max_entries("stacks", stacks);
        let mut loaded = Loaded::with(object, loader)?;
        let own_tgid = whoami::find_self(&mut loaded)?;
        Ok((loaded, own_tgid))
    }
}

/// Attaches all programs that are asked for and that this kernel has points for.
/// Errors: whatever stands in the way, with its remedy.
pub(super) fn attach(
    loaded: &mut Loaded,
    kernel: &Kernel,
    options: &CaptureOptions,
    starts: Starts,
) -> Result<Vec<Hook>, CaptureError> {
    let starts: &[Hook] = match starts {
        Starts::Requests => &STARTS_OF_REQUESTS,
        Starts::Bios => &STARTS_OF_BIOS,
    };
    let knows = |facts: &[&str]| facts.iter().all(|name| kernel.knows(name));
    // Whether a raw program has a tracepoint is known only when the kernel has verified it.
    let is_there = |(hook, _): &&(Hook, &[&str])| kernel.may_have_tracepoint(hook.tracepoint);
    let of_calls = OF_CALLS.iter().filter(|(_, facts)| options.calls && knows(facts));
    let of_calls = of_calls.filter(is_there);
    let of_syscalls = OF_SYSCALLS.iter().filter(|_| options.calls && options.syscalls);
    // Who is seen to start has been seen to queue, at the beginning, and, in the opposite order, at
    // the end.
    let with_bios = bios::are_alone_anywhere();
    let ends = ENDS.iter().filter(|hook| with_bios || hook.program != ENDS_OF_BIOS.program);
    let all = ends.chain(&BIOS).chain(starts);
    let mut attached = Vec::new();
    for hook in all.chain(of_calls.map(|(hook, _)| hook)).chain(of_syscalls) {
        if !loaded.attach(hook)? {
            continue;
        }
        let is_twice = hook.is_twice || kernel.preempts_programs();
        // After the first one: they run in the order in which they are attached.
        if is_twice {
            loaded.attach_again(hook)?;
        }
        attached.push(Hook { is_twice, ..*hook });
    }
    Ok(attached)
}

/// Attaches what tells of waits and of what memory was needed for, if they are asked for. Also
/// tells what the kernel does not take, though it takes all else: what is not told, and why.
pub(super) fn attach_waits(
    loaded: &mut Loaded,
    options: &CaptureOptions,
) -> (Vec<Hook>, Vec<(&'static str, LoadError)>) {
    let (mut attached, mut refused) = (Vec::new(), Vec::new());
    for (hooks, untold) in WITH_CALLS.iter().filter(|_| options.calls) {
        match attach_those_there(loaded, hooks) {
            Ok(hooks) => attached.extend(hooks),
            Err(why) => refused.push((*untold, why)),
        }
    }
    (attached, refused)
}

fn attach_those_there(loaded: &mut Loaded, hooks: &[Hook]) -> Result<Vec<Hook>, LoadError> {
    let mut attached = Vec::new();
    for hook in hooks {
        if loaded.attach(hook)? {
            attached.push(*hook);
        }
    }
    Ok(attached)
}

/// Whether it is what tells of waits.
pub(super) fn is_of_waits(hook: &Hook) -> bool {
    hook.program == OF_WAITS.program
}

fn possible_cpus() -> u32 {
    aya::util::nr_cpus().ok().and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
}

/// An array that both sides share.
fn array(loaded: &mut Loaded, name: &'static str) -> Result<MapData, CaptureError> {
    match loaded.ebpf.take_map(name) {
        Some(Map::Array(map)) => Ok(map),
        _ => Err(LoadError::NoProgram(name).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::filter::DEVICES_MOST;
    use std::io::Write as _;

    #[test]
    fn the_programs_and_words_are_those_of_the_source() {
        const SOURCE: &str = concat!(
            include_str!("block.bpf.c"),
            include_str!("device.h"),
            include_str!("sync.h"),
            include_str!("syscall.h"),
            include_str!("wait.h"),
        );
        assert!(SOURCE.contains(&format!("#define FILTERS {DEVICES_MOST}\n")));
        let of_calls = OF_CALLS.iter().map(|(hook, _)| hook);
        let all = ENDS.iter().chain(&STARTS_OF_REQUESTS).chain(&STARTS_OF_BIOS).chain(&BIOS);
        for hook in all.chain(of_calls).chain(&OF_SYSCALLS) {
            let is_there =
                |macro_name: &str| SOURCE.contains(&format!("\n{macro_name}({})\n", hook.program));
            let is_plain = is_there("TRACEPOINT") || is_there("TRACEPOINT_OF_MODULE");
            assert!(is_plain || hook.is_twice, "{}", hook.program);
            assert_eq!(is_there("TRACEPOINT_OF_INTERRUPTS"), hook.is_twice, "{}", hook.program);
            assert_eq!(hook.program, hook.tracepoint);
            assert!(hook.program.len() < 32, "a name of twice.h: {}", hook.program);
        }
    }

    /// What the newest kernels take, too: all that is left of the other build is its slowness.
    #[test]
    fn root_the_plain_build_is_taken_by_this_kernel() {
        let options = CaptureOptions { calls: true, ..CaptureOptions::default() };
        let Ok(kernel) = Kernel::look() else { return println!("skipped: no types here") };
        let told = Told::new(&kernel, &Functions::default(), &options).unwrap();
        for starts in [Starts::Requests, Starts::Bios] {
            let begun = match plain(&told, &options, starts) {
                Err(CaptureError::Load(e @ LoadError::NotPermitted)) => {
                    return println!("skipped: failed to {e}");
                }
                begun => begun.unwrap(),
            };
            let mut loaded = begun.loaded;
            let attached = attach(&mut loaded, &kernel, &options, starts).unwrap();
            assert!(attached.len() >= ENDS.len());
        }
    }

    /// Steps of an issue that were recorded, and those of them that the second program recorded.
    fn issues(begun: Begun, with_first: bool) -> (u64, u64) {
        const ISSUE: Hook = Hook::required("block_rq_issue");
        let Begun { mut loaded, mut records, .. } = begun;
        if with_first {
            assert!(loaded.attach(&ISSUE).unwrap());
        }
        loaded.attach_again(&ISSUE).unwrap();
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for _ in 0..20 {
            file.write_all(&[1; 4096]).unwrap();
            file.sync_all().unwrap();
        }
        loaded.remove_again(&ISSUE).unwrap();
        let made_good = loaded.made_good(ISSUE.program);
        let mut count = 0;
        records
            .drain::<std::convert::Infallible>(None, |_| {
                count += 1;
                Ok(())
            })
            .unwrap();
        (count, made_good)
    }

    #[test]
    fn root_what_the_first_program_of_a_point_is_left_out_for_the_second_one_does() {
        let options = CaptureOptions::default();
        let Ok(kernel) = Kernel::look() else { return println!("skipped: no types here") };
        let told =
            Told { twice: 1, ..Told::new(&kernel, &Functions::default(), &options).unwrap() };
        for with_first in [true, false] {
            let builds = [typed(&told, &options), plain(&told, &options, Starts::Requests)];
            for build in builds {
                let begun = match build {
                    Err(CaptureError::Load(LoadError::NotPermitted)) => {
                        return println!("skipped: programs may not be loaded here");
                    }
                    begun => begun.unwrap(),
                };
                let (recorded, made_good) = issues(begun, with_first);
                assert!(recorded >= 20, "{recorded}");
                assert_eq!(made_good, if with_first { 0 } else { recorded }, "{recorded}");
            }
        }
    }
}

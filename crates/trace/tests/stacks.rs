//! The stacks of our programs and of what they call fit all kernels: 512 bytes along each chain of
//! calls, of which before 6.9 each takes a multiple of 32.
//!
//! Source: kernel/bpf/verifier.c (check_max_stack_depth) of Linux 5.10. A program that is too large
//! is refused there, and nothing is captured by BPF; this machine's kernel may be newer.
//!
//! Non-goals: what else a verifier refuses (`make lab`).

use aya_obj::Object;
use aya_obj::generated::{BPF_PSEUDO_CALL, bpf_insn};
use std::collections::{BTreeSet, HashSet};
use std::error::Error;

const MOST: usize = 512;
const STEP: usize = 32;
/// The register of the stack, and codes (include/uapi/linux/bpf.h).
const FRAME: u8 = 10;
const CALL: u8 = 0x85;
const ADD: u8 = 0x07;
const MOVE: u8 = 0xbf;

/// A function's own stack: what it names as an address below its frame's end.
fn own_stack(instructions: &[bpf_insn]) -> usize {
    let mut below: [Option<i64>; 11] = [None; 11];
    below[usize::from(FRAME)] = Some(0);
    let mut most = 0;
    for one in instructions {
        let (into, from) = (usize::from(one.dst_reg()), usize::from(one.src_reg()));
        let offset = i64::from(one.off);
        let (is_load, is_store) = (one.code & 7 == 1, matches!(one.code & 7, 2 | 3));
        let address = match (is_load, is_store) {
            (true, _) => below[from].map(|at| at + offset),
            (_, true) => below[into].map(|at| at + offset),
            _ => None,
        };
        let changed = match one.code {
            MOVE => below[from],
            ADD => below[into].map(|at| at + i64::from(one.imm)),
            _ => None,
        };
        if !is_store && into != usize::from(FRAME) {
            below[into] = changed;
        }
        let deepest = [address, changed].into_iter().flatten().map(|at| -at).max();
        most = most.max(usize::try_from(deepest.unwrap_or(0)).unwrap_or(0));
    }
    most
}

/// A linked program's functions, by where they begin.
fn begins(program: &[bpf_insn]) -> BTreeSet<usize> {
    let called = (0..program.len()).filter_map(|at| callee(program, at));
    std::iter::once(0).chain(called).collect()
}

/// Whom an instruction calls.
fn callee(program: &[bpf_insn], at: usize) -> Option<usize> {
    let one = &program[at];
    let is_call = one.code == CALL && u32::from(one.src_reg()) == BPF_PSEUDO_CALL;
    let target = usize::try_from(at as i64 + 1 + i64::from(one.imm)).ok()?;
    is_call.then_some(target)
}

/// The deepest chain of calls from a function, in bytes.
fn depth(program: &[bpf_insn], begins: &BTreeSet<usize>, begin: usize) -> usize {
    let end = begins.range(begin + 1..).next().copied().unwrap_or(program.len());
    let own = own_stack(&program[begin..end]).max(1).next_multiple_of(STEP);
    let called: BTreeSet<usize> = (begin..end).filter_map(|at| callee(program, at)).collect();
    own + called.into_iter().map(|of| depth(program, begins, of)).max().unwrap_or(0)
}

/// Each program's deepest chain.
fn depths(object: &[u8]) -> Result<Vec<(String, usize)>, Box<dyn Error>> {
    let mut object = Object::parse(object)?;
    let text: HashSet<usize> = object.functions.keys().map(|(section, _)| *section).collect();
    object.relocate_calls(&text)?;
    let of = |(name, program): (&String, &aya_obj::Program)| {
        let linked = &object.functions[&program.function_key()].instructions;
        (name.clone(), depth(linked, &begins(linked), 0))
    };
    Ok(object.programs.iter().map(of).collect())
}

#[test]
fn the_stacks_of_all_programs_fit_kernels_before_6_9() {
    let objects: [&[u8]; 3] = [
        aya::include_bytes_aligned!("../src/capture/block.bpf.o"),
        aya::include_bytes_aligned!("../src/capture/block_plain.bpf.o"),
        aya::include_bytes_aligned!("../src/account/account.bpf.o"),
    ];
    let all: Vec<_> = objects.into_iter().flat_map(|object| depths(object).unwrap()).collect();
    assert!(all.len() > 100, "{}", all.len());
    let deepest = all.iter().map(|(_, bytes)| *bytes).max().unwrap();
    assert!(deepest > 300, "{deepest}: what has many locals needs more");
    let too_deep: Vec<_> = all.iter().filter(|(_, bytes)| *bytes > MOST).collect();
    assert!(too_deep.is_empty(), "{too_deep:?}");
}

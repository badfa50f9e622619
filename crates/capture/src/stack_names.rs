//! By which functions requests were queued: the names of a trace's stacks, found while their
//! processes live.
//!
//! Non-goals: stacks themselves (`trace::capture`).

use host::function_name::Functions;
use model::record::Stack;
use std::collections::BTreeMap;
use trace::intake::KERNEL;

#[derive(Debug, Default)]
pub(super) struct StackNames {
    functions: Functions,
    /// The functions of each stack, the innermost first.
    stacks: BTreeMap<u32, Vec<String>>,
    /// Those of the kernel that have no names yet.
    of_kernel: Vec<u32>,
}

impl StackNames {
    /// Names the functions of stacks, each told of by its process and its number, while the process
    /// may live. `frames` are the addresses of a stack, the innermost first.
    pub(super) fn look(&mut self, stacks: Vec<(u32, u32)>, frames: impl Fn(u32) -> Vec<u64>) {
        for (process, stack) in stacks {
            match process {
                KERNEL => self.of_kernel.push(stack),
                process => {
                    let named = self.functions.of_process(process, &frames(stack));
                    self.stacks.insert(stack, named);
                }
            }
        }
    }

    /// The kernel's functions stay where they are; to find the first of them takes a moment, in
    /// which processes end.
    pub(super) fn name_those_of_the_kernel(&mut self, frames: impl Fn(u32) -> Vec<u64>) {
        for stack in std::mem::take(&mut self.of_kernel) {
            let named = self.functions.of_kernel(&frames(stack));
            self.stacks.insert(stack, named);
        }
    }

    /// All of them.
    pub(super) fn take(&mut self) -> Vec<Stack> {
        std::mem::take(&mut self.stacks).into_iter().map(folded).collect()
    }
}

/// A stack as it is kept: unknown functions next to each other are one.
fn folded((stack, mut functions): (u32, Vec<String>)) -> Stack {
    functions.reverse();
    functions.dedup_by(|a, b| a == b && a.starts_with('['));
    Stack { stack: u64::from(stack), functions: functions.join(";") }
}

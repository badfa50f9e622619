//! Which stacks were seen, each once with a process that it is of, while that may live.
//!
//! Non-goals: the functions of a stack.

use std::collections::HashSet;

#[derive(Debug, Default)]
pub(super) struct Seen {
    known: HashSet<u32>,
    new: Vec<(u32, u32)>,
}

impl Seen {
    #[inline]
    pub(super) fn see(&mut self, process: u32, stack: u32) {
        if stack != 0 && self.known.insert(stack) {
            self.new.push((process, stack));
        }
    }

    pub(super) fn take_new(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stack_is_new_once_and_none_is_none() {
        let mut stacks = Seen::default();
        for (process, stack) in [(7, 3), (7, 0), (8, 3), (8, 4)] {
            stacks.see(process, stack);
        }
        assert_eq!(stacks.take_new(), [(7, 3), (8, 4)]);
        assert!(stacks.take_new().is_empty());
    }
}

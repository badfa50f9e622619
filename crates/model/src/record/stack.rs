//! Stacks of those who queued requests.
//!
//! Non-goals: how addresses become functions (`host::function_name`).

use super::column::record;

record! {
    /// One stack.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Stack, "lbolt.stacks/1" {
        stack: u64 = "number of the stack, as in kernel_stack and user_stack of requests";
        functions: String =
            "functions separated by ;, outermost first; [unknown] for an address without a name";
    }
}

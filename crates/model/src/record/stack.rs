//! Stacks of those who queued requests.
//!
//! Non-goals: how addresses become functions (`host::function_name`).

use super::column::{Column, Record, column};

/// One stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Stack {
    pub stack: u64,
    pub functions: String,
}

impl Record for Stack {
    const SCHEMA: &'static str = "lbolt.stacks/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(Stack, stack: u64, "number of the stack, as in kernel_stack and user_stack of \
                requests"),
            column!(Stack, functions: String, "functions separated by ;, outermost first; \
                [unknown] for an address without a name"),
        ]
    }
}

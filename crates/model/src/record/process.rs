//! The threads that made requests, as the machine told of them while they lived.
//!
//! Non-goals: roles, which are made of titles (`analyze::role`).

use super::column::{Column, Record, column};

/// One thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Process {
    pub pid: u64,
    pub process: Option<u64>,
    pub command: String,
    pub title: Option<String>,
    pub thread: Option<String>,
    pub unit: Option<String>,
}

impl Record for Process {
    const SCHEMA: &'static str = "lbolt.processes/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(Process, pid: u64, "the thread, as in requests and calls"),
            column!(Process, process: Option<u64>, "its process; null: it was gone before it \
                could be asked"),
            column!(Process, command: String, "its process's name, else its own"),
            column!(Process, title: Option<String>, "its process's arguments, which some programs \
                replace by what they do; null: a kernel's thread, or gone"),
            column!(Process, thread: Option<String>, "the thread's own name; null: its process's"),
            column!(Process, unit: Option<String>, "the path of its cgroup: a service, a \
                container; null: the root"),
        ]
    }
}

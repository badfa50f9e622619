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
    pub main_process: Option<u64>,
    pub main_processes: Option<u64>,
    pub waits_count: Option<u64>,
    pub waited_ns: Option<u64>,
    pub waited_for_requests_ns: Option<u64>,
}

/// What version 1 did not have.
const NEW: [&str; 5] =
    ["main_process", "main_processes", "waits_count", "waited_ns", "waited_for_requests_ns"];

impl Record for Process {
    const SCHEMA: &'static str = "lbolt.processes/2";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(Process, pid: u64, "the thread, as in requests and calls"),
            column!(Process, process: Option<u64>, "the thread's process; null: gone before lbolt \
                looked"),
            column!(Process, command: String, "name of the process, else of the thread"),
            column!(Process, title: Option<String>, "arguments of the process, which some programs \
                replace by a status; null: a kernel thread, or gone"),
            column!(Process, thread: Option<String>, "the thread's own name; null: same as its \
                process's"),
            column!(Process, unit: Option<String>, "cgroup path: a service or a container; null: \
                the root cgroup"),
            column!(Process, main_process: Option<u64>, "outermost ancestor reached through \
                processes of the same name, else the process itself; null: gone"),
            column!(Process, main_processes: Option<u64>, "number of main processes of that name \
                when lbolt looked"),
            column!(Process, waits_count: Option<u64>, "uninterruptible waits, of any length, that \
                ended during the capture; null: unknown"),
            column!(Process, waited_ns: Option<u64>, "total time of these waits"),
            column!(Process, waited_for_requests_ns: Option<u64>, "the part of waited_ns that the \
                kernel counts as waiting for requests (in_iowait)"),
        ]
    }

    fn earlier() -> (&'static str, Vec<Column<Self>>) {
        let mut columns = Self::columns();
        columns.retain(|column| !NEW.contains(&column.name));
        ("lbolt.processes/1", columns)
    }
}

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
            column!(Process, process: Option<u64>, "its process; null: it was gone before it \
                could be asked"),
            column!(Process, command: String, "its process's name, else its own"),
            column!(Process, title: Option<String>, "its process's arguments, which some programs \
                replace by what they do; null: a kernel's thread, or gone"),
            column!(Process, thread: Option<String>, "the thread's own name; null: its process's"),
            column!(Process, unit: Option<String>, "the path of its cgroup: a service, a \
                container; null: the root"),
            column!(Process, main_process: Option<u64>, "the first of its process's ancestors \
                that are called as it is: whose worker it is; itself, if it is nobody's; null: \
                gone"),
            column!(Process, main_processes: Option<u64>, "how many main processes of its name \
                were there when it was asked about"),
            column!(Process, waits_count: Option<u64>, "waits of the thread in which it could not \
                be interrupted, however short, that ended while it was captured; null: not known"),
            column!(Process, waited_ns: Option<u64>, "how long these took"),
            column!(Process, waited_for_requests_ns: Option<u64>, "those of them that the kernel \
                counts as waits for a request (in_iowait)"),
        ]
    }

    fn earlier() -> (&'static str, Vec<Column<Self>>) {
        let mut columns = Self::columns();
        columns.retain(|column| !NEW.contains(&column.name));
        ("lbolt.processes/1", columns)
    }
}

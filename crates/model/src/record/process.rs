//! The threads that made requests, as the machine told of them while they lived.
//!
//! Non-goals: roles, which are made of titles (`analyze::role`).

use super::column::record;

record! {
    /// One thread.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Process, "lbolt.processes/2",
        new [main_process main_processes job waits_count waited_ns waited_for_requests_ns]
        since "lbolt.processes/1",
        later [job]
    {
        pid: u64 = "the thread, as in requests and calls";
        process: Option<u64> = "the thread's process; null: gone before lbolt looked";
        command: String = "name of the process, else of the thread";
        title: Option<String> =
            "arguments of the process, which some programs replace by a status; null: a kernel \
             thread, or gone";
        thread: Option<String> = "the thread's own name; null: same as its process's";
        unit: Option<String> =
            "cgroup path: a service or a container; of a Kubernetes pod with logs on the node \
             NAMESPACE/POD/CONTAINER; null: the root cgroup";
        main_process: Option<u64> =
            "outermost ancestor reached through processes of the same name, else the process \
             itself; null: gone";
        main_processes: Option<u64> = "number of main processes of that name when lbolt looked";
        job: Option<String> =
            "arguments of the program that ran this short command, which was gone within 2 s of \
             its first request: its nearest ancestor in its process group that was seen alive at \
             an age of 2 s; if it was gone before lbolt looked, that of all others of its name \
             and cgroup; null: none, or not known";
        waits_count: Option<u64> =
            "uninterruptible waits, of any length, that ended during the capture; null: unknown";
        waited_ns: Option<u64> = "total time of these waits";
        waited_for_requests_ns: Option<u64> =
            "the part of waited_ns that the kernel counts as waiting for requests (in_iowait)";
    }
}

//! Who used the CPUs while all of them were busy, and which threads waited for one.
//!
//! Non-goals: what all CPUs did together (`CpuTime`).

use super::column::record;

record! {
    /// A process that ran, or a thread that waited for a CPU, within an interval of the run.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct CpuUse, "lbolt.cpu_uses/2", times [from_ns until_ns],
        new [serves_device] since "lbolt.cpu_uses/1"
    {
        from_ns: i64 = "start and end of the interval";
        until_ns: i64 = "start and end of the interval";
        pid: u64 = "the thread that waited; of a process that ran: its number";
        process: u64 = "its process";
        command: String = "name of the process";
        ran_ns: u64 =
            "CPU time of all threads of the process, in steps of 10 ms; 0 of a thread that waited";
        waited_ns: u64 =
            "time that the thread was runnable and waited for a CPU \
             (/proc/PID/task/TID/schedstat); 0 of a process that ran";
        serves_device: Option<u64> =
            "of a thread of the kernel that waited: number of the block device in its name \
             (kworker/u8:1-loop0, jbd2/dm-0-8); null: there is none";
    }
}

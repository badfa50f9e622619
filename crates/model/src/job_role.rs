//! What a job is for where several kinds run at once, and the names of their threads: a tracer
//! reads these back, so that a verdict tells a reader from a writer.
//!
//! Non-goals: threads (`host`), roles of other programs (`verdict`).

use crate::named::named;

/// Names of threads that run a job, or work for one, begin so; they are in no other account.
pub const JOB_THREAD: &str = "lbolt-job";

named! {
    /// What a job is for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum JobRole {
        /// Reads.
        Reader = "reader",
        /// Commits: writes and what makes each durable.
        Committer = "committer",
        /// Writes, and makes many durable at once.
        Writer = "writer",
    }
}

impl JobRole {
    /// The end of its threads' names: the kernel keeps 15 bytes of a name.
    fn ending(self) -> &'static str {
        match self {
            Self::Reader => "-read",
            Self::Committer => "-dsync",
            Self::Writer => "-write",
        }
    }

    /// The name of the threads that run a job of a role, or of none.
    pub fn thread_name(role: Option<Self>) -> String {
        format!("{JOB_THREAD}{}", role.map_or("", Self::ending))
    }

    /// The role of the job that a thread of that name runs.
    pub fn of_thread(name: &str) -> Option<Self> {
        let ending = name.strip_prefix(JOB_THREAD)?;
        Self::ALL.iter().map(|(role, _)| *role).find(|role| role.ending() == ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TASK_COMM_LEN, less the zero at its end.
    const KERNEL_KEEPS: usize = 15;

    #[test]
    fn a_threads_name_is_kept_whole_and_tells_its_role() {
        for (role, _) in JobRole::ALL {
            let name = JobRole::thread_name(Some(*role));
            assert!(name.len() <= KERNEL_KEEPS && name.starts_with(JOB_THREAD), "{name}");
            assert_eq!(JobRole::of_thread(&name), Some(*role));
        }
        assert_eq!(JobRole::thread_name(None), JOB_THREAD);
        assert_eq!(["lbolt-job", "lbolt-job-pool", "dd"].map(JobRole::of_thread), [None; 3]);
    }
}

//! Owners of files that were guessed by their threads' names, because it was not known yet what
//! these threads are: a call is told of sooner than it is asked whose it was.
//!
//! Non-goals: whose a file is (`super::actors`).

use super::RoleId;
use hashbrown::HashMap;
use model::record::FileNumber;

/// Threads of which that is remembered, and files of each; of more the guess stays.
const THREADS_MOST: usize = 10_000;
const FILES_MOST: usize = 64;

/// By thread: the role that its name tells, and the files that it became an owner of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guessed {
    threads: HashMap<u32, (RoleId, Vec<FileNumber>)>,
}

impl Guessed {
    /// A thread's role is guessed.
    pub(crate) fn guess(&mut self, pid: u32, role: RoleId) {
        if self.threads.len() < THREADS_MOST || self.threads.contains_key(&pid) {
            self.threads.entry(pid).or_insert((role, Vec::new()));
        }
    }

    /// A thread became the owner of a file.
    pub(crate) fn note(&mut self, pid: u32, file: FileNumber) {
        let Some((_, files)) = self.threads.get_mut(&pid) else { return };
        if files.len() < FILES_MOST && !files.contains(&file) {
            files.push(file);
        }
    }

    /// What was guessed of a thread, no more.
    pub(crate) fn take(&mut self, pid: u32) -> Option<(RoleId, Vec<FileNumber>)> {
        self.threads.remove(&pid)
    }

    /// The same with other numbers of these roles; a role without one owns nothing.
    pub(crate) fn with_roles(&self, number: impl Fn(RoleId) -> Option<RoleId>) -> Self {
        let known = self
            .threads
            .iter()
            .filter_map(|(pid, (role, files))| Some((*pid, (number(*role)?, files.clone()))));
        Self { threads: known.collect() }
    }
}

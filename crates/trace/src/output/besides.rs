//! What is known of a trace besides its requests, as a log of what became known: a kill leaves it.
//!
//! Non-goals: who writes it, and when (`capture::kept`).

use super::OutputError;
use super::log::{Log, records};
use super::survival::BESIDES;
use model::record::Context;
use std::path::{Path, PathBuf};

/// A log beside a file of requests.
#[derive(Debug)]
pub struct ContextLog {
    /// None when it was refused: what has a gap is not to be taken for all.
    log: Option<Log>,
    path: PathBuf,
}

impl ContextLog {
    /// Begins the log beside the file of requests at `path`.
    /// Errors: a file that cannot be made.
    pub fn begin(path: &Path) -> Result<Self, OutputError> {
        let path = path.with_extension(BESIDES);
        let log = Log::create(&path).map_err(|e| OutputError::refused(&path, e))?;
        Ok(Self { log: Some(log), path })
    }

    /// Adds what became known: once even if that is nothing, which is to be told from a log that
    /// was not kept. One that finds no room is given up.
    pub fn add(&mut self, news: &Context) {
        let is_news = |log: &&mut Log| log.is_empty() || *news != Context::default();
        let Some(log) = self.log.as_mut().filter(is_news) else { return };
        if log.add(&news.to_bytes()).is_err() {
            self.log = None;
            // One that stays is cut short, and was given up all the same.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// All that a log tells; none where there is none.
pub(super) fn read(log: &[u8]) -> Option<Context> {
    let mut all = None::<Context>;
    for record in records(log) {
        // One that is not whole was being written when its writer was killed.
        let Some(news) = Context::from_bytes(record) else { break };
        all.get_or_insert_default().extend(news);
    }
    all.iter_mut().for_each(Context::settle);
    all
}

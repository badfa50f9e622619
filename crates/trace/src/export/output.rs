//! A file that is written: its errors bear its name.

use super::ExportError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is written.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl Output {
    /// Begins a file, in place of an earlier one.
    pub(super) fn create(path: &Path) -> Result<Self, ExportError> {
        Self::of(path, File::create(path))
    }

    /// Begins a file that must not be there.
    pub(super) fn create_new(path: &Path) -> Result<Self, ExportError> {
        Self::of(path, File::create_new(path))
    }

    fn of(path: &Path, file: std::io::Result<File>) -> Result<Self, ExportError> {
        let path = path.to_owned();
        match file {
            Ok(file) => Ok(Self { path, writer: BufWriter::with_capacity(64 * 1024, file) }),
            Err(source) => Err(ExportError::Output { path, source }),
        }
    }

    /// Writes bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), ExportError> {
        self.writer.write_all(bytes).map_err(|source| self.refused(source))
    }

    /// Writes text.
    pub(super) fn text(&mut self, text: std::fmt::Arguments<'_>) -> Result<(), ExportError> {
        self.writer.write_fmt(text).map_err(|source| self.refused(source))
    }

    /// Ends the file: only now a full disk may show.
    pub(super) fn finish(mut self) -> Result<(), ExportError> {
        self.writer.flush().map_err(|source| self.refused(source))
    }

    fn refused(&self, source: std::io::Error) -> ExportError {
        ExportError::Output { path: self.path.clone(), source }
    }
}

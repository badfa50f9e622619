//! A file to import: opened, decompressed by what it begins with, text turned into UTF-8, its
//! beginning shown before it is read.

use super::encoding::Utf8;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is shown to guesses, and what is read at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// What decompressing xz may take of memory: `xz -9` needs a quarter of it, and a few bytes can ask
/// for 4 GiB. The other decompressors have such limits of their own (zstd's is a window of 128
/// MiB).
const XZ_MEMORY_BYTES: u64 = 256 << 20;

/// Why a file was not read. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
#[error("read {path}: {source}{remedy}", path = path.display())]
pub struct InputError {
    path: PathBuf,
    source: std::io::Error,
    remedy: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

/// What compressed files begin with.
const MAGIC: [(&[u8], Compression); 4] = [
    (&[0x1f, 0x8b], Compression::Gzip),
    (b"BZh", Compression::Bzip2),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], Compression::Xz),
    (&[0x28, 0xb5, 0x2f, 0xfd], Compression::Zstd),
];

/// A file to import.
pub struct Input {
    path: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    length_bytes: u64,
    taken_bytes: Arc<AtomicU64>,
    is_compressed: bool,
}

trace::shows!(Input: path);

/// Counts what is taken from a file.
struct Counted {
    file: File,
    taken_bytes: Arc<AtomicU64>,
    /// Whether the user wants to stop, even where no row comes of what is read.
    stop: Arc<AtomicBool>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("interrupted"));
        }
        let count = self.file.read(buffer)?;
        self.taken_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Input {
    /// Opens a file.
    /// Errors: a file that is not there or may not be read.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        Self::open_until(path, Arc::default())
    }

    /// Opens a file that ends with an error as soon as `stop` is set.
    /// Errors: as [`Input::open`].
    pub fn open_until(path: &Path, stop: Arc<AtomicBool>) -> Result<Self, InputError> {
        let refused = |source| InputError { path: path.to_owned(), source, remedy: "" };
        let file = File::open(path).map_err(refused)?;
        let metadata = file.metadata().map_err(refused)?;
        if metadata.is_dir() {
            return Err(refused(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
        }
        let taken_bytes = Arc::new(AtomicU64::new(0));
        let counted = Counted { file, taken_bytes: taken_bytes.clone(), stop };
        let mut input = Self::of(path, Box::new(counted)).map_err(refused)?;
        (input.length_bytes, input.taken_bytes) = (metadata.len(), taken_bytes);
        Ok(input)
    }

    /// Bytes that are in memory, under a name for messages.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> std::io::Result<Self> {
        Self::of(Path::new(name), Box::new(std::io::Cursor::new(bytes)))
    }

    fn of(path: &Path, raw: Box<dyn Read + Send>) -> std::io::Result<Self> {
        let mut raw = BufReader::with_capacity(BUFFER_BYTES, raw);
        let head = raw.fill_buf()?;
        let found = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
        let compression = found.map(|(_, compression)| *compression);
        let plain: Box<dyn Read + Send> = match compression {
            None => Box::new(raw),
            Some(Compression::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            Some(Compression::Bzip2) => Box::new(bzip2::bufread::MultiBzDecoder::new(raw)),
            Some(Compression::Xz) => {
                let all = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, all)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(raw, stream))
            }
            Some(Compression::Zstd) => Box::new(zstd::stream::read::Decoder::with_buffer(raw)?),
        };
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(BUFFER_BYTES, Box::new(Utf8::of(plain))),
            length_bytes: 0,
            taken_bytes: Arc::new(AtomicU64::new(0)),
            is_compressed: compression.is_some(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's length, compressed as it is.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// How much of the file was taken so far, for progress.
    pub fn taken_bytes(&self) -> Arc<AtomicU64> {
        self.taken_bytes.clone()
    }

    /// Whether the file is compressed.
    pub fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    /// The decompressed beginning, and whether that is all; nothing is consumed.
    /// Errors: a file that cannot be read or decompressed.
    pub fn head(&mut self) -> Result<(&[u8], bool), InputError> {
        // A decompressor gives little at a time: what is shown is gathered first.
        let mut head = Vec::with_capacity(BUFFER_BYTES);
        let limit = BUFFER_BYTES as u64;
        let gathered = (&mut self.reader).take(limit).read_to_end(&mut head);
        gathered.map_err(|source| self.refused(source))?;
        let is_whole = head.len() < BUFFER_BYTES;
        let rest = std::mem::replace(
            &mut self.reader,
            BufReader::new(Box::new(std::io::empty()) as Box<dyn Read + Send>),
        );
        let again: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(head).chain(rest));
        self.reader = BufReader::with_capacity(BUFFER_BYTES, again);
        let head = match self.reader.fill_buf() {
            Ok(head) => head,
            Err(source) => {
                return Err(InputError { path: self.path.clone(), source, remedy: "" });
            }
        };
        Ok((head, is_whole))
    }

    /// What is read, decompressed.
    pub fn reader(&mut self) -> &mut impl BufRead {
        &mut self.reader
    }

    /// An error while reading, with the file's name.
    pub fn refused(&self, source: std::io::Error) -> InputError {
        let remedy = if self.is_compressed {
            "; check the compressed file (zstd -t, gzip -t, xz -t, bzip2 -t). If it needs more \
             memory than xz -9 or zstd --long, decompress it first"
        } else {
            ""
        };
        InputError { path: self.path.clone(), source, remedy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x`, as `xz -0 --check=none` compresses it, with a dictionary of 256 KiB.
    const XZ: [u8; 52] =
        *b"\xfd7zXZ\0\0\0\xff\x12\xd9\x41\x02\x00\x21\x01\x0c\0\0\0\x8f\x98\x41\x9c\x01\
        \0\0x\0\0\0\0\0\x01\x11\x01\xad\xa6\x58\x04\x06\x72\x9e\x7a\x01\0\0\0\0\0YZ";

    #[test]
    fn an_xz_file_that_asks_for_4_gib_of_memory_is_refused() {
        let mut input = Input::from_bytes("x.xz", XZ.to_vec()).unwrap();
        assert!(input.is_compressed());
        assert_eq!(input.head().unwrap(), (&b"x"[..], true));
        let mut greedy = XZ;
        // The dictionary's size, and the checksum of the header that says it.
        greedy[16] = 40;
        greedy[20..24].copy_from_slice(&[0xe6, 0xa0, 0x11, 0xb3]);
        let mut input = Input::from_bytes("greedy.xz", greedy.to_vec()).unwrap();
        let refused = input.head().unwrap_err().to_string();
        assert!(refused.starts_with("read greedy.xz: memory limit reached"), "{refused}");
        assert!(refused.contains("decompress it first"), "{refused}");
    }
}

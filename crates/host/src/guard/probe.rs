//! What a device bears: the signatures of file systems, volumes and partition
//! tables. The knowledge is libblkid's; only its answer is read here.

use crate::device::DeviceNumber;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Something recognised at the beginning or the end of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    /// `ext4`, `LVM2_member`, `linux_raid_member`, `crypto_LUKS`, `swap`…
    Content(String),
    /// `dos`, `gpt`…
    PartitionTable(String),
    /// More than one, so that libblkid names none.
    Several,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content(kind) => write!(f, "the signature of {kind}"),
            Self::PartitionTable(kind) => write!(f, "a partition table ({kind})"),
            Self::Several => f.write_str("the signatures of more than one kind of data"),
        }
    }
}

/// Why it is not known what a device bears. A clause with its remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum ProbeError {
    #[error("blkid is not installed; install util-linux")]
    NoTool,
    #[error("blkid {0}; update util-linux")]
    Tool(String),
    #[error("{node} cannot be read: {source}; check its permissions")]
    Unreadable { node: PathBuf, source: std::io::Error },
    #[error("{node} is not the node of device {device}; name the device by its own node")]
    AnotherNode { node: PathBuf, device: DeviceNumber },
}

/// Finds out what a device bears, reading only.
pub trait SignatureProber {
    /// All signatures on `device`, whose node is thought to be `node`; empty
    /// only when it was read and bears none.
    /// Errors: it could not be found out.
    fn signatures(&self, device: DeviceNumber, node: &Path) -> Result<Vec<Signature>, ProbeError>;
}

/// The `blkid` of util-linux, probing the device itself and not its cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blkid {
    tool: PathBuf,
    node: Option<PathBuf>,
}

impl Default for Blkid {
    fn default() -> Self {
        Self { tool: "blkid".into(), node: None }
    }
}

/// Where blkid lies when the search path leaves out the administrator's tools.
const TOOL_FOLDERS: &[&str] = &["/usr/sbin", "/sbin"];

impl Blkid {
    /// Probes through this node, for a device that has none of its kernel's name
    /// in `/dev`. The node must be of the device that is requested.
    pub fn through(node: impl Into<PathBuf>) -> Self {
        Self { node: Some(node.into()), ..Self::default() }
    }

    /// Runs another program in its place.
    pub fn with_tool(self, tool: impl Into<PathBuf>) -> Self {
        Self { tool: tool.into(), ..self }
    }

    /// blkid is given the open device as its standard input: so it probes what
    /// was checked, whatever becomes of the node.
    fn run(&self, device: &File) -> Result<Output, ProbeError> {
        let elsewhere = TOOL_FOLDERS.iter().map(|folder| Path::new(folder).join(&self.tool));
        for tool in std::iter::once(self.tool.clone()).chain(elsewhere) {
            let input = device.try_clone().map_err(|e| ProbeError::Tool(e.to_string()))?;
            let mut command = Command::new(tool);
            command.args(["-p", "-o", "export", "/proc/self/fd/0"]).stdin(Stdio::from(input));
            match crate::without_session_keys(&mut command).env("LC_ALL", "C").output() {
                Ok(output) => return Ok(output),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(ProbeError::Tool(format!("cannot be run ({e})"))),
            }
        }
        Err(ProbeError::NoTool)
    }
}

impl SignatureProber for Blkid {
    fn signatures(&self, device: DeviceNumber, node: &Path) -> Result<Vec<Signature>, ProbeError> {
        let node = self.node.as_deref().unwrap_or(node);
        let file = open_checked(device, node)?;
        let output = self.run(&file)?;
        understand(output.status.code(), &output.stdout, &output.stderr)
    }
}

/// blkid says "nothing found" of a device that it cannot read, too. So it is
/// read here first.
fn open_checked(device: DeviceNumber, node: &Path) -> Result<File, ProbeError> {
    let unreadable = |source| ProbeError::Unreadable { node: node.to_owned(), source };
    let mut file = File::open(node).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.file_type().is_block_device() || DeviceNumber::from_dev(meta.rdev()) != device {
        return Err(ProbeError::AnotherNode { node: node.to_owned(), device });
    }
    let _ = file.read(&mut [0; 512]).map_err(unreadable)?;
    Ok(file)
}

/// Exit codes of blkid(8) in low-level probing.
const FOUND: i32 = 0;
const NOTHING: i32 = 2;
const AMBIVALENT: i32 = 8;

fn understand(
    code: Option<i32>,
    stdout: &[u8],
    stderr: &[u8],
) -> Result<Vec<Signature>, ProbeError> {
    let complaint = String::from_utf8_lossy(stderr).trim().to_owned();
    match code {
        Some(FOUND) => Ok(found(&String::from_utf8_lossy(stdout))),
        Some(NOTHING) if complaint.is_empty() => Ok(Vec::new()),
        Some(AMBIVALENT) => Ok(vec![Signature::Several]),
        Some(code) => Err(ProbeError::Tool(format!("ended with code {code} ({complaint})"))),
        None => Err(ProbeError::Tool("was stopped by a signal".to_owned())),
    }
}

/// `KEY=value` lines. `PART_ENTRY_…` tells of the table that a partition stands
/// in, which is nothing that the partition bears.
fn found(export: &str) -> Vec<Signature> {
    let pairs = export.lines().filter_map(|line| line.split_once('='));
    let signature = |(key, value): (&str, &str)| match key {
        "TYPE" => Some(Signature::Content(value.to_owned())),
        "PTTYPE" => Some(Signature::PartitionTable(value.to_owned())),
        _ => None,
    };
    pairs.filter_map(signature).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_system_under_an_old_partition_table_is_both() {
        let text = "DEVNAME=/proc/self/fd/0\nUUID=1\nTYPE=ext4\nUSAGE=filesystem\nPTTYPE=dos\n";
        let both =
            [Signature::Content("ext4".to_owned()), Signature::PartitionTable("dos".to_owned())];
        assert_eq!(understand(Some(0), text.as_bytes(), b"").unwrap(), both);
    }

    #[test]
    fn a_partition_entry_is_no_signature() {
        let text = "PART_ENTRY_SCHEME=gpt\nPART_ENTRY_TYPE=0fc63daf\n";
        assert_eq!(understand(Some(0), text.as_bytes(), b"").unwrap(), []);
    }

    #[test]
    fn nothing_several_and_failure_are_told_apart() {
        assert_eq!(understand(Some(2), b"", b"").unwrap(), []);
        assert_eq!(understand(Some(8), b"", b"").unwrap(), [Signature::Several]);
        assert!(understand(Some(2), b"", b"blkid: error: Permission denied").is_err());
        assert!(understand(Some(4), b"", b"usage").is_err());
        assert!(understand(None, b"", b"").is_err());
    }

    #[test]
    fn a_node_that_is_no_device_of_that_number_is_not_probed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let answer = Blkid::through(file.path()).signatures(DeviceNumber::new(8, 0), file.path());
        assert!(matches!(answer, Err(ProbeError::AnotherNode { .. })));
        let answer = Blkid::default().signatures(DeviceNumber::new(8, 0), Path::new("/dev/none"));
        assert!(matches!(answer, Err(ProbeError::Unreadable { .. })));
    }

    #[test]
    fn a_missing_tool_is_a_sentence_with_its_remedy() {
        let file = tempfile::tempfile().unwrap();
        let error = Blkid::default().with_tool("no-such-blkid").run(&file).unwrap_err();
        assert_eq!(error.to_string(), "blkid is not installed; install util-linux");
    }

    proptest! {
        #[test]
        fn no_answer_panics(code in any::<Option<i32>>(),
                            out in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = understand(code, &out, b"");
        }
    }

    #[test]
    fn a_node_of_that_number_that_is_no_block_device_is_not_probed() {
        let null = Path::new("/dev/null");
        let number = DeviceNumber::from_dev(std::fs::metadata(null).unwrap().rdev());
        let error = open_checked(number, null).unwrap_err().to_string();
        assert!(error.starts_with("/dev/null is not the node of device 1:3"), "{error}");
    }

    #[test]
    fn a_tool_that_cannot_be_run_is_no_missing_tool() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let blkid = Blkid::default().with_tool(file.path());
        let error = blkid.run(file.as_file()).unwrap_err().to_string();
        assert!(error.starts_with("blkid cannot be run (Permission denied"), "{error}");
    }
}

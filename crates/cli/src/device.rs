//! The options of `lbolt device`, and what its help says.

use clap::Args;
use std::path::PathBuf;

/// `lbolt device`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = DEVICE_HELP)]
pub struct DeviceOptions {
    /// The drive: `model:NAME[,size=…][,slow=…][,KEY=VALUE]…`; `lbolt simulate --list-models` lists
    /// the names.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Directory for the device's data, kept in an unnamed sparse file [default: in memory].
    #[arg(long, value_name = "DIR")]
    pub at: Option<PathBuf>,
    /// Shell command that runs first, at the full speed of this machine: for example to make a file
    /// system and create files.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Format of the final lateness report: a table or JSON.
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    pub format: String,
    /// Print the resolved plan and create nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Command to run on the device, which ends with it. $LBOLT_DEVICE holds the device's name.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What `device` does, for `--help`.
const DEVICE_HELP: &str = "\
The device answers each request when the modelled drive would. Its data is real: file systems and
programs run on it. It is served by ublk if that is loaded, otherwise by FUSE under a loop device.
The kernel's own latency is measured first and subtracted. At the end lbolt prints how late the
device was compared with its model. The device goes away when lbolt ends.

lbolt device model:ra81                    a drive of 1982 as a block device, until Ctrl-C
lbolt device model:eagle --prepare 'mkfs.ext4 -q $LBOLT_DEVICE' -- sh -c 'e2fsck -fn $LBOLT_DEVICE'
                                           prepared at full speed, then served while a command runs
lbolt device model:atlas10k,slow=2         every request takes twice as long";

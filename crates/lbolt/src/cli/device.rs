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
    /// Directory in which the device's data lie, in a sparse file without a name [default: in
    /// memory].
    #[arg(long, value_name = "DIR")]
    pub at: Option<PathBuf>,
    /// A shell's command that runs first, while the device is as fast as this machine: to make a
    /// file system, and to lay files out.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// How the end is printed: for people, or how late the device was as JSON.
    #[arg(long, value_parser = ["table", "json"], default_value = "table")]
    pub format: String,
    /// Print the resolved plan and make nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// A command to run on it; the device ends with it. The command finds the device's name in
    /// $LBOLT_DEVICE.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What `device` does, for `--help`.
const DEVICE_HELP: &str = "\
The device answers each request when the modelled drive would. Its data are real: file systems and
programs run on it. Requests come by ublk where that is loaded, else by FUSE under a loop device.
The way through the kernel is measured first and taken off. How late it was against its model is
said at the end. All of it ends with lbolt.

lbolt device model:ra81                    a drive of 1982 as a block device, until ^C
lbolt device model:eagle --prepare 'mkfs.ext4 -q $LBOLT_DEVICE' -- sh -c 'e2fsck -fn $LBOLT_DEVICE'
                                           prepared in no time, then for as long as a command runs
lbolt device model:atlas10k,slow=2         everything takes twice as long

Exit codes: 0 fine, 1 I/O error or the command's failure, 2 usage, 6 output not \
printed.";

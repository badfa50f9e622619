//! The options that say of which host a trace is, and of which device.

use clap::Args;

/// Of `import` and `rollup`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct IdentityOptions {
    /// Host of the trace; of `rollup`, of all inputs [default: the host that they record, otherwise
    /// the trace's name].
    #[arg(long, value_name = "NAME", help_heading = "Identity")]
    pub host: Option<String>,
    /// Model of the devices in the trace.
    #[arg(long, value_name = "M", help_heading = "Identity")]
    pub model: Option<String>,
    /// Firmware of the devices in the trace.
    #[arg(long, value_name = "NAME", help_heading = "Identity")]
    pub firmware: Option<String>,
    /// Kernel release of the host, as `uname -r` prints it.
    #[arg(long, value_name = "NAME", help_heading = "Identity")]
    pub kernel: Option<String>,
}

//! Records that are damaged or come from other programs.

mod damaged;
mod foreign;

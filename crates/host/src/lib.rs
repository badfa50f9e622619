//! This machine as a subject: directories, devices, fresh file systems, the
//! guard, engines, clocks, CPU accounting. System calls and `unsafe` live here.
//!
//! Non-goals: what to measure (`experiment`), what it means (`analyze`), printing.

#![allow(unsafe_code, reason = "system calls; each block carries its safety argument")]

pub mod account;
mod announced;
pub mod cgroup;
pub mod children;
pub mod clock;
mod compute;
pub mod device;
pub mod doctor;
pub mod drive;
mod engine;
pub mod file_name;
pub mod function_name;
mod generation;
pub mod group;
pub mod guard;
mod kernel_file;
mod keyring;
mod landlock;
pub mod machine;
pub mod memory;
pub mod pod;
pub mod privilege;
pub mod process;
mod process_tree;
pub mod remedy;
pub mod remount;
pub mod scheduling;
pub mod scratch;
mod seccomp;
pub mod served;
pub mod settings;
pub mod state;
pub mod stdio;
pub mod subject;
pub mod turning;
mod walk;

pub use announced::{announced, heard, names_its_writers};
pub use keyring::without_session_keys;
pub use process_tree::{Family, end_tree};
pub use walk::Distrust;

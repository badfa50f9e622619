//! This machine as a subject. System calls and `unsafe` live here.

pub mod device;
pub mod guard;

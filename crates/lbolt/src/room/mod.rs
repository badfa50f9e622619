//! The rooms' sessions: what each calibrates, and what it runs on which subject.

pub(crate) mod compare;
mod drawn;
pub(crate) mod overhead;
pub(crate) mod response;
pub(crate) mod simulate;
pub(crate) mod survey;
pub(crate) mod throughput;
pub(crate) mod trace;

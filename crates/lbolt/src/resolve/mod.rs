//! From options as typed to what is meant: targets, sizes, places, plans. What cannot be done is
//! refused here, in a sentence, before anything is made or measured.

pub(crate) mod model_disk;
pub(crate) mod modelled;
pub(crate) mod overhead;
pub(crate) mod place;
pub(crate) mod target;
pub(crate) mod text_file;
pub(crate) mod throughput;

//! Names on paper; records that are damaged or come from other programs.

mod damaged;
mod foreign;
mod named;

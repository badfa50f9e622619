//! Names on paper; records that are damaged or come from other programs; requests as they are used.

mod damaged;
mod foreign;
mod named;
mod request;

//! The tables, against golden files.

mod common;
mod markdown;
mod modern;
mod overhead;
mod paper;
mod property;
mod screen;
mod sentences;

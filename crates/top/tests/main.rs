//! The screen as a user has it: keys, what is drawn at each size, and screens as text.
#![allow(clippy::unwrap_used)]

mod drawing;
mod keys;
mod synthetic;

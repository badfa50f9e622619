//! Captures and pairing on real input: one binary of tests.

mod account;
mod capture;
mod inexact;
mod stacks;
mod survival;

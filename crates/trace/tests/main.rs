//! Captures, imports, exports and pairing on real input: one binary of tests.

mod account;
mod capture;
mod export;
mod guesses;
mod import;
mod inexact;
mod interleaving;
mod known_answers;
mod known_answers_binary;
mod rates;
mod real;
mod survival;

//! Imports and exports on real input: one binary of tests.

mod export;
mod guesses;
mod import;
mod inputs;
mod interleaving;
mod known_answers;
mod known_answers_binary;
mod rates;
mod real;
mod shapes;

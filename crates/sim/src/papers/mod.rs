//! The papers' tables, computed anew: text of a table in, rows of published and modelled values out.
//!
//! Non-goals: reading the tables' files, printing.

pub mod overhead_1980;

//! Rows whose figures are known.

//! Records in, findings out.

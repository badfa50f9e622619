//! Findings in; tables, markdown, CSV and JSON out. Prints nothing itself.

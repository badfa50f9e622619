//! What is said of findings, each sentence with the finding that it is about: the answer, for a
//! document that machines read.
//!
//! Non-goals: the sentences (each screen has its own).

use model::record::Finding;

/// A sentence of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement<'a> {
    /// In words.
    pub sentence: String,
    /// The number that it is about: its value, unit and interval; none of a sentence of many.
    pub finding: Option<&'a Finding>,
}

impl From<String> for Statement<'_> {
    fn from(sentence: String) -> Self {
        Self { sentence, finding: None }
    }
}

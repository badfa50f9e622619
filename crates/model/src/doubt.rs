//! What is to be known of a doubt beyond its sentence. Records keep doubts as sentences, one a
//! line; this is the one place that tells kinds of them apart.

/// How the doubt of a rate with a wide interval begins.
pub const WIDE: &str = "± ";

/// Whether a doubt is of its cell alone, however many cells have one like it: each wide interval is
/// as wide as its own passes make it, and no common cause stands behind them.
pub fn is_of_its_cell(sentence: &str) -> bool {
    sentence.starts_with(WIDE)
}

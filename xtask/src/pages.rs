//! The pages of docs/ that are made from the code.

use crate::{cli_page, docs};
use anyhow::Context as _;
use std::path::Path;

/// Each page's path and text.
fn pages() -> [(&'static str, String); 2] {
    [
        ("docs/records.md", model::record::document(papers::quantities::QUANTITIES)),
        ("docs/cli.md", cli_page::render(docs::command())),
    ]
}

/// Writes the pages.
pub(crate) fn bless(root: &Path) -> anyhow::Result<()> {
    for (path, text) in pages() {
        std::fs::write(root.join(path), text).with_context(|| format!("failed to write {path}"))?;
        println!("wrote {path}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_agree_with_the_code() {
        for (path, text) in pages() {
            let kept = std::fs::read_to_string(crate::root().join(path)).unwrap_or_default();
            assert!(kept == text, "{path} does not agree with the code: run make bless");
        }
    }
}

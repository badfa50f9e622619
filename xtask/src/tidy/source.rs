//! What the checks look at: the tree's files, their code without comments and
//! strings, and the packages as cargo sees them.

use crate::command::output;
use anyhow::Context as _;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The tree.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Every text file that git tracks or would track.
    pub(super) files: Vec<Source>,
    /// The workspace's packages.
    pub(super) packages: Vec<Package>,
}

/// A text file.
#[derive(Debug)]
pub(super) struct Source {
    /// Relative to the root.
    pub(super) path: String,
    pub(super) text: String,
    /// The text with blanks for comments, strings and character literals: the same lines.
    pub(super) code: String,
    /// Lines from this one on (from 0) are test code.
    tests_from: usize,
}

/// A package of the workspace.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) license: Option<String>,
    /// Names, and whether only tests need them.
    pub(super) dependencies: Vec<(String, bool)>,
}

impl Tree {
    /// Reads the tree under `root`.
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let run = |program: &str, words: &[&str]| {
            output(Command::new(program).args(words).current_dir(root))
        };
        let listed = run("git", &["ls-files", "-co", "--exclude-standard"])?;
        let read = |path: &str| {
            // What is deleted but not yet committed, and what is no text, is passed over.
            Some(Source::new(path, std::fs::read_to_string(root.join(path)).ok()?))
        };
        let files = listed.lines().filter_map(read).collect();
        let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
        let metadata: Value = serde_json::from_str(&run("cargo", &arguments)?)?;
        let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
        Ok(Self { files, packages: packages.iter().map(Package::new).collect() })
    }

    /// The files of Rust.
    pub(super) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|source| source.path.ends_with(".rs"))
    }
}

impl Package {
    fn new(package: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        Self {
            name: text(&package["name"]).unwrap_or_default(),
            license: text(&package["license"]),
            dependencies: dependencies
                .filter_map(|d| Some((text(&d["name"])?, d["kind"] == "dev")))
                .collect(),
        }
    }
}

impl Source {
    pub(super) fn new(path: &str, text: String) -> Self {
        let code = if path.ends_with(".rs") { mask(&text) } else { String::new() };
        let tests_from = if is_test(path) { 0 } else { test_module(&code) };
        Self { path: path.to_owned(), text, code, tests_from }
    }

    /// The crate that the file belongs to: `host`, `xtask`; empty outside all crates.
    pub(super) fn package(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next() {
            Some("crates") => parts.next().unwrap_or_default(),
            Some("xtask") => "xtask",
            _ => "",
        }
    }

    /// The top module of its crate that the file belongs to; none for a crate's root and tests.
    pub(super) fn module(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("crates/")?.split_once("/src/")?.1;
        let first = inside.split('/').next()?;
        let is_root = inside == "lib.rs" || inside == "main.rs";
        (!is_root && !inside.contains("tests")).then(|| first.trim_end_matches(".rs"))
    }

    /// Whether a line (from 0) is of a test.
    pub(super) fn is_test_line(&self, line: usize) -> bool {
        line >= self.tests_from
    }
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/benches/") || path.ends_with("/tests.rs")
}

/// The line (from 0) where `#[cfg(test)] mod … {` begins, which runs to the end of the file.
fn test_module(code: &str) -> usize {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let opens = |place: usize| {
        let next =
            lines[place + 1..].iter().find(|line| !line.is_empty() && !line.starts_with('#'));
        next.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let found = (0..lines.len()).find(|&place| lines[place] == "#[cfg(test)]" && opens(place));
    found.unwrap_or(usize::MAX)
}

/// The text with blanks for comments, strings and character literals.
pub(super) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hidden = hidden_length(rest, masked.chars().next_back());
        let (token, behind) = rest.split_at(hidden.unwrap_or(first.len_utf8()));
        if hidden.is_some() {
            masked.extend(token.chars().map(|c| if c == '\n' { c } else { ' ' }));
        } else {
            masked.push_str(token);
        }
        rest = behind;
    }
    masked
}

/// The length of the comment, string or character literal that `rest` begins with.
fn hidden_length(rest: &str, before: Option<char>) -> Option<usize> {
    let end = |found: Option<usize>| Some(found.unwrap_or(rest.len()));
    match rest.as_bytes() {
        [b'/', b'/', ..] => end(rest.find('\n')),
        [b'/', b'*', ..] => end(block_end(rest)),
        [b'"', ..] => end(quote_end(rest)),
        [b'\'', ..] => character_end(rest),
        [b'r', ..] | [b'b' | b'c', b'r', ..] if !before.is_some_and(is_word) => raw_end(rest),
        _ => None,
    }
}

/// Comments of this kind nest.
fn block_end(rest: &str) -> Option<usize> {
    let mut depth = 0;
    let mut place = 0;
    while let Some(next) = rest.get(place..).filter(|next| !next.is_empty()) {
        let step = match next.as_bytes() {
            [b'/', b'*', ..] => 1,
            [b'*', b'/', ..] => -1,
            _ => 0,
        };
        depth += step;
        place += if step == 0 { next.chars().next()?.len_utf8() } else { 2 };
        if depth == 0 {
            return Some(place);
        }
    }
    None
}

fn quote_end(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (place, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(place + 1),
            _ => {}
        }
    }
    None
}

/// None for a lifetime, which opens like a character and does not close.
fn character_end(rest: &str) -> Option<usize> {
    let mut inside = rest.char_indices().skip(1);
    let (_, first) = inside.next()?;
    if first == '\\' {
        inside.next()?;
        return inside.find(|(_, c)| *c == '\'').map(|(place, _)| place + 1);
    }
    inside.next().filter(|(_, c)| *c == '\'').map(|(place, _)| place + 1)
}

/// The end of `r"…"`, `r#"…"#` and their kin; none if it is a name.
fn raw_end(rest: &str) -> Option<usize> {
    let body = rest.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inside = body[hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&closing).map_or(inside.len(), |place| place + closing.len());
    Some(rest.len() - inside.len() + length)
}

/// Whether a character can stand in a name.
pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Where `word` stands in a text by itself, not as a part of a longer name.
pub(super) fn find_word(text: &str, word: &str) -> Option<usize> {
    let alone = |place: usize| {
        let before = text[..place].chars().next_back().filter(|_| word.starts_with(is_word));
        let behind = text[place + word.len()..].chars().next().filter(|_| word.ends_with(is_word));
        !before.is_some_and(is_word) && !behind.is_some_and(is_word)
    };
    text.match_indices(word).map(|(place, _)| place).find(|&place| alone(place))
}

/// The line (from 1) of a place in a text.
pub(super) fn line_at(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

/// The end of the block that opens with the first `{` at or after `from`.
pub(super) fn block(code: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let open = from + code.get(from..)?.find('{')?;
    let mut depth = 0;
    for (place, character) in code[open..].char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(open..open + place + 1),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_hidden_and_lines_kept() {
        for (text, masked) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ */ d", "a                 d"),
            (r#"a("b\"c") + d"#, "a(      ) + d"),
            ("r#\"a\"b\"# c", "         c"),
            ("bar\"x\" r#type", "bar    r#type"),
            ("f<'a>('b', '\\'', '{')", "f<'a>(   ,     ,    )"),
            ("\"é\n\" x", "  \n  x"),
            ("/* open", "       "),
        ] {
            assert_eq!(mask(text), masked, "{text}");
        }
    }

    #[test]
    fn a_word_stands_alone() {
        assert_eq!(find_word("eprintln!(x)", "println!"), None);
        assert_eq!(find_word("x = dbg!(y)", "dbg!"), Some(4));
        assert_eq!(find_word("unsafe_code unsafe", "unsafe"), Some(12));
    }

    #[test]
    fn a_test_module_ends_the_product() {
        let text = "fn a() {}\n#[cfg(test)]\nmod one;\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n}\n";
        let source = Source::new("crates/x/src/a.rs", text.into());
        assert_eq!((source.is_test_line(2), source.is_test_line(3)), (false, true));
        assert!(Source::new("crates/x/tests/a.rs", text.into()).is_test_line(0));
    }

    #[test]
    fn a_file_belongs_to_a_module_of_its_crate() {
        for (path, module) in [
            ("crates/x/src/a/b/c.rs", Some("a")),
            ("crates/x/src/a.rs", Some("a")),
            ("crates/x/src/lib.rs", None),
            ("crates/x/src/a/tests.rs", None),
            ("crates/x/tests/a.rs", None),
            ("xtask/src/a.rs", None),
        ] {
            assert_eq!(Source::new(path, String::new()).module(), module, "{path}");
        }
    }
}

//! What the checks look at: the tree's files, their code without comments and
//! strings, and the packages as cargo sees them.

use crate::command::output;
use anyhow::Context as _;
use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};
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

/// The text with blanks for comments, strings and character literals; all blank where it is no
/// Rust.
fn mask(text: &str) -> String {
    let lines: Vec<Vec<char>> = text.split('\n').map(|line| line.chars().collect()).collect();
    let mut code: Vec<Vec<char>> = lines.iter().map(|line| vec![' '; line.len()]).collect();
    let mut show = |token: &str, at: LineColumn| {
        let place = at.line - 1;
        let range = at.column..at.column + token.chars().count();
        // The tokens that a documenting comment stands for are not in the text.
        let written = lines.get(place).and_then(|line| line.get(range.clone()));
        if written.is_some_and(|written| written.iter().copied().eq(token.chars())) {
            code[place][range].copy_from_slice(written.unwrap_or_default());
        }
    };
    each_token(text.parse().unwrap_or_default(), &mut show);
    code.iter().map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join("\n")
}

/// Each token of code but texts, with its place.
fn each_token(tokens: TokenStream, show: &mut impl FnMut(&str, LineColumn)) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                show(open, group.span_open().start());
                each_token(group.stream(), show);
                show(close, group.span_close().start());
            }
            TokenTree::Literal(literal) if literal.to_string().ends_with(['"', '\'', '#']) => {}
            other => show(&other.to_string(), other.span().start()),
        }
    }
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
            ("r#type", "r#type"),
            ("/// doc \"x\nfn b() {}", "          \nfn b() {}"),
            ("f<'a>('b', '\\'', '{')", "f<'a>(   ,     ,    )"),
            ("\"é\n\" x", "  \n  x"),
            ("/* open", "       "),
            ("1.5e3_f64 + 'l'", "1.5e3_f64 +    "),
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

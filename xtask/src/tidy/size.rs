//! How long files and functions may be: a ratchet. What is longer is named
//! below with its present length, and may only shrink.

use super::Fault;
use super::source::{Source, Tree, find_word, is_word, line_at};

/// Lines of a file, its tests included.
const FILE_LINES: usize = 600;
/// Lines of a function, from its name to its closing brace.
const FUNCTION_LINES: usize = 80;

/// Longer files, each with the lines that it may have.
const LONG_FILES: &[(&str, usize)] = &[];
/// Longer functions as `file:name`, each with the lines that it may have.
const LONG_FUNCTIONS: &[(&str, usize)] = &[];

/// Files stay short.
pub(super) fn files(tree: &Tree) -> Vec<Fault> {
    let lengths = tree.rust().map(|source| (source.path.clone(), source.text.lines().count()));
    let faults = lengths.filter_map(|(path, lines)| {
        let what = too_long(LONG_FILES, &path, lines, FILE_LINES)?;
        Some(Fault { file: path, line: 1, what })
    });
    faults.collect()
}

/// Functions stay short.
pub(super) fn functions(tree: &Tree) -> Vec<Fault> {
    tree.rust().flat_map(long_functions).collect()
}

fn long_functions(source: &Source) -> Vec<Fault> {
    let found = lengths(&source.code).into_iter().filter_map(|(name, line, lines)| {
        let key = format!("{}:{name}", source.path);
        let what = too_long(LONG_FUNCTIONS, &key, lines, FUNCTION_LINES)?;
        Some(Fault { file: source.path.clone(), line, what: format!("{name}: {what}") })
    });
    found.collect()
}

/// What is wrong with a length, if anything is: too long, or an exception that could shrink.
fn too_long(known: &[(&str, usize)], key: &str, lines: usize, most: usize) -> Option<String> {
    let exception = known.iter().find(|(name, _)| *name == key).map(|(_, lines)| *lines);
    match exception {
        Some(kept) if lines < kept => {
            Some(format!("{lines} lines, fewer than its exception's {kept}: tighten it"))
        }
        _ if lines > exception.unwrap_or(most) => {
            Some(format!("{lines} lines, more than {}", exception.unwrap_or(most)))
        }
        _ => None,
    }
}

/// Each function's name, line and length.
fn lengths(code: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(place) = find_word(&code[from..], "fn").map(|place| from + place) {
        from = place + 2;
        let name: String = code[from..].trim_start().chars().take_while(|c| is_word(*c)).collect();
        let body = body(&code[from..]).and_then(|at| super::source::block(code, from + at));
        if let Some(body) = body.filter(|_| !name.is_empty()) {
            let first = line_at(code, place);
            found.push((name, first, line_at(code, body.end) - first + 1));
        }
    }
    found
}

/// Where a function's body opens; none if it has none. A `;` in brackets belongs to a type.
fn body(signature: &str) -> Option<usize> {
    let mut depth = 0;
    for (place, character) in signature.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(place),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_name_to_brace() {
        let code = "fn a(x: [u8; 3]) -> fn(u8) {\n  {}\n}\ntrait T {\n fn b();\n fn c() {}\n}\n";
        let expected = [("a".to_owned(), 1, 3), ("c".to_owned(), 6, 1)];
        assert_eq!(lengths(code), expected);
    }

    #[test]
    fn an_exception_may_only_shrink() {
        let known = [("a", 100)];
        assert_eq!(too_long(&known, "a", 100, 80), None);
        assert_eq!(too_long(&known, "b", 80, 80), None);
        assert!(too_long(&known, "a", 101, 80).is_some());
        assert!(too_long(&known, "a", 99, 80).is_some());
        assert!(too_long(&known, "b", 81, 80).is_some());
    }
}

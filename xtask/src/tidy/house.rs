//! The measure of the house: lines, files, functions, comments and tests of the Rust code, counted
//! as the tree stands. What other programs have stands in docs/ARCHITECTURE.md.
//!
//! Non-goals: syntax. A function is the word `fn` with a name, to the end of its block.

use super::source::{Source, Tree, block, is_word};
use std::path::Path;

/// Functions longer than this are long.
const LONG: usize = 70;

/// What is counted of one file.
#[derive(Debug, Default)]
struct Counts {
    /// Without those of tests.
    lines: usize,
    test_lines: usize,
    tests: usize,
    comments: usize,
    documentation: usize,
    unwraps: usize,
    /// Lines of each function that is of no test.
    functions: Vec<usize>,
}

impl Counts {
    fn of(source: &Source) -> Self {
        let mut counts = Self::default();
        for (place, (text, code)) in source.text.lines().zip(source.code.lines()).enumerate() {
            counts.tests += usize::from(code.trim() == "#[test]");
            if source.is_test_line(place) {
                counts.test_lines += 1;
                continue;
            }
            let text = text.trim_start();
            counts.lines += 1;
            counts.comments += usize::from(text.starts_with("//"));
            counts.documentation += usize::from(text.starts_with("///") || text.starts_with("//!"));
            counts.unwraps += code.matches(".unwrap()").count() + code.matches(".expect(").count();
        }
        counts.functions = functions(source);
        counts
    }
}

/// Lines of each function that has a block.
fn functions(source: &Source) -> Vec<usize> {
    let code = source.code.as_str();
    let length = |(place, _): (usize, &str)| {
        let is_word_before = code[..place].ends_with(is_word);
        let signature = &code[place..];
        let has_name = signature["fn ".len()..].starts_with(is_word);
        let line = code[..place].matches('\n').count();
        let ends = signature.find(['{', ';'])?;
        let has_block = signature[ends..].starts_with('{');
        let is_one = !is_word_before && has_name && has_block && !source.is_test_line(line);
        let body = block(code, place).filter(|_| is_one)?;
        Some(code[place..body.end].matches('\n').count() + 1)
    };
    code.match_indices("fn ").filter_map(length).collect()
}

/// Median, 90th percentile and maximum.
fn spread(mut values: Vec<usize>) -> [usize; 3] {
    values.sort_unstable();
    let at = |share: f64| {
        let place = (share * values.len().saturating_sub(1) as f64).round() as usize;
        values.get(place).copied().unwrap_or(0)
    };
    [at(0.5), at(0.9), at(1.0)]
}

/// What is counted, and how much there is of it.
fn rows(tree: &Tree) -> Vec<(&'static str, String)> {
    let files: Vec<Counts> = tree.rust().map(Counts::of).collect();
    let sum = |of: fn(&Counts) -> usize| files.iter().map(of).sum::<usize>();
    let per = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    let lengths: Vec<usize> = files.iter().map(|f| f.lines).filter(|lines| *lines > 0).collect();
    let (lines, count) = (sum(|f| f.lines), lengths.len());
    let functions: Vec<usize> = files.iter().flat_map(|f| f.functions.clone()).collect();
    let long = functions.iter().filter(|length| **length > LONG).count();
    let long = 100.0 * per(long, functions.len());
    let comments = sum(|f| f.comments);
    let share = 100.0 * per(comments, lines);
    let documentation = 100.0 * per(sum(|f| f.documentation), comments);
    let unwraps = 1000.0 * per(sum(|f| f.unwraps), lines);
    let ([file, file_p90, _], [function, p90, most]) = (spread(lengths), spread(functions));
    vec![
        ("lines without tests / files", format!("{lines} / {count}")),
        ("test lines / these", format!("{:.2}", per(sum(|f| f.test_lines), lines))),
        ("tests", sum(|f| f.tests).to_string()),
        ("file median / p90", format!("{file} / {file_p90}")),
        ("function median / p90 / max", format!("{function} / {p90} / {most}")),
        ("functions over 70 lines", format!("{long:.1} %")),
        ("comments (of which documentation)", format!("{share:.0} % ({documentation:.0})")),
        ("unwrap and expect, in 1,000 lines", format!("{unwraps:.2}")),
    ]
}

/// Counts the tree under `root` and prints it as the rows of a table.
pub(crate) fn print(root: &Path) -> anyhow::Result<()> {
    for (what, count) in rows(&Tree::read(root)?) {
        println!("| {what} | {count} |");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_functions_and_tests_are_counted() {
        let text = "//! x\n/// y\nfn a(f: fn(u8)) {\n  // z\n  b.unwrap();\n}\ntrait T {\n \
            fn c();\n}\n#[cfg(test)]\nmod tests {\n  #[test]\n  fn d() {\n  }\n}\n";
        let files = [("crates/host/src/a.rs", text), ("crates/host/tests/b.rs", "#[test]\n")];
        let files = files.map(|(path, text)| Source::new(path, text.to_owned()));
        let tree = Tree { files: files.into(), packages: vec![] };
        let counts: Vec<String> = rows(&tree).into_iter().map(|(_, count)| count).collect();
        let expected = ["9 / 1", "0.78", "2", "9 / 9", "4 / 4 / 4", "0.0 %", "33 % (67)", "111.11"];
        assert_eq!(counts, expected);
    }

    /// What changes with every commit is counted when it is asked for, and stands in no page; the
    /// page has what is counted, of others.
    #[test]
    fn the_page_names_the_counts_and_holds_none_of_ours() {
        let page = std::fs::read_to_string(crate::root().join("docs/ARCHITECTURE.md")).unwrap();
        assert!(page.contains("`cargo xtask house`"));
        for (what, _) in rows(&Tree::default()) {
            assert!(page.contains(&format!("| {what} |")), "{what}");
        }
        assert!(!page.contains("| lbolt |"), "lbolt has a column");
        for counted in [" methods)", "methods in all", "in 250 lines", "; the aim is"] {
            assert!(!page.contains(counted), "{counted}");
        }
    }
}

//! Names that others chose as words of what someone else's program reads: a command line that is
//! printed for a shell, a literal of SQL. The one place for each of the two.
//!
//! What comes out of here is safe to print too: it has no character that steers a terminal.
//! Non-goals: Markdown, CSV and HTML, which the crate `report` makes.

use crate::text::is_unsafe;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A word as a shell takes it: as it is, in `'…'`, or, where it has bytes that cannot be printed
/// or blanks that a sentence does not keep, in `$'…'` (bash, zsh, ksh, POSIX of 2024). Nothing in
/// it ends the quotes of an older shell.
pub fn word(text: impl AsRef<OsStr>) -> String {
    let text = text.as_ref();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./,:+%@=".contains(byte);
    let bytes = text.as_bytes();
    // At the begin, zsh takes an equals sign for a command's path.
    if !bytes.is_empty() && bytes.iter().all(is_plain) && bytes[0] != b'=' {
        return text.to_string_lossy().into_owned();
    }
    // Sentences are set anew in lines, which keeps one space of several.
    let is_kept = |text: &&str| {
        !text.contains(is_unsafe) && !text.contains("  ") && text.trim().len() == text.len()
    };
    match text.to_str().filter(is_kept) {
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => format!("$'{}'", by_numbers(bytes)),
    }
}

/// Bytes within `$'…'`: what can be printed as it is, all else by its number.
fn by_numbers(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(2 * bytes.len());
    let numbered = |bytes: &[u8], shown: &mut String| {
        for byte in bytes {
            // Writing into a String cannot fail.
            let _ = write!(shown, "\\{byte:03o}");
        }
    };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let is_other = character == '\'' || character == '\\' || character.is_whitespace();
            match is_other || is_unsafe(character) {
                true => numbered(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut shown),
                false => shown.push(character),
            }
        }
        numbered(chunk.invalid(), &mut shown);
    }
    shown
}

/// A path as an argument of ours in a shell: never an option, and never a list of paths (`@FILE`).
pub fn path(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    match path.as_os_str().as_bytes().first() {
        Some(b'-' | b'@') => word(Path::new(".").join(path)),
        _ => word(path),
    }
}

/// An option with its value, which may begin like an option itself.
pub fn option(name: &str, value: &str) -> String {
    let between = if value.starts_with('-') { '=' } else { ' ' };
    format!("{name}{between}{}", word(value))
}

/// A command line as a shell takes it.
pub fn line(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Whose SQL it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Text ends at a single quote, and two are one: standard SQL, DuckDB.
    Standard,
    /// A backslash has a meaning too, `${…}` is replaced before anything is read, and two quotes
    /// are one or none by the version: Spark, Hive.
    Spark,
}

/// A text as a literal of SQL.
pub fn literal(text: &str, dialect: Dialect) -> String {
    let is_plain = |c: char| match dialect {
        Dialect::Standard => !is_unsafe(c),
        Dialect::Spark => c.is_alphanumeric() || " -_./:,+@=".contains(c) && !text.contains("--"),
    };
    if text.chars().all(is_plain) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let hex = text.bytes().fold(String::new(), |mut hex, byte| {
        // Writing into a String cannot fail.
        let _ = write!(hex, "{byte:02X}");
        hex
    });
    match dialect {
        Dialect::Standard => format!("decode(unhex('{hex}'))"),
        Dialect::Spark => format!("CAST(X'{hex}' AS STRING)"),
    }
}

/// A path as Spark reads a table from it (`` parquet.`PATH` ``); none where the path has `${`, for
/// which Spark knows no quotes.
pub fn spark_table(path: &str) -> Option<String> {
    (!path.contains("${")).then(|| format!("parquet.`{}`", path.replace('`', "``")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::process::Command;

    /// What a shell makes of a command line's words.
    fn read_by(shell: &str, line: &str) -> Option<Vec<u8>> {
        let script = format!("printf '%s\\0' {line}");
        let ended = Command::new(shell).arg("-c").arg(script).output().ok()?;
        assert!(ended.status.success() && ended.stderr.is_empty(), "{line}: {ended:?}");
        Some(ended.stdout)
    }

    /// Bytes of names, with more of those that have a meaning to someone.
    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            prop::sample::select(&b"'\"\\$`(){}[]<>|&;!*?~#=@-% \n\t\r\x1b"[..]),
            1u8..=255,
        ];
        prop::collection::vec(byte, 0..24)
    }

    #[test]
    fn plain_words_stay_and_others_are_quoted() {
        assert_eq!(word("runs/a-1_b.c@x"), "runs/a-1_b.c@x");
        assert_eq!(line(["lbolt", "a b", "it's", ""]), r"lbolt 'a b' 'it'\''s' ''");
        assert_eq!(word("=ls"), "'=ls'");
        assert_eq!(word("a'\nb\u{202e}"), r"$'a\047\012b\342\200\256'");
        assert_eq!(word("a  b "), r"$'a\040\040b\040'");
        assert_eq!(path("--help"), "./--help");
        assert_eq!(path("@list"), "./@list");
        assert_eq!(path(OsStr::from_bytes(b"-\xff")), r"$'./-\377'");
        assert_eq!(option("--device", "-x y"), "--device='-x y'");
    }

    #[test]
    fn a_literal_is_plain_for_either_engine_or_has_no_quote_at_all() {
        use Dialect::{Spark, Standard};
        for (text, standard, spark) in [
            ("web-01.x", "'web-01.x'", "'web-01.x'"),
            ("it's", "'it''s'", "CAST(X'69742773' AS STRING)"),
            (r"\", r"'\'", "CAST(X'5C' AS STRING)"),
            ("${env:x}", "'${env:x}'", "CAST(X'247B656E763A787D' AS STRING)"),
            ("a--b", "'a--b'", "CAST(X'612D2D62' AS STRING)"),
            ("a\n", "decode(unhex('610A'))", "CAST(X'610A' AS STRING)"),
        ] {
            assert_eq!(
                (literal(text, Standard), literal(text, Spark)),
                (standard.into(), spark.into())
            );
        }
        assert_eq!(spark_table("a`b").unwrap(), "parquet.`a``b`");
        assert_eq!(spark_table("a${x}"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_reads_the_words_that_were_meant(
            names in prop::collection::vec(hostile(), 1..4),
        ) {
            let names: Vec<OsString> = names.into_iter().map(OsString::from_vec).collect();
            let line = line(&names);
            prop_assert!(!line.contains(is_unsafe), "{line}");
            let meant: Vec<u8> =
                names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
            for shell in ["bash", "zsh", "ksh"] {
                if let Some(read) = read_by(shell, &line) {
                    prop_assert_eq!(&read, &meant, "{} {}", shell, line);
                }
            }
            // A shell that knows no $'…' may read another name, but runs nothing.
            let words = read_by("sh", &line).unwrap();
            prop_assert_eq!(words.iter().filter(|byte| **byte == 0).count(), names.len());
        }

        #[test]
        fn a_path_is_no_option_and_no_list(name in hostile()) {
            let name = OsString::from_vec(name);
            let read = read_by("bash", &path(&name)).unwrap_or_default();
            prop_assert!(!read.starts_with(b"-") && !read.starts_with(b"@"));
        }

        #[test]
        fn no_text_ends_its_literal(text in any::<String>()) {
            for dialect in [Dialect::Standard, Dialect::Spark] {
                let literal = literal(&text, dialect);
                prop_assert!(!literal.contains(is_unsafe));
                let (_, within) = literal.split_once('\'').unwrap();
                let (within, _) = within.rsplit_once('\'').unwrap();
                prop_assert!(!within.replace("''", "").contains('\''), "{}", literal);
                let is_odd = |c| dialect == Dialect::Spark && "\\$`;'\"".contains(c);
                prop_assert!(!within.contains(is_odd), "{}", literal);
            }
        }
    }
}

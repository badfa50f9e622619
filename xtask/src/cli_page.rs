//! docs/cli.md: the command line's reference, from its definition.

use clap::{Arg, Command};

const HEAD: &str = "# The command line\n\n\
    This page is made from the program's own definition of its options; `make bless` rewrites it,\n\
    and a test fails when it does not agree with the code.\n";

/// The page.
pub(crate) fn render(mut command: Command) -> String {
    command.build();
    let mut page = HEAD.to_owned();
    section(&mut page, &mut command, true);
    page
}

/// A command and, behind it, its subcommands.
fn section(page: &mut String, command: &mut Command, is_root: bool) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let usage = command.render_usage().to_string();
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(|about| format!("{about}\n\n")).unwrap_or_default();
    let usage = usage.trim_start_matches("Usage: ");
    page.push_str(&format!("\n## {name}\n\n{about}```\n{usage}\n```\n"));
    page.push_str(&options(command, is_root));
    let shown = |sub: &&mut Command| !sub.is_hide_set() && sub.get_name() != "help";
    for subcommand in command.get_subcommands_mut().filter(shown) {
        section(page, subcommand, false);
    }
}

/// The table of a command's arguments; none if it has none. Global options are told once, at the
/// root.
fn options(command: &Command, is_root: bool) -> String {
    let told = |arg: &&Arg| {
        let automatic = matches!(arg.get_id().as_str(), "help" | "version");
        !arg.is_hide_set() && !automatic && (is_root || !arg.is_global_set())
    };
    let rows: Vec<String> = command.get_arguments().filter(told).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\n| option | what | default | values |\n| --- | --- | --- | --- |\n{}", rows.concat())
}

fn row(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|v| format!("`{}`", v.to_string_lossy())).collect();
    let cells = [format!("`{short}{arg}`"), help, defaults.join(", "), values(arg)];
    format!("| {} |\n", cells.map(|cell| one_line(&cell)).join(" | "))
}

fn values(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let possible = arg.get_possible_values();
    let shown = possible.iter().filter(|value| !value.is_hide_set());
    shown.map(|value| format!("`{}`", value.get_name())).collect::<Vec<_>>().join(", ")
}

/// Fit for a table's cell.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_told_once_with_its_default_and_values() {
        let format = Arg::new("format").short('f').long("format").global(true);
        let format = format.value_parser(["table", "json"]).default_value("table");
        let play = Command::new("play")
            .about("Plays")
            .arg(Arg::new("target").required(true).help("What to play:\na|b"))
            .arg(Arg::new("secret").long("secret").hide(true));
        let page = render(Command::new("toy").arg(format.help("How")).subcommand(play));
        let expected = "\
## toy

```
toy [OPTIONS] [COMMAND]
```

| option | what | default | values |
| --- | --- | --- | --- |
| `-f, --format <format>` | How | `table` | `table`, `json` |

## toy play

Plays

```
toy play [OPTIONS] <target>
```

| option | what | default | values |
| --- | --- | --- | --- |
| `<target>` | What to play: a\\|b |  |  |
";
        assert_eq!(page.strip_prefix(HEAD).unwrap().trim_start(), expected);
    }
}

//! Man pages and shell completions, from the command line's one definition.

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;
use std::path::Path;

/// The binary's command line.
pub(crate) fn command() -> Command {
    <cli::Cli as clap::CommandFactory>::command()
}

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes all into target/generated/.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    let directory = root.join("target/generated");
    man_pages(command(), &directory.join("man"))?;
    completions(command(), &directory.join("completions"))?;
    println!("wrote {}", directory.display());
    Ok(())
}

/// One page for the command and one for each of its subcommands.
fn man_pages(command: Command, directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .with_context(|| format!("failed to write man pages into {}", directory.display()))
}

fn completions(mut command: Command, directory: &Path) -> anyhow::Result<()> {
    let name = command.get_name().to_owned();
    std::fs::create_dir_all(directory)?;
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut command, &name, directory)
            .with_context(|| format!("failed to write {shell} completions"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_has_a_page_and_each_shell_its_completions() {
        let directory = std::env::temp_dir().join(format!("lbolt-docs-{}", std::process::id()));
        let command = || Command::new("toy").subcommand(Command::new("play").about("Plays"));
        man_pages(command(), &directory).unwrap();
        completions(command(), &directory).unwrap();
        for name in ["toy.1", "toy-play.1", "toy.bash", "_toy", "toy.fish"] {
            let text = std::fs::read_to_string(directory.join(name)).unwrap();
            assert!(text.contains("play"), "{name}");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}

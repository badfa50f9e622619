//! The command line as it was typed: understood, answered with help, or refused in words of ours.

use clap::Parser;
use cli::{Cli, fio};
use messages::fault::{Fault, failure};
use messages::output;
use model::text::visible;

/// What was typed; none where it was for help, which is printed then.
/// Errors: what is wrong with it was said already; help that cannot be printed.
pub fn typed() -> anyhow::Result<Option<Cli>> {
    let arguments = || std::env::args_os().map(|a| a.to_string_lossy().into_owned());
    match Cli::try_parse() {
        Ok(cli) => Ok(Some(cli)),
        Err(error) if error.exit_code() == 0 => output::print_help(|| error.print()).map(|()| None),
        Err(mut error) => {
            let arguments: Vec<String> = arguments().collect();
            fio::explain(&mut error, &arguments);
            let mut said = error.render().to_string();
            // A line of the message is no line of an argument.
            let values = arguments.iter().map(|a| a.split_once('=').map_or(&**a, |(_, v)| v));
            for argument in arguments.iter().map(String::as_str).chain(values) {
                if argument.contains('\n') {
                    said = said.replace(argument, &visible(argument));
                }
            }
            output::note_lines(said.trim_end());
            Err(failure(Fault::Usage, ""))
        }
    }
}

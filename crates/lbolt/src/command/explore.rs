//! `lbolt explore`: a trace as a page that asks for what it shows, served until ^C.

use super::report::open_in_browser;
use super::{note, print_line};
use crate::run::explore::{Address, Explored, Redirect, serve};
use crate::run::session::control;
use analysis::trace::{TraceFile, parquet_of};
use capture::gate::Gate;
use cli::ExploreOptions;
use host::drive::Control;
use messages::ticker::Ticker;
use std::time::{Duration, Instant};

/// How often it is looked whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the command.
/// Errors: a trace that cannot be read; a port that cannot be had; interruption.
pub(super) fn run(options: &ExploreOptions) -> anyhow::Result<()> {
    let control = control()?;
    let explored = opened(options, &control)?;
    let requests = explored.requests();
    let (server, address) = serve(explored, options.port)?;
    note(&format!("serving {requests} requests to this machine only; Ctrl-C ends it"));
    print_line(&address.url())?;
    let _redirect = options.open.then(|| open_page(&address));
    while !control.is_stopped() {
        std::thread::sleep(LOOK);
    }
    drop(server);
    Ok(())
}

/// Hands the page to the desktop, by a file that redirects there. Returns the file, which the
/// browser may read at any time.
fn open_page(address: &Address) -> Option<Redirect> {
    let instead = "open the address in a browser";
    let made = Redirect::make(&address.url());
    match &made {
        Ok(redirect) => open_in_browser(redirect.path().as_os_str(), instead),
        Err(error) => {
            note(&format!("not opened: failed to write the browser's file: {error}; {instead}"));
        }
    }
    made.ok()
}

fn opened(options: &ExploreOptions, control: &std::sync::Arc<Control>) -> anyhow::Result<Explored> {
    let path = parquet_of(&options.trace)?;
    let held_in = std::env::temp_dir();
    let trace = TraceFile::open(&options.trace, (&held_in, "TMPDIR"), control)?;
    let names: Vec<String> =
        options.trace.traces.iter().map(|path| path.display().to_string()).collect();
    let gate = Gate::new(control);
    let (rows, began) = (gate.clone(), Instant::now());
    let _ticker = Ticker::reading(move || match rows.rows() {
        0 => "the stored index".to_owned(),
        rows => {
            format!("{rows} requests, {:.0} a second", rows as f64 / began.elapsed().as_secs_f64())
        }
    });
    Explored::open(trace, path.as_deref(), names.join(" "), &gate)
}

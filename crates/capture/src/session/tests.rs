//! What a session remembers for the case of a kill.

use super::*;
use trace::intake::SeenThread;

/// What perf captures is not written so, and a long capture is not to gather it; before there is a
/// tracer nobody knows yet what it will be.
#[test]
fn news_is_remembered_until_perf_captures() {
    let own = std::process::id();
    for (by, is_remembered) in [(None, true), (Some("perf"), false)] {
        let options = Options { with_context: true, ..Options::default() };
        let mut session = Session::new(options, ForEach::new(|_: &Request| ()));
        session.survive(|_| ()).unwrap();
        session.keep_besides(by);
        let mut witness = session.witness.as_ref().unwrap().borrow_mut();
        let seen = SeenThread { pid: own, process: own, ..SeenThread::default() };
        witness.look(vec![seen], &Commands::default(), Vec::new());
        let known = witness.news().processes.iter().any(|of| of.pid == u64::from(own));
        assert_eq!(known, is_remembered, "{by:?}");
    }
}

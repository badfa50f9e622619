//! The Parquet library panics on some damaged files. Here a panic of the library becomes an error,
//! and its message is not printed.
//!
//! Non-goals: aborts (an allocation that is too large, a stack that overflows); what could cause
//! them is refused before the library sees it (`super::limits`, `super::pages`).

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is within the library.
    static IS_WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the process's panic hook from printing what [`caught`] catches. All other panics are as
/// before.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_WITHIN.get() {
                before(panic);
            }
        }));
    });
}

/// Calls the library; its error or panic as text. After an error, what `work` changed is not to be
/// used again.
pub(super) fn caught<T, E: std::fmt::Display>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, String> {
    silence();
    let was_within = IS_WITHIN.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_WITHIN.set(was_within);
    match outcome {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => Err(format!("its decoder stopped: {}", message(panic.as_ref()))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_the_next_call_works() {
        let fails = |text: &'static str| caught::<(), String>(move || panic!("{text}"));
        assert_eq!(fails("one"), Err("its decoder stopped: one".into()));
        assert_eq!(caught(|| Ok::<_, String>(7)), Ok(7));
        assert_eq!(caught(|| Err::<(), _>("two")), Err("two".into()));
        assert!(!IS_WITHIN.get());
    }
}

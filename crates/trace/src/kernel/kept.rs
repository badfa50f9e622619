//! What is read once and used by many, until it is forgotten.
//!
//! Non-goals: what it is.

use std::sync::{Arc, Mutex, PoisonError};

/// One value, read at its first use.
#[derive(Debug)]
pub(crate) struct Kept<T>(Mutex<Option<Arc<T>>>);

impl<T> Kept<T> {
    pub(crate) const fn nothing() -> Self {
        Self(Mutex::new(None))
    }

    /// The value, which is read if it is not there.
    /// Errors: those of reading it.
    pub(crate) fn get_or<E>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(value) => Ok(value.clone()),
            None => Ok(kept.insert(Arc::new(read()?)).clone()),
        }
    }

    /// Frees the value as soon as nobody uses it any more.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_once_and_again_after_it_was_forgotten() {
        let kept = Kept::nothing();
        let mut reads = 0;
        let mut get = || {
            let read = || {
                reads += 1;
                Ok::<_, ()>(reads)
            };
            kept.get_or(read).unwrap()
        };
        assert_eq!((*get(), *get()), (1, 1));
        let weak = Arc::downgrade(&get());
        kept.forget();
        assert!(weak.upgrade().is_none(), "it is freed");
        assert_eq!(*get(), 2);
        assert_eq!(kept.get_or(|| Err("unused")), Ok(Arc::new(2)));
    }
}

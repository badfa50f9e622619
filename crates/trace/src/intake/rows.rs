//! Where rows go: one seam, and what is put together from several.

use model::record::requests::Provenance;
use model::record::{Commands, Request};

/// Why a row could not be put away: the output's reason, and its remedy.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RowsError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// Why not all of some rows could be put away.
#[derive(Debug)]
pub struct Refused {
    /// How many were put away before the one that was refused.
    pub taken: usize,
    /// Why it was.
    pub why: RowsError,
}

/// Where rows go: a file, a flight recorder, an analysis.
pub trait Rows {
    /// Puts a row away.
    /// Errors: what the output refuses.
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError>;

    /// Puts rows away that lie together: what is to be done once and not for each is.
    /// Errors: as of each; those behind the one that is refused are not put away.
    fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), Refused> {
        one_by_one(self, rows, commands)
    }

    /// Keeps what is to be left if the process is killed: rows that were done with since the last
    /// time, which come by `push` in their turn, and what is known of the trace so far. Those that
    /// have come by [`Self::keeps_all`] need not be among them. Most outputs leave nothing.
    /// Errors: what the output refuses.
    fn keep(
        &mut self,
        _done: &[Request],
        _commands: &Commands,
        _provenance: &Provenance,
    ) -> Result<(), RowsError> {
        Ok(())
    }

    /// Whether the next [`Self::keep`] keeps all rows that were put away until then, given or not.
    fn keeps_all(&self) -> bool {
        false
    }

    /// Waits for what other threads still do with the rows so far.
    /// Errors: what the output refuses.
    fn settle(&mut self) -> Result<(), RowsError> {
        Ok(())
    }
}

/// Puts rows away that lie together, each by itself.
/// Errors: as of [`Rows::push_all`].
pub fn one_by_one<R: Rows + ?Sized>(
    to: &mut R,
    rows: &[Request],
    commands: &Commands,
) -> Result<(), Refused> {
    rows.iter()
        .enumerate()
        .try_for_each(|(taken, row)| to.push(row, commands).map_err(|why| Refused { taken, why }))
}

impl Rows for Vec<Request> {
    fn push(&mut self, row: &Request, _: &Commands) -> Result<(), RowsError> {
        Vec::push(self, *row);
        Ok(())
    }
}

impl<R: Rows + ?Sized> Rows for &mut R {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        (**self).push(row, commands)
    }

    fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), Refused> {
        (**self).push_all(rows, commands)
    }

    fn keep(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), RowsError> {
        (**self).keep(done, commands, provenance)
    }

    fn keeps_all(&self) -> bool {
        (**self).keeps_all()
    }

    fn settle(&mut self) -> Result<(), RowsError> {
        (**self).settle()
    }
}

/// Shows each row to a function.
#[derive(Debug)]
pub struct ForEach<F>(F);

impl<F: FnMut(&Request)> ForEach<F> {
    /// Shows them to this one.
    pub fn new(show: F) -> Self {
        Self(show)
    }
}

impl<F: FnMut(&Request)> Rows for ForEach<F> {
    fn push(&mut self, row: &Request, _: &Commands) -> Result<(), RowsError> {
        (self.0)(row);
        Ok(())
    }
}

/// Gives each row to the first and then, if the first took it, to the second.
#[derive(Debug)]
pub struct FanOut<A, B>(pub A, pub B);

impl<A: Rows, B: Rows> Rows for FanOut<A, B> {
    fn push(&mut self, row: &Request, commands: &Commands) -> Result<(), RowsError> {
        self.0.push(row, commands)?;
        self.1.push(row, commands)
    }

    fn push_all(&mut self, rows: &[Request], commands: &Commands) -> Result<(), Refused> {
        let first = self.0.push_all(rows, commands);
        let taken = first.as_ref().map_or_else(|refused| refused.taken, |()| rows.len());
        self.1.push_all(rows.get(..taken).unwrap_or_default(), commands)?;
        first
    }

    fn keep(
        &mut self,
        done: &[Request],
        commands: &Commands,
        provenance: &Provenance,
    ) -> Result<(), RowsError> {
        self.0.keep(done, commands, provenance)?;
        self.1.keep(done, commands, provenance)
    }

    fn keeps_all(&self) -> bool {
        self.0.keeps_all() || self.1.keeps_all()
    }

    fn settle(&mut self) -> Result<(), RowsError> {
        self.0.settle()?;
        self.1.settle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes rows until one has this number.
    struct Until(u64);

    impl Rows for Until {
        fn push(&mut self, row: &Request, _: &Commands) -> Result<(), RowsError> {
            if row.request_id == self.0 { Err(RowsError("full".into())) } else { Ok(()) }
        }
    }

    #[test]
    fn the_second_sees_what_the_first_took() {
        let mut seen = 0;
        let mut rows = FanOut(Until(3), ForEach::new(|_| seen += 1));
        let taken = [1, 2, 3].map(|request_id| {
            let row = Request { request_id, ..Request::default() };
            rows.push(&row, &Commands::default()).is_ok()
        });
        assert_eq!((taken, seen), ([true, true, false], 2));
        let mut seen = 0;
        let mut rows = FanOut(Until(3), ForEach::new(|_| seen += 1));
        let together = [1, 2, 3, 4].map(|request_id| Request { request_id, ..Request::default() });
        let refused = rows.push_all(&together, &Commands::default()).unwrap_err();
        assert_eq!((refused.taken, refused.why.to_string(), seen), (2, "full".into(), 2));
    }
}

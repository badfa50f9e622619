//! The buffer cache of 4.2BSD: a share of memory in blocks of the file system, with delayed writes,
//! and two classes of free buffers: those of whole blocks that a program is through with are taken
//! first (`B_AGE`), all others by the longest disuse.
//!
//! Non-goals: buffers of different sizes in one cache, the hash chains (a look through a hundred
//! keys is as quick).

/// A block of a drive, as one number.
pub(crate) type Key = u64;

pub(crate) fn key(drive: usize, block: u64) -> Key {
    (drive as u64) << 48 | block
}

/// The drive and the block of a key.
pub(crate) fn place(key: Key) -> (usize, u64) {
    ((key >> 48) as usize, key & 0xffff_ffff_ffff)
}

const NOTHING: Key = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It holds what the drive holds.
    Clean,
    /// It holds what is still to be written.
    Dirty,
    Reading,
    /// It is being written.
    Writing,
    /// A process fills it.
    Held,
}

/// What a search for a free buffer found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Free {
    /// This one, now held.
    Slot(usize),
    /// This one, whose contents are to be written first.
    Dirty(usize),
    /// None: all are busy.
    None,
}

#[derive(Debug, Clone)]
pub(crate) struct BufferCache {
    keys: Vec<Key>,
    states: Vec<State>,
    /// When it was last used; zero: take it first.
    used: Vec<u64>,
    uses: u64,
}

impl BufferCache {
    pub(crate) fn new(buffers: usize) -> Self {
        Self {
            keys: vec![NOTHING; buffers],
            states: vec![State::Clean; buffers],
            used: vec![0; buffers],
            uses: 0,
        }
    }

    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<usize> {
        self.keys.iter().position(|known| *known == key)
    }

    #[inline]
    pub(crate) fn state(&self, slot: usize) -> State {
        self.states[slot]
    }

    pub(crate) fn set_state(&mut self, slot: usize, state: State) {
        self.states[slot] = state;
    }

    pub(crate) fn key_of(&self, slot: usize) -> Key {
        self.keys[slot]
    }

    /// The buffer was used just now.
    pub(crate) fn touch(&mut self, slot: usize) {
        self.uses += 1;
        self.used[slot] = self.uses;
    }

    /// The buffer's block is not expected to be used again.
    pub(crate) fn age(&mut self, slot: usize) {
        self.used[slot] = 0;
    }

    /// A buffer for a block: the one that will be missed least.
    pub(crate) fn take(&mut self, key: Key) -> Free {
        let free = |slot: &usize| matches!(self.states[*slot], State::Clean | State::Dirty);
        let best = (0..self.keys.len()).filter(free).min_by_key(|slot| self.used[*slot]);
        let Some(slot) = best else { return Free::None };
        if self.states[slot] == State::Dirty {
            return Free::Dirty(slot);
        }
        self.keys[slot] = key;
        self.states[slot] = State::Held;
        self.touch(slot);
        Free::Slot(slot)
    }

    pub(crate) fn forget(&mut self, slot: usize) {
        self.keys[slot] = NOTHING;
        self.states[slot] = State::Clean;
        self.used[slot] = 0;
    }

    pub(crate) fn in_state(&self, state: State) -> impl Iterator<Item = usize> {
        (0..self.keys.len()).filter(move |slot| self.states[*slot] == state)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_go_first_then_the_longest_disused_and_dirty_ones_are_written_first() {
        let mut cache = BufferCache::new(3);
        for block in 0..3 {
            assert_eq!(cache.take(key(0, block)), Free::Slot(block as usize));
            cache.set_state(block as usize, State::Clean);
        }
        cache.touch(0);
        assert_eq!(cache.take(key(1, 7)), Free::Slot(1));
        assert_eq!(cache.find(key(0, 1)), None);
        assert_eq!(cache.find(key(1, 7)), Some(1));
        cache.age(0);
        cache.set_state(0, State::Dirty);
        assert_eq!(cache.take(key(1, 8)), Free::Dirty(0));
        cache.set_state(0, State::Writing);
        assert_eq!(cache.take(key(1, 8)), Free::Slot(2));
        assert_eq!(cache.take(key(1, 9)), Free::None);
        assert_eq!(place(key(1, 9)), (1, 9));
    }
}

//! Room that a collection holds ready after a burst: memory that nobody uses, and that a process
//! which goes on for good would keep.
//!
//! Non-goals: when it is looked at.

use std::collections::VecDeque;

/// As many as that much room is for are always kept room for, in bytes.
const LEAST_BYTES: usize = 64 << 10;

/// A collection whose room grows by itself, and shrinks by [`Self::give_room_back`] alone.
pub trait Room {
    /// Gives room back if it is for far more than there is: to be called now and then, so that it
    /// follows what comes and goes slowly, and what is freed is not needed again at once.
    fn give_room_back(&mut self);
}

/// Room for how many is kept; none where it is as it should be. A deque that goes round uses all of
/// its room, so little is left over.
fn wanted<T>(length: usize, capacity: usize) -> Option<usize> {
    let least = LEAST_BYTES / size_of::<T>().max(1);
    let wanted = (length + length / 4).max(least);
    (capacity / 2 > wanted).then_some(wanted)
}

impl<T> Room for Vec<T> {
    fn give_room_back(&mut self) {
        wanted::<T>(self.len(), self.capacity()).into_iter().for_each(|most| self.shrink_to(most));
    }
}

impl<T> Room for VecDeque<T> {
    fn give_room_back(&mut self) {
        wanted::<T>(self.len(), self.capacity()).into_iter().for_each(|most| self.shrink_to(most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_a_burst_is_given_back_and_room_for_what_there_is_stays() {
        let mut queue: VecDeque<u64> = (0..1 << 20).collect();
        let most = queue.capacity();
        queue.drain(..1 << 19);
        queue.give_room_back();
        assert_eq!(queue.capacity(), most, "half of it is in use");
        queue.drain(100_000..);
        queue.give_room_back();
        assert!((100_000..200_000).contains(&queue.capacity()), "{}", queue.capacity());
        assert!(queue.iter().copied().eq(1 << 19..(1 << 19) + 100_000));
        queue.clear();
        queue.give_room_back();
        let least = LEAST_BYTES / 8;
        assert!((least..2 * least).contains(&queue.capacity()), "{}", queue.capacity());

        let mut all = vec![1_u64; 1 << 20];
        all.truncate(3);
        all.give_room_back();
        assert!((3..2 * least).contains(&all.capacity()), "{}", all.capacity());
    }
}

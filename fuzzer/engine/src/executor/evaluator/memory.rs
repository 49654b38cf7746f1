//! What an evaluator remembers beyond a run: finds for the supervisor, the inputs that came closest, and when branches were
//! first taken.

use super::Evaluator;

impl Evaluator {
    /// Notes an input in the journal, if there is one and it has room: its length in four bytes, then the input.
    pub fn note_find(&mut self, x: &[u8]) {
        const HEAD: usize = size_of::<u32>();
        let Some(journal) = self.journal else { return };
        // SAFETY: `used` and `bytes` are good by the contract of `show_to_supervisor`; the room is checked.
        unsafe {
            let used = journal.used.read() as usize;
            if used + HEAD + x.len() > journal.room {
                return;
            }
            let at = journal.bytes.add(used);
            core::ptr::copy_nonoverlapping((x.len() as u32).to_ne_bytes().as_ptr(), at, HEAD);
            core::ptr::copy_nonoverlapping(x.as_ptr(), at.add(HEAD), x.len());
            // Last: a death in between leaves no half of an entry.
            journal.used.write((used + HEAD + x.len()) as u64);
        }
    }

    /// The smallest distance to a tracked branch and the input that got there.
    #[must_use]
    pub fn closest(&self, branch: usize) -> Option<(u64, &[u8])> {
        let d = self.best[branch];
        let at = branch * self.input_size;
        (d != u64::MAX).then(|| (d, &self.closest[at..at + self.input_size]))
    }

    /// Notes an input that came close to a branch in an earlier part of the campaign; a closer one is kept.
    pub fn recall_closest(&mut self, branch: usize, distance: u64, bytes: &[u8]) {
        if distance < self.best[branch] && bytes.len() == self.input_size {
            self.best[branch] = distance;
            let at = branch * self.input_size;
            self.closest[at..at + self.input_size].copy_from_slice(bytes);
        }
    }

    /// The count of evaluations at which each branch was first seen taken; 0 for never.
    #[must_use]
    pub fn taken_at(&self) -> &[u64] {
        &self.taken_at
    }

    /// Takes over what an earlier part of the campaign noted.
    pub fn recall_taken_at(&mut self, taken_at: &[u64]) {
        for (own, earlier) in self.taken_at.iter_mut().zip(taken_at) {
            *own = *earlier;
        }
    }

    /// Forgets the closest input of a branch, so that another way there is saved.
    pub fn forget_closest(&mut self, branch: usize) {
        self.best[branch] = u64::MAX;
    }
}

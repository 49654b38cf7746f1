//! Adds up the states of several clients or campaigns, as if they had been one campaign.

use super::state::SavedState;

impl SavedState {
    /// Merges another state, without its faults, whose files lie in another directory. Evaluations, attempts and spent
    /// budgets are added. Of closest inputs the closer one is kept, and of times the earlier one.
    pub fn add(&mut self, other: &Self) {
        self.evaluations = self.evaluations.saturating_add(other.evaluations);
        self.seconds += other.seconds;
        self.workers = self.workers.max(other.workers);
        self.starts = self.starts.max(other.starts);
        unite(&mut self.given_up, &other.given_up);
        unite(&mut self.by_crash, &other.by_crash);
        unite(&mut self.uninitialized, &other.uninitialized);
        for (branch, replays) in &other.unconfirmed {
            let known = self.unconfirmed.entry(*branch).or_default();
            *known = known.saturating_add(*replays);
        }
        zip(&mut self.spent, &other.spent, u64::saturating_add);
        zip(&mut self.evaluated, &other.evaluated, u64::saturating_add);
        zip(&mut self.improved, &other.improved, u64::saturating_add);
        zip(&mut self.attempts, &other.attempts, u32::saturating_add);
        // 0 means never.
        zip(&mut self.taken_at, &other.taken_at, |a, b| if a == 0 || b == 0 { a | b } else { a.min(b) });
        for (branch, closest) in &other.closest {
            if self.closest.get(branch).is_none_or(|known| known.distance > closest.distance) {
                self.closest.insert(*branch, closest.clone());
            }
        }
    }
}

fn unite(all: &mut Vec<u32>, more: &[u32]) {
    all.extend(more);
    all.sort_unstable();
    all.dedup();
}

fn zip<T: Copy + Default>(all: &mut Vec<T>, more: &[T], both: impl Fn(T, T) -> T) {
    all.resize(all.len().max(more.len()), T::default());
    for (a, b) in all.iter_mut().zip(more) {
        *a = both(*a, *b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_firsts() {
        let mut all = SavedState {
            spent: vec![1],
            evaluated: vec![1],
            taken_at: vec![0, 7],
            given_up: vec![3],
            ..SavedState::default()
        };
        let other = SavedState {
            spent: vec![2, 5],
            evaluated: vec![2],
            taken_at: vec![4, 9, 0],
            given_up: vec![1, 3],
            ..all.clone()
        };
        all.add(&other);
        assert_eq!(all.evaluated, [3]);
        assert_eq!((all.spent, all.taken_at, all.given_up), (vec![3, 5], vec![4, 7, 0], vec![1, 3]));
    }
}

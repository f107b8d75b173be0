//! Permutations in the order of a dictionary.

/// All permutations of `0..number` that leave 0 in its place, in the order of a dictionary.
pub fn fixing_zero(number: u8) -> impl Iterator<Item = Vec<u8>> {
    let mut next = Some((0..number).collect::<Vec<u8>>());
    std::iter::from_fn(move || {
        let current = next.take()?;
        next = successor(&current);
        Some(current)
    })
}

/// The next permutation that leaves the first element in its place.
fn successor(permutation: &[u8]) -> Option<Vec<u8>> {
    // The longest descending tail has no successor; what stands before it becomes the next larger
    // one.
    let at = (1..permutation.len().saturating_sub(1))
        .rev()
        .find(|at| permutation[*at] < permutation[at + 1])?;
    let mut next = permutation.to_vec();
    let larger = (at + 1..next.len())
        .rev()
        .find(|other| next[*other] > next[at])
        .expect("the element after it is larger");
    next.swap(at, larger);
    next[at + 1..].reverse();
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_the_paper_runs_and_each_once() {
        let few: Vec<_> = fixing_zero(3).collect();
        assert_eq!(few, [[0, 1, 2], [0, 2, 1]]);
        for (spes, number) in [(1, 1), (2, 1), (6, 120), (8, 5_040)] {
            let all: Vec<_> = fixing_zero(spes).collect();
            assert_eq!(all.len(), number);
            assert!(all.is_sorted_by(|a, b| a < b), "in order, each once");
            assert!(all.iter().all(|one| one[0] == 0));
        }
    }
}

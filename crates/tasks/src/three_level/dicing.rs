//! Dicing (splitting tasks into parts) as in figure 4.6 of the Jack Rabbit thesis.

// Rejected: importing and dicing after each submitted task, because the first task would have
// nearly a hundred parts.

/// Replaces tasks by their parts if a reorder buffer holds fewer than `enough` tasks.
///
/// `dice` is given a task and the wanted number of parts, and pushes the parts, or the task if it
/// cannot be split. Unlike in the figure, dicing stops when `dice` has pushed more parts than were
/// missing.
pub(super) fn dice<T>(
    tasks: Vec<T>,
    enough: usize,
    may_be_diced: impl Fn(&T) -> bool,
    mut dice: impl FnMut(T, usize, &mut Vec<T>),
) -> Vec<T> {
    let size = tasks.len();
    if size == 0 || size >= enough {
        return tasks;
    }
    let mut need = enough - size;
    let mut asking = need / size;
    if asking <= 1 {
        return tasks;
    }
    let mut diced = Vec::new();
    for task in tasks {
        if may_be_diced(&task) && need > 0 {
            asking = asking.min(need).max(2);
            let before = diced.len();
            dice(task, asking, &mut diced);
            need = need.saturating_sub(diced.len() - before);
        } else {
            diced.push(task);
        }
    }
    diced
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dices tasks that have these numbers of pieces. Tasks with one piece cannot be split. Returns
    /// the resulting tasks, and the number of parts that each call of `dice` asked for.
    fn pieces(tasks: &[usize], enough: usize) -> (Vec<usize>, Vec<usize>) {
        let mut asked = Vec::new();
        let may_be_diced = |task: &usize| *task > 1;
        let after = dice(tasks.to_vec(), enough, may_be_diced, |task, parts, into| {
            asked.push(parts);
            let parts = parts.min(task);
            into.extend((0..parts).map(|part| task * (part + 1) / parts - task * part / parts));
        });
        assert_eq!(after.iter().sum::<usize>(), tasks.iter().sum());
        (after, asked)
    }

    #[test]
    fn one_task_is_asked_for_all_that_are_missing() {
        let (after, asked) = pieces(&[480], 96);
        assert_eq!((after.len(), asked), (95, vec![95]));
    }

    #[test]
    fn each_of_several_is_asked_for_its_share() {
        // 88 tasks are missing: 11 for each of the 8 tasks.
        let (after, asked) = pieces(&[60; 8], 96);
        assert_eq!((after.len(), asked), (88, vec![11; 8]));
        // 64 tasks are missing for 32 tasks: 2 for each.
        let (after, asked) = pieces(&[15; 32], 96);
        assert_eq!((after.len(), asked), (64, vec![2; 32]));
    }

    #[test]
    fn nothing_is_diced_where_a_share_is_no_more_than_one() {
        // With 33 tasks, 63 tasks are missing: 1 for each, so no task is diced.
        for tasks in [33, 95, 96, 200] {
            let (after, asked) = pieces(&vec![15; tasks], 96);
            assert_eq!((after.len(), asked), (tasks, vec![]));
        }
        assert_eq!(pieces(&[], 96), (vec![], vec![]));
    }

    #[test]
    fn those_that_cannot_be_split_stay_where_they_are_and_count() {
        // 12 tasks are missing for 4 tasks: 3 for each. Two of the four cannot be split.
        assert_eq!(
            pieces(&[1, 9, 1, 6], 16),
            (vec![1, 3, 3, 3, 1, 2, 2, 2], vec![3, 3])
        );
    }

    #[test]
    fn a_dice_that_returns_more_than_asked_leaves_less_for_the_others() {
        let mut asked = Vec::new();
        // 9 tasks are missing for 3 tasks: 3 for each. The first dice returns 8, so 1 part is
        // missing, and the second dice is asked for 2, the minimum.
        let after = dice(
            vec![8, 8, 8],
            12,
            |_| true,
            |task, parts, into| {
                asked.push(parts);
                let parts = if asked.len() == 1 { 8 } else { parts };
                into.extend(std::iter::repeat_n(task / parts, parts));
            },
        );
        assert_eq!(asked, [3, 2]);
        assert_eq!(after, [1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 8]);
    }
}

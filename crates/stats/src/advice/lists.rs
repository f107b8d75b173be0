//! The overhead of DMA lists, and the time that lists save.

use super::points::Point;
use super::value::{Compared, DIFFERS, Gain, Value};
use super::words::{Recommendation, counted, gained};
use crate::figures::{plain, size, time};

/// Recommends the largest number of elements with which a list takes less than 10 % longer than the
/// list with the fewest elements. The points are numbers of elements, with `bytes` bytes in all.
pub(super) fn elements_worth_having(
    lists: &[Point],
    bytes: usize,
    what: &'static str,
) -> Option<Recommendation> {
    let ((few, base), (many, longest)) = (*lists.first()?, *lists.last()?);
    if few == many {
        return None;
    }
    let total = size(bytes);
    let whole = match longest.beside(base) {
        Compared::Equal => {
            return Some(Recommendation {
                before: "Lists of ".to_owned(),
                what,
                after: format!(" that move {total} may have any number of elements"),
                figures: format!(
                    "lists of {what} take {} with {few} and {} with {many}",
                    time(base.is),
                    time(longest.is)
                ),
            });
        }
        Compared::More(_) => format!("lists of {what} that move {total} take"),
        Compared::Less(_) | Compared::Unclear => return None,
    };
    let (flat, flat_time) = *lists
        .iter()
        .take_while(|(_, value)| value.is < DIFFERS * base.is)
        .last()?;
    let each = time((longest.is - flat_time.is) / (many - flat) as f64);
    let (after, short) = if flat == few {
        (
            " from as few elements as the data allow".to_owned(),
            counted(few, "element"),
        )
    } else {
        (
            format!(" from elements of at least {}", size(bytes / flat)),
            format!("up to {flat} elements"),
        )
    };
    Some(Recommendation {
        before: "Make lists of ".to_owned(),
        what,
        after,
        figures: format!(
            "{whole} {} with {short} and {} with {many}, {each} for each further one",
            time(flat_time.is),
            time(longest.is)
        ),
    })
}

/// The times of moving the same elements by one list, and by one command after the other.
pub(super) struct Gathered {
    pub elements: usize,
    pub element_bytes: usize,
    pub in_list: Value,
    pub singly: Value,
}

/// Recommends lists or single commands. `gathered` must be sorted by the size of elements.
pub(super) fn list_or_singles(gathered: &[Gathered], what: &'static str) -> Vec<Recommendation> {
    let mut recommendations = Vec::new();
    let compared = |g: &Gathered| (g.element_bytes, g.singly.beside(g.in_list));
    let by_size: Vec<_> = gathered.iter().map(compared).collect();
    let sides: [(&str, Gain); 2] = [
        ("Combine ", Compared::more),
        ("Do not combine ", Compared::less),
    ];
    for (before, gain) in sides {
        let Some((best, ratio, sizes)) = gained(&by_size, gain) else {
            continue;
        };
        let best = &gathered[best];
        recommendations.push(Recommendation {
            before: before.to_owned(),
            what,
            after: format!(" of {sizes} in a list"),
            figures: format!("{}, {} times as long", in_order(best, what), plain(ratio)),
        });
    }
    let all_equal = by_size.iter().all(|(_, c)| *c == Compared::Equal);
    if let (true, Some(smallest)) = (all_equal, gathered.first()) {
        recommendations.push(Recommendation {
            before: "A list saves nothing over single ".to_owned(),
            what,
            after: String::new(),
            figures: in_order(smallest, what),
        });
    }
    recommendations
}

fn in_order(gathered: &Gathered, what: &str) -> String {
    let Gathered {
        elements,
        element_bytes,
        in_list,
        singly,
    } = gathered;
    let (first, second) = (
        format!("{} in a list", time(in_list.is)),
        format!("{} one after the other", time(singly.is)),
    );
    let (first, second) = if in_list.is <= singly.is {
        (first, second)
    } else {
        (second, first)
    };
    format!(
        "{elements} {what} of {} take {first} and {second}",
        size(*element_bytes)
    )
}

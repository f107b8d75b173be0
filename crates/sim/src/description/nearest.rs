//! What somebody may have meant.

/// The most similar of the known names, if one is similar enough to be a slip.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Letters swapped, dropped or doubled are above this; two words that share only their ending, such
    // as `read_cycles` and `hit_cycles`, hardly ever are.
    const SIMILAR: f64 = 0.55;
    let similarity = |known| strsim::normalized_damerau_levenshtein(name, known);
    let all = known.map(|known| (similarity(known), known));
    let similar = all.filter(|(similarity, _)| *similarity >= SIMILAR);
    // Of equals, the first.
    let best = similar.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, known)| known)
}

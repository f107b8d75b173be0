/// Returns the known name that is most similar to `name`, if `name` may be a misspelling of it.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // The least similarity: one wrong letter in three, or one or two letters that are swapped,
    // dropped or doubled. The names `hit_cycles` and `read_cycles` are less similar.
    const SIMILAR: f64 = 0.65;
    let similarity = |known| strsim::normalized_damerau_levenshtein(name, known);
    let all = known.map(|known| (similarity(known), known));
    let similar = all.filter(|(similarity, _)| *similarity >= SIMILAR);
    let best = similar.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_seen_and_other_words_are_not() {
        let keys = ["packet_bus_cycles", "hop_bus_cycles", "hops_max", "kind"];
        for (slip, meant) in [
            ("packet_bus_cylces", "packet_bus_cycles"),
            ("hop_bus_cycle", "hop_bus_cycles"),
            ("packets_bus_cycles", "packet_bus_cycles"),
            ("hop_max", "hops_max"),
            ("kinds", "kind"),
        ] {
            assert_eq!(nearest(slip, keys.into_iter()), Some(meant), "{slip}");
        }
        for other in ["", "colour", "packet", "latency_ps"] {
            assert_eq!(nearest(other, keys.into_iter()), None, "{other}");
        }
        assert_eq!(nearest("hit_cycles", ["read_cycles"].into_iter()), None);
    }

    #[test]
    fn of_two_that_are_as_near_the_first_is_meant() {
        assert_eq!(nearest("qs21", ["qs20", "qs22"].into_iter()), Some("qs20"));
    }
}

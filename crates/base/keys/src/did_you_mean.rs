/// `; did you mean X?`, or else `; KNOWN a, b and c`.
pub fn did_you_mean<'a>(
    given: &str,
    known_are: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> String {
    match nearest(given, known.clone()) {
        Some(name) => format!("; did you mean {name}?"),
        None => format!("; {known_are} {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// The known name that was probably meant. One that only lacks the table before its point (`duration` for
/// `load.duration`) is near.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let without_table =
        known.clone().find(|name| name.split_once('.').is_some_and(|(_, last)| last == given));
    without_table.or_else(|| {
        known
            .map(|name| (strsim::damerau_levenshtein(given, name), name))
            .min()
            .filter(|(distance, name)| *distance <= name.len() / 3)
            .map(|(_, name)| name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_suggested_and_else_all_is_named() {
        let keys = ["name", "load.duration", "load.suite"];
        let given = ["nmae", "duration", "load.durration", "colour"];
        support::assert_golden!(
            given.map(|given| (given, did_you_mean(given, "known:", keys.into_iter())))
        );
    }
}

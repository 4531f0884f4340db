//! The names that connections ask for, where there are several.

use std::path::Path;

use objects::HostName;
use random::Random;
use units::thousands;

/// Arrivals, objects, samples and counts of requests use other random streams.
const FIRST_STREAM: u64 = 1 << 49;

/// The most names of a load: each load thread makes a client for each.
const MOST: usize = 10_000;

/// Reads a list: a name on each line, beside empty lines and comments after `#`.
///
/// # Errors
/// What is wrong, where, and what to do.
pub(crate) fn read(file: &Path) -> Result<Vec<HostName>, String> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("{shown}: {error}; give a file with a name on each line"))?;
    parse(&text).map_err(|(line, why)| match line {
        0 => format!("{shown}: {why}"),
        line => format!("{shown}:{line}: {why}"),
    })
}

/// The names of a text, or the number of the line that is wrong, and why.
fn parse(text: &str) -> Result<Vec<HostName>, (usize, String)> {
    let mut names = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let name: HostName = line.parse().map_err(|why| (number + 1, why))?;
            names.push((name, number + 1));
        }
    }
    names.sort();
    if let Some(twice) = names.windows(2).find(|two| two[0].0 == two[1].0) {
        return Err((twice[1].1, format!("{} is there twice; leave one out", twice[1].0)));
    }
    // In the order of the file: a seed draws the same ones from it again.
    names.sort_by_key(|(_, line)| *line);
    match names.len() {
        0 => Err((0, "has no name; give a file with a name on each line".to_owned())),
        1..=MOST => Ok(names.into_iter().map(|(name, _)| name).collect()),
        count => {
            let (count, most) = (thousands(count as u64), thousands(MOST as u64));
            Err((0, format!("{count} names are too many; give at most {most}")))
        }
    }
}

/// Draws the names of one thread's connections.
#[derive(Debug)]
pub(crate) struct NameDraws {
    count: usize,
    order: Order,
}

#[derive(Debug)]
enum Order {
    /// Each is as likely as any other.
    Random(Random),
    /// Each once before any again; which comes next.
    InTurn(usize),
}

impl NameDraws {
    /// For one thread of a load with this seed.
    pub(crate) fn new(count: usize, seed: u64, thread: usize) -> Self {
        Self { count, order: Order::Random(Random::stream(seed, FIRST_STREAM + thread as u64)) }
    }

    /// For a thread that needs each name.
    pub(crate) fn in_turn(count: usize) -> Self {
        Self { count, order: Order::InTurn(0) }
    }

    /// Whether there is a list.
    pub(crate) fn has_list(&self) -> bool {
        self.count > 0
    }

    /// The number of the next connection's name; 0 where there is no list.
    pub(crate) fn next(&mut self) -> usize {
        match (&mut self.order, self.count) {
            (_, 0 | 1) => 0,
            (Order::Random(random), count) => random.below(count as u64) as usize,
            (Order::InTurn(next), count) => {
                let name = *next;
                *next = (name + 1) % count;
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_list_has_a_name_on_each_line() {
        let names = parse("# shops\nb.example\n\n  A.example # the first\nc.example\n").unwrap();
        let names: Vec<_> = names.iter().map(HostName::as_str).collect();
        assert_eq!(names, ["b.example", "a.example", "c.example"]);
    }

    #[test]
    fn what_is_no_list_says_where_and_why() {
        let many: String = (0..=MOST).map(|number| format!("h{number}.example\n")).collect();
        let wrong = ["", "# none\n", "a.example\n127.0.0.1\n", "a.example\nb\nA.example\n", &many];
        support::assert_golden!(wrong.map(|text| {
            let (line, why) = parse(text).unwrap_err();
            (text.get(..40).unwrap_or(text).escape_debug().to_string(), format!("{line}: {why}"))
        }));
        assert!(read(Path::new("/no/such/file")).unwrap_err().contains("/no/such/file"));
    }

    #[test]
    fn names_are_drawn_evenly_by_seed_and_thread() {
        let drawn = |seed, thread| {
            let mut draws = NameDraws::new(50, seed, thread);
            std::iter::repeat_with(|| draws.next()).take(1000).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7, 0).into_iter().collect::<BTreeSet<_>>(), (0..50).collect());
        assert_eq!(drawn(7, 0), drawn(7, 0));
        assert_ne!(drawn(7, 0), drawn(8, 0));
        assert_ne!(drawn(7, 0), drawn(7, 1));
        assert_eq!(NameDraws::new(0, 7, 0).next(), 0);
        let mut in_turn = NameDraws::in_turn(3);
        assert_eq!([0; 7].map(|_| in_turn.next()), [0, 1, 2, 0, 1, 2, 0]);
    }
}

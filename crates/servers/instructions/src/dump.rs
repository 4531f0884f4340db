//! What callgrind writes (valgrind's manual, "Callgrind Format Specification").

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The instructions between two moments, by function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// What wrote it, such as `callgrind-3.19.0`.
    pub creator: String,
    /// All instructions.
    pub instructions: u64,
    /// The functions, the most expensive first.
    pub functions: Vec<Function>,
}

/// What a function ran, without what it called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its symbol; an address where it has none.
    pub name: String,
    /// The file that it is from.
    pub object: String,
    pub instructions: u64,
}

impl Dump {
    /// # Errors
    /// What it lacks of what callgrind writes.
    pub fn parse(text: &str) -> Result<Self, String> {
        let header = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name));
            value.map(str::trim).ok_or_else(|| format!("it has no line `{name}`"))
        };
        let creator = header("creator:")?.to_owned();
        // The sum of what follows, at its end. The summary before is what the threads ran, in which a block that was
        // begun is not.
        let instructions = header("totals:")?.split_whitespace().next();
        let instructions = instructions.and_then(|count| count.parse().ok());
        let instructions = instructions.ok_or("its total is no number")?;
        if header("events:")?.split_whitespace().next() != Some("Ir") {
            return Err("its first event is not Ir, the instructions".to_owned());
        }
        let positions = header("positions:")?.split_whitespace().count();
        let functions = functions(text, positions);
        let all: u64 = functions.iter().map(|function| function.instructions).sum();
        match all == instructions {
            true => Ok(Self { creator, instructions, functions }),
            false => Err(format!(
                "its functions have {all} instructions, and all together {instructions}: it was cut"
            )),
        }
    }
}

/// Names are written once, and then by their numbers.
#[derive(Default)]
struct Names<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Names<'a> {
    fn of(&mut self, written: &'a str) -> &'a str {
        match written.split_once(") ") {
            Some((number, name)) if number.starts_with('(') => {
                self.0.insert(number, name);
                name
            }
            _ => self.0.get(written.trim_end_matches(')')).copied().unwrap_or(written),
        }
    }
}

/// The cost lines of each function. The line after `calls=` has what the called one ran.
fn functions(text: &str, positions: usize) -> Vec<Function> {
    let (mut objects, mut names) = (Names::default(), Names::default());
    let (mut object, mut name) = ("", "");
    let mut costs: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut is_call = false;
    for line in text.lines() {
        if let Some(written) = line.strip_prefix("ob=") {
            object = objects.of(written);
        } else if let Some(written) = line.strip_prefix("cob=") {
            objects.of(written);
        } else if let Some(written) = line.strip_prefix("fn=") {
            name = names.of(written);
        } else if let Some(written) = line.strip_prefix("cfn=") {
            names.of(written);
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost = line.split_whitespace().nth(positions).and_then(|cost| cost.parse().ok());
            if !std::mem::take(&mut is_call) {
                *costs.entry((object, name)).or_default() += cost.unwrap_or(0);
            }
        }
    }
    let mut functions: Vec<Function> = costs
        .into_iter()
        .map(|((object, name), instructions)| Function {
            name: name.to_owned(),
            object: object.to_owned(),
            instructions,
        })
        .collect();
    functions.sort_by_key(|function| Reverse(function.instructions));
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 7
part: 2
desc: Trigger: dump
positions: line
events: Ir
summary: 1459


ob=(1) /usr/lib/libcrypto.so.3
fl=(1) ???
fn=(1) 0x00000000000eea00
0 400
cob=(2) /usr/sbin/nginx
cfn=(2) aesni_gcm_encrypt
calls=3 0
0 1000
+3 10

ob=(2)
fn=(2)
0 1000

ob=(1)
fn=(1)
* 50

totals: 1460
";

    #[test]
    fn functions_have_what_they_ran_themselves() {
        let dump = Dump::parse(DUMP).unwrap();
        assert_eq!((dump.creator.as_str(), dump.instructions), ("callgrind-3.19.0", 1460));
        let functions = dump.functions.iter();
        let functions: Vec<_> =
            functions.map(|f| (f.name.as_str(), f.object.as_str(), f.instructions)).collect();
        assert_eq!(
            functions,
            [
                ("aesni_gcm_encrypt", "/usr/sbin/nginx", 1000),
                ("0x00000000000eea00", "/usr/lib/libcrypto.so.3", 460),
            ]
        );
    }

    #[test]
    fn addresses_beside_lines_are_no_costs() {
        let with_addresses = DUMP.replace("positions: line", "positions: instr line");
        let with_addresses: String = with_addresses
            .lines()
            .map(|line| match line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                true => format!("+4 {line}\n"),
                false => format!("{line}\n"),
            })
            .collect();
        assert_eq!(Dump::parse(&with_addresses), Dump::parse(DUMP));
    }

    #[test]
    fn what_was_cut_or_counts_something_else_is_refused() {
        let cut = DUMP.rsplit_once("totals:").unwrap().0;
        for (text, why) in [
            (cut.to_owned(), "`totals:`"),
            (DUMP.replace("totals: 1460", "totals: 1461"), "it was cut"),
            (DUMP.replace("totals: 1460", "totals: many"), "no number"),
            (DUMP.replace("events: Ir", "events: Dr Ir"), "not Ir"),
            (String::new(), "`creator:`"),
        ] {
            let error = Dump::parse(&text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}

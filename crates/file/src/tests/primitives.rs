use ::primitives::{Cache, Hardware};
use units::Bytes;

use super::*;

/// A study of a table, whose lines begin at line 5.
fn table(lines: &[&str]) -> String {
    let head = ["schema = 1", "question = \"?\"", "[[primitives]]", "name = \"t\""];
    [&head, lines].concat().join("\n")
}

fn refused(lines: &[&str]) -> String {
    refusal(&table(lines))
}

/// Refusals of an answer at line 8 about a table of two libraries.
fn answer(lines: &[&str]) -> String {
    let head = [
        "algorithms = [\"gcm\"]",
        "libraries = [\"openssl\", \"aws-lc\"]",
        "sizes = [\"1KiB\", \"8KiB\"]",
        "[[answer]]",
    ];
    refused(&[&head, lines].concat())
}

#[test]
fn a_study_may_have_tables_alone() {
    let study = parse(&table(&["algorithms = [\"rsa-2048\", \"aes-128-gcm\"]", "threads = 2"]));
    assert!(study.cells.is_empty());
    let [only] = &study.primitives.tables[..] else { panic!() };
    let names: Vec<_> = only.algorithms.iter().map(|a| a.name()).collect();
    assert_eq!(names, ["AES-128-GCM", "RSA-2048 sign", "RSA-2048 verify", "RSA-2048 decrypt"]);
    assert_eq!(only.libraries, ["openssl"]);
    assert_eq!(
        (only.caches.as_slice(), only.hardware.as_slice()),
        (&[Cache::Warm][..], &[Hardware::All][..])
    );
    assert_eq!((only.cpus.to_string().as_str(), only.rounds, only.samples), ("0-1", 3, 10));
    assert_eq!(only.rows(), 6 + 3);
    assert_eq!(read_back(&study).primitives, study.primitives);
}

#[test]
fn everything_can_be_written_and_is_read_back() {
    let text = table(&[
        "algorithms = [\"gcm\", \"SHA-1\"]",
        "libraries = [\"libcrypto\", \"AWS_LC\", \"/opt/ssl/libcrypto.so\"]",
        "sizes = [\"8KiB\", \"64B\"]",
        "cache = [\"warm\", \"cold\"]",
        "hardware = [\"all\", \"none\"]",
        "cpus = \"1\"",
        "rounds = 2",
        "samples = 4",
        "[[answer]]",
        "primitives = \"t\"",
        "question = \"?\"",
        "compare = \"library\"",
        "baseline = \"libcrypto\"",
        "at = [\"8KiB\", \"64B\"]",
        "project = [4, 8]",
        "[[answer]]",
        "primitives = \"t\"",
        "compare = \"algorithm\"",
        "baseline = \"sha1\"",
    ]);
    let study = parse(&text);
    let table = &study.primitives.tables[0];
    assert_eq!(table.libraries, ["openssl", "aws-lc", "/opt/ssl/libcrypto.so"]);
    assert_eq!(table.sizes, [Bytes(64), Bytes(8192)]);
    let [first, second] = &study.primitives.answers[..] else { panic!() };
    assert_eq!((first.baseline.as_str(), second.baseline.as_str()), ("openssl", "SHA-1"));
    assert_eq!(
        (&first.at[..], &second.at[..]),
        (&[Bytes(64), Bytes(8192)][..], &[Bytes(8192)][..])
    );
    assert_eq!(read_back(&study), study);
}

#[test]
fn wrong_tables_are_refused_with_their_lines() {
    let gcm = "algorithms = [\"gcm\"]";
    for (lines, why) in [
        (
            vec!["algorithm = [\"gcm\"]"],
            "line 5: algorithm is not a key of a table of primitives; did you mean algorithms?",
        ),
        (vec![], "line 3: primitives t: names no algorithms; write algorithms = [\"AES-128-GCM\"]"),
        (
            vec!["algorithms = []"],
            "line 5: primitives t: algorithms is an empty list; write a value, or leave it out",
        ),
        (
            vec!["algorithms = [\"aes-128-gmc\"]"],
            "line 5: primitives t: algorithms: `aes-128-gmc` is not an algorithm; did you mean `AES-128-GCM`?; toll bench --list names all",
        ),
        (
            vec![gcm, "libraries = [\"openssl\",", "\"rustcripto\"]"],
            "line 7: primitives t: libraries: `rustcripto` is not a library; did you mean `rustcrypto`?",
        ),
        (
            vec![gcm, "libraries = [\"openssl\", \"libcrypto\"]"],
            "line 6: primitives t: libraries = \"libcrypto\" is listed twice; leave one out",
        ),
        (
            vec![gcm, "libraries = [\"lib/libcrypto.so\"]"],
            "line 6: primitives t: libraries: `lib/libcrypto.so` is not an absolute path",
        ),
        (
            vec![gcm, "sizes = [\"8KB\"]"],
            "line 6: primitives t: sizes: `8KB` is not a size with a binary unit",
        ),
        (vec![gcm, "sizes = [8]"], "line 6: primitives t: sizes: `8` has no unit; "),
        (
            vec![gcm, "sizes = [\"0B\"]"],
            "line 6: primitives t: sizes: `0B` has no cost per byte; write 1B or more",
        ),
        (vec![gcm, "sizes = [\"1GiB\"]"], "line 6: primitives t: sizes: `1GiB` is more than 16MiB"),
        (
            vec!["algorithms = [\"rsa\"]", "sizes = [\"1KiB\"]"],
            "line 6: primitives t: sizes has no effect, because none of these algorithms takes messages",
        ),
        (
            vec![gcm, "cache = \"hot\""],
            "line 6: primitives t: cache: `hot` is not a valid value; write one of: warm, cold",
        ),
        (
            vec![gcm, "hardware = [\"mmx\"]"],
            "line 6: primitives t: hardware: `mmx` is not a valid value; write one of: all, avx2, sse, none",
        ),
        (
            vec![gcm, "threads = 3"],
            "line 6: primitives t: threads = 3 need as many CPUs, and there are 2: 0-1",
        ),
        (
            vec![gcm, "cpus = \"7\""],
            "line 6: primitives t: cpus = 7: CPU 7 is not available to this process; it may use 0-1",
        ),
        (
            vec![gcm, "rounds = 0"],
            "line 6: primitives t: rounds = 0 is out of range; write a whole number from 1 to ",
        ),
        (
            vec![gcm, "rounds = 1001"],
            "line 6: primitives t: rounds = 1001 is out of range; write a whole number from 1 to 1000",
        ),
        (
            vec![gcm, "samples = \"9\""],
            "line 6: primitives t: samples = \"9\" is not a whole number",
        ),
        (
            vec![gcm, "[[primitives]]", "name = \"t\"", gcm],
            "line 6: two tables of primitives are named t; rename one",
        ),
    ] {
        let said = refused(&lines);
        assert!(said.starts_with(why), "{said}\n{why}");
    }
    let unnamed = refusal("schema = 1\nquestion = \"?\"\n[[primitives]]\nalgorithms = [\"gcm\"]\n");
    assert_eq!(unnamed, "line 3: a table of primitives has no name; write name = \"...\"");
    let none = refusal("schema = 1\nquestion = \"?\"\n");
    assert_eq!(none, "the study has no case; write a [[case]] with a name, or [[primitives]]");
}

#[test]
fn wrong_answers_are_refused_with_their_lines() {
    let about = "primitives = \"t\"";
    let library = "compare = \"library\"";
    let openssl = "baseline = \"openssl\"";
    for (lines, why) in [
        (
            vec!["primitives = \"u\""],
            "line 9: primitives = \"u\" is not a table of primitives of this study; there are: t",
        ),
        (
            vec![about, "metric = \"rate\""],
            "line 10: metric is not a key of an answer about primitives; ",
        ),
        (vec![about], "line 8: an answer has no compare; write compare = \"...\""),
        (
            vec![about, "compare = \"librari\""],
            "line 10: compare: `librari` is not a valid value; did you mean library?",
        ),
        (
            vec![about, "compare = \"cache\""],
            "line 10: compare = \"cache\" has one value in primitives t, so there is nothing to compare",
        ),
        (
            vec![about, library, "baseline = \"ring\""],
            "line 11: baseline = \"ring\" is no library of primitives t; these are openssl, aws-lc",
        ),
        (
            vec![about, library, openssl, "at = \"4KiB\""],
            "line 12: at = \"4KiB\" is not a size of primitives t; these are 1KiB, 8KiB",
        ),
        (
            vec![about, library, openssl, "published = \"x\""],
            "line 12: published needs a reference",
        ),
        (vec![about, library, openssl, "project = [0]"], "line 12: project = 0 is out of range"),
    ] {
        let said = answer(&lines);
        assert!(said.starts_with(why), "{said}\n{why}");
    }
    let with_reference = answer(&[about, library, openssl, "published = \"nginx-a-core\""])
        .replace("needs a reference", "");
    assert!(with_reference.contains("line 12"), "{with_reference}");
}

#[test]
fn a_scale_makes_all_tables_shorter() {
    let text = table(&[
        "algorithms = [\"gcm\"]",
        "libraries = [\"openssl\", \"ring\"]",
        "sizes = [\"1KiB\", \"8KiB\"]",
        "[[answer]]",
        "primitives = \"t\"",
        "compare = \"library\"",
        "baseline = \"ring\"",
        "at = \"8KiB\"",
        "[scale.quick]",
        "primitives.rounds = 1",
        "primitives.samples = 3",
        "primitives.sizes = \"1KiB\"",
    ]);
    let study = crate::parse_at("test.toml", &text, &allowed(), Some("quick")).unwrap();
    let table = &study.primitives.tables[0];
    assert_eq!((table.rounds, table.samples, &table.sizes[..]), (1, 3, &[Bytes(1024)][..]));
    assert_eq!(study.primitives.answers[0].at, [Bytes(1024)]);
    assert_eq!(
        study.cut,
        [
            "scale quick: primitives.rounds = 1 instead of 3",
            "scale quick: primitives.samples = 3 instead of 10",
            "scale quick: primitives.sizes = 1KiB instead of 1KiB, 8KiB",
        ]
    );
    let wrong = text.replace("primitives.rounds", "primitives.round");
    let said = crate::parse_at("test.toml", &wrong, &allowed(), Some("quick")).unwrap_err();
    let said = said.to_string();
    assert!(
        said.contains(
            "line 14: primitives.round is not a key of the primitives of a scale; did you mean rounds?"
        ),
        "{said}"
    );
}

#[test]
fn a_part_is_asked_for_by_its_name() {
    let both = with(&[], &["sweep.\"load.suite\" = [\"none\", \"AES128-SHA\"]"]);
    let both = format!(
        "{both}\n{}",
        table(&["algorithms = [\"gcm\"]"]).split_off("schema = 1\nquestion = \"?\"\n".len())
    );
    let only = |wanted: &[&str]| {
        let mut study = parse(&both);
        let wanted: Vec<String> = wanted.iter().map(|&text| text.to_owned()).collect();
        crate::only(&mut study, &wanted).map(|()| study).map_err(|error| error.to_string())
    };
    let tables = only(&["primitives=t"]).unwrap();
    assert_eq!((tables.cells.len(), tables.primitives.tables.len()), (0, 1));
    assert_eq!(tables.cut, ["only the primitives t"]);
    let cells = only(&["suite=none"]).unwrap();
    assert_eq!((cells.cells.len(), cells.primitives.tables.len()), (1, 0));
    assert!(cells.cut.contains(&"no primitives".to_owned()));
    assert_eq!(
        only(&["primitives=x"]).unwrap_err(),
        "--only primitives=x: no table of primitives has this name; there are: t"
    );
    assert!(
        only(&["primitives=t", "suite=none"]).unwrap_err().contains("ask for tables or for cells")
    );
    let mut often = parse(&both);
    often.measure_so_often(2);
    assert_eq!((often.trials, often.primitives.tables[0].rounds), (2, 2));
    assert_eq!(often.cut, ["trials = 2 instead of 7", "rounds = 2 instead of 3 (primitives t)"]);
}

#[test]
fn the_shipped_table_study_is_read_and_its_quick_form_is_short() {
    let quick = |name| shipped_at(name, "0-1", Some("quick"));
    let primitives = quick("primitives");
    assert!(primitives.cells.is_empty() && primitives.primitives.answers.len() >= 4);
    assert!(
        primitives.primitives.forecast().seconds() < 120.0,
        "{}",
        primitives.primitives.forecast()
    );
    let part = quick("gcm-vs-cbc").primitives;
    assert_eq!(part.answers[0].published.len(), 2);
    assert!(part.forecast().seconds() < 15.0, "{}", part.forecast());
}

#[test]
fn the_guide_has_every_key_and_its_example_is_a_table() {
    let guide = documents::GUIDE;
    let (_, part) = guide.split_once("## Algorithms alone").unwrap();
    let (_, example) = part.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let study = parse(&format!("schema = 1\nquestion = \"?\"\n{example}"));
    assert_eq!(study.primitives.tables[0].libraries.len(), 3);
    for key in crate::primitives::names().iter().chain(&crate::primitive_answer::KEYS) {
        assert!(part.contains(&format!("| `{key}` | ")), "{key}");
    }
}

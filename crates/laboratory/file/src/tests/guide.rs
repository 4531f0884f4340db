//! The tables of keys in `docs/study-files.md` are made of the types that read a file: their names are
//! serde's, their text is the fields' doc comments, and the values that hold without them are those of the
//! types' defaults. A field that is a flag too may have a comment `In studies:` on what a flag has no use for.
//!
//! `INSTA_UPDATE=always cargo nextest run -p file guide` writes them anew.

use load::{Plan, Rank};
use study::Hosts;
use targets::Target;

use crate::document::{AnswerKeys, CaseKeys, ClaimKeys, Document, ScaleKeys};
use crate::primitives::PrimitiveKeys;
use crate::search_keys::SearchKeys;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/study-files.md");
const DOCUMENT: &str = include_str!("../document.rs");

/// A type as its table in the page describes it.
struct Described {
    source: &'static str,
    /// Its name there.
    of: &'static str,
    keys: &'static [&'static str],
    defaults: Vec<(String, String)>,
}

/// A field of it.
#[derive(Default)]
struct Documented {
    /// Its doc comment, the paragraphs as sentences.
    help: String,
    of_studies: String,
    is_flag: bool,
}

fn all() -> [Described; 11] {
    let described = |of, source, keys| Described { source, of, keys, defaults: Vec::new() };
    let target = include_str!("../../../../servers/targets/src/target.rs");
    let load = include_str!("../../../../clients/load/src/plan.rs");
    let study = include_str!("../../../study/src/study.rs");
    let rank = include_str!("../../../../clients/load/src/rank.rs");
    [
        described("Document", DOCUMENT, ::keys::names::<Document>()),
        Described {
            defaults: ::keys::values(&Hosts::default()),
            ..described("Hosts", study, ::keys::names::<Hosts>())
        },
        Described {
            defaults: ::keys::values(&Target::default()),
            ..described("Target", target, ::keys::names::<Target>())
        },
        Described {
            defaults: ::keys::values(&Plan::default().settled()),
            ..described("Plan", load, ::keys::names::<Plan>())
        },
        described("Rank", rank, ::keys::names::<Rank>()),
        described("CaseKeys", DOCUMENT, ::keys::names::<CaseKeys>()),
        described("SearchKeys", include_str!("../search_keys.rs"), ::keys::names::<SearchKeys>()),
        described(
            "PrimitiveKeys",
            include_str!("../primitives.rs"),
            ::keys::names::<PrimitiveKeys>(),
        ),
        described("ScaleKeys", DOCUMENT, ::keys::names::<ScaleKeys>()),
        described("AnswerKeys", DOCUMENT, ::keys::names::<AnswerKeys>()),
        described("ClaimKeys", DOCUMENT, ::keys::names::<ClaimKeys>()),
    ]
}

impl Described {
    fn table(&self) -> String {
        let mut table = "| key | what it says | where it is left out |\n|---|---|---|\n".to_owned();
        let fields = self.fields();
        assert_eq!(fields.len(), self.keys.len(), "{}: {:?}", self.of, self.keys);
        for (key, Documented { help, of_studies, is_flag }) in self.keys.iter().zip(fields) {
            let (help, of_help) = without_default(&help);
            let (of_studies, written) = without_default(&of_studies);
            // A flag's may be another one.
            let (written, of_help) =
                if is_flag { (written, of_help) } else { (written.or(of_help), None) };
            let own = self.defaults.iter().find(|(name, _)| name == key);
            let own = own.map(|(_, value)| format!("`{value}`"));
            let default = written.or(own).or(of_help).unwrap_or_else(|| "open".to_owned());
            let default = options_as_keys(&default);
            let help = options_as_keys(help.trim_end_matches('.'));
            let of_studies = of_studies.trim_end_matches('.');
            let between = match (&*help, of_studies.chars().next()) {
                ("", _) | (_, None) => "",
                (_, Some('(')) => " ",
                _ => ". ",
            };
            assert!(!help.is_empty() || !of_studies.is_empty(), "{key} of {} has no text", self.of);
            let text = format!("{help}{between}{of_studies}");
            table += &format!("| `{key}` | {text} | {default} |\n");
        }
        table
    }

    fn fields(&self) -> Vec<Documented> {
        let (_, rest) = self.source.split_once(&format!("struct {} {{\n", self.of)).unwrap();
        let (fields, _) = rest.split_once("\n}\n").unwrap();
        let mut all = Vec::new();
        let mut field = Documented::default();
        for line in fields.lines().map(str::trim) {
            if let Some(doc) = line.strip_prefix("///") {
                let is_paragraph = doc.is_empty() && !field.help.ends_with(['.', ':']);
                field.help += if is_paragraph { "." } else { doc };
            } else if let Some(comment) = line.strip_prefix("//") {
                match comment.strip_prefix(" In studies:") {
                    Some(text) => field.of_studies = text.to_owned(),
                    None if field.of_studies.is_empty() => {}
                    None => field.of_studies += comment,
                }
            } else if line.starts_with("#[arg(") {
                field.is_flag = !line.starts_with("#[arg(skip");
            } else if !line.starts_with('#') && !line.is_empty() {
                all.push(std::mem::take(&mut field));
            }
        }
        all
    }
}

/// `--client` is the key `client`, but not in a command.
fn options_as_keys(help: &str) -> String {
    let word = |word: &str| match word.strip_prefix("--") {
        Some(name) => {
            let end = name.find(|c: char| !c.is_ascii_lowercase() && c != '-');
            let (name, rest) = name.split_at(end.unwrap_or(name.len()));
            format!("`{name}`{rest}")
        }
        None => word.to_owned(),
    };
    let parts = help.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => part.split(' ').map(word).collect::<Vec<_>>().join(" "),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// A text without its `[default: ...]`, and that.
fn without_default(text: &str) -> (String, Option<String>) {
    match text.split_once("[default: ") {
        Some((text, rest)) => {
            let (default, _) = rest.rsplit_once(']').unwrap();
            (text.trim().to_owned(), Some(default.to_owned()))
        }
        None => (text.trim().to_owned(), None),
    }
}

#[test]
fn the_guide_has_the_keys_of_the_types() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut written = page.clone();
    for described in all() {
        let begin = format!("<!-- keys of {} -->\n", described.of);
        let (before, rest) = written.split_once(&begin).unwrap_or_else(|| panic!("{begin}"));
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        written = format!("{before}{begin}{}<!-- end -->{after}", described.table());
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(PAGE, written).unwrap();
    } else {
        assert!(page == written, "INSTA_UPDATE=always writes docs/study-files.md anew");
    }
}

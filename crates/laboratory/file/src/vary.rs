//! `--vary KEY=V1,V2`: another form of a study file, in which every case sweeps a key more, and answers compare its
//! values. Both are written into its text, so that they are read, refused and kept as all else that stands there.

use cpus::Topology;
use study::Study;
use toml::de::{DeTable, DeValue};

use super::error::{Flaw, StudyError};
use super::fields::{Field, Source, line_starts};
use super::keys::StudyKey;
use super::shipped::StudyFile;
use super::unquoted::Unquoted;

/// A key with the values that it is to have.
struct Varied {
    key: StudyKey,
    /// As a study file has them.
    values: Vec<String>,
}

impl StudyFile {
    /// The file with keys that all its cases sweep: `target.library=openssl,rustls-ring`. In each case the values are
    /// compared with the first, in the metrics of its answers; without any in what one core of the server does.
    ///
    /// # Errors
    /// One line: what is wrong in the file as it is; the key cannot be swept, has a single value, or is swept already.
    pub fn varied(
        self,
        machine: &Topology,
        scale: Option<&str>,
        wanted: &[String],
    ) -> Result<Self, StudyError> {
        wanted.iter().try_fold(self, |file, text| file.with_one(machine, scale, text))
    }

    fn with_one(
        self,
        machine: &Topology,
        scale: Option<&str>,
        wanted: &str,
    ) -> Result<Self, StudyError> {
        // What is wrong without it is said with its line.
        let study = self.read(machine, scale)?;
        let refused =
            |why: &dyn std::fmt::Display| StudyError::Unknown(format!("--vary {wanted}: {why}"));
        let varied = Varied::read(wanted).map_err(|why| refused(&why))?;
        let text = varied.written_into(&self.text, &study).map_err(|flaw| refused(&flaw.what))?;
        let file = Self { text, ..self };
        match file.read(machine, scale) {
            Ok(_) => Ok(file),
            // The lines are those of a text that nobody has seen.
            Err(StudyError::Wrong { what, .. } | StudyError::Lacking { what, .. }) => {
                Err(refused(&what))
            }
            Err(other) => Err(other),
        }
    }
}

impl Varied {
    fn read(wanted: &str) -> Result<Self, String> {
        const FORM: &str = "write KEY=V1,V2, such as target.library=openssl,rustls-ring";
        let (name, values) = wanted.split_once('=').ok_or(FORM)?;
        let name = name.trim();
        let key = StudyKey::swept(name).map_err(|why| format!("{name} {why}"))?;
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        if values.len() < 2 || values.contains(&"") {
            return Err(format!("it takes two values or more; {FORM}"));
        }
        let values =
            values.into_iter().map(|value| Unquoted::read(key, value).map(|value| value.written));
        Ok(Self { key, values: values.collect::<Result<_, _>>()? })
    }

    /// The text of a file whose study is this one, with a line in each `[[case]]` and the answers at its end.
    fn written_into(&self, text: &str, study: &Study) -> Result<String, Flaw> {
        let lines = line_starts(text);
        let source = Source::new(text, &lines);
        let table = DeTable::parse(text).map_err(|error| Flaw::lacking(error.message()))?;
        let root = DeValue::Table(table.into_inner());
        let cases = Field::alone(source, &root).tables("case")?;
        if cases.is_empty() {
            return Err(Flaw::lacking(
                "the study has no case of its own, which could have these values; name one that has",
            ));
        }
        let mut varied = String::new();
        let mut before = 0;
        for case in cases {
            let (at, sweep) = self.sweep(case, text)?;
            varied += &text[before..at];
            varied += &sweep;
            before = at;
        }
        Ok(varied + &text[before..] + &self.answers(study))
    }

    /// What is added to a case, and where: to the table of its sweeps, or else to its own, whether that has a header or
    /// stands between braces.
    fn sweep(&self, case: Field<'_>, text: &str) -> Result<(usize, String), Flaw> {
        let key = self.key.to_string();
        let sweep = case.get("sweep");
        if sweep.is_some_and(|sweep| sweep.get(&key).is_some()) {
            let name = case.field("name")?.text()?;
            let what = format!("case {name} sweeps {key} already; leave --vary out, or that sweep");
            return Err(Flaw::lacking(what));
        }
        let entry = format!("\"{key}\" = [{}]", self.values.join(", "));
        let is_table = |field: &Field<'_>| text[field.span.0..].starts_with(['[', '{']);
        let (table, entry) = match sweep.filter(is_table) {
            Some(sweep) => (sweep, entry),
            None => (case, format!("sweep.{entry}")),
        };
        let (start, end) = table.span;
        if text[start..].starts_with('{') {
            return Ok((start + 1, format!(" {entry},")));
        }
        let line_end = text[end..].find('\n').map_or(text.len(), |length| end + length);
        Ok((line_end, format!("\n{entry} # --vary")))
    }

    /// An answer for each case and metric.
    fn answers(&self, study: &Study) -> String {
        let mut cases: Vec<&str> = study.cells.iter().map(|cell| &*cell.case).collect();
        cases.dedup();
        let mut answers = String::new();
        for case in cases {
            for metric in study.metrics_of(case) {
                let (key, baseline) = (self.key, &self.values[0]);
                answers += &format!(
                    "\n[[answer]] # --vary\ncase = \"{case}\"\nmetric = \"{metric}\"\n\
                     compare = \"{key}\"\nbaseline = {baseline}\n"
                );
            }
        }
        answers
    }
}

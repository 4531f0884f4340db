//! `--vary KEY=V1,V2` adds a `[[vary]]` to the text of a study file, so that it is read, refused and kept as all else that
//! stands there.

use cpus::Topology;

use super::error::StudyError;
use super::keys::StudyKey;
use super::shipped::StudyFile;
use super::unquoted::Unquoted;

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
        // What is wrong without it is said with its line.
        if !wanted.is_empty() {
            self.read(machine, scale)?;
        }
        wanted.iter().try_fold(self, |file, wanted| {
            let refused = |why: String| StudyError::Unknown(format!("--vary {wanted}: {why}"));
            let file = Self { text: file.text + &table(wanted).map_err(refused)?, ..file };
            match file.read(machine, scale) {
                Ok(_) => Ok(file),
                // The lines are those of a text that nobody has seen.
                Err(StudyError::Wrong { what, .. } | StudyError::Lacking { what, .. }) => {
                    Err(refused(what))
                }
                Err(other) => Err(other),
            }
        })
    }
}

/// `KEY=V1,V2` as a file says it.
fn table(wanted: &str) -> Result<String, String> {
    const FORM: &str = "write KEY=V1,V2, such as target.library=openssl,rustls-ring";
    let (name, values) = wanted.split_once('=').ok_or(FORM)?;
    let name = name.trim();
    let key = StudyKey::swept(name).map_err(|why| format!("{name} {why}"))?;
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    if values.len() < 2 || values.contains(&"") {
        return Err(format!("it takes two values or more; {FORM}"));
    }
    let values = values.into_iter().map(|value| Ok(Unquoted::read(key, value)?.written));
    let values = values.collect::<Result<Vec<_>, String>>()?.join(", ");
    Ok(format!("\n[[vary]] # --vary\n\"{key}\" = [{values}]\n"))
}

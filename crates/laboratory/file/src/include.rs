//! `include = ["gcm-vs-cbc", ...]`: a study that consists of others.

use std::path::Path;

use cpus::Topology;
use study::Study;

use super::error::{Flaw, StudyError};
use super::fields::Field;
use super::shipped::StudyFile;

const INCLUDE: &str = "include";

/// The studies that are included, each once; a study that includes others measures nothing itself.
pub(super) fn check(fields: Field<'_>, measures: bool) -> Result<Vec<String>, Flaw> {
    let Some(field) = fields.get(INCLUDE) else { return Ok(Vec::new()) };
    if measures {
        return Err(field.flaw(
            "stands beside cases or primitives, and a study that includes others has none of its own; write these \
             into a file that is included",
        ));
    }
    let mut names: Vec<String> = Vec::new();
    for field in field.one_or_more() {
        let name = field.text()?.to_owned();
        if names.contains(&name) {
            return Err(field.wrong("is included twice; leave one out"));
        }
        names.push(name);
    }
    Ok(names)
}

impl StudyFile {
    /// The studies that this one includes, each with its file and in the form of the same scale; a path is
    /// that from the folder of this file.
    ///
    /// # Errors
    /// One line: there is no such study, it includes others (itself perhaps), two have one name, or one is
    /// wrong.
    pub fn included(
        &self,
        study: &Study,
        machine: &Topology,
        scale: Option<&str>,
    ) -> Result<Vec<(Self, Study)>, StudyError> {
        let mut all: Vec<(Self, Study)> = Vec::new();
        for name in &study.include {
            let file = self.beside(name)?;
            let included = file.read(machine, scale)?;
            let flaw = match &included {
                Study { include, .. } if !include.is_empty() => {
                    Some("includes others itself; name these instead".to_owned())
                }
                Study { name, .. } if all.iter().any(|(_, other)| other.name == *name) => {
                    Some(format!("has the name {name}, as another one; rename one"))
                }
                _ => None,
            };
            if let Some(flaw) = flaw {
                return Err(self.flaw(&format!("the included study {name} {flaw}")));
            }
            all.push((file, included));
        }
        Ok(all)
    }

    fn beside(&self, name: &str) -> Result<Self, StudyError> {
        let folder = Path::new(&self.name).parent().filter(|folder| *folder != Path::new(""));
        match folder.filter(|_| Path::new(name).is_relative() && name.ends_with(".toml")) {
            Some(folder) => Self::find(&folder.join(name).display().to_string()),
            None => Self::find(name),
        }
    }
}

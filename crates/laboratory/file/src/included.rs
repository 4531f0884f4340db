//! The studies that a study includes.

use std::path::Path;

use cpus::Topology;
use study::Study;

use super::error::StudyError;
use super::shipped::StudyFile;

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

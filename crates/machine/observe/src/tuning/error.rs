use std::io;
use std::path::PathBuf;

/// Why settings could not be made or taken back.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    #[error(
        "{}: {source}; toll changes settings only if it can save their former values there",
        path.display()
    )]
    Record { path: PathBuf, source: io::Error },
    #[error("{}: {why}; restore the settings by hand and remove the file", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("{} is locked by another toll; wait until it ends", path.display())]
    Busy { path: PathBuf },
    #[error("nothing to restore: there is no {}", path.display())]
    NothingToRestore { path: PathBuf },
    #[error("nothing to restore: the machine was restarted since, which reset the settings")]
    Rebooted,
    #[error(
        "the settings were made in another network namespace ({was}, this is {is}); restore them there"
    )]
    OtherNamespace { was: String, is: String },
}

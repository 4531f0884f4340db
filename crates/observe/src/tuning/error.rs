use std::io;
use std::path::PathBuf;

/// Why settings could not be made or taken back.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// The record of former values cannot be read or written.
    #[error(
        "{}: {source}; toll changes settings only if it can save their former values there",
        path.display()
    )]
    Record {
        /// The file or its folder.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// The record is not what toll wrote.
    #[error("{}: {why}; restore the settings by hand and remove the file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Another process makes settings now.
    #[error("{} is locked by another toll; wait until it ends", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// Nothing was set, or it has been put back.
    #[error("nothing to restore: there is no {}", path.display())]
    NothingToRestore {
        /// The file that would show it.
        path: PathBuf,
    },
    /// The machine was restarted since.
    #[error("nothing to restore: the machine was restarted since, which reset the settings")]
    Rebooted,
    /// The settings are of another network namespace.
    #[error(
        "the settings were made in another network namespace ({was}, this is {is}); restore them there"
    )]
    OtherNamespace {
        /// Where they were made.
        was: String,
        /// This one.
        is: String,
    },
}

//! Why a run ended early.

use agent::Refusal;
use journal::{JournalError, ResultsError};

/// Why a run could not begin or continue. Each part that was done is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Something that it needs could not be started, or cannot do what it is asked.
    #[error("{0}")]
    Start(String),
    /// Every cell of the study lacks its server or its client.
    #[error("nothing of this study can be measured here: {0}")]
    NothingToMeasure(String),
    /// A server or a client is missing that a cell must not be without.
    #[error("{0}")]
    Missing(String),
    /// A server is not the one of the trials in the journal.
    #[error("{was} was measured before, but {is} runs now; start a new run")]
    ServerChanged {
        /// In the journal.
        was: String,
        /// Now.
        is: String,
    },
    /// This machine is not the one of the trials in the journal.
    #[error("this is not the machine that was measured before: {0}; start a new run")]
    MachineChanged(String),
    /// A part could not be measured.
    #[error("{part}: {why}")]
    Part { part: String, why: String },
    /// The server is no longer the one that was started; its last trial is not valid.
    #[error("{0}")]
    TargetLost(String),
    /// A rank was lost in two consecutive trials of a cell; neither is valid.
    #[error("{cell} lost a rank in two consecutive trials: {why}")]
    RankLost { cell: String, why: String },
    /// The journal could not be read or written.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// Another file of the results could not be read or written, before anything was measured.
    #[error("{0}")]
    Results(#[from] ResultsError),
    /// What was measured could not be written.
    #[error("{0}")]
    NotKept(ResultsError),
    /// An experiment of the study ended early after others were measured.
    #[error("{0}")]
    AfterOthers(Box<RunError>),
}

/// What an error says of its run, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// What the study needs is not installed here.
    Absent,
    /// The run did not begin: the request is wrong, or a server cannot be reached. Nothing was measured.
    Refused,
    /// A measurement that had begun failed.
    Failed,
}

impl From<Refusal> for RunError {
    fn from(Refusal { is_missing, why }: Refusal) -> Self {
        if is_missing { Self::Missing(why) } else { Self::Start(why) }
    }
}

impl RunError {
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::NothingToMeasure(_) | Self::Missing(_) => ErrorClass::Absent,
            Self::Start(_)
            | Self::ServerChanged { .. }
            | Self::MachineChanged(_)
            | Self::Results(_) => ErrorClass::Refused,
            Self::Journal(error) if error.is_of_reading() => ErrorClass::Refused,
            Self::Part { .. }
            | Self::TargetLost(_)
            | Self::RankLost { .. }
            | Self::Journal(_)
            | Self::NotKept(_)
            | Self::AfterOthers(_) => ErrorClass::Failed,
        }
    }
}

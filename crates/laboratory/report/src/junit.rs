//! Gates as JUnit's XML, which the test reports of CI read.
//!
//! A gate is a test case: one that is not met is a failure, an inconclusive one is skipped, both with its sentence. A
//! run that is not whole is an error besides, whatever its gates say of the rest.

use answer::gate::{GateOutcome, Reached};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::text::on_one_line;

/// The gates of a run or of two, whose study has this name; `lacking` is what the run lacks.
///
/// # Errors
/// What XML cannot have, which is a fault of toll.
pub fn junit(
    study: &str,
    gates: &[GateOutcome],
    lacking: Option<&str>,
) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(on_one_line(study));
    let mut add = |name: &str, mut status: TestCaseStatus, message: &str| {
        status.set_message(on_one_line(message));
        let mut case = TestCase::new(on_one_line(name), status);
        case.set_classname(on_one_line(study));
        suite.add_test_case(case);
    };
    for GateOutcome { gate, result, sentence, .. } in gates {
        let status = match result {
            Reached::Met => TestCaseStatus::success(),
            Reached::Inconclusive => TestCaseStatus::skipped(),
            Reached::NotMet => TestCaseStatus::non_success(NonSuccessKind::Failure),
        };
        add(gate, status, sentence);
    }
    if let Some(lacking) = lacking {
        let status = TestCaseStatus::non_success(NonSuccessKind::Error);
        add("all that was planned is measured", status, lacking);
    }
    let mut report = Report::new("toll");
    report.add_test_suite(suite);
    report.to_string()
}

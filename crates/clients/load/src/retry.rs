//! Which requests are sent again, over every protocol. `docs/figures.md` states it.

use crate::{Method, Operation, Plan};

/// How often in a row a request is sent again while no operation of its thread succeeds, on any connection.
const MOST_IN_A_ROW: u8 = 8;

/// How often one is sent again in all: its server answers others, but never this one.
const MOST: u8 = 100;

/// Why a request has no answer, where it may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The connection ended before any of the answer: the server may have begun with it.
    Closed,
    /// The server has not begun with it: it never left, its stream was refused, or a GOAWAY left it out
    /// (RFC 9113, section 8.7).
    NotTaken,
}

/// How often a request was sent again.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    all: u8,
    in_a_row: u8,
    /// How many operations had succeeded when it was sent last.
    succeeded: u64,
}

impl Tries {
    /// Notes how many operations had succeeded when the request was given to a connection.
    pub(crate) fn given(&mut self, succeeded: u64) {
        self.succeeded = succeeded;
    }

    /// Whether the request may be sent again, its connection having answered `answers`, and `succeeded`
    /// operations having succeeded by now; counts that.
    ///
    /// A server may close a kept connection at any time, so what was on its way is sent again where that does
    /// no harm (RFC 9110, section 9.2.2; RFC 9112, section 9.3.1). A connection without any answer was not
    /// kept: its end is the server's answer to what it carried.
    pub(crate) fn permit(
        &mut self,
        why: Unanswered,
        plan: &Plan,
        answers: u64,
        succeeded: u64,
    ) -> bool {
        let is_harmless = match why {
            Unanswered::Closed => answers > 0 && Method::is_idempotent(plan.method()),
            Unanswered::NotTaken => true,
        };
        if !is_harmless || plan.operation != Operation::Requests {
            return false;
        }
        self.in_a_row = if succeeded > self.succeeded { 1 } else { self.in_a_row + 1 };
        self.all += 1;
        self.in_a_row <= MOST_IN_A_ROW && self.all <= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(method: Method) -> Plan {
        Plan { method: Some(method), ..Plan::default() }
    }

    /// How often a request is sent again, if each of its connections had `answers` before it ended and `succeed`
    /// other operations succeed between two tries.
    fn permitted(why: Unanswered, method: Method, answers: u64, succeed: u64) -> usize {
        let (mut tries, mut succeeded) = (Tries::default(), 0);
        let mut again = || {
            tries.given(succeeded);
            succeeded += succeed;
            tries.permit(why, &plan(method), answers, succeeded)
        };
        std::iter::repeat_with(&mut again).take_while(|permitted| *permitted).count()
    }

    #[test]
    fn what_does_no_harm_is_sent_again_while_others_succeed_and_else_a_few_times() {
        use Unanswered::{Closed, NotTaken};
        for (why, method, answers, succeed, expected) in [
            (NotTaken, Method::Get, 1, 0, 8),
            (NotTaken, Method::Post, 1, 0, 8),
            (NotTaken, Method::Post, 0, 1, 100),
            (Closed, Method::Get, 1, 0, 8),
            (Closed, Method::Get, 1, 1, 100),
            (Closed, Method::Put, 1, 1, 100),
            (Closed, Method::Post, 1, 1, 0),
            (Closed, Method::Get, 0, 1, 0),
        ] {
            let permitted = permitted(why, method, answers, succeed);
            assert_eq!(permitted, expected, "{why:?} {method} {answers} {succeed}");
        }
        let session = Plan { operation: Operation::Session, ..Plan::default() };
        assert!(!Tries::default().permit(NotTaken, &session, 1, 1));
    }
}

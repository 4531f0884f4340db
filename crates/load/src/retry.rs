//! Which requests are sent again, over every protocol. `docs/figures.md` states it.

use crate::{Method, Operation, Plan};

/// How often in a row a request is sent again whose connections meanwhile answer nothing.
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
    /// What its connection had answered when it was given the request.
    answers: u64,
}

impl Tries {
    /// Notes that the request is given to a connection that has answered so many.
    pub(crate) fn given(&mut self, answers: u64) {
        self.answers = answers;
    }

    /// Whether the request may be sent again, its connection having answered `answers` by now; counts that.
    ///
    /// A server may close a kept connection at any time, so what was on its way is sent again where that does
    /// no harm (RFC 9110, section 9.2.2; RFC 9112, section 9.3.1). A connection without any answer was not
    /// kept: its end is the server's answer to what it carried.
    pub(crate) fn permit(&mut self, why: Unanswered, plan: &Plan, answers: u64) -> bool {
        let is_harmless = match why {
            Unanswered::Closed => answers > 0 && Method::is_idempotent(plan.method()),
            Unanswered::NotTaken => true,
        };
        if !is_harmless || plan.operation != Operation::Requests {
            return false;
        }
        self.in_a_row = if answers > self.answers { 1 } else { self.in_a_row + 1 };
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

    /// How often a request is sent again whose connections each have answered one when they are given it, and
    /// so many when they end.
    fn permitted(why: Unanswered, method: Method, answers: u64) -> usize {
        let mut tries = Tries::default();
        let mut again = || {
            tries.given(1);
            tries.permit(why, &plan(method), answers)
        };
        std::iter::repeat_with(&mut again).take_while(|permitted| *permitted).count()
    }

    #[test]
    fn what_does_no_harm_is_sent_again_while_others_are_answered_and_else_a_few_times() {
        use Unanswered::{Closed, NotTaken};
        for (why, method, answers, expected) in [
            (NotTaken, Method::Get, 1, 8),
            (NotTaken, Method::Post, 1, 8),
            (NotTaken, Method::Post, 2, 100),
            (Closed, Method::Get, 1, 8),
            (Closed, Method::Get, 2, 100),
            (Closed, Method::Put, 2, 100),
            (Closed, Method::Post, 2, 0),
            (Closed, Method::Get, 0, 0),
        ] {
            assert_eq!(permitted(why, method, answers), expected, "{why:?} {method} {answers}");
        }
        let session = Plan { operation: Operation::Session, ..Plan::default() };
        assert!(!Tries::default().permit(NotTaken, &session, 1));
    }
}

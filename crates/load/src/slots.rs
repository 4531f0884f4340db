//! The slots of one load thread. Each runs one operation after another, on a connection of its own or on
//! one that several share.

use crate::Plan;
use crate::connection::{After, Connection};
use crate::context::{Context, Ready};
use crate::multiplexed::{Follow, Multiplexed};
use crate::recorder::Times;
use crate::window::Edge;

/// See the module. What follows for a slot is returned where only one can be concerned.
pub(crate) enum Slots {
    Own(Vec<Connection>),
    Shared(Multiplexed),
}

impl Slots {
    pub(crate) fn new(plan: &Plan, slots: usize) -> Self {
        match plan.is_http2() {
            false => Self::Own(std::iter::repeat_with(Connection::default).take(slots).collect()),
            true => Self::Shared(Multiplexed::new(slots, plan.streams())),
        }
    }

    pub(crate) fn begin(&mut self, context: &mut Context<'_>, slot: usize, times: Times) -> After {
        match self {
            Self::Own(slots) => slots[slot].begin(context, slot, times),
            Self::Shared(shared) => shared.begin(context, slot, times),
        }
    }

    /// When the slot's last operation ended.
    pub(crate) fn ended(&self, slot: usize) -> Option<u64> {
        match self {
            Self::Own(slots) => slots[slot].ended(),
            Self::Shared(shared) => shared.ended(slot),
        }
    }

    /// Opens a connection ahead of its first operation.
    pub(crate) fn open_ahead(&mut self, context: &mut Context<'_>, slot: usize) -> After {
        match self {
            Self::Own(slots) => slots[slot].open_ahead(context, slot),
            Self::Shared(shared) => shared.open_ahead(context, slot),
        }
    }

    /// Closes the slot's connection if it is kept for the next operation.
    pub(crate) fn close_kept(&mut self, context: &mut Context<'_>, slot: usize) {
        match self {
            Self::Own(slots) => slots[slot].close_kept(context),
            Self::Shared(shared) => shared.close_kept(context, slot),
        }
    }

    /// Continues after a socket became ready.
    pub(crate) fn ready(
        &mut self,
        context: &mut Context<'_>,
        ready: Ready,
        follow: &mut Follow,
    ) -> Option<(usize, After)> {
        match self {
            Self::Own(slots) => {
                let slot = ready.slot;
                Some((slot, slots[slot].ready(context, ready)))
            }
            Self::Shared(shared) => {
                shared.ready(context, ready.slot, follow);
                None
            }
        }
    }

    /// Sends what operations that share connections ask for; whether something follows.
    pub(crate) fn send(&mut self, context: &mut Context<'_>, follow: &mut Follow) -> bool {
        if let Self::Shared(shared) = self {
            shared.send(context, follow);
        }
        !follow.is_empty()
    }

    /// Checks the time limits.
    pub(crate) fn check_time(
        &mut self,
        context: &mut Context<'_>,
        slot: usize,
        follow: &mut Follow,
    ) -> Option<After> {
        match self {
            Self::Own(slots) => Some(slots[slot].check_time(context, slot)),
            Self::Shared(shared) => {
                shared.check_time(context, slot, follow);
                None
            }
        }
    }

    /// The window begins or ends. Connections that are shared are read as soon as something comes.
    pub(crate) fn cross(&mut self, edge: Edge) {
        if let Self::Own(slots) = self {
            slots.iter_mut().for_each(|slot| slot.crosses(edge));
        }
    }

    /// The window is over: how many connections still have bytes to prove.
    pub(crate) fn wind_up(&mut self, context: &mut Context<'_>) -> usize {
        match self {
            Self::Own(slots) => {
                let slots = slots.iter_mut().enumerate();
                slots.map(|(slot, own)| usize::from(own.wind_up(context, slot))).sum()
            }
            Self::Shared(shared) => {
                shared.wind_up(context);
                0
            }
        }
    }

    /// Closes all at once.
    pub(crate) fn close(&mut self, context: &mut Context<'_>) {
        if let Self::Own(slots) = self {
            slots.iter_mut().for_each(|slot| slot.close(context));
        }
    }
}

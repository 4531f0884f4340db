//! A closed loop: a slot starts again when its user has thought about the last answer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::part::Due;

#[derive(Debug)]
pub(crate) struct Closed {
    /// In ns; 0 is none.
    think: u64,
    /// When each slot starts again.
    thinking: BinaryHeap<Reverse<(u64, usize)>>,
    /// Which slots have been free before.
    has_joined: Vec<bool>,
}

impl Closed {
    pub(super) fn new(think: u64, slots: usize) -> Self {
        Self { think, thinking: BinaryHeap::new(), has_joined: vec![false; slots] }
    }

    pub(super) fn freed(&mut self, slot: usize, now: u64) -> Option<u64> {
        if self.think == 0 {
            return Some(now);
        }
        let think = match std::mem::replace(&mut self.has_joined[slot], true) {
            true => self.think,
            // Users that began together would stay in step.
            false => {
                let share = u128::from(self.think) * slot as u128 / self.has_joined.len() as u128;
                share as u64
            }
        };
        self.thinking.push(Reverse((now.saturating_add(think), slot)));
        None
    }

    pub(super) fn next(&mut self, now: u64) -> Option<Due> {
        let Reverse((at, slot)) = *self.thinking.peek()?;
        if at > now {
            return None;
        }
        self.thinking.pop();
        Some(Due { slot, intended: now, at })
    }

    pub(super) fn wake_at(&self) -> Option<u64> {
        self.thinking.peek().map(|Reverse((at, _))| *at)
    }
}

//! Ranks that are killed, stopped or cut off, and what becomes of their trials.

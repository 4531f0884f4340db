//! Ranks that cannot load: one line, exit 2, nothing started.

use units::thousands;

/// Sessions that the client offered and that led to full handshakes.
#[derive(Debug, Clone, Copy, derive_more::Display)]
#[display("refused {} of {} sessions that the client offered", thousands(*count), thousands(*offered))]
pub(crate) struct RefusedSessions {
    count: u64,
    offered: u64,
}

impl RefusedSessions {
    /// `None` where none was refused.
    pub(crate) fn of(offered: u64, resumed: u64) -> Option<Self> {
        let count = offered.saturating_sub(resumed);
        (count > 0).then_some(Self { count, offered })
    }

    /// Of those that were offered.
    pub(crate) fn share(self) -> f64 {
        self.count as f64 / self.offered as f64
    }
}

//! The ranks of a study, from toll's side: started once, and again after one was lost.

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use load::{Job, Load, Outcome, Progress, Rank};
use peers::Offer;
use rustix::process::geteuid;
use targets::Silence;
use trial::{Operations, RankFigures, RankReport, rank_name};
use units::Nanos;

use crate::mpirun::{Hosts, arguments};
use crate::open_mpi::OpenMpi;
use crate::session::{Ended, INTERRUPTED, Session};
use crate::share::Share;
use crate::watch::{Seen, State, Watch};
use crate::words::{Order, RankCommand};

/// How often late ranks and interrupts are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The ranks of a study.
pub struct Cluster<'a> {
    hosts: Hosts,
    open_mpi: OpenMpi,
    ranks: Vec<Rank>,
    shared: Rc<RefCell<Shared<'a>>>,
    /// Ends waiting early.
    interrupt: &'a AtomicBool,
}

/// What a cluster and its load use in turn.
#[derive(Default)]
struct Shared<'a> {
    session: Option<Session<'a>>,
    /// Of the last load.
    figures: Vec<RankFigures>,
    lost: Vec<(usize, String)>,
    mpi: Option<String>,
    /// When all ranks of a session that lost one have ended: those that are cut off keep loading until they
    /// find out.
    all_ended: Option<Instant>,
    /// Whether they did not come back for the last load.
    is_lost: bool,
}

impl<'a> Cluster<'a> {
    /// The command that starts the ranks, for a person to read.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub fn command(hosts: &Hosts, ranks: &[Rank]) -> Result<String, String> {
        let words = arguments(&OpenMpi::find()?, hosts, ranks, geteuid().is_root());
        let quoted = |word: &String| match word.contains(' ') {
            true => format!("\"{word}\""),
            false => word.clone(),
        };
        let words: Vec<String> = words.iter().map(quoted).collect();
        Ok(format!("mpirun {}", words.join(" ")))
    }

    /// Starts the ranks; returns when each can load from its place.
    ///
    /// # Errors
    /// In one line, why a rank is missing or cannot load from its place; or it was interrupted.
    pub fn start(
        hosts: Hosts,
        ranks: Vec<Rank>,
        interrupt: &'a AtomicBool,
    ) -> Result<Self, String> {
        let open_mpi = hosts.check()?;
        let session = Some(Session::start(&open_mpi, &hosts, &ranks, interrupt)?);
        let shared = Rc::new(RefCell::new(Shared { session, ..Shared::default() }));
        Ok(Self { hosts, open_mpi, ranks, shared, interrupt })
    }

    /// Which of a server's addresses, of which there is at least one, each of the first ranks loads.
    ///
    /// # Errors
    /// Which rank can load none of them, and what to write.
    pub fn loads(&self, count: usize, server: &[IpAddr]) -> Result<Vec<IpAddr>, String> {
        let of_rank = |(number, rank): (usize, &Rank)| {
            rank.loads(server).map_err(|why| format!("{}: {why}", rank_name(number, &rank.host)))
        };
        (1..).zip(self.ranks.iter().take(count)).map(of_rank).collect()
    }

    /// Lets each of the first ranks check, from its source, that the address that it will load answers
    /// this number, at all ports. The addresses from which they looked.
    ///
    /// # Errors
    /// Which rank found another machine there, or none; or the ranks do not come back.
    pub fn prove(
        &self,
        count: usize,
        addresses: &[SocketAddr],
        nonce: &str,
    ) -> Result<Vec<IpAddr>, String> {
        let mut server: Vec<IpAddr> = Vec::new();
        for address in addresses.iter().map(SocketAddr::ip) {
            if !server.contains(&address) {
                server.push(address);
            }
        }
        self.loads(count, &server)?;
        let session = self.session()?;
        let of_rank = |rank: &Rank| {
            let of_rank = rank.loads(&server);
            let loaded = addresses.iter().filter(|address| of_rank == Ok(address.ip()));
            Order::Prove {
                addresses: loaded.copied().collect(),
                source: rank.source.clone(),
                nonce: nonce.to_owned(),
            }
        };
        let proven = session.ask(&self.ranks[..count], of_rank, "did not answer");
        self.shared.borrow_mut().session = Some(session);
        proven.map_err(|unanswered| unanswered.why)
    }

    /// The ranks, which are started again after one was lost.
    pub(crate) fn session(&self) -> Result<Session<'a>, String> {
        let mut shared = self.shared.borrow_mut();
        if let Some(session) = shared.session.take().filter(Session::is_there) {
            return Ok(session);
        }
        while shared.all_ended.is_some_and(|at| Instant::now() < at) {
            if self.interrupt.load(Relaxed) {
                return Err(INTERRUPTED.to_owned());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Session::start(&self.open_mpi, &self.hosts, &self.ranks, self.interrupt)
    }

    /// Begins a load, which the plan's first ranks share; returns when all have begun, or one was lost.
    ///
    /// # Errors
    /// The load cannot be shared, a rank cannot make its share, or the ranks do not come back; or it was
    /// interrupted.
    pub fn load(&self, job: &Job, offer: Offer) -> Result<ClusterLoad<'a>, String> {
        self.shared.borrow_mut().is_lost = false;
        let count = job.plan.ranks.map_or(self.ranks.len(), |ranks| ranks.get() as usize);
        let ranks = &self.ranks[..count.min(self.ranks.len())];
        let shares = Share::of(job, ranks, offer)?;
        let session = self.session();
        self.shared.borrow_mut().is_lost = session.is_err();
        let session = session?;
        let plan = &job.plan;
        let length = Duration::from(plan.ramp) * 2 + plan.warmup().into() + plan.duration.into();
        let load = ClusterLoad {
            watch: RefCell::new(Watch::new(&self.ranks, ranks.len(), Instant::now(), length)),
            session,
            window: Cell::new((Instant::now(), Instant::now())),
            is_interrupted: Cell::new(false),
            shares,
            shared: self.shared.clone(),
            silence: self.hosts.silence,
            interrupt: self.interrupt,
        };
        load.begin(job, self.ranks.len())?;
        Ok(load)
    }

    /// Whether the last load could not begin because the ranks did not come back, which says nothing about
    /// the load.
    pub fn is_lost(&self) -> bool {
        self.shared.borrow().is_lost
    }

    /// What each rank did in the last load, which is then forgotten.
    pub fn report(&self) -> RankReport {
        let mut shared = self.shared.borrow_mut();
        RankReport {
            figures: std::mem::take(&mut shared.figures),
            lost: std::mem::take(&mut shared.lost),
            mpi: shared.mpi.take(),
        }
    }
}

/// A load that ranks make.
pub struct ClusterLoad<'a> {
    watch: RefCell<Watch>,
    session: Session<'a>,
    window: Cell<(Instant, Instant)>,
    is_interrupted: Cell<bool>,
    shares: Vec<Share>,
    shared: Rc<RefCell<Shared<'a>>>,
    silence: Silence,
    interrupt: &'a AtomicBool,
}

impl ClusterLoad<'_> {
    fn begin(&self, job: &Job, all: usize) -> Result<(), String> {
        let shares = self.shares.iter().cloned().map(|share| Some(Box::new(share)));
        // The others take part in the barrier.
        for (rank, share) in (1..=all).zip(shares.chain(std::iter::repeat(None))) {
            self.session.send(RankCommand::To(rank, Order::Prepare(share)));
        }
        self.hear_unless_interrupted(Watch::are_all_ready)?;
        if let Some(why) = &self.watch.borrow().refused {
            return Err(why.clone());
        }
        if !self.is_lost() {
            self.session.send(RankCommand::All(Order::Wake));
            self.hear_unless_interrupted(Watch::are_all_awake)?;
        }
        if !self.is_lost() {
            self.watch.borrow_mut().go(Instant::now());
            self.session.send(RankCommand::Go);
            self.hear_unless_interrupted(Watch::have_all_begun)?;
        }
        if let Some(began) = self.watch.borrow().began() {
            let start = began + job.plan.ramp.into() + job.plan.warmup().into();
            self.window.set((start, start + job.plan.duration.into()));
        }
        Ok(())
    }

    /// Listens until that is so, or a rank is lost.
    ///
    /// # Errors
    /// It was interrupted.
    fn hear_unless_interrupted(&self, is_so: fn(&Watch) -> bool) -> Result<(), String> {
        let is_interrupted = || self.interrupt.load(Relaxed);
        self.hear_until(|watch| is_so(watch) || is_interrupted());
        if is_interrupted() { Err(INTERRUPTED.to_owned()) } else { Ok(()) }
    }

    /// Listens until that is so, or a rank is lost.
    fn hear_until(&self, is_so: impl Fn(&Watch) -> bool) {
        while !is_so(&self.watch.borrow()) && !self.is_lost() {
            self.hear(POLL_INTERVAL);
        }
    }

    /// Notes what is said, the next thing within this time and what else has come.
    fn hear(&self, mut limit: Duration) {
        let watch = &mut *self.watch.borrow_mut();
        loop {
            match self.session.receive(limit) {
                Ok(Some((at, rank, report))) => watch.hear(at, rank, report),
                Ok(None) => break,
                Err(Ended { at, rank, why }) => {
                    watch.end(at, rank, &why);
                    return;
                }
            }
            limit = Duration::ZERO;
        }
        watch.look(Instant::now());
    }

    fn is_lost(&self) -> bool {
        !self.watch.borrow().lost().is_empty()
    }
}

impl Load for ClusterLoad<'_> {
    fn window(&self) -> (Instant, Instant) {
        self.window.get()
    }

    /// None: they run elsewhere, and are accounted for there.
    fn thread_ids(&self) -> Vec<i32> {
        Vec::new()
    }

    fn progress(&self) -> Progress {
        self.hear(Duration::ZERO);
        self.watch.borrow().progress()
    }

    fn is_finished(&self) -> bool {
        let watch = self.watch.borrow();
        watch.are_all_done() || !watch.lost().is_empty()
    }

    /// Asks the ranks to end, unless their time is over and they end by themselves.
    fn stop(&self) {
        if Instant::now() < self.window.get().1 && !self.is_interrupted.replace(true) {
            self.session.send(RankCommand::All(Order::Stop));
        }
    }

    fn join(self) -> Outcome {
        self.hear_until(Watch::are_all_done);
        let Self { watch, session, shares, shared, silence, is_interrupted, .. } = self;
        let watch = watch.into_inner();
        let mut shared = shared.borrow_mut();
        shared.lost = watch.lost();
        shared.mpi = session.mpi();
        match shared.lost.is_empty() {
            true => shared.session = Some(session),
            false => {
                session.kill();
                shared.all_ended = Some(Instant::now() + silence.limit());
            }
        }
        let mut parts = Vec::new();
        let mut figures = Vec::new();
        for (seen, share) in watch.into_ranks().zip(&shares) {
            figures.extend(of_rank(&seen, share));
            let name = seen.name();
            if let State::Done(done) = seen.state {
                let mut part = done.outcome;
                for why in &mut part.lost {
                    *why = format!("{name}: {why}");
                }
                parts.push(part);
            }
        }
        let mut outcome = merged(parts);
        outcome.interrupted = is_interrupted.get() && shared.lost.is_empty();
        shared.figures = figures;
        outcome
    }
}

/// What all ranks did. The windows of toll's own are as long as was asked for; those of other programs,
/// which end by their own clocks, differ. So that the rate is the sum of theirs, the window is the mean of
/// all, weighted by what each completed in a second: sum(n) / sum(n / window).
fn merged(parts: Vec<Outcome>) -> Outcome {
    let completed: u64 = parts.iter().map(|part| part.completed).sum();
    let rate = |part: &Outcome| part.completed as f64 / part.window.0.max(1) as f64;
    let rates: f64 = parts.iter().map(rate).sum();
    let mut all = Outcome::default();
    parts.into_iter().for_each(|part| all.merge(part));
    if completed > 0 {
        all.window = Nanos((completed as f64 / rates).round() as u64);
    }
    all
}

/// What a rank did, if it has reported it.
fn of_rank(seen: &Seen, share: &Share) -> Option<RankFigures> {
    let State::Done(done) = &seen.state else { return None };
    let outcome = &done.outcome;
    Some(RankFigures {
        rank: seen.rank,
        host: seen.place.host.clone(),
        cpus: share.job.plan.cpus.clone(),
        source: seen.place.source.clone(),
        to: share.job.address.ip(),
        connections: share.job.plan.connections,
        completed: outcome.completed,
        errors: Operations::from(&outcome.failures).errors,
        body: outcome.bytes.body,
        window_ns: outcome.window.0,
        begun_within_ns: seen.begun_within().0,
        silence_ns: seen.silence().0,
        client: done.client.clone(),
    })
}

#[cfg(test)]
mod tests {
    use load::Plan;

    use super::*;

    impl ClusterLoad<'_> {
        /// toll's start signal, and for each rank how long after it the report of its begin came, and when that
        /// was by its own clock.
        pub(crate) fn beginnings(&self) -> (Instant, Vec<(Duration, u64)>) {
            let watch = self.watch.borrow();
            let of = |seen: &Seen| (seen.begun_within.unwrap(), seen.clock_ns);
            (watch.went.unwrap(), watch.seen.iter().map(of).collect())
        }
    }

    fn nowhere() -> Hosts {
        Hosts {
            program: "/nowhere".into(),
            control: None,
            shell: Default::default(),
            silence: Silence::default(),
        }
    }

    /// Ranks of which nothing is heard, where toll was interrupted.
    fn silent(interrupt: &AtomicBool, shared: impl FnOnce(&mut Shared<'_>)) -> Cluster<'_> {
        let hosts = nowhere();
        let ranks = vec![Rank { host: "lg1".into(), cpus: 0.into(), source: None, to: None }];
        let mut of_all = Shared::default();
        shared(&mut of_all);
        let open_mpi = OpenMpi::stand_in("4.1.4");
        Cluster { hosts, open_mpi, ranks, shared: Rc::new(RefCell::new(of_all)), interrupt }
    }

    #[test]
    fn an_interrupt_ends_each_wait_of_a_load_that_has_not_begun() {
        let interrupt = &AtomicBool::new(true);
        let url = "https://127.0.0.1/".parse().unwrap();
        let job = Job::new(Plan::default(), url, ([127, 0, 0, 1], 443).into());
        let why = |cluster: &Cluster<'_>| cluster.load(&job, Offer::Anything).err().unwrap();
        // The ranks that are cut off have not ended yet.
        let hour = Duration::from_secs(3600);
        let cluster = silent(interrupt, |shared| shared.all_ended = Some(Instant::now() + hour));
        assert_eq!((why(&cluster).as_str(), cluster.is_lost()), (INTERRUPTED, true));
        // A rank does not say that it is ready.
        let words = ["-c", "cat > /dev/null"].map(str::to_owned).into();
        let session =
            Session::spawn("/bin/sh".into(), words, Silence::default(), interrupt).unwrap();
        let cluster = silent(interrupt, |_| {});
        cluster.shared.borrow_mut().session = Some(session);
        assert_eq!((why(&cluster).as_str(), cluster.is_lost()), (INTERRUPTED, false));
    }

    #[test]
    fn the_rate_of_all_ranks_is_the_sum_of_theirs_where_their_windows_differ() {
        let of = |completed, millis: u64| Outcome {
            completed,
            window: Nanos(millis * 1_000_000),
            ..Outcome::default()
        };
        let rate = |outcome: &Outcome| outcome.completed as f64 / outcome.window.seconds();
        // As two wrk that were asked for a second: 1,000 and 2,000 per second.
        let all = merged(vec![of(1_000, 1_000), of(2_200, 1_100)]);
        assert_eq!(all.completed, 3_200);
        assert!((rate(&all) - 3_000.0).abs() < 0.001, "{}", rate(&all));
        // One that completed nothing has no weight; equal windows stay what they are.
        assert_eq!(merged(vec![of(7, 1_000), of(0, 1_100)]).window, of(0, 1_000).window);
        assert_eq!(merged(vec![of(7, 333), of(5, 333), of(3, 333)]).window, of(0, 333).window);
        assert_eq!(merged(vec![of(0, 1_000), of(0, 1_100)]).window, of(0, 1_100).window);
    }

    #[test]
    fn a_rank_that_would_load_what_is_not_proven_is_named_before_it_is_asked() {
        let rank = |host: &str, to: &str| Rank {
            host: host.to_owned(),
            cpus: "0".parse().unwrap(),
            source: None,
            to: to.parse().ok(),
        };
        let hosts = nowhere();
        let ranks = vec![rank("lg1", ""), rank("lg2", "10.1.1.9")];
        let interrupt = &AtomicBool::new(false);
        let open_mpi = OpenMpi::stand_in("4.1.4");
        let cluster = Cluster { hosts, open_mpi, ranks, shared: Rc::default(), interrupt };
        let addresses = ["10.1.1.1:443", "10.1.1.1:80"].map(|address| address.parse().unwrap());
        assert!(cluster.prove(2, &addresses, "1").unwrap_err().starts_with("rank 2 on lg2: "));
        // One that does not load it may load another server.
        assert_eq!(cluster.loads(1, &[addresses[0].ip()]), Ok(vec![addresses[0].ip()]));
    }
}

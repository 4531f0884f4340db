# toll: the two commands of the README, and those of its builders.

.PHONY: quick test proofs elsewhere system-elsewhere tests-need proofs-need tests-built build hosts install deb dist petstore openssl stacks systems crypto-mb layout lint \
	bench-client bench-client-instructions bench-ktls reproductions fuzz miri

# What is built, installed and packed: release, or PROFILE=dev for what the tests have built, without
# optimization.
PROFILE = release
PREFIX = /usr/local
ifeq ($(PROFILE),dev)
BUILT = target/debug
# The OpenSSL provider for servers that are not toll's.
PROVIDER = $(BUILT)/deps/libtoll_offload.so
COMPILE = cargo test --locked --no-run
else
BUILT = target/$(PROFILE)
PROVIDER = $(BUILT)/libtoll_offload.so
COMPILE = cargo build --profile $(PROFILE) --locked --package toll --package offload-provider
endif
PROGRAM = $(BUILT)/toll
# Much of the tests' time is waiting for a window to end, so more run at once than there are CPUs.
TESTS_AT_ONCE = $$(($$(nproc) * 2))
PROOFS_AT_ONCE = $$(($$(nproc) * 3 / 2))
NEXTEST = PATH="$(CURDIR)/target/nextest/bin:$$PATH" cargo nextest run --locked

# Builds toll, measures the embedded server and, where installed, nginx; prints the answers.
quick: build
	./$(PROGRAM) run quick

# Units, the load engine, the embedded server and nginx, refusals, a study from file to report. Packages are
# installed while the tests compile.
test:
	./scripts/needs build
	$(MAKE) --no-print-directory --jobs=2 tests-need tests-built
	$(NEXTEST) --test-threads $(TESTS_AT_ONCE)
	@echo "make proofs adds the other servers and clients, hosts and ranks, kernel TLS, accelerators, instruction \
	counts, profiles, a browser, and each verdict made false from outside"

# All other tests.
proofs:
	./scripts/needs build
	$(MAKE) --no-print-directory --jobs=2 proofs-need tests-built
	$(NEXTEST) --workspace --profile proofs --test-threads $(PROOFS_AT_ONCE)

# The tests that start servers and clients, once more with those of another release. They are compiled here, since a
# system has no compiler; what a system lacks is skipped as it is here.
ELSEWHERE = debian-13
elsewhere: system-elsewhere
	./scripts/elsewhere $(ELSEWHERE)

system-elsewhere:
	PACKAGES="$$(./scripts/elsewhere --packages)" ./scripts/system $(ELSEWHERE)

tests-need:
	./scripts/needs test

proofs-need:
	./scripts/needs proofs
	$(MAKE) --no-print-directory petstore

tests-built:
	cargo test --locked --no-run

build:
	./scripts/needs build
	$(COMPILE)

# Builds toll and toll-rank, for loads that many hosts make together. It alone needs Open MPI.
hosts:
	./scripts/needs build hosts
	$(COMPILE) --package toll-rank

# Installs the program, toll-rank where it was built, its OpenSSL provider, its completions (bash, zsh, fish)
# and its man pages under PREFIX, within DESTDIR where that is given. What is built is taken as it is:
# make build && sudo make install
install:
	test -x $(PROGRAM) -a -f $(PROVIDER) || $(MAKE) build
	./scripts/install $(PROGRAM) $(PROVIDER) "$(DESTDIR)$(PREFIX)"

# Makes a Debian package, target/debian/toll_*.deb, and tries it: it is installed into a folder that is
# thrown away, and run from there.
deb: build
	./scripts/needs deb
	./scripts/deb $(PROGRAM) $(PROVIDER) target/debian
	./scripts/try-deb target/debian/toll_*.deb

# Makes a tarball, target/dist/toll-*.tar.gz, and tries it: it is unpacked into a folder that is thrown away, and
# run from there.
dist: build
	./scripts/dist $(PROGRAM) $(PROVIDER) target/dist
	./scripts/try-dist target/dist/toll-*.tar.gz

# Builds the web application that server = "tomcat" runs, where its sources are newer than it.
petstore: target/petstore/petstore.jar

target/petstore/petstore.jar: apps/petstore/pom.xml $(shell find apps/petstore/src -type f)
	./scripts/needs petstore
	mvn --batch-mode --quiet --file apps/petstore package
	touch $@

# Builds a newer OpenSSL, for library = "openssl-built". The source is that of the crate openssl-src.
openssl: target/openssl/lib/libssl.so.3

target/openssl/lib/libssl.so.3: scripts/openssl
	./scripts/needs build
	./scripts/openssl "$(CURDIR)/target/openssl"

# Builds AWS-LC, BoringSSL, s2n-tls and wolfSSL, for target.library of the same names, in some minutes; says of each that
# does not build here why.
stacks:
	./scripts/needs stacks
	./scripts/stacks target/stacks

# Unpacks other releases of Debian and Ubuntu with their servers, for target.system; half a minute and some 200 MB each.
SYSTEMS = debian-12 debian-13 debian-testing
systems:
	./scripts/system $(SYSTEMS)

# Installs Intel's crypto_mb and the runtime that it is linked with, from PyPI, for toll bench --library crypto-mb.
# It computes eight operations with private keys at once, on CPUs with AVX-512 IFMA.
crypto-mb:
	./scripts/needs crypto-mb

# No crate depends on a floor above its own, and no files import each other in a circle but the kernels of multibuffer,
# which share what feeds them.
CIRCLES = algorithms/multibuffer
layout:
	./scripts/floors
	./scripts/circles $(filter-out $(CIRCLES:%=crates/%/src),$(wildcard crates/*/*/src))

# Where Open MPI is not installed, toll-rank is left out.
lint: layout
	cargo fmt --all -- --check
	cargo clippy $$(! command -v mpicc >/dev/null || echo --workspace) --all-targets --locked -- -D warnings

# Compares toll's client with wrk, ab, h2load and openssl s_time on the same nginx, for about a
# third of an hour, and exits with 1 where a goal of studies/clients.toml is not met; make bench-client
# ROUNDS=2 SECONDS=1 for a first look, which meets no goal.
bench-client: build
	./scripts/needs clients
	sed 's/^duration = .*/duration = "$(or $(SECONDS),3)s"/' studies/clients.toml > target/clients.toml
	./target/release/toll run target/clients.toml --trials $(or $(ROUNDS),6) \
		--gate 'connections-0001:server-busy>=95%' --gate 'connections-0004:server-busy>=95%'

# Counts the instructions of toll's client for a handshake, a GET on a new connection and 64 KiB on a kept one,
# over TLS 1.3 and over plain HTTP, in a minute or two, and exits with 1 where one takes too many.
bench-client-instructions: build
	./scripts/needs counts
	./scripts/bench-client-instructions

# Counts the instructions that nginx and the embedded server take for a response, a byte and a record with
# user TLS and kernel TLS, in a virtual machine whose kernel has TLS; some minutes.
bench-ktls: build
	./scripts/needs vm
	./scripts/bench-ktls

# Writes docs/reproductions.md from the summaries in docs/reproductions/.
reproductions:
	INSTA_UPDATE=always cargo test --locked --package toll --example reproductions

# Fuzzes what reads a peer's bytes, each target for a minute; make fuzz SECONDS=600 for longer. Needs
# nightly Rust and cargo-fuzz. make test runs the same on seeds and mutations of them.
fuzz:
	./scripts/fuzz $(or $(SECONDS),60)

# Looks for undefined behaviour in the portable path of the multi-buffer hashes and in what feeds all of
# them. Needs nightly Rust with the component miri.
miri:
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --package multibuffer --lib

# toll: the two commands of the README, and those of its builders.

.PHONY: quick test build lint bench-client

# Builds toll, measures the embedded server and, where installed, nginx; prints the answers.
quick: build
	./target/release/toll run quick

# Installs what the tests need and runs them all.
test:
	./scripts/needs build
	./scripts/needs test
	cargo test --workspace --locked

build:
	./scripts/needs build
	cargo build --release --locked --package toll

lint:
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

# Compares toll's client with wrk, ab, h2load and openssl s_time on the same nginx, for about six
# minutes; make bench-client ROUNDS=1 for a first look.
bench-client:
	./scripts/needs build
	./scripts/needs test
	cargo run --release --locked --package peers --example bench_client -- $(or $(ROUNDS),5) $(or $(SECONDS),1)

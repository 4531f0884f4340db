# toll: the two commands of the README.

.PHONY: quick test build lint

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

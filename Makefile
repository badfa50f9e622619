# The commands. Each is thin: it calls cargo, and sets up what is missing where it may.

.PHONY: survey test bench docs bless setup clean

# Debian's packages that a target uses: what makes the file systems, and the peers: fio, blkparse, perf.
SURVEY_PACKAGES := e2fsprogs xfsprogs btrfs-progs util-linux
TEST_PACKAGES := $(SURVEY_PACKAGES) fdisk
BENCH_PACKAGES := $(SURVEY_PACKAGES) fio blktrace linux-perf

survey: ## build everything, measure this machine, say where the results are
	@./setup $(SURVEY_PACKAGES)
	cargo build --release --locked
	target/release/lbolt survey

test: ## install what tests need and run all of them
	@./setup $(TEST_PACKAGES)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked

bench: ## hold lbolt against fio, tracers and blkparse, side by side in one run
	@./setup $(BENCH_PACKAGES)
	cargo build --release --locked
	cargo run --release --locked -p xtask -- bench

docs: ## man page, completions and docs/cli.md
	cargo run --locked -p xtask -- docs

bless: ## rewrite the golden files and the generated documents
	LBOLT_BLESS=1 cargo test --locked -p report
	cargo run --locked -p xtask -- bless

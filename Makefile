# The commands. Each is thin: it calls cargo, and sets up what is missing where it may.

.PHONY: survey test check metrics peers bench planted lab fuzz gallery docs dist bless install uninstall setup clean

# Debian's packages that a target uses: what makes the file systems, and the peers: fio, blkparse, perf.
SURVEY_PACKAGES := e2fsprogs xfsprogs btrfs-progs util-linux
TEST_PACKAGES := $(SURVEY_PACKAGES) fdisk chromium
FUZZ_PACKAGES := g++ util-linux
BENCH_PACKAGES := $(SURVEY_PACKAGES) fio blktrace linux-perf postgresql \
	bpftrace libbpf-tools
PLANTED_PACKAGES := $(SURVEY_PACKAGES) fio postgresql mariadb-server redis-server python3

# Where cargo puts what it builds.
BUILT := $(or $(CARGO_TARGET_DIR),target)

# Clippy compiles what is tested: as a command of its own it would compile everything twice.
LINTED = RUSTC_WORKSPACE_WRAPPER="$$(rustup which clippy-driver 2>/dev/null || echo clippy-driver)" \
	CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__

survey: ## build everything, measure this machine, say where the results are
	@./setup $(SURVEY_PACKAGES)
	cargo build --release --locked
	$(BUILT)/release/lbolt survey

# In what the SQL is run, and what writes our files anew: modules for Python, in a place of their own beside what is built.
MODULES := duckdb==2.0.0 pyarrow==26.0.1
PYTHON := $(BUILT)/python
define SET_UP_MODULES
@python3 -c 'import duckdb, pyarrow' 2>/dev/null || $(PYTHON)/bin/python3 -c 'import duckdb, pyarrow' 2>/dev/null || \
	{ ./setup python3-venv && python3 -m venv $(PYTHON) && \
	$(PYTHON)/bin/python3 -m pip install -q --retries 1 --timeout 15 $(MODULES); } >/dev/null || \
	echo "setup: not installed: $(MODULES) (needs python3 and a way to its packages); the SQL and files that others wrote anew are not tested" >&2
endef

test: ## install what tests need and run all of them
	@./setup $(TEST_PACKAGES)
	@command -v npm >/dev/null 2>&1 || ./setup nodejs npm
	$(SET_UP_MODULES)
	cargo fmt --all --check
	$(LINTED) cargo test --workspace --locked

check: ## format, lints and the tests that need no root and no kernel: the loop of a change
	cargo fmt --all --check
	$(LINTED) cargo test --workspace --locked --lib --bins -- --skip root_

# Not of `make test`: where systemd runs, Debian's package starts a server that all networks reach.
METRICS_PACKAGES := prometheus systemd

metrics: ## hold the metrics and the dashboard against a real Prometheus, and the unit against systemd
	@./setup $(METRICS_PACKAGES)
	cargo test --locked -p metrics

# A peer that Debian has no package of, in a place of its own. What is compared are its BPF programs, so it is built
# without LTO, which saves minutes. `make bench` does not wait for that: it names the peer where it is missing.
PEERS_PACKAGES := clang libelf-dev zlib1g-dev pkg-config
PEERS := $(BUILT)/peers

peers: ## build Rezolus, a peer of `make bench`: 7 minutes, once
	@[ -x '$(PEERS)/bin/rezolus' ] || { ./setup $(PEERS_PACKAGES) && \
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
	cargo install rezolus --version 5.4.0 --locked --root '$(PEERS)'; }

bench: ## hold lbolt against fio, tracers and blkparse, side by side in one run
	@./setup $(BENCH_PACKAGES)
	$(SET_UP_MODULES)
	cargo build --release --locked
	cargo run --release --locked -p xtask -- bench --lbolt $(BUILT)/release/lbolt

# The cases, where not all: --open, --held-out, or their names.
PLANTED_OPTIONS ?=

planted: ## whether the verdict names planted causes, and nobody in calm loads: real programs, 35 minutes
	@./setup $(PLANTED_PACKAGES)
	cargo build --release --locked
	cargo run --release --locked -p xtask -- planted --lbolt $(BUILT)/release/lbolt $(PLANTED_OPTIONS)

# LAB=short: what every submission must pass. LAB_DIR: where kernels and roots are kept; LAB_OPTIONS: others of
# `cargo xtask lab --help`. The short lab tries the debug build, as clippy compiles it: `make test` finds all of it made.
LAB ?=
LAB_OPTIONS ?=
LAB_PACKAGES := qemu-system-x86 busybox-static kmod fio e2fsprogs

lab: ## lbolt on five of Debian's kernels and their storage stacks, in QEMU: two hours on two cores; LAB=short: 3 minutes once built
ifeq ($(LAB),short)
	@./setup $(LAB_PACKAGES)
	$(LINTED) cargo build --workspace --bins --tests --locked
	$(BUILT)/debug/xtask lab --short --lbolt $(BUILT)/debug/lbolt $(LAB_OPTIONS)
else
	@./setup $(LAB_PACKAGES) debootstrap
	cargo build --release --locked
	cargo run --release --locked -p xtask -- lab --lbolt $(BUILT)/release/lbolt $(LAB_OPTIONS)
endif

# How long each format is fuzzed; FUZZ_OPTIONS are others of `cargo xtask fuzz --help`.
FUZZ_SECONDS_BINARY ?= 600
FUZZ_SECONDS_TEXT ?= 60
FUZZ_OPTIONS ?=

fuzz: ## arbitrary bytes against every importer, with nightly Rust and cargo-fuzz
	@./setup $(FUZZ_PACKAGES)
	@rustup run nightly rustc --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal
	@cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --version 0.13.2 --locked
	cargo run --locked -p xtask -- fuzz --binary-seconds $(FUZZ_SECONDS_BINARY) --text-seconds $(FUZZ_SECONDS_TEXT) $(FUZZ_OPTIONS)

GALLERY_PACKAGES := $(SURVEY_PACKAGES) chromium nodejs

gallery: ## pages of this machine and of the papers' models, and their pictures in docs/gallery: 3 minutes
	@./setup $(GALLERY_PACKAGES)
	cargo build --release --locked
	cargo run --release --locked -p xtask -- gallery --lbolt $(BUILT)/release/lbolt

docs: ## man page, completions and docs/cli.md
	cargo run --locked -p xtask -- docs

# For `make dist`: what makes and proves packages; zig, the C compiler and linker of static programs, in a place of its own.
DIST_PACKAGES := dpkg lintian debootstrap debian-archive-keyring qemu-user-static man-db python3-venv
ZIG_MODULES := cargo-zigbuild==0.24.0 ziglang==0.15.2
ZIG := $(BUILT)/zig
# Processors; all if none is named.
DIST_TARGETS ?=

dist: ## static programs for x86-64 and aarch64, tarballs and Debian packages in target/dist, installed and run in a bare root
	@./setup $(DIST_PACKAGES)
	@[ -x '$(ZIG)/bin/cargo-zigbuild' ] || { python3 -m venv '$(ZIG)' && \
	'$(ZIG)/bin/python3' -m pip install -q --retries 1 --timeout 15 $(ZIG_MODULES); }
	PATH="$(abspath $(ZIG))/bin:$$PATH" cargo run --locked -p xtask -- dist $(DIST_TARGETS)

# Where `make install` puts things; DESTDIR goes before all of them. BINARY is what was built.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
SYSTEMD_UNIT_DIR ?= $(PREFIX)/lib/systemd/system
SYSUSERS_DIR ?= $(PREFIX)/lib/sysusers.d
ZSH_DIR ?= $(DATADIR)/zsh/site-functions
BINARY ?= $(BUILT)/release/lbolt
GENERATED ?= target/generated

$(BUILT)/release/lbolt:
	cargo build --release --locked

# What `make docs` made is installed too, if it is there.
install: $(BINARY) ## install the program, the unit of the watch and, after `make docs`, pages and completions
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(SYSTEMD_UNIT_DIR)' '$(DESTDIR)$(DATADIR)/doc/lbolt'
	install -m 755 '$(BINARY)' '$(DESTDIR)$(BINDIR)/lbolt'
	sed 's|/usr/local/bin/|$(BINDIR)/|' packaging/lbolt-watch.service > '$(DESTDIR)$(SYSTEMD_UNIT_DIR)/lbolt-watch.service'
	chmod 644 '$(DESTDIR)$(SYSTEMD_UNIT_DIR)/lbolt-watch.service'
	install -D -m 644 packaging/lbolt.sysusers '$(DESTDIR)$(SYSUSERS_DIR)/lbolt.conf'
	install -m 644 packaging/file-names.conf docs/dashboard.json docs/metrics.md '$(DESTDIR)$(DATADIR)/doc/lbolt'
	@set -e; put() { [ ! -e "$$1" ] || install -D -m 644 "$$1" "$(DESTDIR)$$2"; }; \
	for page in '$(GENERATED)'/man/*.1; do put "$$page" "$(DATADIR)/man/man1/$${page##*/}"; done; \
	put '$(GENERATED)/completions/lbolt.bash' '$(DATADIR)/bash-completion/completions/lbolt'; \
	put '$(GENERATED)/completions/_lbolt' '$(ZSH_DIR)/_lbolt'; \
	put '$(GENERATED)/completions/lbolt.fish' '$(DATADIR)/fish/vendor_completions.d/lbolt.fish'

uninstall: ## remove what `make install` put there; what the watch has kept stays
	rm -f '$(DESTDIR)$(BINDIR)/lbolt' '$(DESTDIR)$(SYSTEMD_UNIT_DIR)/lbolt-watch.service'
	rm -f '$(DESTDIR)$(SYSUSERS_DIR)/lbolt.conf'
	rm -f '$(DESTDIR)$(DATADIR)'/man/man1/lbolt.1 '$(DESTDIR)$(DATADIR)'/man/man1/lbolt-*.1
	rm -f '$(DESTDIR)$(DATADIR)/bash-completion/completions/lbolt' \
		'$(DESTDIR)$(ZSH_DIR)/_lbolt' \
		'$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/lbolt.fish'
	rm -rf '$(DESTDIR)$(DATADIR)/doc/lbolt'

bless: ## rewrite the golden files and the generated documents
	LBOLT_BLESS=1 cargo test --locked -p report
	cargo run --locked -p xtask -- bless

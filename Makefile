# Farheap. `make help` lists what there is.

# What the build and the tests need of a Debian machine with rustup, besides what rustup brings.
PACKAGES := build-essential openjdk-17-jdk-headless procps
# What the workloads need that others wrote: the libraries that the manifest names, and Spark's jars.
APP_PACKAGES = $(shell sed -n 's/^packages = \[\(.*\)\]/\1/p' workloads/manifest.toml | tr -d '",')
SPARK := pyspark-3.5.3
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/farheap
RELEASE := target/release
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.DEFAULT_GOAL := help
.PHONY: help setup setup-apps build pool-java pool-c bench demo test unit loom quick check doc book dist deb check-deb check-packages image \
	conformance far-conformance graph \
	jdk-tests bench-interp \
	bench-pool-java bench-malloc bench-jit bench-hit bench-faults bench-micro bench-tracing bench-far-run check-javac \
	check-java-home fuzz-java check-workloads \
	torture pool-torture fuzz survive test-verbs fmt fmt-check lint clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# Installs the Debian packages $(1) that are missing.
define install
missing=; for package in $(1); do \
  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' \
    || missing="$$missing $$package"; \
done; \
if [ -n "$$missing" ]; then \
  echo "$@: installing$$missing"; \
  $(SUDO) apt-get update -q && $(SUDO) env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends $$missing; \
fi
endef

setup: ## Install what is missing: Debian packages, the Rust toolchain
	@$(call install,$(PACKAGES))
	@command -v rustup >/dev/null || command -v cargo >/dev/null || { \
	  echo "setup: no Rust found: install it from https://rustup.rs and run this again"; exit 1; }
	@cargo --version >/dev/null
	@echo "setup: everything is here"

# Spark comes as a Python package, of which only the jars are used: no Python is needed later on.
setup-apps: setup ## Install the programs of others that gc-bench can run (400 MB of downloads)
	@$(call install,$(APP_PACKAGES))
	@[ -d "$(CACHE)/$(SPARK)" ] || python3 -m pip --version >/dev/null 2>&1 || { \
	  $(SUDO) apt-get update -q && $(SUDO) apt-get install -y -q --no-install-recommends python3-pip; }
	@[ -d "$(CACHE)/$(SPARK)" ] || { \
	  mkdir -p "$(CACHE)" && rm -rf "$(CACHE)/$(SPARK).part" && \
	  python3 -m pip install -q --no-deps --require-hashes --target "$(CACHE)/$(SPARK).part" \
	    -r workloads/apps/spark/requirements.txt && \
	  mv "$(CACHE)/$(SPARK).part" "$(CACHE)/$(SPARK)"; }
	@echo "setup-apps: everything is here"

build: setup ## Build everything, optimised
	cargo build --release

# Where Cargo builds: the tests of the module look there, too.
TARGET = $(or $(CARGO_TARGET_DIR),target)
JDK = $(if $(JAVA_HOME),$(JAVA_HOME)/bin/)
pool-java: setup ## The Java module farheap.pool as target/release/farheap-pool.jar, with its native library
	cargo build --profile java -p pool-java
	rm -rf $(TARGET)/pool-java && mkdir -p $(TARGET)/pool-java/farheap/pool $(TARGET)/release
	$(JDK)javac --release 17 -Xlint:all -Werror -d $(TARGET)/pool-java \
	  $$(find pool/java/src/main/java -name '*.java' | sort)
	cp $(TARGET)/java/libfarheap_pool.so $(TARGET)/pool-java/farheap/pool/
	$(JDK)jar --create --file $(TARGET)/release/farheap-pool.jar -C $(TARGET)/pool-java .

pool-c: setup ## The pool for programs in C: libfarheap_pool_c.so and .a, and libfarheap_malloc.so, in target/release
	cargo build --profile java -p pool-c
	cargo build --release -p pool-malloc
	cp --remove-destination $(TARGET)/java/libfarheap_pool_c.so $(TARGET)/java/libfarheap_pool_c.a $(TARGET)/release/

bench-malloc: setup ## malloc by the pool, beside the C library's (ARGS='0.5')
	cargo build --release -p pool-malloc
	cc -O2 -pthread -o $(TARGET)/release/malloc_bench pool/malloc/bench/malloc_bench.c
	$(TARGET)/release/malloc_bench $(abspath $(TARGET))/release/libfarheap_malloc.so $(ARGS)

bench-pool-java: pool-java ## A map of farheap.pool beside memcached and Redis on loopback (ARGS='3')
	@{ $(call install,memcached redis-server); } || echo "$@: these packages cannot be had:$$missing"
	mkdir -p $(TARGET)/bench-pool-java
	$(JDK)javac --release 17 -Xlint:all -Werror -cp $(TARGET)/release/farheap-pool.jar -d $(TARGET)/bench-pool-java \
	  pool/java/bench/CacheBench.java
	$(JDK)java -cp $(TARGET)/release/farheap-pool.jar:$(TARGET)/bench-pool-java CacheBench $(ARGS)

demo: build ## Run a search engine at 25 % local memory under Mako with two memory servers
	$(RELEASE)/gc-bench demo $(ARGS)

test: build unit loom conformance ## Everything that must pass; needs no special hardware

# Nothing is captured: when a panic on a collector's thread ends the process, what was captured is lost.
unit: export RUST_TEST_NOCAPTURE = 1
unit: fmt-check lint
	cargo test --workspace --release

# In a target folder of their own: with these flags everything is compiled differently. No optimised
# build: compiling is nearly all of the time.
loom: export RUSTFLAGS += --cfg loom
loom: setup ## Check the models of the small state machines: every interleaving
	cargo test --profile loom --target-dir target/loom -p swap --test loom_page_state --test loom_run_set \
	  --test loom_ready_ring --test loom_exchange --test loom_departure --test loom_kept_page
	cargo test --profile loom --target-dir target/loom -p rdma --test loom_grants
	cargo test --profile loom --target-dir target/loom -p gc -p pool -p vm --lib model

# What a build with verbs and the virtual machine need. Without them it is skipped: nothing else depends on it.
VERBS_PACKAGES := libibverbs-dev librdmacm-dev ibverbs-providers libclang-dev pkg-config iproute2 qemu-system-x86

test-verbs: setup ## RDMA verbs in a virtual machine with soft-RoCE: pages, calls, dead peers, whole programs
	@{ $(call install,$(VERBS_PACKAGES)); } \
	  || { echo "test-verbs: skipped: these packages cannot be had:$$missing"; exit 0; }; \
	cargo build --release --features verbs && $(RELEASE)/judge verbs $(ARGS)

conformance: build
	$(RELEASE)/judge conformance --gc serial,mako
	$(RELEASE)/judge conformance --gc g1,memliner-g1,shenandoah,memliner-shenandoah,semeru gc/ references/ unloading/
	$(RELEASE)/judge conformance --gc mako --vm-option=-XX:-UseHIT --local-memory 100%
	$(RELEASE)/judge conformance --gc mako --vm-option=-XX:-MakoGenerational --local-memory 25% gc/ threads/ references/ unloading/
	$(RELEASE)/judge conformance --gc g1,mako --vm-option=-XX:-UseCompactObjectHeaders --local-memory 100% --zeal '' language gc/ threads/
	$(RELEASE)/judge conformance --transport tcp --local-memory 25% --zeal '' gc language/Hello
	$(RELEASE)/judge conformance --programs workloads/graph --heap 32m --arg 50000 --arg 320 --zeal ''

far-conformance: build ## The same programs on HotSpot in far memory (ARGS='gc/ --gc g1')
	$(RELEASE)/judge conformance --far-run --local-memory 25% $(ARGS)

bench: build ## Compare collectors and VMs on the workloads (ARGS='--workloads h2 --size small')
	$(RELEASE)/gc-bench run $(ARGS)

graph: build ## A million live objects, ten times the heap, 20 times at each share of local memory
	$(RELEASE)/judge conformance --programs workloads/graph --heap 128m --zeal '' \
	  --local-memory 100%,50%,25%,13% --repeat $(or $(REPEAT),20) --jobs 1

jdk-tests: build ## Judge the VM by the OpenJDK's own tests (ARGS='--number 15 --gc mako jdk/java/util')
	@$(call install,jtreg7)
	$(RELEASE)/judge jdk-tests $(ARGS)

bench-interp: build ## Compare the interpreter with HotSpot's and with Zero
	$(RELEASE)/gc-bench interp $(ARGS)

survive: build ## Kill a memory server in each of many runs (ARGS='--runs 500 --gc mako')
	$(RELEASE)/judge survive $(ARGS)

bench-jit: build ## Compare compiled code with HotSpot's: the suite, javac, hello world
	$(RELEASE)/gc-bench jit --all $(ARGS)

bench-hit: build ## What Mako's indirection table costs: the suite with it, with half of it, without (4 GB of memory)
	$(RELEASE)/gc-bench hit --heap 3g --iterations 8 $(ARGS)

bench-faults: build ## What a page costs that is elsewhere: ours, its parts, kernel swap
	$(RELEASE)/gc-bench faults $(ARGS)

bench-micro: build ## Single barriers and allocations in compiled code, faults, round trips, safepoints
	cargo bench -p bench --bench barriers --bench waits -- $(ARGS)

bench-tracing: setup ## What it costs an agent of Mako to trace an object (ARGS='--objects 18000000')
	cargo bench -p bench --bench tracing -- $(ARGS)

bench-far-run: build ## HotSpot in far memory and in local memory (ARGS=--kernel-swap, as root: and in swap)
	$(RELEASE)/gc-bench far $(ARGS)

check-workloads: build ## Our workloads under all collectors at four shares of local memory: right results (ARGS=...)
	$(RELEASE)/gc-bench run --suite ours --local-memory 100,50,25,13 --far undelayed --runs 1 --no-probe $(ARGS)

check-javac: build ## Compile all workloads inside the VM; class files must equal HotSpot's
	$(RELEASE)/judge check-javac $(ARGS)

# Under every transport as long as ARGS says, ten minutes each if it says nothing; then 1,000 seeds of the simulator.
torture: build ## Look for lost writes while pages come and go (ARGS='--minutes 1 --seed 7')
	$(RELEASE)/judge torture --transport shm $(ARGS)
	$(RELEASE)/judge torture --transport tcp $(ARGS)
	$(RELEASE)/judge torture --seconds 0.1 --pages 5120 --transport sim --seeds $(or $(SEEDS),1000)

pool-torture: setup ## Kill processes that change a pool together, for SECONDS=600 (SEED=N)
	FARHEAP_POOL_SECONDS=$(or $(SECONDS),600) FARHEAP_POOL_SEED=$(or $(SEED),$$(date +%s%N)) \
	  cargo test --release -p pool --lib -- --exact --nocapture \
	  pool::torture::killed_processes_lose_and_repeat_nothing alloc::torture::killed_processes_lose_no_block \
	  ring::torture::killed_ends_lose_and_repeat_nothing refs::torture::killed_processes_lose_no_object \
	  manager::torture::killed_managers_recover_all map::torture::killed_processes_lose_no_entry \
	  transaction::torture::killed_processes_leave_no_half_of_a_transaction

# Each round takes other input. The first failure ends it, with the input made as small as possible.
fuzz: setup ## Damaged input for all that reads what others sent, for MINUTES=10
	cargo test --release --no-run -p rdma -p gc --lib
	cargo test --release --no-run -p classfile --lib
	end=$$(( $$(date +%s) + 60 * $(or $(MINUTES),10) )); rounds=0; \
	while [ $$(date +%s) -lt $$end ]; do \
	  PROPTEST_CASES=10000 cargo test --release -q -p rdma -p gc --lib fuzz || exit 1; \
	  FUZZ_SEED=$$(date +%s%N) FUZZ_ROUNDS=3000 cargo test --release -q -p classfile --lib damaged || exit 1; \
	  rounds=$$(( rounds + 1 )); \
	done; echo "fuzz: $$rounds rounds, nothing found"

# What the programs of check-java-home are. Debian has neither Flink nor a newer Gradle.
JAVA_HOME_PACKAGES := maven libmaven-compiler-plugin-java libmaven-resources-plugin-java libmaven-jar-plugin-java \
	libsurefire-java junit4 gradle ant tomcat10-common tomcat10-user

check-java-home: build setup-apps ## Run Maven, Gradle, Ant, Tomcat and Spark by JAVA_HOME alone (ARGS='tomcat -- --gc mako')
	@$(call install,$(JAVA_HOME_PACKAGES))
	$(RELEASE)/judge java-home $(ARGS)

fuzz-java: build ## Run random programs on our VM and on HotSpot (ARGS='--seed 7 --programs 1000')
	$(RELEASE)/judge fuzz-java $(ARGS)

# The profile is incremental. Far memory needs memory-server beside the VM.
quick: setup ## Build what was edited and run some conformance programs (T=language/Hello ARGS='--gc mako')
	cargo build --profile quick -p vm -p gc -p bench --bin vm --bin memory-server --bin judge --lib
	target/quick/judge conformance $(ARGS) $(T)

# The crates with files that differ from BASE=main, or that are new.
CHANGED = $(shell { git diff --name-only $(or $(BASE),main); git ls-files --others --exclude-standard; } \
  | sed -n 's,^\([a-z-]*\)/\(src\|tests\|Cargo.toml\).*,-p \1,p' | sort -u)

check: fmt-check ## Formatting, lints, and unit tests of the crates that differ from main
	@[ -n "$(CHANGED)" ] || { echo "check: no crate differs"; exit 0; }; \
	cargo clippy $(CHANGED) --profile quick -- -D warnings && \
	cargo test --profile quick $(CHANGED) --lib && cargo test --profile quick -p bench --test tidy

doc: setup ## The documentation of the crates; a broken link is an error
	RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links -A rustdoc::private_intra_doc_links" \
	  cargo doc --no-deps --workspace --release --lib --document-private-items

book: setup ## The documents as a book in target/book
	@command -v mdbook >/dev/null || cargo install -q mdbook --version 0.4.52 --locked
	mdbook build docs

VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# A folder to unpack anywhere: the programs look for each other beside themselves.
DIST = farheap-$(VERSION)-linux-x86_64
dist: build pool-java pool-c ## A tarball with the programs, libjvm.so, documents and licences
	rm -rf target/dist/$(DIST) && mkdir -p target/dist/$(DIST)
	cp $(addprefix $(RELEASE)/,vm memory-server gc-bench far-run pool-manager libjvm.so libfarheap_preload.so \
	  farheap-pool.jar libfarheap_malloc.so libfarheap_pool_c.so libfarheap_pool_c.a) \
	  pool/c/include/farheap_pool.h README.md CHANGELOG.md SECURITY.md LICENSE-APACHE LICENSE-MIT target/dist/$(DIST)
	cp -r docs target/dist/$(DIST)
	tar -C target/dist -czf target/dist/$(DIST).tar.gz $(DIST)
	@ls -l target/dist/$(DIST).tar.gz

# Links and manual pages of the package. The programs look for each other beside themselves, hence the links.
PROGRAMS := vm memory-server far-run pool-manager
DEB = target/debian/farheap_$(VERSION)-1_amd64.deb
deb: build pool-java pool-c ## A Debian package: the JVM, its JAVA_HOME, memory-server with a systemd unit, other programs
	@$(call install,dpkg-dev help2man)
	@command -v cargo-deb >/dev/null || cargo install -q cargo-deb --version 3.8.0 --locked
	rm -rf target/package && mkdir -p target/package/bin target/package/lib target/package/man
	ln -s ../../release target/package/lib/farheap
	for program in $(PROGRAMS); do ln -s ../lib/farheap/$$program target/package/bin/; done
	help2man --no-info --name "run Java programs whose heap lives in remote memory" --version-string "$(VERSION)" \
	  --no-discard-stderr $(RELEASE)/vm --output target/package/man/vm.1
	help2man --no-info --name "hold a share of the heaps of Farheap VMs" $(RELEASE)/memory-server \
	  --output target/package/man/memory-server.1
	help2man --no-info --name "run a program with its large memory ranges on memory servers" $(RELEASE)/far-run \
	  --output target/package/man/far-run.1
	help2man --no-info --name "recover the dead clients of a pool of memory" --version-string "$(VERSION)" \
	  $(RELEASE)/pool-manager --output target/package/man/pool-manager.1
	cargo deb -p vm --no-build --no-dbgsym --output $(DEB)
	@ls -l $(DEB)

check-deb: deb ## Install the Debian package on a bare system in a folder, run programs and the service there (root)
	@$(call install,mmdebstrap systemd-container)
	$(SUDO) packaging/check-deb $(DEB)

VALIDATOR := $(CACHE)/kubernetes-validate-1.37.0
check-packages: setup ## Check the manifests against the schemas of Kubernetes, and the systemd unit
	@$(call install,systemd python3-venv)
	@[ -x $(VALIDATOR)/bin/kubernetes-validate ] || { rm -rf $(VALIDATOR) && python3 -m venv $(VALIDATOR) && \
	  $(VALIDATOR)/bin/python -m pip install -q -r packaging/kubernetes/requirements.txt; }
	$(VALIDATOR)/bin/kubernetes-validate --strict packaging/kubernetes/*.yaml
	rm -rf target/unit && mkdir -p target/unit
	sed 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' packaging/systemd/memory-server.service \
	  > target/unit/memory-server.service
	systemd-analyze verify --man=no target/unit/memory-server.service
	systemd-analyze security --offline=true --threshold=20 target/unit/memory-server.service > target/unit/security
	@tail -n 1 target/unit/security

ENGINE = $(firstword $(foreach engine,podman docker buildah,$(if $(shell command -v $(engine)),$(engine))))
image: deb ## A container image with the VM and memory-server (BASE=debian:bookworm-slim)
	@[ -n "$(ENGINE)" ] || { echo "image: needs podman, docker or buildah"; exit 1; }
	$(ENGINE) build $(and $(BASE),--build-arg BASE=$(BASE)) --build-arg VERSION=$(VERSION) $(ARGS) \
	  --file packaging/container/Containerfile --tag farheap:$(VERSION) target/debian

fmt: ## Format the Rust sources
	cargo fmt --all

fmt-check:
	cargo fmt --all --check

lint: ## Clippy, warnings are errors
	cargo clippy --workspace --all-targets --release -- -D warnings

clean: ## Remove what was built
	cargo clean

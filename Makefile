# Lightwave Twin. `make` alone says what there is to do.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.NOTPARALLEL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

SPEED = 60
PORT = 8080
PODS = 1
MINUTES = 30
ARGS =
PYTHON = python3.11 python3.12 python3.13 python3

BIN := .venv/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV = $(BIN)/uv pip install --quiet --python $(BIN)/python
LOCKED = --require-hashes --only-binary :all:
STARTED := $(shell date +%s.%N)
STAGES := lint types imports unit integration contract live-test simulation compare e2e

.PHONY: help install install-test run live soak servers test test-all $(STAGES) secure browser advisories \
    ratios mutations nginx chromium lock pin-images golden format coverage bench clean

help: ## say what there is to do
	@echo "make TARGET, where TARGET is one of"
	sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)$$/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) \
	    | while IFS=$$'\t' read -r target meaning; do printf '  %-13s %s\n' "$$target" "$$meaning"; done

install: .venv/installed ## make .venv and install the project with its pinned dependencies
	@echo "installed: $(BIN)/lightwave --help"

install-test: .venv/installed-test ## the same, with all that the tests need
	@echo "installed: $(BIN)/pytest"

run: .venv/installed ## start a living superpod: make run SPEED=60 PORT=8080
	@exec $(BIN)/lightwave up --speed $(SPEED) --port $(PORT) $(ARGS)

live: .venv/servers ## the same on Kafka and Redis: make live PODS=1 SPEED=60
	@export PATH="$(CURDIR)/$(BIN):$$PATH" LIGHTWAVE_PORT="$(PORT)"
	export PODS="$(PODS)" SPEED="$(SPEED)" ARGS="$(ARGS)"
	exec honcho start --procfile ops/deploy/Procfile

soak: .venv/servers ## break parts of a live twin, then audit it: make soak MINUTES=60
	@exec $(BIN)/python -m tests.soak --minutes $(MINUTES) --report soak.json $(ARGS)

servers: .venv/servers ## install what runs Kafka and Redis here, and fetch Kafka
	@echo "installed: $(BIN)/lightwave live kafka, $(BIN)/lightwave live redis"

# --- tests: commands and time budgets are in tests/stages.py; see docs/how-to/test.md ---------------------

test: .venv/installed-test .venv/servers ## the gate: about 15 minutes, always the same tests for a commit
	@exec $(BIN)/python -m tests.stages gate --since $(STARTED)

test-all: .venv/installed-test .venv/servers nginx chromium ## everything: slow tests, random examples, TLS
	@exec $(BIN)/python -m tests.stages all --since $(STARTED)

lint: ## style: ruff's rules and formatting
types: ## mypy, strict
imports: ## the imports between layers, and those of pure modules
unit: ## rules with plain values, and the tidiness of the tree
integration: ## parts that start processes, drive a whole twin or run labs
contract: ## one test class per port, on all implementations but the live one
live-test: ## the contracts and one fault, on a real Kafka and Redis
simulation: ## the lab: determinism, invariants, a slice of the swarms
compare: ## logs, schemas and output equal the stored files
e2e: ## the twin as people run it: the tour, a crash, bad input
secure: ## a twin on Kafka and Redis with TLS, logins and few rights
browser: ## the API page renders in a real browser
advisories: ## no locked package has a known advisory; needs its database
ratios: ## speed ratios, each measured in one run, reach their goals
mutations: ## plant faults into the code; the gate's tests catch each

contract live-test simulation e2e integration secure browser: .venv/servers
secure: nginx
ratios: SLOW = 1 # all of its tests are slow
browser: chromium
advisories test-all: .venv/installed-audit
$(STAGES) secure browser advisories ratios mutations: .venv/installed-test
	@exec $(BIN)/python -m tests.stages $@ $(if $(SLOW),--slow)

nginx:
	@$(apt)
	[ -x /usr/sbin/nginx ] || command -v nginx > /dev/null || install_packages nginx-light

chromium:
	@$(apt)
	command -v chromium > /dev/null || install_packages chromium

# --- by hand -----------------------------------------------------------------------------------------------

lock: .venv/installed ## write locks/ again: the hashes of all pinned packages
	@exec $(BIN)/python -m tools.locks

pin-images: .venv/installed ## write the digests of the Docker images; needs Docker
	@exec $(BIN)/python -m tools.image_digests

golden: .venv/installed-test ## write the golden files again; read the difference
	@GOLDEN=write $(BIN)/pytest tests/golden

format: .venv/installed-test ## put every module into shape
	@$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

coverage: .venv/installed-test ## which lines and branches the fast tests reach
	@$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest tests/unit tests/contract tests/golden
	$(BIN)/coverage report

bench: .venv/installed ## measure the speed of lab and twin
	@exec $(BIN)/python -m tools.bench $(ARGS)

clean: ## remove .venv, caches and everything else that can be made again
	@rm -rf .venv build *.egg-info .coverage
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the virtual environment; what it took is made again only when these files change ----------------------

# $(apt) defines a shell function that installs Debian packages, or names them where it may not.
define apt
install_packages() {
    local log
    log="$$(mktemp)"
    as_root() { if [ "$$(id -u)" = 0 ]; then "$$@"; else sudo -n "$$@"; fi; }
    get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get "$$@" > "$$log" 2>&1; }
    one() { get install -y -qq --no-install-recommends "$$@"; }
    if ! { one "$$@" || { get update -qq && one "$$@"; }; }; then
        tail -n 1 "$$log" >&2
        rm -f "$$log"
        echo "Please install: $$* (as root: apt-get install $$*), then try again." >&2
        exit 1
    fi
    rm -f "$$log"
}
endef

# Packages come as wheels whose hashes are in locks/, and nothing else is installed. The setuptools of
# locks/build.txt builds the project itself.
#
# uv installs ten times faster than pip. It does not read pip's configuration: if that names another package
# index, uv may find nothing, and pip takes over.
define install
install() {
    $(UV) "$$@" || { echo "uv could not install; trying pip" >&2; $(PIP) "$$@"; }
}
install_locked() {
    local files=()
    for name in "$$@"; do files+=(-r "locks/$$name.txt"); done
    install $(LOCKED) "$${files[@]}"
}
endef

.venv/installed-test: .venv/installed locks/live.txt locks/test.txt
	@$(install)
	echo "installing what the tests need"
	install_locked build run live test
	touch $@ .venv/installed-live

.venv/installed-live: .venv/installed locks/live.txt
	@$(install)
	echo "installing what a live twin needs"
	install_locked build run live
	touch $@

# pip-audit has an environment of its own: it is no part of the product or its tests.
.venv/installed-audit: .venv/made locks/audit.txt
	@echo "installing pip-audit"
	$(BIN)/python -m venv --clear .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check $(LOCKED) -r locks/audit.txt
	touch $@

# Java, Maven and Redis come from Debian, Kafka from Maven into the user's cache.
.venv/servers: .venv/installed-live ops/deploy/pom.xml
	@$(apt)
	packages=()
	command -v java > /dev/null || packages+=(default-jre-headless)
	command -v mvn > /dev/null || packages+=(maven)
	command -v redis-server > /dev/null || packages+=(redis-server)
	if [ "$${#packages[@]}" != 0 ]; then
	    echo "a live twin runs on Kafka and Redis: installing Debian's packages $${packages[*]}"
	    install_packages "$${packages[@]}"
	    # Debian starts its Redis at once; the twin runs one of its own at the same port.
	    if [[ " $${packages[*]} " == *" redis-server "* && -d /run/systemd/system ]]; then
	        as_root systemctl disable --now redis-server > /dev/null 2>&1
	    fi
	fi
	$(BIN)/python -c 'from ops.servers.kafka_jars import java, kafka_libs; java(); kafka_libs()'
	touch $@

# setuptools comes first: it builds the project, at its locked version, without a second environment. Bytecode
# makes the first command start as fast as the later ones, also where Python may not write any.
.venv/installed: .venv/made locks/uv.txt locks/build.txt locks/run.txt pyproject.toml
	@$(install)
	echo "installing Lightwave Twin into .venv"
	$(PIP) $(LOCKED) -r locks/uv.txt
	install_locked build run
	install --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q -j 2 .venv/lib schemas shared services ops lightwave
	touch $@

.venv/made:
	@$(apt)
	python=""
	for candidate in $(PYTHON); do
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
	        python="$$candidate"
	        break
	    fi
	done
	if [ -z "$$python" ]; then
	    echo "Lightwave Twin needs Python 3.11 or later, which none of these is: $(PYTHON)." >&2
	    echo "Install it (on Debian: apt-get install python3) or name it: make PYTHON=/its/path" >&2
	    exit 1
	fi
	if ! "$$python" -c 'import ensurepip, venv' 2> /dev/null; then
	    package="python$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
	    echo "$$python cannot make virtual environments: installing Debian's package $$package"
	    install_packages "$$package"
	fi
	echo "making .venv with $$("$$python" --version)"
	"$$python" -m venv --clear .venv
	touch $@

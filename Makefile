# Every command of the project; `make help` lists them.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BIN     := bin/staunch
export CGO_ENABLED := 0

# how long and how hard; e.g. `make sim FOR=5m`, `make crash KILLS=300 STORE=hdfs`
FOR   ?= 30m
KILLS ?= 60
STORE ?= local,hdfs
RECORDS ?= 10000000
ROUNDS ?= 3
ROWS ?= 100000000

PEERS    := test/peer/with_peers.sh
# where tests against real servers find the program, and the packages that have such tests
BINARIES := STAUNCH_BIN=$(CURDIR)/$(BIN) STAUNCH_FAILPOINT_BIN=$(CURDIR)/$(BIN)-failpoint
PEER_PACKAGES = $(shell find . -name '*_test.go' -not -path './.*' | xargs grep -lE '^//go:build.*\bpeer\b' | xargs -n1 dirname | sort -u)
# `make test` runs the packages of peers once, there
UNIT_PACKAGES = ./...

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## one static binary, bin/staunch
	$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN) ./cmd/staunch

build-failpoint: ## the same binary with failpoints and invariants, for crash tests
	$(GO) build -trimpath -tags 'failpoint invariant' -ldflags '-X main.version=$(VERSION)-failpoint' -o $(BIN)-failpoint ./cmd/staunch

unit: ## tests beside the code, with invariants checked
	$(GO) test -timeout 30m -tags invariant $(UNIT_PACKAGES)

demo: build ## the product in one minute: no servers needed, killed twice, resumed, audited
	$(BIN) demo

install: ## what the tests against real servers need, once (as root; else says the line to run)
	test/peer/install.sh

peers: build build-failpoint ## tests against real servers, which are started and stopped here
	$(BINARIES) $(PEERS) kafka hdfs -- $(GO) test -count=1 -p 1 -timeout 20m -tags 'peer invariant' $(PEER_PACKAGES)

test: ## everything that must pass: install, build, lint, unit, peers
	$(MAKE) --no-print-directory install
	$(MAKE) --no-print-directory build
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory unit UNIT_PACKAGES="$$(p=$$($(GO) list $(PEER_PACKAGES)); $(GO) list ./... | grep -vxF "$$p" | tr '\n' ' ')"
	$(MAKE) --no-print-directory peers

bench: build ## Staunch, Flink and the bare loop over the same topic (RECORDS, ROUNDS)
	$(BINARIES) FLINK_TM_MEM=$${FLINK_TM_MEM:-4g} $(PEERS) kafka flink -- $(GO) run ./bench -records $(RECORDS) -rounds $(ROUNDS)

bench-hdfs: build ## jobs b and c on HDFS and on the local disk, by CPU time (RECORDS, ROUNDS)
	$(BINARIES) $(PEERS) kafka hdfs -- $(GO) run ./bench -hdfs -records $(RECORDS) -rounds $(ROUNDS) -out bench/HDFS.md

bench-audit: build ## real Flink writes a table of ROWS rows (100 million); time and memory of its audit
	$(BINARIES) $(PEERS) flink -- bash -c '$$TESTBED_PYTHON test/peer/audit_big.py $(ROWS)'

crash: build-failpoint ## the process killed at each failpoint and at random, HDFS failing over meanwhile (KILLS, STORE)
	$(BINARIES) $(PEERS) kafka hdfs -- $(GO) test -count=1 -timeout 120m -tags 'peer invariant' -run Crash ./test/chaos -kills $(KILLS) -store $(STORE) -v

soak: build-failpoint ## 11 real minutes without a NameNode under a live topic; writes docs/soak.md
	$(BINARIES) $(PEERS) kafka hdfs -- $(GO) test -count=1 -timeout 60m -tags 'peer invariant' -run BothNameNodesAway ./test/chaos -away 11m -page $(CURDIR)/docs/soak.md -v

sim: ## whole jobs simulated from seeds for half an hour on all cores (FOR, or SEEDS), then each rule taken away and caught
	$(GO) test -count=1 -timeout 120m -tags 'invariant failpoint' -v -run 'SimProtocol|Variants|MadeUpFor|RulesPage' ./internal/sim -most 20000 $(if $(SEEDS),-seeds $(SEEDS),-for $(FOR))

model: ## every schedule of the commit protocol within small bounds; writes the table of docs/design/model.md
	$(GO) test -count=1 -timeout 60m -run "TestScenarios|TestWalks" ./internal/model -whole -rewrite -v | grep -v "^ *\(===\|---\|model_test\)"

lint: ## layers, forbidden calls, pure protocols, gofmt, vet
	$(GO) test -count=1 ./internal/lint
	$(GO) vet -tags 'peer invariant' ./...

docs: ## reference pages from the option tables; fails in CI when they differ
	$(GO) run ./internal/docgen

fmt: ## gofmt on all files
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

.PHONY: model help build build-failpoint unit demo install peers test bench bench-hdfs bench-audit crash soak sim lint docs fmt

# Two commands do everything on a fresh Debian machine: `make run` and `make test`.
# Tools are installed from the ordinary package registries by scripts/setup.sh; what is there already is used.
SHELL := /bin/bash
export PATH := $(CURDIR)/build/bin:$(PATH)
export CGO_ENABLED := 0
GO := build/bin/go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
SEEDS ?= 2000
FUZZTIME ?= 10s

.PHONY: help run build build-arm64 test test-long test-unit test-race test-arm64 lint vuln conformance layouts network clients clientsuites crash tape tapestorm storm sim fuzz bench bench-limit peers tour diagrams clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build/bin/go:
	@scripts/setup.sh go

run: build ## build, start a cluster, show the main job, then keep serving (ONCE=1 stops after the tour)
	@scripts/setup.sh clients
	@scripts/tour.sh $(if $(ONCE),--once)

build: build/bin/go ## build bin/hemera, static
	@$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/hemera ./cmd/hemera && echo "bin/hemera $(VERSION); to use it: export PATH=$(CURDIR)/bin:\$$PATH"

build-arm64: build/bin/go ## build bin/hemera-arm64
	@GOARCH=arm64 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/hemera-arm64 ./cmd/hemera

test: build ## everything a change must pass
	@scripts/setup.sh clients python peers bench alerts race lint
	@scripts/test.sh all

test-long: build ## what takes longer, before an issue ends: all under the race detector, SEEDS of the simulator, fuzzing, coded layouts, arm64 suites, storms (root)
	@scripts/setup.sh clients python peers bench alerts race lint
	@SEEDS=$(SEEDS) scripts/test.sh long

test-unit: build/bin/go ## unit tests
	@$(GO) test ./...

test-race: build/bin/go ## unit tests under the race detector
	@scripts/setup.sh race bench
	@scripts/test.sh race

test-arm64: build-arm64 ## the arm64 binary and unit tests under qemu
	@scripts/setup.sh clients peers
	@scripts/test.sh arm64
	@scripts/test.sh emulated

lint: build/bin/go ## vet, linters, layers and sizes
	@scripts/setup.sh lint
	@scripts/test.sh lint

vuln: build/bin/go ## govulncheck, where its database can be reached
	@scripts/test.sh vuln || [ $$? = 77 ]

conformance: build ## the black-box protocol suite with stock clients
	@scripts/setup.sh clients python peers
	@scripts/test.sh conformance

layouts: build ## the protocol suite on coded layouts: rs:4+2, or LAYOUTS="stripe:4 rs:10+4", or LAYOUTS=all
	@scripts/setup.sh clients python peers
	@scripts/test.sh layouts

network: build ## the same against a manager and three nodes in network namespaces (needs root)
	@scripts/setup.sh clients python peers
	@scripts/test.sh network

clients: build ## stock clients (xrdcp, xrdfs, Python, fsspec, uproot, gfal2, xrootdfs), on the usual layout and on rs:4+2, or LAYOUTS as above
	@scripts/setup.sh clients python peers
	@scripts/test.sh clients

clientsuites: build ## other people's client tests, fetched: XrdCl's GTests and go-hep's (no part of test; needs the network; LAYOUTS=rs:4+2 as above)
	@scripts/setup.sh clients peers suites
	@scripts/clientsuites.sh

storm: build ## ten nodes in network namespaces: killed, hung, slow, full, with flipped bits; nothing may be lost (root; DURATION=75s, SEED=)
	@scripts/test.sh storm

crash: build ## kill -9 the real processes under load and check every acknowledged file
	@scripts/test.sh crash

tape: build ## files to tape and back with stock clients, and kill -9 in between: WALKS=all for more kills
	@scripts/setup.sh clients
	@scripts/test.sh tape

tapestorm: build ## FILES=2000 files of ten users to tape and back while drives fail and processes are killed; SEED repeats the files (no part of test)
	@scripts/setup.sh clients
	@scripts/test.sh tapestorm

sim: build/bin/go ## a cluster in one process from SEEDS seeds
	@SEEDS=$(SEEDS) scripts/test.sh sim

fuzz: build/bin/go ## every fuzz target for FUZZTIME, led by coverage
	@GUIDED=1 FUZZTIME=$(FUZZTIME) scripts/test.sh fuzz

bench: build ## Hemera beside the C++ xrootd server, ratios
	@scripts/setup.sh clients peers
	@$(GO) run ./test/bench/cmd/bench

peers: build ## Hemera beside XRootD, CephFS, GlusterFS, MooseFS on this machine, into docs/PEERS.md (needs root)
	@scripts/setup.sh beside
	@scripts/peers.sh -o docs/PEERS.md

bench-limit: build ## share of a link's rate reached, links of known rate (needs root)
	@scripts/setup.sh clients peers
	@scripts/bench-limit.sh

tour: build ## type the README's five minutes three times, each with another placement (needs root; no part of test)
	@scripts/setup.sh clients
	@scripts/readme.sh

diagrams: ## draw docs/img from docs/diagrams
	@scripts/setup.sh diagrams
	@scripts/diagrams.sh

clean: ## remove what was built
	@rm -rf bin build

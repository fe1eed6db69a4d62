# keepvip: `make help` lists the targets.

GO          ?= go
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS     := -s -w -X main.version=$(VERSION)
TESTFLAGS   ?=
BENCHFLAGS  ?=
SOAK        ?= 1h
FUZZTIME    ?= 60s

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0

# Programs the namespace tests need, and the Debian packages they come from.
LAB_TOOLS   := ip:iproute2 nft:nftables
TEST_TOOLS  := $(LAB_TOOLS) setpriv:util-linux keepalived:keepalived curl:curl awk:mawk gcc:gcc tshark:tshark vtysh:frr

export PATH := $(PATH):/usr/sbin:/sbin

.DEFAULT_GOAL := build
.PHONY: help build deps test test-unit test-netns test-noise test-cloud-init lint fmt fuzz bench bench-starts failure-modes demo golden soak clean root

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

build: ## build bin/keepvip: static, stripped
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/keepvip ./cmd/keepvip

root:
	@[ "$$(id -u)" -eq 0 ] || { echo "this needs root to make network namespaces: run it with sudo" >&2; exit 1; }

deps: ## install the Debian packages that the tests need (root)
	@.ci/deps $(TEST_TOOLS)

test: root deps lint test-unit test-cloud-init test-netns ## all tests and the lint (root)

test-unit: ## unit tests with the race detector
	$(GO) test -race $(TESTFLAGS) ./...

# One package at a time: the labs measure milliseconds. Tests that wait for
# timers of seconds run beside each other.
test-netns: root build ## the built binary in network namespaces (root)
	.ci/netns $(TESTFLAGS)

test-noise: ## the simulations of noisy checks with 1,000 seeds each
	$(GO) test -count=1 -v -timeout 30m -run 'Noise|Illness|SlowProbes' ./election -args -noise-seeds 1000

test-cloud-init: build ## the printed user data against cloud-init's schema (root the first time)
	.ci/cloud-init bin/keepvip

lint: ## gofumpt, vet, staticcheck
	@unformatted="$$($(GO) run $(GOFUMPT) -l .)" || exit 1; \
	[ -z "$$unformatted" ] || { echo "not formatted with gofumpt (make fmt):"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags netns ./...
	$(GO) run $(STATICCHECK) -tags netns ./...

fmt: ## format the code
	$(GO) run $(GOFUMPT) -w .

fuzz: ## every fuzz target for FUZZTIME
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg || exit 1; \
		done; \
	done

bench: root deps build ## every fault many times, beside keepalived (root; BENCHFLAGS='-only "node death" -runs 5')
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench $(BENCHFLAGS)

failure-modes: root deps build ## measure docs/failure-modes.md and write it (root; an hour)
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench -failure-modes docs/failure-modes.md $(BENCHFLAGS)

bench-starts: root deps build ## every order of starting three nodes, with 0 s and 5 s between two (root)
	$(GO) test -tags netns -count=1 -v -run 'TestStartOrders|TestSimultaneousStart' ./netns-tests -args -start-gap 5s -every-gap

soak: root deps build ## random faults for SOAK (root)
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench -soak $(SOAK)

demo: root build ## three nodes, one address: what a client loses when things break (root)
	@.ci/deps $(LAB_TOOLS)
	@$(GO) build -o bin/lab-demo ./netns-tests/cmd/demo
	@bin/lab-demo

golden: ## write the golden files anew; review their diff as code
	KEEPVIP_UPDATE_GOLDEN=1 $(GO) test ./...

clean: ## remove what was built
	rm -rf bin dist

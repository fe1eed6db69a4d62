# keepvip: `make help` lists the targets.

GO          ?= go
# A release says which version it is (VERSION=1.2.3). What is made in between is called 0.0.0-dev and the commit, by the
# program and by the image and the packages alike: `keepvip manifest pod` names the image that `make image` makes. A program
# that is built without these flags has the same name from its build information, and is the same but for its size.
GIVEN_VERSION   := $(if $(filter command line environment,$(origin VERSION)),$(VERSION))
PACKAGE_VERSION := $(or $(patsubst v%,%,$(GIVEN_VERSION)),0.0.0-dev.g$(or $(shell git describe --always --abbrev=12 --exclude '*' --dirty=.dirty 2>/dev/null),0))
LDFLAGS     := -s -w -X main.version=v$(PACKAGE_VERSION)
TESTFLAGS   ?=
# A share of the tests: SHARE=1/4 is the first of four. The first one has the lint, too.
SHARE       ?= 1/1
BENCHFLAGS  ?=
MUTATIONFLAGS ?=
SOAK        ?= 1h
FUZZTIME    ?= 60s

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# Programs the namespace tests need, and the Debian packages they come from.
LAB_TOOLS   := ip:iproute2 nft:nftables
PACKAGE_TOOLS := dpkg-deb:dpkg rpm:rpm systemctl:systemd mandoc:mandoc zsh:zsh fish:fish ctr:containerd ip:iproute2
E2E_TOOLS   := containerd:containerd runc:runc nsenter:util-linux bash:bash
TEST_TOOLS  := $(LAB_TOOLS) setpriv:util-linux chrt:util-linux keepalived:keepalived curl:curl awk:mawk gcc:gcc tshark:tshark vtysh:frr bird:bird2 promtool:prometheus haproxy:haproxy dnsmasq:dnsmasq-base chromium:chromium

export PATH := $(PATH):/usr/sbin:/sbin

.DEFAULT_GOAL := build
.PHONY: image packages release release-twice release-version test-packages
.PHONY: count lint-workflows test-packaging picture test-installers mutations vuln
.PHONY: help build deps test test-computes test-unit test-netns test-cloud-init lint fmt fuzz fuzz-keepalived bench bench-starts demo golden soak clean root test-late test-noise test-raft-sim failure-modes e2e-kubeadm e2e-watches bench-growth bench-compare kube-vip bench-detector site deps-site

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

build: ## build bin/keepvip: static, stripped
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/keepvip ./cmd/keepvip

root:
	@[ "$$(id -u)" -eq 0 ] || { echo "this needs root to make network namespaces: run it with sudo" >&2; exit 1; }

deps: ## install the Debian packages that the tests need (root)
	@.ci/deps $(TEST_TOOLS)

# The tests in namespaces mostly wait, so what computes runs beside them.
test: root deps ## all tests and the lint, or a share of them (root; SHARE=1/4)
	@$(MAKE) --no-print-directory -j2 test-computes test-netns

test-computes: $(if $(filter 1/%,$(SHARE)),lint test-cloud-init) test-unit

test-unit: ## unit tests with the race detector; a build for the platform that libraries know least
	packages="$$($(GO) list ./... | .ci/share '$(SHARE)')" && $(GO) test -race $(TESTFLAGS) $$packages
	CGO_ENABLED=0 GOOS=linux GOARCH=riscv64 $(GO) build -o /dev/null ./cmd/keepvip

test-netns: root build ## the built binary in network namespaces (root; SHARE=1/4)
	SHARE='$(SHARE)' GO='$(GO)' .ci/netns $(TESTFLAGS)

test-late: root build ## the same on a machine that stands still again and again (root, Linux 6.15; LATEFLAGS='-every 2s')
	$(GO) run ./netns-tests/cmd/standstill $(LATEFLAGS) env SHARE='$(SHARE)' GO='$(GO)' .ci/netns $(TESTFLAGS)

test-noise: ## the simulations of noisy checks, of nodes that are deaf, and of starts with 1,000 seeds each
	$(GO) test -count=1 -v -timeout 60m -run 'Noise|BadHealth|SlowProbes|Deaf|Boot|LooksWhetherItHears' ./election/virtualrouter -args -simulations 1000

test-raft-sim: ## twelve hours of raft in virtual time with 1,000 seeds, a million lease rounds, and members and power lost
	RAFT_SEEDS=1000 $(GO) test -count=1 -v -timeout 90m -run 'RandomFaults|WritesNothing' ./election/raft
	RAFT_SEEDS=100 $(GO) test -count=1 -v -timeout 90m -run 'LossOfPower' ./election/raft

mutations: root ## each defect of a table in turn: the test that has to find it fails (root; MUTATIONFLAGS='-only lease')
	$(GO) run ./netns-tests/cmd/mutations $(MUTATIONFLAGS)

test-cloud-init: build ## the printed user data against cloud-init's schema (root the first time)
	.ci/cloud-init bin/keepvip

lint: ## gofumpt, vet, staticcheck
	@unformatted="$$($(GO) run $(GOFUMPT) -l .)" || exit 1; \
	[ -z "$$unformatted" ] || { echo "not formatted with gofumpt (make fmt):"; echo "$$unformatted"; exit 1; }
	$(GO) vet -tags netns,e2e ./...
	$(GO) run $(STATICCHECK) -tags netns,e2e ./...

vuln: ## known holes in the dependencies (a database: vuln.go.dev, or GOVULNDB=file:///a/copy)
	@GO='$(GO)' .ci/vuln '$(GOVULNCHECK)'

lint-workflows: ## actionlint for .github/workflows
	$(GO) run $(ACTIONLINT) -shellcheck= -pyflakes= .github/workflows/*.yml

count: ## the figures of the house: lines, types, settings, interfaces, names (docs/count)
	@$(GO) run ./docs/count

fmt: ## format the code
	$(GO) run $(GOFUMPT) -w .

fuzz: ## junk for the built program, with bounds of memory and time, then every fuzz target for FUZZTIME
	$(GO) test -count=1 -v -run TestJunkCostsTheBuiltProgramLittle ./cmd/keepvip -args -junk 500 -junk-seed 0 -junk-time 2s
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg || exit 1; \
		done; \
	done

fuzz-keepalived: root deps build ## mutated keepalived.conf files, read by keepalived and by keepvip, for FUZZTIME (root)
	$(GO) test -tags netns -count=1 -v -timeout 0 -run TestMutatedKeepalivedConf ./netns-tests -args -keepalived-fuzz $(FUZZTIME) -keepalived-seed 0

bench: root deps build ## every fault many times, beside keepalived (root; BENCHFLAGS='-only "node death" -runs 5')
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench $(BENCHFLAGS)

failure-modes: root deps build ## measure docs/failure-modes.md and write it (root; an hour; BENCHFLAGS='-from results' takes those of bench -json)
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench -failure-modes docs/failure-modes.md $(BENCHFLAGS)

bench-growth: root deps build ## measure docs/growth.md and its curves, and write them (root; BENCHFLAGS='-only "nodes 3" -runs 1' prints a part)
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench -growth docs $(BENCHFLAGS)

# What docs/comparison.md was measured with.
KUBE_VIP = v1.0.0

kube-vip: ## build bin/kube-vip from the Go proxy, for bench-compare
	GOBIN=$(CURDIR)/bin GOFLAGS= CGO_ENABLED=0 $(GO) install github.com/kube-vip/kube-vip@$(KUBE_VIP)

bench-compare: root deps build ## measure docs/comparison.md beside keepalived, FRR and ucarp, and kube-vip where it was built, and write it (root; three hours; BENCHFLAGS='-json results', or '-from results')
	@.ci/deps ucarp:ucarp
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench -compare docs $(BENCHFLAGS)

bench-detector: root deps build ## measure what is lost between nodes with each detector, and write it into docs/detector.md (root; BENCHFLAGS='-json results', or '-from results')
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench -detector docs/detector.md $(BENCHFLAGS)

bench-starts: root deps build ## every order of starting three nodes, with 0 s and 5 s between two (root)
	$(GO) test -tags netns -count=1 -v -run TestStartOrders ./netns-tests -args -start-gap 5s -every-gap

soak: root deps build ## random faults for SOAK, what they have found first, then 200 kills while raft members come and go (root; BENCHFLAGS='-seed N')
	$(GO) build -o bin/lab-bench ./netns-tests/cmd/bench
	bin/lab-bench -soak $(SOAK) $(BENCHFLAGS)
	bin/lab-bench -only 'show: raft: members killed at any step'

demo: root build ## three nodes, one address: what a client loses when things break (root)
	@.ci/deps $(LAB_TOOLS)
	@$(GO) build -o bin/lab-demo ./netns-tests/cmd/demo
	@bin/lab-demo

picture: root build ## draw docs/pictures/failover.svg from a demo of a node's death (root)
	@.ci/deps $(LAB_TOOLS)
	@$(GO) build -o bin/lab-demo ./netns-tests/cmd/demo
	@bin/lab-demo -picture docs/pictures/failover.svg

# One time for everything that is made: that of the commit, unless it is given.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
REVISION          ?= $(shell git rev-parse HEAD 2>/dev/null)
PLATFORMS         ?= all
DIST              ?= $(CURDIR)/dist
# An RSA key in PKCS #8 signs a release: openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:4096 -out release.pem
KEY               ?=
MAKE_RELEASE       = cd packaging && $(GO) run ./cmd/release -version '$(PACKAGE_VERSION)' -epoch '$(SOURCE_DATE_EPOCH)' \
	-revision '$(REVISION)' -platforms '$(PLATFORMS)' -key '$(abspath $(KEY))'

image: ## the container image in dist (PLATFORMS=host: for this machine only)
	$(MAKE_RELEASE) -only image -out '$(DIST)'

packages: ## deb and rpm packages in dist
	$(MAKE_RELEASE) -only packages -out '$(DIST)'

release-version:
	@[ -n "$(GIVEN_VERSION)" ] || { echo "which version? make release VERSION=1.2.3" >&2; exit 1; }

release: release-version ## everything of a version in dist (VERSION=1.2.3; KEY=release.pem signs it)
	$(MAKE_RELEASE) -out '$(DIST)'

release-twice: release-version ## make a release twice, in two places, and compare
	.ci/release-twice '$(VERSION)' '$(PLATFORMS)'

test-packaging: ## unit tests of what makes the packages
	cd packaging && $(GO) vet ./... && $(GO) test -count=1 $(TESTFLAGS) ./...

test-packages: root ## install, upgrade, remove and purge the packages under systemd (root)
	@.ci/deps $(PACKAGE_TOOLS)
	cd packaging && $(GO) vet -tags packages ./... && $(GO) run $(STATICCHECK) -tags packages ./...
	cd packaging && $(GO) test -count=1 -tags packages -timeout 15m $(TESTFLAGS) ./...

SITE_TOOLS := mkdocs:mkdocs-material

deps-site:
	@.ci/deps $(SITE_TOOLS)

site: ## the documentation as a site in dist/site (VERSION=1.2.3)
	@.ci/deps $(SITE_TOOLS)
	.ci/site '$(DIST)/site' '$(or $(GIVEN_VERSION),dev)'

# Helm and kustomize are built once, of the versions that .ci/installers pins.
INSTALLER_TOOLS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/keepvip-installers

test-installers: root build ## the Helm chart, the base for kustomize and the Ansible role, by their own tools (root)
	@.ci/deps $(LAB_TOOLS) unshare:util-linux ansible-lint:ansible-lint ansible-playbook:ansible-core yamllint:yamllint
	.ci/installers bin/keepvip '$(INSTALLER_TOOLS)'

# Kubernetes and etcd are built once, of the versions that netns-tests/e2e pins.
E2E_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/keepvip-e2e/$(shell sed -n 's/.*k8s.io.kubernetes \(v[^ ]*\).*/\1/p' netns-tests/e2e/kubernetes/go.mod)

e2e-kubeadm: root build ## three real control planes: kubeadm, kubelet, containerd (root; docs/e2e.md)
	@.ci/deps $(LAB_TOOLS) $(E2E_TOOLS)
	@GO='$(GO)' .ci/kubernetes '$(E2E_CACHE)/bin'
	$(MAKE) --no-print-directory image PLATFORMS=host DIST='$(E2E_CACHE)/image'
	KEEPVIP_E2E_BIN='$(E2E_CACHE)/bin' KEEPVIP_E2E_IMAGE="$$(echo '$(E2E_CACHE)'/image/*-image.tar)" \
		$(GO) test -tags e2e -count=1 -v -timeout 60m $(TESTFLAGS) ./netns-tests/e2e

e2e-watches: root build ## three real apiservers, their load spread, and watches over a move of the address (root; docs/e2e.md)
	@.ci/deps $(LAB_TOOLS)
	@GO='$(GO)' .ci/kubernetes '$(E2E_CACHE)/bin' kube-apiserver kubectl etcd
	KEEPVIP_E2E_BIN='$(E2E_CACHE)/bin' $(GO) test -tags e2e -count=1 -v -timeout 15m $(TESTFLAGS) ./netns-tests/e2e/watches

golden: ## write the golden files anew; review their diff as code
	UPDATE_GOLDEN=1 $(GO) test ./...

clean: ## remove what was built
	rm -rf bin dist

#!/usr/bin/env bash
# Installs what a set of targets needs, from the ordinary package registries, and nothing it finds already there.
# usage: scripts/setup.sh go|clients|python|peers|beside|bench|alerts|suites|race|lint ...
set -euo pipefail
cd "$(dirname "$0")/.."
GO_VERSION=1.26.8
GOLANGCI_VERSION=v2.15.0
build=$PWD/build
PATH=$PATH:/usr/sbin:/sbin # where some commands are that a user can run, too
mkdir -p "$build"

say() { printf 'setup: %s\n' "$*" >&2; }

# packages installs Debian packages whose commands are missing: packages COMMAND=PACKAGE ...
packages() {
	local want=() pair sudo=
	for pair in "$@"; do
		command -v "${pair%%=*}" >/dev/null 2>&1 || want+=("${pair#*=}")
	done
	[ ${#want[@]} -eq 0 ] && return 0
	[ "$(id -u)" = 0 ] || sudo=sudo
	say "installing ${want[*]}"
	$sudo apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${want[@]}" >/dev/null
}

# go: a system Go that is new enough, else the official toolchain, which is published as a Go module and so can be
# fetched, with its checksum verified, by any older Go.
setup_go() {
	local go version root
	for go in "$(command -v go || true)" "$build/go/bin/go"; do
		[ -x "$go" ] || continue
		version=$(GOTOOLCHAIN=local "$go" env GOVERSION 2>/dev/null || true)
		if [ "$(printf '%s\n' "go$GO_VERSION" "$version" | sort -V | head -n 1)" = "go$GO_VERSION" ]; then
			mkdir -p "$build/bin" && ln -sf "$go" "$build/bin/go"
			return 0
		fi
	done
	packages go=golang-go
	packages update-ca-certificates=ca-certificates
	say "fetching Go $GO_VERSION"
	local arch
	arch=$(go env GOARCH)
	(cd "$(mktemp -d)" && GOTOOLCHAIN=local GOFLAGS="" go mod download "golang.org/toolchain@v0.0.1-go$GO_VERSION.linux-$arch")
	root=$(go env GOMODCACHE)/golang.org/toolchain@v0.0.1-go$GO_VERSION.linux-$arch
	rm -rf "$build/go"
	cp -r "$root" "$build/go"
	chmod -R u+w "$build/go"
	find "$build/go/bin" "$build/go/pkg/tool" -type f -exec chmod +x {} +
	mv "$build/go/src/_go.mod" "$build/go/src/go.mod" # modules cannot hold modules, so these were renamed
	mv "$build/go/src/cmd/_go.mod" "$build/go/src/cmd/go.mod"
	mkdir -p "$build/bin" && ln -sf "$build/go/bin/go" "$build/bin/go"
}

setup_clients() { packages xrdcp=xrootd-client curl=curl; }

setup_python() {
	packages python3=python3
	if ! "$build/venv/bin/python" -c 'import XRootD, fsspec_xrootd, uproot' 2>/dev/null; then
		python3 -c 'import ensurepip' 2>/dev/null || packages no-such-command-venv=python3-venv
		say "installing the Python clients"
		python3 -m venv "$build/venv"
		"$build/venv/bin/pip" install -q --disable-pip-version-check xrootd fsspec-xrootd uproot
	fi
}

setup_race() { packages gcc=gcc; [ -e /usr/include/stdlib.h ] || packages no-such-command-libc=libc6-dev; }

setup_peers() {
	packages xrootd=xrootd-server xrootdfs=xrootd-fuse ip=iproute2 gfal-ls=gfal2-util-scripts qemu-aarch64-static=qemu-user-static
	local plugin
	for plugin in file xrootd; do
		[ -e "/usr/lib/$(uname -m)-linux-gnu/gfal2-plugins/libgfal_plugin_$plugin.so" ] || packages "no-such-command-gfal=gfal2-plugin-$plugin"
	done
}

# What scripts/peers.sh starts beside Hemera.
setup_beside() {
	packages xrootd=xrootd-server ip=iproute2 jq=jq iperf3=iperf3 ceph-mon=ceph-mon ceph-osd=ceph-osd ceph-mgr=ceph-mgr ceph-mds=ceph-mds \
		ceph-fuse=ceph-fuse ceph=ceph-common glusterd=glusterfs-server glusterfs=glusterfs-client mfsmaster=moosefs-master \
		mfschunkserver=moosefs-chunkserver mfsmount=moosefs-client ganesha.nfsd=nfs-ganesha mount.nfs=nfs-common
	[ -e "/usr/lib/$(uname -m)-linux-gnu/ganesha/libfsalvfs.so" ] || packages no-such-command-vfs=nfs-ganesha-vfs
}

# The programs that make load for hemera bench.
setup_bench() { packages fio=fio iperf3=iperf3 ip=iproute2 losetup=mount mkfs.ext4=e2fsprogs nft=nftables; }

# Prometheus without its service: the two programs alone, from Debian's package. What needs them is skipped where it cannot be had.
setup_alerts() {
	local where=$build/prometheus
	command -v prometheus >/dev/null && command -v promtool >/dev/null && return 0
	[ -x "$build/bin/promtool" ] && return 0
	say "fetching Prometheus"
	rm -rf "$where" && mkdir -p "$where"
	(cd "$where" && apt-get download prometheus >/dev/null 2>&1 && dpkg -x prometheus_*.deb . && rm prometheus_*.deb) ||
		{ say "prometheus cannot be had: scripts/alerts.sh will be skipped"; return 0; }
	ln -sf "$where/usr/bin/prometheus" "$where/usr/bin/promtool" "$build/bin/"
}

# What XRootD's client and its tests are built with.
setup_suites() {
	local header want=("cmake=cmake" "g++=g++" "make=make" "git=git")
	for header in gtest/gtest.h=libgtest-dev uuid/uuid.h=uuid-dev zlib.h=zlib1g-dev openssl/ssl.h=libssl-dev libxml2=libxml2-dev; do
		[ -e "/usr/include/${header%%=*}" ] || want+=("no-such-command-${header#*=}=${header#*=}")
	done
	packages "${want[@]}"
}

setup_lint() {
	packages shellcheck=shellcheck
	[ -x "$build/bin/golangci-lint" ] && return 0
	if command -v golangci-lint >/dev/null; then
		ln -sf "$(command -v golangci-lint)" "$build/bin/golangci-lint"
		return 0
	fi
	say "building golangci-lint $GOLANGCI_VERSION"
	GOBIN=$build/bin GOFLAGS="" "$build/bin/go" install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$GOLANGCI_VERSION"
}

# diagrams draws the pictures of the documents.
setup_diagrams() { packages dot=graphviz plantuml=plantuml; }

for part in "$@"; do "setup_$part"; done

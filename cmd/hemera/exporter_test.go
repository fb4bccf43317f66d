package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/test/fixture"
)

// exporterKeys returns the keys that cern-eos/eos_exporter reads (the file eos of its package eosclient), by command.
func exporterKeys() map[string]string {
	return map[string]string{
		"node": `hostport status cfg.status nofs heartbeatdelta sum.stat.statfs.freebytes sum.stat.statfs.usedbytes sum.stat.statfs.capacity sum.stat.statfs.ffree
			sum.stat.usedfiles sum.stat.statfs.files sum.stat.ropen sum.stat.wopen cfg.stat.sys.threads cfg.stat.sys.vsize cfg.stat.sys.rss cfg.stat.sys.sockets
			sum.stat.net.inratemib sum.stat.net.outratemib cfg.stat.sys.eos.version cfg.stat.sys.xrootd.version cfg.stat.sys.kernel cfg.stat.geotag`,
		"fs": `host port id uuid path schedgroup stat.boot configstatus headroom stat.errc stat.errmsg stat.disk.load stat.disk.readratemb stat.disk.writeratemb
			stat.net.ethratemib stat.net.inratemib stat.net.outratemib stat.ropen stat.wopen stat.statfs.freebytes stat.statfs.usedbytes stat.statfs.capacity
			stat.usedfiles stat.statfs.ffree stat.statfs.fused stat.statfs.files drainstatus stat.drainprogress stat.drainfiles stat.drainbytesleft
			stat.drainretry stat.drain.failed graceperiod stat.timeleft stat.active stat.balancer.running stat.drainer.running stat.disk.iops stat.disk.bw
			stat.geotag stat.health stat.health.redundancy_factor stat.health.drives_failed stat.health.drives_total stat.health.indicator`,
		"space": `type name cfg.groupsize cfg.groupmod nofs avg.stat.disk.load sig.stat.disk.load sum.stat.disk.readratemb sum.stat.disk.writeratemb
			sum.stat.net.ethratemib sum.stat.net.inratemib sum.stat.net.outratemib sum.stat.ropen sum.stat.wopen sum.stat.statfs.usedbytes
			sum.stat.statfs.freebytes sum.stat.statfs.capacity sum.stat.usedfiles sum.stat.statfs.ffiles sum.stat.statfs.files
			sum.stat.statfs.capacity?configstatus@rw sum.<n>?configstatus@rw cfg.quota cfg.nominalsize cfg.balancer cfg.balancer.threshold
			sum.stat.balancer.running sum.stat.drainer.running sum.stat.disk.iops?configstatus@rw sum.stat.disk.bw?configstatus@rw
			sum.stat.statfs.freebytes?configstatus@rw`,
		"ns": `ns.boot.file.time ns.boot.status ns.boot.time ns.cache.containers.maxsize ns.cache.containers.occupancy ns.cache.files.maxsize
			ns.cache.files.occupancy ns.fds.all ns.fusex.activeclients ns.fusex.caps ns.fusex.clients ns.fusex.lockedclients ns.hanging.since ns.latency.dirs
			ns.latency.files ns.latency.pending.updates ns.latencypeak.eosviewmutex.1min ns.latencypeak.eosviewmutex.2min ns.latencypeak.eosviewmutex.5min
			ns.latencypeak.eosviewmutex.last ns.qclient.rtt_ms.min ns.qclient.rtt_ms.avg ns.qclient.rtt_ms.max ns.qclient.rtt_ms_peak.1min
			ns.qclient.rtt_ms_peak.2min ns.qclient.rtt_ms_peak.5min ns.memory.growth ns.memory.resident ns.memory.share ns.memory.virtual ns.stat.threads
			ns.total.directories ns.total.directories.changelog.avg_entry_size ns.total.directories.changelog.size ns.total.files
			ns.total.files.changelog.avg_entry_size ns.total.files.changelog.size ns.uptime ns.cache.files.requests ns.cache.files.hits
			ns.cache.containers.requests ns.cache.containers.hits`,
		"op": `uid gid cmd total 5s 60s 300s 3600s exec execsig exec99 execmax`,
	}
}

// TestEveryKeyOfTheExporterIsThere compares the keys that -m prints with those that eos_exporter reads.
func TestEveryKeyOfTheExporterIsThere(t *testing.T) {
	lines := monitorLines(t)
	for what, text := range exporterKeys() {
		seen := map[string]bool{}
		for _, line := range lines[what] {
			for key := range parsePairs(line) {
				seen[key] = true
			}
		}
		for _, key := range strings.Fields(text) {
			if !seen[key] {
				t.Errorf("%s: no key %s", what, key)
			}
		}
	}
}

// TestValuesUnderTheKeysOfEOS checks values that could be confused with each other.
func TestValuesUnderTheKeysOfEOS(t *testing.T) {
	lines := monitorLines(t)
	for _, c := range []struct{ what, begins, key, want string }{
		{"fs", "id=4", "drainstatus", "draining"}, {"fs", "id=4", "stat.drainbytesleft", "1000000000000"}, {"fs", "id=4", "stat.drainfiles", "2000"},
		{"fs", "id=4", "stat.drainprogress", "33.33"}, {"fs", "id=4", "stat.timeleft", "500"}, {"fs", "id=4", "stat.drainer.running", "1"},
		{"fs", "id=1", "drainstatus", "nodrain"}, {"fs", "id=1", "stat.drainfiles", "0"}, {"fs", "id=1", "graceperiod", "300"},
		{"fs", "id=1", "stat.statfs.files", "1000000"}, {"fs", "id=1", "stat.statfs.ffree", "999000"}, {"fs", "id=1", "stat.statfs.fused", "1000"},
		{"fs", "id=1", "stat.health", "OK"}, {"fs", "id=3", "stat.health", "failing"}, {"fs", "id=3", "stat.health.indicator", "1"},
		{"node", "id=1", "nofs", "3"}, {"node", "id=1", "sum.stat.statfs.usedbytes", "3000000000000"}, {"node", "id=1", "sum.stat.ropen", "6"},
		{"node", "id=1", "sum.stat.statfs.files", "3000000"}, {"node", "id=1", "cfg.stat.sys.threads", "18"},
		{"space", "name=default", "sum.stat.statfs.capacity?configstatus@rw", "16000000000000"}, {"space", "name=default", "sum.<n>?configstatus@rw", "4"},
		{"space", "name=default", "avg.stat.disk.load", "0.44"}, {"space", "name=default", "sum.stat.drainer.running", "1"},
		{"ns", "ns.total.files=4", "uid", "all"}, {"ns", "ns.cache.files.requests=1000", "gid", "all"}, {"ns", "ns.fusex.clients=0", "gid", "all"},
		{"op", "cmd=stat", "gid", "all"}, {"op", "cmd=stat", "total", "52000"},
	} {
		found := false
		for _, line := range lines[c.what] {
			if !strings.Contains(" "+line+" ", " "+c.begins+" ") {
				continue
			}
			found = true
			if got := parsePairs(line)[c.key]; got != c.want {
				t.Errorf("%s %s: %s is %q, not %q", c.what, c.begins, c.key, got, c.want)
			}
		}
		if !found {
			t.Errorf("%s: no line with %s", c.what, c.begins)
		}
	}
}

// monitorLines returns the lines that the commands print with -m.
func monitorLines(t *testing.T) map[string][]string {
	t.Helper()
	server := serveFixture()
	t.Cleanup(server.Close)
	lines := map[string][]string{}
	for what, args := range map[string][]string{
		"fs": {"fs", "ls", "-m"}, "node": {"node", "ls", "-m"}, "space": {"space", "ls", "-m"},
		"ns": {"ns", "stat", "-m"}, "who": {"who", "-a", "-m"},
	} {
		var out strings.Builder
		e := &cli.Env{Console: cli.Console{Out: &out, Err: &out, Getenv: func(string) string { return "root://" + server.Listener.Addr().String() }}, Now: func() time.Time { return fixture.Now }}
		if code := cli.Run(t.Context(), e, newRootCommand(e), args); code != 0 {
			t.Fatalf("%v: %s", args, out.String())
		}
		lines[what] = strings.Split(strings.TrimSpace(out.String()), "\n")
	}
	for _, line := range lines["ns"] {
		if _, ok := parsePairs(line)["cmd"]; ok {
			lines["op"] = append(lines["op"], line)
		} else if n := len(parsePairs(line)); n != 3 { // uid, gid and one more, or the exporter does not see it
			t.Errorf("%d pairs in %s", n, line)
		}
	}
	return lines
}

// parsePairs reads a line of key=value pairs. Values with blanks are quoted.
func parsePairs(line string) map[string]string {
	pairs := map[string]string{}
	for line != "" {
		key, rest, _ := strings.Cut(line, "=")
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			value, _ := strconv.Unquote(quoted)
			pairs[key], line = value, strings.TrimPrefix(rest[len(quoted):], " ")
			continue
		}
		pairs[key], line, _ = strings.Cut(rest, " ")
	}
	return pairs
}

// Scripts for EOS write flags before the command.
func TestFlagsBeforeTheCommand(t *testing.T) {
	server := serveFixture()
	t.Cleanup(server.Close)
	run := func(args ...string) (int, string) {
		var out strings.Builder
		e := &cli.Env{Console: cli.Console{Out: &out, Err: &out, Terminal: 200, Live: true, Getenv: func(string) string { return "root://" + server.Listener.Addr().String() }}, Now: time.Now}
		return cli.Run(t.Context(), e, newRootCommand(e), args), out.String()
	}
	if code, out := run("-b", "-r", "0", "0", "fs", "ls"); code != 0 || strings.Contains(out, "\x1b[") || !strings.Contains(out, "/data04") {
		t.Errorf("-b -r 0 0 fs ls ends with %d: %q", code, out)
	}
	if code, out := run("-r", "1001", "100", "fs", "ls"); code != cli.ExitUsage || !strings.Contains(out, "HEMERA_URL") && !strings.Contains(out, "sudo") {
		t.Errorf("-r of another user ends with %d: %q", code, out)
	}
	if code, out := run("-s", "fs", "set", "1", "ro"); code != 0 || out != "" {
		t.Errorf("-s fs set ends with %d: %q", code, out)
	}
	if code, out := run("-s", "fs", "set", "99", "ro"); code != cli.ExitFailed || !strings.Contains(out, "no such disk") {
		t.Errorf("-s hides an error: %d, %q", code, out)
	}
	if code, out := run("fs", "frobnicate", "-j"); code != cli.ExitUsage || !strings.Contains(out, `"retc":2`) {
		t.Errorf("retc is not the exit code %d: %q", code, out)
	}
	if code, out := run("ns", "stat", "-a", "-n"); code != 0 {
		t.Errorf("ns stat -a -n ends with %d: %q", code, out)
	}
}

package net_test

import (
	"context"
	"errors"
	"fmt"
	stdnet "net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/measure/net"
	"hemera/measure/result"
	"hemera/test/fixture/lan"
	"hemera/test/fixture/tools"
	"hemera/words/errs"
)

// second returns the options of a run of one second for each step.
func second(hosts ...string) net.Options {
	return net.Options{Hosts: hosts, Port: 5201, Protocols: []string{net.TCP}, Directions: []string{net.Send, net.Receive}, Streams: []int{1}, Packets: []int{60}, For: time.Second, Iterations: 1}
}

func TestLoopbackIsMeasuredAndNamedSo(t *testing.T) {
	tools.Need(t, "iperf3")
	dir := t.TempDir()
	rec := result.NewRecorder(dir, "net", nil)
	o := second()
	o.Protocols, o.Directions = net.Protocols(), []string{net.Send, net.Both}
	if err := net.Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	level := rec.End()
	found := map[string]int{}
	for _, m := range level.Measures {
		if m.Labels["path"] != net.Loopback || len(m.Samples) != 1 {
			t.Errorf("%s %v: %v", m.Name, m.Labels, m.Samples)
		}
		if strings.HasPrefix(m.Name, "throughput") && m.Samples[0] <= 0 {
			t.Errorf("%s %v is %v", m.Name, m.Labels, m.Samples)
		}
		found[m.Name]++
	}
	for name, want := range map[string]int{"throughput": 2, "throughput_both": 2, "throughput_send": 2, "throughput_receive": 2, "lost": 1, "retransmits": 2, "cpu_iperf3": 8, "cpu_per_gb": 4} {
		if found[name] != want {
			t.Errorf("%d measures %s, not %d", found[name], name, want)
		}
	}
	if found["cpu"] < 4*2*6 { // all and one core at least, in six roles
		t.Errorf("%d measures of the cores", found["cpu"])
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "raw", "net-iperf3.json")); err != nil || strings.Count(string(raw), `"sum_received"`) != 4 || len(level.Iterations) != 4 {
		t.Errorf("raw output of %d bytes, %d iterations, %v", len(raw), len(level.Iterations), err)
	}
}

// The network is made here, with a rate in each direction: what comes out is known.
func TestARateLimitedPathGivesItsRates(t *testing.T) {
	tools.Need(t, "iperf3", "ip", "tc", "nsenter")
	l := lan.New(t, 2)
	const near, far = 1e6, 3e6 // B/s that each host may send
	for host, rate := range []float64{near, far} {
		if out, err := l.Command(host, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", fmt.Sprintf("%.0fbit", 8*rate), "burst", "16kb", "latency", "50ms").CombinedOutput(); err != nil {
			t.Skipf("rates cannot be limited here: %s", out)
		}
	}
	serve(t, l)
	// The level runs here, its iperf3 on the first host.
	real, err := exec.LookPath("iperf3")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\"\n", strings.Join(l.Command(0, real).Args[:2], " "), real)
	if err := os.WriteFile(filepath.Join(bin, "iperf3"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	rec := result.NewRecorder(t.TempDir(), "net", nil)
	o := second(lan.Address(1))
	o.For = 2 * time.Second
	if err := net.Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	for direction, want := range map[string]float64{net.Send: near, net.Receive: far} {
		m, ok := rec.Find("throughput", result.Labels{"path": lan.Address(1), "protocol": "tcp", "direction": direction, "streams": "1"})
		// Headers take 3 to 5 %, and a bucket of 16 KB comes on top of 2 s.
		if !ok || m.Samples[0] > 1.05*want || m.Samples[0] < 0.6*want {
			t.Errorf("%s: %v B/s of %g", direction, m.Samples, want)
		}
	}
	if level := rec.End(); len(level.Skipped) != 1 || !strings.Contains(level.Skipped[0].Remedy, "--serve "+lan.Address(1)) {
		t.Errorf("a plain iperf3 -s: skipped %+v", level.Skipped)
	}
}

// serve runs a plain iperf3 -s on the second host until the test ends.
func serve(t *testing.T, l *lan.LAN) {
	t.Helper()
	await(t, l.Command(1, "iperf3", "--server", "--forceflush"), "listening")
}

// await starts a program, which ends with the test, and waits until it says a word.
func await(t *testing.T, cmd *exec.Cmd, word string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	said := make([]byte, 4096)
	for text := ""; !strings.Contains(text, word); {
		n, err := out.Read(said)
		if err != nil {
			t.Fatalf("%v ended: %s", cmd.Args, text)
		}
		text += string(said[:n])
	}
}

func TestAFarEndAnswersWhatItsProcessorsDo(t *testing.T) {
	tools.Need(t, "iperf3")
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan netip.AddrPort, 1), make(chan error, 1)
	go func() {
		var err error
		// Another program may take a free port meanwhile.
		for range 5 {
			at := free(t)
			if err = net.Serve(ctx, at, func(string) { ready <- at }); !errors.Is(err, errs.Unavailable) {
				break
			}
		}
		ended <- err
	}()
	var at netip.AddrPort
	select {
	case at = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	rec := result.NewRecorder(t.TempDir(), "net", nil)
	o := second("127.0.0.1")
	o.Port = int(at.Port())
	if err := net.Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"near", "far"} {
		var sum float64
		for _, role := range []string{"usr", "sys", "irq", "soft", "steal", "idle"} {
			m, ok := rec.Find("cpu", result.Labels{"path": "127.0.0.1", "protocol": "tcp", "direction": net.Send, "streams": "1", "end": end, "core": "all", "role": role})
			if !ok {
				t.Fatalf("no %s of the %s end", role, end)
			}
			sum += m.Samples[0]
		}
		if sum < 0.999 || sum > 1.001 {
			t.Errorf("the shares of the %s end add to %g", end, sum)
		}
	}
	if level := rec.End(); len(level.Skipped) != 0 {
		t.Errorf("skipped %+v", level.Skipped)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the far end ends with %v", err)
	}
	// Nothing listens any more.
	if err := net.Run(t.Context(), o, result.NewRecorder(t.TempDir(), "net", nil)); !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("without a far end: %v; %s", err, errs.RemedyOf(err))
	}
}

// free returns an address of the loopback interface with a free port.
func free(t *testing.T) netip.AddrPort {
	l, err := stdnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return netip.AddrPort{}
	}
	defer l.Close()
	return l.Addr().(*stdnet.TCPAddr).AddrPort()
}

// Another client has the far end for some seconds. The level waits for it.
func TestABusyFarEndIsWaitedFor(t *testing.T) {
	tools.Need(t, "iperf3")
	at := free(t)
	port := fmt.Sprint(at.Port())
	server := exec.Command("iperf3", "--server", "--bind", "127.0.0.1", "--port", port, "--forceflush")
	await(t, server, "listening")
	await(t, exec.Command("iperf3", "--client", "127.0.0.1", "--port", port, "--time", "3", "--bitrate", "1M", "--forceflush"), "connected to")
	rec := result.NewRecorder(t.TempDir(), "net", nil)
	o := second("127.0.0.1")
	o.Port, o.Directions = int(at.Port()), []string{net.Send}
	if err := net.Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	// Attempts that were refused leave no iteration.
	if level := rec.End(); len(level.Iterations) != 1 {
		t.Errorf("%d iterations", len(level.Iterations))
	}
}

func TestAnInterruptedRunEnds(t *testing.T) {
	tools.Need(t, "iperf3")
	ctx, cancel := context.WithCancel(t.Context())
	rec := result.NewRecorder(t.TempDir(), "net", func(string, int, int, string) { time.AfterFunc(100*time.Millisecond, cancel) })
	o := second()
	o.For = time.Hour
	if err := net.Run(ctx, o, rec); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ends with %v", err)
	}
	if level := rec.End(); len(level.Measures) != 0 || len(level.Iterations) != 0 {
		t.Errorf("half a step gave %+v", level.Measures)
	}
}

// An error about a report says where the report is.
func TestAReportThatCannotBeReadIsKept(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "iperf3"), []byte("#!/bin/sh\necho iperf 3.99\n"), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	err := net.Run(t.Context(), second("127.0.0.1"), result.NewRecorder(dir, "net", nil))
	raw := filepath.Join(dir, "raw", "net-iperf3.json")
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "3.99") || !strings.Contains(errs.RemedyOf(err), raw) {
		t.Errorf("%v; %s", err, errs.RemedyOf(err))
	}
	if text, err := os.ReadFile(raw); err != nil || string(text) != "iperf 3.99\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWithoutIperfTheNetworkIsSkipped(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	rec := result.NewRecorder(t.TempDir(), "net", nil)
	if err := net.Run(t.Context(), second(), rec); err != nil {
		t.Fatal(err)
	}
	if l := rec.End(); len(l.Skipped) != 1 || l.Skipped[0].Remedy != "apt install iperf3" || len(l.Measures) != 0 {
		t.Errorf("%+v", l)
	}
}

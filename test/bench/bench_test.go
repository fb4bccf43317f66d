package bench

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/process/daemon"
	"hemera/rules/wire"
	"hemera/test/fixture/serving"
	"hemera/words/hemera"
)

// Every load of our own works at a cluster, through its redirects, and leaves it as it was.
func TestLoads(t *testing.T) {
	addr := cluster(t)
	o := &Options{FileBytes: 1 << 20, LoadTime: 10 * time.Millisecond, Names: 32, dir: t.TempDir()}
	own := &target{name: "hemera", addr: addr, pid: os.Getpid()}
	if err := o.prepare(own); err != nil {
		t.Fatal(err)
	}
	for _, w := range slices.Concat(peerRows(), eosRows(), codedRows("plain"), headRows("plain")) {
		if strings.HasPrefix(w.name, "xrdcp") {
			continue // needs the stock client
		}
		for range 2 { // what the first leaves behind would be in the second's way
			s, err := o.measure(own, &w)
			if err != nil {
				t.Fatalf("%s, %d clients: %v", w.name, w.clients, err)
			}
			if s.Rate <= 0 || s.CPU <= 0 {
				t.Errorf("%s, %d clients: %+v", w.name, w.clients, s)
			}
		}
	}
}

func cluster(t *testing.T) string {
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	up, err := daemon.OpenUp(ctx, daemon.UpOptions{
		Manager: daemon.ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 16 << 20, Role: "up", Version: "test", Log: log},
		Nodes:   2, Disks: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	serving.Run(t, up.Run)
	if err := up.Manager.Admin.SetSpace(ctx, "default", "policy.sync", "off"); err != nil {
		t.Fatal(err)
	}
	return up.Manager.Addr
}

// The ratio is the median of the rounds' own ratios, not the ratio of medians.
func TestResult(t *testing.T) {
	w := &row{name: "stat", clients: 4}
	a := []Sample{{Rate: 10, CPU: 1}, {Rate: 40, CPU: 2}, {Rate: 30, CPU: 3}}
	b := []Sample{{Rate: 10, CPU: 2}, {Rate: 20, CPU: 1}, {Rate: 10, CPU: 3}}
	r := w.result(a, b, nil)
	if r.Ratio != 2 || r.CPURatio != 1 || r.Hemera.Rate != 30 || r.Peer.Rate != 10 || r.Rounds != 3 {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median of %v is %v, not %v", c.in, got, c.want)
		}
	}
}

// Of a file with a copy at two nodes, one that is not wanted is never the one that it is opened at.
func TestOpensElsewhere(t *testing.T) {
	addr := cluster(t)
	own := &target{addr: addr}
	if err := (&Options{FileBytes: 17 << 20, dir: t.TempDir()}).prepare(own); err != nil { // the manager's door opens shorter files itself
		t.Fatal(err)
	}
	s := newSession(addr)
	defer func() { s.close() }()
	for i := range 20 {
		f, err := s.open(bigFile(0), wire.OpenRead)
		if err != nil {
			t.Fatal(err)
		}
		for at, c := range s.conns {
			switch {
			case c != f.conn:
			case i == 0:
				s.not = at
			case at == s.not:
				t.Fatalf("opened at %s", at)
			}
		}
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What a head may cost more is measured for each of its rows, and is the difference between a plain file and the goal.
func TestHeadGoal(t *testing.T) {
	for _, layout := range codedLayouts() {
		for _, w := range headRows(layout) {
			more, err := w.more(4 << 20)
			if err != nil || more <= 0 {
				t.Errorf("%s: %g, %v", w.name, more, err)
			}
		}
	}
	l, err := hemera.ParseLayout("rs:4+2", 0)
	if err != nil || sentOn(l) != 1.25 || received(l) != 0.75 {
		t.Errorf("of a file of %v %g is sent on, %g received: %v", l, sentOn(l), received(l), err)
	}
	w := &row{name: "rs:4+2, at a head: read", clients: 4, bulk: true}
	res := w.result([]Sample{{CPU: 3e-9}, {CPU: 9e-9}, {CPU: 2e-9}}, []Sample{{CPU: 1e-9}, {CPU: 4e-9}, {CPU: 2e-9}}, []float64{5e-10, 5e-10, 3e-10})
	if table, want := goals([]Result{res}), "| rs:4+2, at a head: read | 4 | 2.000 s/GB | 2.300 s/GB | 3.000 s/GB | x2.00 |"; !strings.Contains(table, want) {
		t.Errorf("no line %q in\n%s", want, table)
	}
}

func TestReport(t *testing.T) {
	rep := Report{
		Peers: []Result{{Row: "read, plain", Clients: 4, Bulk: true, Hemera: Sample{2e9, 1e-10}, Peer: Sample{1e9, 2e-10}, Ratio: 2, CPURatio: 0.5}},
		Coded: []Result{{Row: "rs:4+2: write", Clients: 1, Bulk: true, Hemera: Sample{1e9, 2e-9}, Peer: Sample{2e9, 1e-9}, Ratio: 0.5, CPURatio: 2}},
		EOS:   []Result{{Row: "stat", Clients: 16, Hemera: Sample{40000, 1e-5}, Peer: Sample{Rate: 10000}, Ratio: 4}},
	}
	var md, js bytes.Buffer
	if err := rep.Markdown(&md); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| read, plain | 4 | 2.00 GB/s, 0.100 s/GB | 1.00 GB/s, 0.200 s/GB | x2.00 | x0.50 |", "| rs:4+2: write | 1 | 1.00 GB/s, 2.000 s/GB | 2.00 GB/s, 1.000 s/GB | x0.50 | x2.00 |", "| stat | 16 | 40000 /s | 10000 /s | x4.0 |"} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("no line %q in\n%s", want, md.String())
		}
	}
	page, err := rep.Update([]byte("a\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nb\n"))
	if err != nil || string(page) != "a\n<!-- bench: begin -->\n"+md.String()+"<!-- bench: end -->\nb\n" {
		t.Errorf("%v, page:\n%s", err, page)
	}
	if _, err := rep.Update([]byte("no marks")); err == nil {
		t.Error("a page without marks was updated")
	}
	var back Report
	if err := rep.JSON(&js); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(js.Bytes(), &back); err != nil || back.Peers[0] != rep.Peers[0] || back.EOS[0] != rep.EOS[0] {
		t.Errorf("%v: %+v", err, back)
	}
}

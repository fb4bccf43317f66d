package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hemera/rules/wire"
)

// Options choose the rows and the place of a run.
type Options struct {
	Binary string // hemera
	Memory string // directory on a memory-backed filesystem
	Disk   string // directory on a disk, for what must be durable
	Rounds int    // each measures every row once at each server
	// FileBytes is the size of bulk files; LoadTime how long loads run that count operations; Names
	// how many names are made where names are used up.
	FileBytes int64
	LoadTime  time.Duration
	Names     int
	Rows      *regexp.Regexp // rows to measure; nil for all
	Peers     bool           // beside the C++ server
	EOS       bool           // beside what EOS does
	Coded     bool           // coded layouts beside plain files
	Block     string         // size of the blocks of coded layouts, "" for the default
	Progress  io.Writer
	Profiles  string // directory for a CPU profile of each row; empty for none

	dir string // of the source files
}

// Sample is one measurement.
// Units are those of the row: bytes for bulk rows, operations for others.
type Sample struct {
	Rate float64 // bytes or operations a second
	CPU  float64 // server's seconds for a byte or an operation
}

// Result is the result of a row. All fields but the names are medians over the rounds.
type Result struct {
	Row     string
	Clients int
	Bulk    bool
	// Hemera and Peer are medians; Ratio and CPURatio medians of the rounds' ratios, of Hemera to the
	// peer. For rows beside EOS only Ratio is set, and Peer's Rate.
	Hemera, Peer    Sample
	Ratio, CPURatio float64
	// Goal is the bound of the CPU, and OfGoal the ratio to it, of rows that have a goal.
	Goal, OfGoal float64
	Rounds       int
}

// Report is the result of a run. A part that was not asked for is empty.
type Report struct {
	Peers, EOS []Result
	Coded      []Result // Peer is the same build with plain files
	Head       []Result // the same, of a head whose other pieces are in another process
}

// Run measures. It needs the C++ xrootd server and xrdcp for rows beside them.
// A row that fails ends the run with its error, and the results so far. It takes minutes: rounds times rows times LoadTime, and the bulk rows.
func Run(ctx context.Context, o Options) (rep Report, err error) {
	// Files are made for another user to read.
	unix.Umask(0o022)
	if o.dir, err = os.MkdirTemp(o.Memory, "hemera-bench."); err != nil {
		return rep, err
	}
	defer func() { _ = os.RemoveAll(o.dir) }()
	// The C++ server runs as another user.
	if err := os.Chmod(o.dir, 0o755); err != nil {
		return rep, err
	}
	if o.Peers {
		if rep.Peers, err = o.besidePeer(ctx); err != nil {
			return rep, err
		}
	}
	if o.Coded {
		if rep.Coded, err = o.besidePlain(ctx, codedRows, oneNode); err != nil {
			return rep, err
		}
		if rep.Head, err = o.besidePlain(ctx, headRows, headShape); err != nil {
			return rep, err
		}
	}
	if o.EOS {
		rep.EOS, err = o.besideEOS(ctx)
	}
	return rep, err
}

// besidePeer measures Hemera and the xrootd server in turn.
// Both run throughout, so the idle one's background work is in the other's figures, in all rounds alike.
func (o *Options) besidePeer(ctx context.Context) ([]Result, error) {
	rows := o.chosen(peerRows())
	if len(rows) == 0 {
		return nil, nil
	}
	// The peer stores one copy, without checksums of content and without syncs.
	servers, clients := split()
	peer, err := startXrootd(o.dir, servers, clients)
	if err != nil {
		return nil, err
	}
	defer peer.stop()
	own, err := startHemera(ctx, o.dir, hemeraShape{binary: o.Binary, nodes: 1, disks: 1,
		space: []string{"policy.layout=plain", "policy.nstripes=1", "policy.sync=off", "policy.checksum=none"}}, servers, clients)
	if err != nil {
		return nil, err
	}
	defer own.stop()
	for _, t := range []*target{own, peer} {
		if err := o.prepare(t); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", t.name, err)
		}
	}
	return o.inTurn(ctx, rows, own, peer)
}

// inTurn measures rows at two servers, round after round in another order.
func (o *Options) inTurn(ctx context.Context, rows []row, own, peer *target) ([]Result, error) {
	// Rows one after the other, each in all its rounds: what the machine does changes slowly.
	var results []Result
	for i := range rows {
		var a, b []Sample
		var more []float64
		for round := range o.Rounds {
			if err := ctx.Err(); err != nil {
				return results, err
			}
			// The order changes with the round.
			pair := []*target{own, peer}
			if round%2 == 1 {
				pair = []*target{peer, own}
			}
			for _, t := range pair {
				s, err := o.apart(t, &rows[i])
				if err != nil {
					return results, fmt.Errorf("%s, %d clients, at %s: %w", rows[i].name, rows[i].clients, t.name, err)
				}
				if t == own {
					a = append(a, s)
				} else {
					b = append(b, s)
				}
			}
			if rows[i].more != nil {
				cost, err := rows[i].more(o.FileBytes)
				if err != nil {
					return results, fmt.Errorf("%s: the goal: %w", rows[i].name, err)
				}
				more = append(more, cost)
			}
		}
		results = append(results, rows[i].result(a, b, more))
		o.progress(results[len(results)-1])
	}
	return results, nil
}

// besideEOS measures Hemera and EOS in turn.
// The other side is a table: only the rate of Hemera is measured.
func (o *Options) besideEOS(ctx context.Context) ([]Result, error) {
	rows := o.chosen(eosRows())
	if len(rows) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp(o.Disk, "hemera-bench.")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// EOS's servers and clients shared two cores.
	both, _ := split()
	t, err := startHemera(ctx, dir, hemeraShape{binary: o.Binary, nodes: 2, disks: 2,
		space: []string{"policy.layout=replica", "policy.nstripes=2", "policy.sync=on", "policy.checksum=adler32"}}, both, both)
	if err != nil {
		return nil, err
	}
	defer t.stop()
	if err := o.prepare(t); err != nil {
		return nil, err
	}
	var results []Result
	for i := range rows {
		var a, b []Sample
		for range o.Rounds {
			if err := ctx.Err(); err != nil {
				return results, err
			}
			s, err := o.apart(t, &rows[i])
			if err != nil {
				return results, fmt.Errorf("%s, %d clients: %w", rows[i].name, rows[i].clients, err)
			}
			// The table has MiB/s.
			peer := Sample{Rate: rows[i].eos}
			if rows[i].bulk {
				peer.Rate *= 1 << 20
			}
			a, b = append(a, s), append(b, peer)
		}
		results = append(results, rows[i].result(a, b, nil))
		o.progress(results[len(results)-1])
	}
	return results, nil
}

// chosen returns the rows that were asked for.
// The text that is matched is the row's name and its connections: "stat x16".
func (o *Options) chosen(rows []row) (some []row) {
	for _, r := range rows {
		if o.Rows == nil || o.Rows.MatchString(fmt.Sprintf("%s x%d", r.name, r.clients)) {
			some = append(some, r)
		}
	}
	return some
}

// prepare makes the files that rows read.
// It is done once for each server, before the first round.
func (o *Options) prepare(t *target) error {
	r := &run{target: t, o: o, row: &row{clients: bigFiles}}
	if err := r.connect(); err != nil {
		return err
	}
	defer r.disconnect()
	s := r.clients[0]
	if err := prepareTree(s); err != nil {
		return err
	}
	// The directories of rows that write.
	for _, d := range []string{"/bench/big", "/bench/new"} {
		if err := s.do(wire.Mkdir{Options: wire.MkdirPath, Mode: 0o755}, d); err != nil {
			return err
		}
	}
	// Written under the names of new files, then moved: one way to write is enough.
	if _, err := r.bulkWrite(false, bulkStep, bulkFlight); err != nil {
		return err
	}
	for i := range bigFiles {
		from := r.newFile(i)
		if err := s.do(wire.Mv{FromLength: int16(len(from))}, from+" "+bigFile(i)); err != nil {
			return err
		}
	}
	return nil
}

// source returns a file of n bytes for stock clients to upload.
// The name has the size, so that rows of one size share it.
func (o *Options) source(n int64) string { return filepath.Join(o.dir, fmt.Sprintf("source-%d", n)) }

// writeSource makes source's file if it is not there.
func (o *Options) writeSource(n int64) error {
	name := o.source(n)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	f, err := os.Create(name)
	// It is in memory, so reading it costs the client a copy.
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	block := pattern(1 << 20)
	for done := int64(0); done < n; done += int64(len(block)) {
		if _, err := f.Write(block[:min(int64(len(block)), n-done)]); err != nil {
			return err
		}
	}
	return nil
}

// measure runs a row once at a target.
// The CPU is that of the server's process alone. A row that fails leaves its files behind; the directory is removed at the end.
func (o *Options) measure(t *target, w *row) (s Sample, err error) {
	r := &run{target: t, o: o, row: w}
	if err := o.writeSource(w.bytes(o)); err != nil {
		return s, err
	}
	if err := r.connect(); err != nil {
		return s, err
	}
	defer r.disconnect()
	for _, step := range w.prepare {
		if err := step(r); err != nil {
			return s, fmt.Errorf("prepare: %w", err)
		}
	}
	if o.Profiles != "" && strings.HasPrefix(t.name, "hemera") {
		finish := o.profile(t, w)
		defer func() { err = errors.Join(err, finish()) }()
	}
	// Before the clock of time: reading it takes a system call.
	cpu, err := t.cpu()
	if err != nil {
		return s, err
	}
	began := time.Now()
	amount, err := w.run(r)
	took := time.Since(began)
	if err != nil {
		return s, err
	}
	after, err := t.cpu()
	if err != nil {
		return s, err
	}
	// CPU for one byte or operation, so that a faster server is not charged for doing more.
	s = Sample{Rate: amount / took.Seconds(), CPU: (after - cpu).Seconds() / amount}
	for _, step := range w.clean {
		if err := step(r); err != nil {
			return s, fmt.Errorf("clean: %w", err)
		}
	}
	return s, nil
}

// apart does what measure does, and waits until the server rests. Rows that clean nothing leave nothing for a server to
// do.
func (o *Options) apart(t *target, w *row) (Sample, error) {
	s, err := o.measure(t, w)
	if err == nil && len(w.clean) > 0 {
		err = t.settle()
	}
	return s, err
}

// result returns the medians of the rounds: a at Hemera, b at its peer, and what the goal allows more if there is one.
// The ratio is taken within each round: both sides had the same machine then. A ratio of medians would not have that.
func (w *row) result(a, b []Sample, more []float64) Result {
	res := Result{Row: w.name, Clients: w.clients, Bulk: w.bulk, Rounds: len(a)}
	pick := func(of func(i int) float64) float64 {
		all := make([]float64, len(a))
		for i := range a {
			all[i] = of(i)
		}
		return median(all)
	}
	res.Hemera = Sample{pick(func(i int) float64 { return a[i].Rate }), pick(func(i int) float64 { return a[i].CPU })}
	res.Peer = Sample{pick(func(i int) float64 { return b[i].Rate }), pick(func(i int) float64 { return b[i].CPU })}
	res.Ratio = pick(func(i int) float64 { return a[i].Rate / b[i].Rate })
	// Only a peer that runs here has CPU figures.
	if res.Peer.CPU > 0 {
		res.CPURatio = pick(func(i int) float64 { return a[i].CPU / b[i].CPU })
	}
	if more != nil {
		res.Goal = pick(func(i int) float64 { return b[i].CPU + more[i] })
		res.OfGoal = pick(func(i int) float64 { return a[i].CPU / (b[i].CPU + more[i]) })
	}
	return res
}

// median returns the middle of some values; 0 of none.
// It sorts v in place.
func median(v []float64) float64 {
	sort.Float64s(v)
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// progress prints a result while the run goes on.
// Results appear as rows end, since a whole run takes long.
func (o *Options) progress(r Result) {
	if o.Progress != nil {
		fmt.Fprintln(o.Progress, r.line())
	}
}

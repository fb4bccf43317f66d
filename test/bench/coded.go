package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hemera/words/hemera"
)

// codedLayouts returns the layouts that are measured beside plain files, by name.
func codedLayouts() []string { return []string{"rs:4+2", "rs:10+4"} }

// codedRows returns the rows that are measured at a server with a coded layout and at one with plain files. Every piece
// is at the same node, so the figures are those of the coding and of the disks, without a network between them.
func codedRows(layout string) []row {
	var rows []row
	for _, n := range []int{1, 4} {
		rows = append(rows,
			row{name: layout + ": write", clients: n, bulk: true, part: share(n),
				run: func(r *run) (float64, error) { return r.bulkWrite(true, bulkStep, bulkFlight) }, clean: steps{(*run).removeNew}},
			row{name: layout + ": read", clients: n, bulk: true, prepare: steps{(*run).openBig},
				run: func(r *run) (float64, error) { return r.bulkRead(true) }, clean: steps{(*run).closeBig}},
			row{name: layout + ": random 4 KiB reads", clients: n, prepare: steps{(*run).openBig},
				run: func(r *run) (float64, error) { return r.random(4<<10, 1) }, clean: steps{(*run).closeBig}},
			row{name: layout + ": create+write 4 KiB+close", clients: n, prepare: steps{(*run).ownDirs}, run: timed(createFilled), clean: steps{prepared(remove)}},
			row{name: layout + ": open+read 4 KiB+close, first time", clients: n, prepare: steps{(*run).ownDirs, prepared(createFilled)},
				run: timed(readFilled), clean: steps{prepared(remove)}},
			row{name: layout + ": open+read 4 KiB+close", clients: n, prepare: steps{(*run).ownDirs, prepared(createFilled), prepared(readFilled)},
				run: readAgain, clean: steps{prepared(remove)}})
	}
	return rows
}

// readAgain reads whole small files that were read before, for the time of a load. Each client reads its own.
func readAgain(r *run) (float64, error) {
	return r.rate(func(i, n int, s *session) error { return readFilled(s, ownName(i, n%r.perClient())) })
}

// oneNode returns a cluster that has all pieces at one node.
func oneNode(l hemera.Layout) hemeraShape { return hemeraShape{nodes: 1, disks: int(l.Pieces)} }

// besidePlain measures rows of each coded layout, at a cluster of a shape, and of plain files in turn, at two servers of one build.
func (o *Options) besidePlain(ctx context.Context, of func(layout string) []row, shape func(hemera.Layout) hemeraShape) (results []Result, err error) {
	for _, name := range codedLayouts() {
		rows := o.chosen(of(name))
		if len(rows) == 0 {
			continue
		}
		some, err := o.besidePlainOne(ctx, name, rows, shape)
		results = append(results, some...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// besidePlainOne measures one layout.
func (o *Options) besidePlainOne(ctx context.Context, name string, rows []row, of func(hemera.Layout) hemeraShape) ([]Result, error) {
	l, err := hemera.ParseLayout(name, 0)
	if err != nil {
		return nil, err
	}
	servers, clients := split()
	var pair []*target
	coded, plain := of(l), hemeraShape{nodes: 1, disks: 1}
	coded.space, plain.space = []string{"policy.layout=" + name}, []string{"policy.layout=plain"}
	for _, shape := range []hemeraShape{coded, plain} {
		shape.binary = o.Binary
		dir := filepath.Join(o.dir, fmt.Sprint("coded-", len(pair)))
		defer func() { _ = os.RemoveAll(dir) }()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		shape.space = append(shape.space, "policy.sync=off", "policy.checksum=adler32")
		if o.Block != "" {
			shape.space = append(shape.space, "policy.blocksize="+o.Block)
		}
		t, err := startHemera(ctx, dir, shape, servers, clients)
		if err != nil {
			return nil, err
		}
		defer t.stop()
		if len(pair) > 0 {
			t.name += "-plain"
		}
		if err := o.prepare(t); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", shape.space[0], err)
		}
		pair = append(pair, t)
	}
	return o.inTurn(ctx, rows, pair[0], pair[1])
}

package bench

import "hemera/words/hemera"

// headRows returns the rows that are measured at a head that has one of the pieces, and at a node with plain files. The
// other pieces are in another process, behind TCP connections of the machine; its CPU is not counted. So the figures are
// those of a head with a network. Their goal is a plain file's CPU, that of the encoding, and that of the bytes sent on,
// or received.
func headRows(layout string) []row {
	more := func(cost func(hemera.Layout, int64) (float64, error)) func(int64) (float64, error) {
		return func(n int64) (float64, error) {
			l, err := hemera.ParseLayout(layout, 0)
			if err != nil {
				return 0, err
			}
			return cost(l, n)
		}
	}
	var rows []row
	for _, n := range []int{1, 4} {
		rows = append(rows,
			row{name: layout + ", at a head: write", clients: n, bulk: true, part: share(n), more: more(writeCost),
				run: func(r *run) (float64, error) { return r.bulkWrite(true, bulkStep, bulkFlight) }, clean: steps{(*run).removeNew}},
			row{name: layout + ", at a head: read", clients: n, bulk: true, more: more(readCost), prepare: steps{(*run).openBig},
				run: func(r *run) (float64, error) { return r.bulkRead(true) }, clean: steps{(*run).closeBig}})
	}
	return rows
}

// headShape returns a cluster whose head has a disk for one piece of each file.
// With as many disks as pieces each file has a piece on each disk, whatever the manager chooses.
func headShape(l hemera.Layout) hemeraShape {
	return hemeraShape{nodes: 1, disks: 1, away: int(l.Pieces) - 1}
}

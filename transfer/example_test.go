package transfer_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// printing is a manager that prints what heads tell it.
type printing struct{ transfer.Committer }

// Commit implements transfer.Committer.
func (printing) Commit(_ context.Context, r hemera.CommitRequest) error {
	fmt.Printf("commit %s: %d bytes, %d pieces, %v\n", r.Permit.Path, r.Size, len(r.Pieces), r.Checksums[0])
	return nil
}

// A node with three disks is the head of a write: what comes goes to two data pieces and a parity. The close seals them
// and commits. Then a disk is lost, and the file is read from the two others.
func Example() {
	ctx := context.Background()
	disks := map[hemera.DiskID]disk.Store{}
	for id := hemera.DiskID(1); id <= 3; id++ {
		memory := vfs.NewMemory(64<<20, time.Now)
		if _, err := disk.Format(memory, "/"); err != nil {
			log.Fatal(err)
		}
		d, err := disk.Open(memory, "/", disk.Options{})
		if err != nil {
			log.Fatal(err)
		}
		defer d.Close()
		disks[id] = d
	}
	host := &transfer.Host{
		Node: piece.Node{
			Self: func() hemera.NodeID { return 1 },
			Disk: func(id hemera.DiskID) (disk.Store, bool) { d, there := disks[id]; return d, there },
			Log:  slog.New(slog.DiscardHandler),
		},
		Born:   func() hemera.Epoch { return 1 },
		Writes: transfer.Writes{Control: printing{}},
	}
	pending := transfer.NewPending(host)

	// A manager signs it; in one process it is believed as it is.
	c := hemera.Capability{
		File: 42, Gen: 1, Path: "/exp/run1.data", Name: "run1.data", Access: hemera.AccessCreate,
		Layout: hemera.ReedSolomon(2, 1), PiecesMin: 3, Checksums: []hemera.ChecksumKind{hemera.Adler32},
	}
	for i := range uint8(3) {
		c.Targets = append(c.Targets, hemera.Target{Index: i, Disk: hemera.DiskID(i + 1), Node: 1})
	}
	content := make([]byte, 1_500_000)
	copy(content, "the first event")
	f, err := pending.Open(ctx, hemera.NewPermit(c, nil), hemera.NodeOpen{Truncate: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.WritePages(content, nil, 0); err != nil {
		log.Fatal(err)
	}
	if err := f.End(ctx, hemera.EndClose); err != nil {
		log.Fatal(err)
	}

	delete(disks, 1)
	c.Access, c.Size = hemera.AccessRead, int64(len(content))
	f, err = pending.Open(ctx, hemera.NewPermit(c, nil), hemera.NodeOpen{})
	if err != nil {
		log.Fatal(err)
	}
	p := make([]byte, 15)
	n, err := f.ReadPages(p, nil, 0)
	fmt.Printf("%q, %v\n", p[:n], err)
	if err := f.End(ctx, hemera.EndClose); err != nil {
		log.Fatal(err)
	}
	host.Wait()
	// Output:
	// commit /exp/run1.data: 1500000 bytes, 3 pieces, adler32:ada505cc
	// "the first event", <nil>
}

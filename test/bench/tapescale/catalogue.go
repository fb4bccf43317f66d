package tapescale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hemera/measure/nsload"
	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/process/statedir"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// What both catalogues have alike.
const (
	tapesOfAll = 10 // with files
	emptyTapes = 90
	usersOfAll = 10
	fileBytes  = 100 << 20
	server     = hemera.NodeID(9) // the tape server
	library    = "lib"
	pool       = "default"
	treePath   = "/load"
)

// catalogue is one namespace with its tape tier.
type catalogue struct {
	files  int64
	shape  nsload.Shape
	path   func(file int64) string
	store  kv.Store
	tree   *namespace.Namespace
	tier   *tier.Tier
	state  tapeapi.Library // as the server reports it
	loaded time.Duration
	bytes  int64 // of the store on disk
	next   int64 // the next file that nobody asked for yet
}

// shapeOf returns a tree. A tenth of its files waits to be archived, and a tenth to be recalled. Of a very small one more
// waits to be archived, since operations take jobs away.
func shapeOf(files int64) nsload.Shape {
	recall, waits := files/10, min(files/2, max(files/10, fewest*batch))
	return nsload.Shape{Files: files, Size: fileBytes, Disks: []hemera.DiskID{1, 2, 3, 4}, UID: 1000, GID: 1000,
		Tape: &nsload.TapeShape{Class: "default", Pool: pool, Library: library, Media: "LTO-9", FilesPerTape: max(1, (files-waits+tapesOfAll-1)/tapesOfAll),
			Archive: waits, Recall: recall, Users: usersOfAll}}
}

// open loads a catalogue in a new directory and opens it.
func open(ctx context.Context, dir string, files int64) (c *catalogue, err error) {
	// Files that nobody asked for come behind those that wait.
	c = &catalogue{files: files, shape: shapeOf(files)}
	c.next = c.shape.Tape.Archive + c.shape.Tape.Recall
	if c.path, err = c.shape.Paths(treePath); err != nil {
		return nil, err
	}
	if c.store, err = statedir.Open(dir, true, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	// Nothing else has the store open during a load.
	begun := time.Now()
	if _, err = nsload.Load(ctx, c.store, nsload.Options{Path: treePath, Shape: c.shape}); err == nil {
		c.loaded = time.Since(begun)
		c.bytes = sizeOf(dir)
		err = c.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// start opens namespace and tier, and reports a library with the tapes and four drives.
func (c *catalogue) start(ctx context.Context) (err error) {
	// As manager does it, without nodes: no content is read or written.
	if c.tree, err = namespace.Open(ctx, c.store, namespace.Options{}); err != nil {
		return err
	}
	if c.tier, err = tier.Open(ctx, tier.Options{Tree: c.tree.Parts(), Grants: words{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}); err != nil {
		return err
	}
	c.state = tapeapi.Library{Name: library, VIDs: map[hemera.VID]string{}}
	for d := range 4 {
		c.state.Drives = append(c.state.Drives, tapeapi.DriveState{Name: driveName(d), Media: []string{"LTO-8"}, Reads: []string{"LTO-9"}, Status: tapeapi.DriveUp})
	}
	c.state.Drives[0].Media = []string{"LTO-9"} // the first one writes, the others can read only
	// Every tape of the catalogue is in the library.
	tapes, err := c.tier.Admin.Tapes(ctx)
	if err != nil {
		return err
	}
	for _, t := range tapes {
		c.state.VIDs[t.VID] = t.MediaType
	}
	// A pool without an empty tape has nothing to write to once its last one is full.
	for i := range emptyTapes {
		vid := fmt.Sprintf("E%05d", i)
		c.state.VIDs[hemera.VID(vid)] = "LTO-9"
		c.tier.Servers.ReportLibrary(server, c.state)
		change := adminapi.TapeChange{Object: "tape", Verb: "add", Name: vid, Values: map[string]string{"tapepool": pool}}
		if err := c.tier.Config.ChangeTape(ctx, "root", change); err != nil {
			return err
		}
	}
	// Decisions are to find work at once, whatever its age, and nothing else: no tape is behind what is written.
	soon := adminapi.TapeChange{Object: "mounting", Verb: "set", Name: "default", Values: map[string]string{"minFilesToWarrantAMount": "1", "lingerSeconds": "0", "readBack": "never"}}
	return c.tier.Config.ChangeTape(ctx, "root", soon)
}

// driveName returns the name of a drive.
func driveName(i int) string { return fmt.Sprintf("d%d", i+1) }

// close closes what is open.
func (c *catalogue) close() error {
	// The namespace first: it writes to the store.
	var err error
	if c.tree != nil {
		err = c.tree.Close()
	}
	if c.store != nil {
		err = errors.Join(err, c.store.Close())
	}
	return err
}

// sizeOf adds up the files below a directory. What goes away meanwhile does not count.
func sizeOf(dir string) (sum int64) {
	// Compactions remove files at any time.
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// words grants transfers that nobody makes.
type words struct{}

// GrantArchive implements tier.Granter.
func (words) GrantArchive(_ context.Context, e hemera.Entry, path string) (tapeapi.Grant, error) {
	return tapeapi.Grant{Path: path, Size: e.Size}, nil
}

// GrantRecall implements tier.Granter.
func (words) GrantRecall(context.Context, hemera.FileID, hemera.Generation) (tapeapi.Grant, func(), error) {
	return tapeapi.Grant{}, func() {}, nil
}

package daemon

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hemera/client/xrootd"
	"hemera/node"
	"hemera/tape/device/emulated"
	"hemera/tape/nodeio"
	"hemera/tape/server"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// TapeOptions has the settings of a tape library.
type TapeOptions struct {
	Name string // of the library, unique in the cluster; "" names it after the node's directory
	// Dir is the directory of an emulated library, which is made with Spec if there is none.
	Dir  string
	Spec emulated.Spec
	// Speed is the factor by which an emulated library is faster than a real one; 0 means without delays.
	Speed int
	// WithoutContainers gives each small file its own tape file.
	WithoutContainers bool
	// Changer is the device of a real library, such as /dev/sg3, and Drives has those of its drives, such as /dev/nst0.
	Changer string
	Drives  []string
}

// instantSpeed is reported to the manager for a library without delays, for its estimates.
const instantSpeed = 1000

// tapeServer is the tape server of a node, with the parts that it owns.
type tapeServer struct {
	*server.Server
	files   *nodeio.Files
	library *library
}

// openTape opens the library of a node. It fails with Unsupported if the manager has no tapes, and with Locked if another
// process has the library.
func openTape(ctx context.Context, n *node.Node, tapes tapeapi.Control, o NodeOptions) (_ *tapeServer, err error) {
	// In a test with its own manager, or with a fixture.
	if tapes == nil {
		return nil, errs.New(errs.Unsupported, "daemon.OpenTape", o.Tape.Dir, "the manager has no tapes")
	}
	t := &tapeServer{}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	// The library first: the most frequent error is that another process has it.
	if t.library, err = openLibrary(ctx, o.Tape, o.Log); err != nil {
		return nil, err
	}
	// It has its own sessions, so that a drive's reads do not wait for those of other parts of the node.
	t.files = nodeio.New(xrootd.Options{Log: o.Log, Panics: n.Panics()})
	name := cmp.Or(o.Tape.Name, filepath.Base(o.Dir)+"-tape")
	// Names of drives are unique in the cluster, like the name of the library.
	options := server.Options{Node: n.Lease, Control: tapes, Saw: n.Saw, Name: name, Changer: t.library.changer, Files: t.files, Host: hostName(), Version: o.Version, Log: o.Log, Panics: n.Panics()}
	if o.Tape.Dir != "" {
		options.Speed = cmp.Or(o.Tape.Speed, instantSpeed)
	}
	if o.Tape.WithoutContainers {
		options.Limits.PackBelow = -1
	}
	for i, d := range t.library.drives {
		writes, reads := mediaOf(d.Identity().Product)
		options.Drives = append(options.Drives, server.Drive{Drive: d, Name: fmt.Sprintf("%s-d%d", name, i+1), Media: writes, Reads: reads})
	}
	t.Server, err = server.New(options)
	return t, err
}

// close releases the library. The server must have ended.
func (t *tapeServer) close() {
	// The sessions have ended, so open files are not needed any more.
	if t.files != nil {
		_ = t.files.Close()
	}
	if t.library != nil {
		t.library.close()
	}
}

// hostName returns the name of this machine for labels.
func hostName() string {
	// Without its domain, as in CTA; "" becomes NONE in labels.
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(name, ".")
	return name
}

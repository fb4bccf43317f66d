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
	"hemera/words/hemera"
)

// TapeOptions are the settings of a tape library.
type TapeOptions struct {
	Name string // of the library, unique in the cluster; "" names it after the node's directory
	// Dir has an emulated library, which is made with Spec if there is none.
	Dir  string
	Spec emulated.Spec
	// Speed is how many times faster than real an emulated library moves; 0 does not wait.
	Speed int
	// WithoutContainers gives each small file a tape file of its own.
	WithoutContainers bool
	// Changer is the device of a real library, such as /dev/sg3, and Drives are those of its drives, such as /dev/nst0.
	Changer string
	Drives  []string
}

// instantSpeed is what the manager hears of a library that does not wait, for its estimates.
const instantSpeed = 1000

// tapeServer is the tape server of a node, with what it owns.
type tapeServer struct {
	*server.Server
	files   *nodeio.Files
	library *library
}

// openTape opens the library of a node. Unsupported if the manager has no tapes, Locked if another process has the library.
func openTape(ctx context.Context, n *node.Node, tapes hemera.TapeControl, o NodeOptions) (_ *tapeServer, err error) {
	// Of a test with a manager of its own, or a fixture.
	if tapes == nil {
		return nil, errs.New(errs.Unsupported, "daemon.OpenTape", o.Tape.Dir, "the manager has no tapes")
	}
	t := &tapeServer{}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	// The library first: that another process has it is what goes wrong most.
	if t.library, err = openLibrary(ctx, o.Tape, o.Log); err != nil {
		return nil, err
	}
	// Sessions of its own: a drive's reads do not wait behind those of other parts of the node.
	t.files = nodeio.New(xrootd.Options{Log: o.Log, Panics: n.Panics()})
	name := cmp.Or(o.Tape.Name, filepath.Base(o.Dir)+"-tape")
	// Names of drives are unique in the cluster, as the name of the library is.
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

// close releases the library after the server has ended.
func (t *tapeServer) close() {
	// Sessions have ended: what is still open is of no use.
	if t.files != nil {
		_ = t.files.Close()
	}
	if t.library != nil {
		t.library.close()
	}
}

// hostName is what labels call this machine.
func hostName() string {
	// Without its domain, as CTA has it; "" becomes NONE in labels.
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(name, ".")
	return name
}

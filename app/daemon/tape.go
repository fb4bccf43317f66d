package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"hemera"
	"hemera/app/tapeio"
	"hemera/errs"
	"hemera/platform/tape/emulated"
	"hemera/platform/xrootd"
	"hemera/rules/tapemodel"
	"hemera/services/node"
	"hemera/services/tape"
)

// TapeOptions are the settings of a tape library.
type TapeOptions struct {
	Name string // of the library, unique in the cluster; "" names it after the node's directory
	// Dir has an emulated library, which is made with Spec if there is none.
	Dir  string
	Spec emulated.Spec
	// Speed is how many times faster than real an emulated library moves; 0 does not wait.
	Speed int
}

// tapeServer is the tape server of a node, with what it owns.
type tapeServer struct {
	*tape.Server
	files   *tapeio.Files
	library *emulated.Library
}

// openTape opens the library of a node. Unsupported if the manager has no tapes, Locked if another process has the library.
func openTape(ctx context.Context, n *node.Node, control hemera.Control, o NodeOptions) (_ *tapeServer, err error) {
	tapes, ok := control.(hemera.TapeControl)
	if !ok {
		return nil, errs.New(errs.Unsupported, "daemon.OpenTape", o.Tape.Dir, "the manager has no tapes")
	}
	t := &tapeServer{}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	// The library first: that another process has it is what goes wrong most.
	if t.library, err = openEmulated(o.Tape, o.Log); err != nil {
		return nil, err
	}
	t.files = tapeio.New(xrootd.Options{Log: o.Log})
	name := cmp.Or(o.Tape.Name, filepath.Base(o.Dir)+"-tape")
	// Names of drives are unique in the cluster, as the name of the library is.
	options := tape.Options{Node: n.Lease, Control: tapes, Name: name, Changer: t.library.Changer(), Files: t.files, Host: hostName(), Version: o.Version, Log: o.Log}
	for i, d := range t.library.Drives() {
		options.Drives = append(options.Drives, tape.Drive{Drive: d, Name: fmt.Sprintf("%s-d%d", name, i+1), Media: mediaTypes()})
	}
	t.Server, err = tape.New(options)
	return t, err
}

// close releases the library after the server has ended.
func (t *tapeServer) close() {
	// Sessions have ended: what is still open is of no use.
	if t.files != nil {
		_ = t.files.Close()
	}
	if t.library != nil {
		_ = t.library.Close()
	}
}

// openEmulated opens an emulated library, and makes it first if there is none.
func openEmulated(o *TapeOptions, log *slog.Logger) (*emulated.Library, error) {
	// Spec of a library that is there already is not looked at: its cartridges may have files.
	scale := 0.0 // nobody waits
	if o.Speed > 0 {
		scale = 1 / float64(o.Speed)
	}
	l, err := emulated.Open(o.Dir, emulated.Options{TimeScale: scale})
	if !errors.Is(err, errs.NotFound) {
		return l, err
	}
	if err := emulated.Create(o.Dir, o.Spec); err != nil {
		return nil, err
	}
	log.Info("made an emulated tape library", "directory", o.Dir)
	return emulated.Open(o.Dir, emulated.Options{TimeScale: scale})
}

// mediaTypes are all that are known: an emulated drive takes every cartridge.
func mediaTypes() (names []string) {
	for _, m := range tapemodel.Medias() {
		names = append(names, m.Name)
	}
	return names
}

// hostName is what labels call this machine.
func hostName() string {
	// Without its domain, as CTA has it; "" becomes NONE in labels.
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(name, ".")
	return name
}

// ParseEmulation reads what an emulated library is to have, such as "drives=2,slots=40,cartridges=30,media=LTO-9,capacity=4000000000". Invalid.
func ParseEmulation(text string) (s emulated.Spec, err error) {
	// Nothing of a library can be changed by this later, so a slip of the keyboard is an error.
	pair := regexp.MustCompile(`^([a-z]+)=([A-Za-z0-9-]+)$`)
	for part := range strings.SplitSeq(text, ",") {
		m := pair.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return s, badEmulation(text, "it is no list of NAME=VALUE")
		}
		// The media is the only value that is no number.
		number, bad := strconv.ParseInt(m[2], 10, 64)
		switch m[1] {
		case "drives":
			s.Drives = int(number)
		case "slots":
			s.Slots = int(number)
		case "gates":
			s.Gates = int(number)
		case "cartridges":
			s.Cartridges = int(number)
		case "capacity":
			s.Capacity = number
		case "media":
			s.Media, bad = m[2], nil
		default:
			return s, badEmulation(text, "nothing is called "+m[1])
		}
		if bad != nil || number < 0 {
			return s, badEmulation(text, m[2]+" is no number")
		}
	}
	return s, nil
}

// badEmulation is the error of a description that cannot be read.
func badEmulation(text, why string) error {
	return errs.New(errs.Invalid, "daemon.ParseEmulation", text, why).
		WithRemedy("name drives, slots, gates, cartridges, capacity (bytes of one cartridge) or media, such as drives=2,slots=40,media=LTO-9")
}

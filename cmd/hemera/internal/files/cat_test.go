package files

import (
	"errors"
	"math"
	"sync"
	"testing"

	"hemera/client/direct"
	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/cmd/hemera/internal/cli"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// changingOut is a standard output that changes the file being read when the first byte arrives.
type changingOut struct {
	once   sync.Once
	change func()
}

func (o *changingOut) Write(p []byte) (int, error) {
	o.once.Do(o.change)
	return len(p), nil
}

// TestCatOfAFileThatChanges: if a file changes during cat, even without a new size, the output is a mixture, so the
// command fails. A changed access time does not count.
func TestCatOfAFileThatChanges(t *testing.T) {
	for name, change := range map[string]func(*wire.StatInfo){
		"not": func(i *wire.StatInfo) { i.Atime++ }, "written": func(i *wire.StatInfo) { i.Mtime++ }, "replaced": func(i *wire.StatInfo) { i.ID++ },
	} {
		t.Run(name, func(t *testing.T) {
			answer, changed := xrootdtest.ChangingFile(xrootdtest.Pattern(1 << 20))
			server := xrootdtest.New(t, xrootdtest.DataServer, answer)
			c := xrootd.New(xrootd.Options{Chunk: 64 << 10})
			defer c.Close()
			from := direct.New(c, direct.Options{})
			defer from.Close()
			out := &changingOut{change: func() { changed(change) }}
			err := cat(t.Context(), &cli.Env{Console: cli.Console{Out: out}}, from, server.URL("/f").String(), 0, math.MaxInt64)
			if same := name == "not"; same && err != nil || !same && (!errors.Is(err, errs.Conflict) || errs.RemedyOf(err) == "") {
				t.Error(err)
			}
		})
	}
}

package files

import (
	"context"
	"fmt"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/doors/xrd/translate"
	"hemera/words/hemera"
)

// listing is the source of entries for ls: any server, or the manager, which has more information.
type listing interface {
	stat(ctx context.Context, u xrootd.URL) (listedEntry, error)
	list(ctx context.Context, u xrootd.URL, visit func(listedEntry) error) error
}

// listedEntry is one entry. redundancy is that of a file from the manager, "" from other servers.
type listedEntry struct {
	xrootd.Info
	redundancy string
}

// anyServer lists with the data protocol.
type anyServer struct{ *xrootd.Client }

func (s anyServer) stat(ctx context.Context, u xrootd.URL) (listedEntry, error) {
	i, err := s.Stat(ctx, u)
	return listedEntry{Info: i}, err
}

func (s anyServer) list(ctx context.Context, u xrootd.URL, visit func(listedEntry) error) error {
	return s.List(ctx, u, func(i xrootd.Info) error { return visit(listedEntry{Info: i}) })
}

// ofManager lists with the admin API, which knows the places of content.
type ofManager struct{ names admin.Names }

func (m ofManager) stat(ctx context.Context, u xrootd.URL) (listedEntry, error) {
	e, err := m.names.Stat(ctx, hemera.Identity{}, u.Path)
	return copiesOf(e), err
}

func (m ofManager) list(ctx context.Context, u xrootd.URL, visit func(listedEntry) error) error {
	return m.names.List(ctx, hemera.Identity{}, u.Path, func(e hemera.Entry) error { return visit(copiesOf(e)) })
}

// copiesOf returns an entry of the manager in the form of other servers. Its flags do not depend on a user.
func copiesOf(e hemera.Entry) listedEntry {
	l := listedEntry{Info: xrootd.Info{Name: e.Name, StatInfo: translate.StatOfEntry(e, hemera.Identity{})}}
	if !e.IsDir() {
		l.redundancy = redundancy(e, len(e.Pieces))
	}
	return l
}

// redundancy returns EOS's word for the places of a file: d<pieces on disk>::t<1 if it is on tape>.
func redundancy(e hemera.Entry, pieces int) string {
	tape := 0
	if e.OnTape() {
		tape = 1
	}
	return fmt.Sprintf("d%d::t%d", pieces, tape)
}

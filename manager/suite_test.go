package manager

import (
	"context"
	"testing"

	"hemera/test/conform/service"
	"hemera/words/hemera"
)

func TestNamesSuite(t *testing.T) {
	service.Names(t, func(t *testing.T) service.NamesOptions {
		r := newRig(t, 2, 1)
		if _, err := r.m.Names.Mkdir(t.Context(), hemera.SystemIdentity(), "/suite", 0o777, false); err != nil {
			t.Fatal(err)
		}
		return service.NamesOptions{Names: r.m.Names, Who: alice, Dir: "/suite", MakeFile: func(t *testing.T, path string) { r.write(path, 0) }}
	})
}

func TestFilesSuite(t *testing.T) {
	service.Files(t, func(t *testing.T) service.FilesOptions {
		r := newRig(t, 2, 1)
		if _, err := r.m.Names.Mkdir(t.Context(), hemera.SystemIdentity(), "/suite", 0o777, false); err != nil {
			t.Fatal(err)
		}
		return service.FilesOptions{Files: r.m.Files, Names: r.m.Names, Who: alice, Other: bob, Barred: bob, Dir: "/suite", End: r.end}
	})
}

// end tells the manager what a head says when a handle on the write ends.
func (r *rig) end(ctx context.Context, g hemera.Grant, size int64, how hemera.Ending) error {
	switch how {
	case hemera.EndAbort:
		return r.m.Control.Abort(ctx, shown(g))
	case hemera.EndClose:
		_, err := r.m.Control.Commit(ctx, r.seal(g, size))
		return err
	}
	return nil
}

func TestControlSuite(t *testing.T) {
	service.Control(t, func(t *testing.T) service.ControlOptions {
		r := newRig(t, 1, 1)
		return service.ControlOptions{Control: r.m.Control, Context: (*testing.T).Context}
	})
	t.Run("AsARemoteNode", func(t *testing.T) {
		service.Control(t, func(t *testing.T) service.ControlOptions {
			r := newRig(t, 1, 1)
			id, err := r.m.Cluster.Admin.ReserveNode(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return service.ControlOptions{Control: r.m.Control, Node: id, Context: func(t *testing.T) context.Context { return hemera.WithCaller(t.Context(), id) }}
		})
	})
}

package manager

import (
	"context"
	"errors"
	"slices"
	"time"

	"hemera/namespace"
	"hemera/tape/tier"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A file that is on tape is not lost when its disks are. Its disk copies go, as those of any file that is evicted, and it is recalled:
//
//	lost for good    every good piece was on disks that an admin took out, or is known to be bad: without being asked, by [rescuer]
//	away for now     its disks are away for longer than repair waits for them: when somebody opens it
//
// All tape copies must be there, so this trusts tape as an eviction does. Pieces on a disk that comes back are removed from it.

// rescueRest is the interval of looks for lost files, and rescueShare bounds it from below as a multiple of the time that a look took.
const (
	rescueRest  = time.Second
	rescueShare = 20
)

// rescuer is the maint.Worker that has lost files recalled from tape.
type rescuer struct {
	tree    namespace.Parts
	view    func() *hemera.View
	tier    *tier.Tier // recalls them
	broken  brokenList
	now     func() time.Time
	started time.Time // nodes that were there before may come back
}

// Name implements maint.Worker.
func (*rescuer) Name() string { return "files to recall as their disks are lost" }

// Step implements maint.Worker.
func (r *rescuer) Step(ctx context.Context) (time.Duration, error) {
	began, view := r.now(), r.view()
	var gone []hemera.DiskID
	for _, d := range view.Removed {
		gone = append(gone, d.ID)
	}
	list, _ := r.broken()
	broken := newBrokenSet(list)
	err := filesWithout(ctx, r.tree, gone, list, func(e hemera.Entry, _ hemera.DiskID) error {
		// Most files of a removed disk have other pieces, and are repaired from them.
		if s, _ := stand(view, e, broken); s != lostFile || len(e.Tape) == 0 {
			return nil
		}
		_, err := r.tier.Stager.Instead(ctx, hemera.SystemIdentity(), e)
		return err
	})
	return max(rescueRest, rescueShare*r.now().Sub(began)), err
}

// filesWithout visits the files that have pieces on disks that cannot be read, and those that have broken pieces on other disks. A
// file comes once for each such disk. Files that are removed meanwhile are left out.
func filesWithout(ctx context.Context, tree holdings, disks []hemera.DiskID, broken []hemera.BadPiece, visit func(e hemera.Entry, at hemera.DiskID) error) error {
	for _, id := range disks {
		for after := hemera.FileID(0); ; {
			page, err := tree.DiskFiles(ctx, id, after, censusPage)
			if err != nil {
				return errs.Wrap(err, "manager.Unreadable", "disk "+id.String())
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				after = e.ID
				if err := visit(e, id); err != nil {
					return err
				}
			}
		}
	}
	known := newBrokenSet(broken)
	for _, b := range broken {
		// It came with the disk.
		if slices.Contains(disks, b.Disk) {
			continue
		}
		e, _, err := tree.Resolve(ctx, b.Piece.File)
		// The list outlives pieces.
		if p := (hemera.Piece{Index: b.Piece.Index, Disk: b.Disk}); err == nil && slices.Contains(e.Pieces, p) && known.has(e, p) {
			err = visit(e, b.Disk)
		}
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
	}
	return nil
}

// onOpen has a file recalled that an open could not read from disks. It returns errOutdated then: the next try of the open
// finds the file on tape only, and has the client wait. Else it returns the error of the open.
func (r *rescuer) onOpen(ctx context.Context, who hemera.Identity, e hemera.Entry, err error) error {
	if errs.KindOf(err) != errs.NoReplicas || len(e.Tape) == 0 {
		return err
	}
	view, now := r.view(), r.now()
	if s, _ := stand(view, e, r.broken.set()); s == readable {
		return err // by others than this client, which could not reach them
	}
	for _, p := range e.Pieces {
		d, _ := view.Disk(p.Disk)
		// A node that is silent for a while is most often back sooner than a tape is mounted.
		if n, ok := view.Node(d.Node); ok && n.Status == hemera.NodeOffline && now.Sub(latest(n.Heartbeat, r.started)) <= view.Grace {
			return err
		}
	}
	if begun, failed := r.tier.Stager.Instead(ctx, who, e); failed != nil || !begun {
		return err
	}
	return errOutdated
}

// noPieceWait is for how long a reader that found no good piece waits until the manager has heard that of nodes, and no piece could be repaired.
const noPieceWait = 14 * time.Second

// onNoPiece has a file recalled whose reader was sent back by a node that found no good piece. The reports of nodes decide, and not the client's
// word: until they did, it is Unavailable, for a while. errOutdated is as in onOpen; nil grants the read.
func (r *rescuer) onNoPiece(ctx context.Context, who hemera.Identity, e *hemera.Entry, o hemera.OpenRequest) error {
	if len(e.Tape) == 0 {
		return nil
	}
	if s, _ := stand(r.view(), *e, r.broken.set()); s == lostFile {
		if begun, err := r.tier.Stager.Instead(ctx, who, *e); err != nil || !begun {
			return err
		}
		return errOutdated
	}
	if age := r.now().Sub(o.NoPiece); age < 0 || age >= noPieceWait {
		return nil
	}
	return errs.New(errs.Unavailable, "manager.Open", o.Path, "no good piece of the file was found; if none can be repaired, it is brought from tape")
}

// latest returns the later one of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

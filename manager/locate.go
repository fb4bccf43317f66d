package manager

import (
	"context"
	"slices"
	"time"

	"hemera/cluster"
	"hemera/maint/orders"
	"hemera/manager/sums"
	"hemera/namespace"
	"hemera/rules/checksum"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// locator is the part of hemera.Files that finds and reads files for others: where they are, and their checksums.
type locator struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	orders  *orders.Dispatcher // to compute checksums
	sums    *sums.Sums         // checksums that nodes compute for clients
	broken  brokenList
	nonces  *nonces
	ops     *operations
	now     func() time.Time
}

// Locate implements hemera.Files.
func (l *locator) Locate(ctx context.Context, who hemera.Identity, path string) (targets []hemera.Target, err error) {
	defer l.ops.begin("Locate").end(&err)
	prep, err := l.tree.Prepare(ctx, who, hemera.OpenRequest{Path: path, Access: hemera.AccessRead})
	if err != nil {
		return nil, err
	}
	// A new seed for each call: clients that read the first place are spread over equal replicas.
	view, e, seed := l.cluster.View(), prep.Entry, l.nonces.next()
	// An empty file, and one that is on tape only, are on no node more than on another: an open begins anywhere.
	if e.Evicted() || e.Size == 0 && len(e.Pieces) == 0 {
		if targets = anyNode(view, nil, seed); len(targets) == 0 {
			return nil, errs.New(errs.NoReplicas, "manager.Locate", path, "no node is online").WithRemedy("`hemera node ls` shows the nodes")
		}
		return targets, nil
	}
	targets = place.Order(view, e.Pieces, who.Host, nil, seed)
	// Any of the nodes can be the head, but only if together they have enough.
	if len(targets) == 0 || !enough(e.Layout, e.Size, targets) {
		return nil, l.broken.noReplicas(view, path, &e, targets, nil)
	}
	return targets, nil
}

// Checksum implements hemera.Files. A kind that is not stored is computed by a node that has a
// piece; the next one is asked when that fails.
func (l *locator) Checksum(ctx context.Context, who hemera.Identity, path string, kind hemera.ChecksumKind) (sum hemera.Checksum, err error) {
	defer l.ops.begin("Checksum").end(&err)
	prep, err := l.tree.Prepare(ctx, who, hemera.OpenRequest{Path: path, Access: hemera.AccessRead})
	if err != nil {
		return hemera.Checksum{}, err
	}
	e := prep.Entry
	if e.IsDir() {
		return hemera.Checksum{}, errs.New(errs.IsDirectory, "manager.Checksum", path, "")
	}
	if kind == hemera.ChecksumNone && len(e.Checksums) > 0 {
		return e.Checksums[0], nil
	}
	if kind == hemera.ChecksumNone {
		// The file stores none and the client names none, so any kind will do.
		kind = hemera.CRC32C
	}
	if sum, ok := hemera.FindChecksum(e.Checksums, kind); ok {
		return sum, nil
	}
	if e.Size == 0 && len(e.Pieces) == 0 {
		// An empty file has no pieces, so there is no node to ask.
		return checksum.Of(kind, nil)
	}
	view := l.cluster.View()
	targets := place.Order(view, e.Pieces, "", nil, l.nonces.next())
	if !enough(e.Layout, e.Size, targets) {
		return hemera.Checksum{}, l.broken.noReplicas(view, path, &e, targets, nil)
	}
	sum, err = l.sums.Do(ctx, who, sums.Key{File: e.ID, Gen: e.Gen, Kind: kind}, func(ctx context.Context) (sum hemera.Checksum, err error) {
		// One node after the other: each reads the whole file, so two at once would waste the work of one.
		for _, t := range targets {
			sum, err = l.compute(ctx, e, t, targets, kind)
			if err == nil || ctx.Err() != nil {
				break
			}
		}
		return sum, err
	})
	return sum, errs.Wrap(err, "manager.Checksum", path)
}

// compute has one node read the file: its own piece, which is a copy, or the pieces of a coded file.
func (l *locator) compute(ctx context.Context, e hemera.Entry, at hemera.Target, sources []hemera.Target, kind hemera.ChecksumKind) (hemera.Checksum, error) {
	order := hemera.Order{
		Kind: hemera.OrderVerify, Disk: at.Disk, Checksum: kind, Piece: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: at.Index},
	}
	if e.Layout.Coded() {
		c := hemera.Capability{Access: hemera.AccessRead, Targets: sources, Who: hemera.SystemIdentity(), Expires: l.now().Add(hemera.CapabilityLifetime)}
		describe(&c, &e)
		token, err := l.cluster.Keys.Ring().MintFor(c, at.Node)
		if err != nil {
			return hemera.Checksum{}, err
		}
		order.Kind, order.Token = hemera.OrderSum, token
	}
	result, err := l.orders.Do(ctx, at.Node, order)
	if err != nil {
		return hemera.Checksum{}, err
	}
	if result.BadPages > 0 {
		return hemera.Checksum{}, errs.New(errs.Corrupt, "manager.Checksum", e.Name, "disk "+at.Disk.String()+" has bad pages of the file")
	}
	i := slices.IndexFunc(result.Checksums, func(c hemera.Checksum) bool { return c.Kind == kind })
	if i < 0 {
		return hemera.Checksum{}, errs.New(errs.Unsupported, "manager.Checksum", e.Name, "the node did not compute "+kind.String())
	}
	return result.Checksums[i], nil
}

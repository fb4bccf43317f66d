package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/platform/pki"
	"hemera/platform/rpc"
	"hemera/rules/capability"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// rogue is a node in bad hands: it has joined by a token, with a certificate of its own, and speaks the control
// protocol itself.
type rogue struct {
	*rpc.Client
	t           *testing.T
	credentials *pki.Credentials
	welcome     hemera.NodeWelcome
}

func (j *joined) rogue() *rogue {
	j.t.Helper()
	text := j.token(0)
	token, err := pki.ParseToken(text)
	if err != nil {
		j.t.Fatal(err)
	}
	enrol := func() (*pki.Credentials, error) {
		c, err := rpc.Dial(rpc.ClientOptions{Addrs: token.Addrs, TLS: token.TLS()})
		if err != nil {
			j.t.Fatal(err)
		}
		defer c.Close()
		return pki.Enrol(j.t.Context(), j.t.TempDir(), token, c)
	}
	r := &rogue{t: j.t}
	if r.credentials, err = enrol(); err != nil {
		j.t.Fatal(err)
	}
	if _, err := enrol(); !errors.Is(err, errs.Unauthenticated) {
		j.t.Errorf("the same token lets another node in: %v", err)
	}
	if r.Client, err = rpc.Dial(rpc.ClientOptions{Addrs: token.Addrs, TLS: r.credentials.TLS()}); err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { r.Close() })
	if r.welcome, err = r.Register(j.t.Context(), hemera.NodeHello{Addr: "127.0.0.1:9"}); err != nil {
		j.t.Fatal(err)
	}
	return r
}

// forged returns a capability signed by all that a node is told.
func (r *rogue) forged(c hemera.Capability) string {
	r.t.Helper()
	if len(r.welcome.Keys) == 0 {
		r.t.Fatal("it was told no key")
	}
	key := r.welcome.Keys[0]
	key.Node = 0
	c.Expires = time.Now().Add(1000 * time.Hour)
	token, err := capability.NewKeyring(key).Mint(c)
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

func wants(t *testing.T, what string, err error, kinds ...errs.Kind) {
	t.Helper()
	for _, k := range kinds {
		if errors.Is(err, k) {
			return
		}
	}
	t.Errorf("%s: got %v, want one of %v", what, err, kinds)
}

// A stolen join token, or a bad node, opens no file, changes none and learns of none that is at other nodes.
func TestANodeInBadHands(t *testing.T) {
	t.Parallel()
	j := startManager(t)
	n, err := j.open(t.TempDir(), j.token(0))
	if err != nil {
		t.Fatal(err)
	}
	defer j.run(n)()
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	ctx := t.Context()
	secret := content("/secret", 100_000)
	write(t, c, urlAt(t, j.manager.Addr, "/secret"), secret)
	write(t, c, urlAt(t, j.manager.Addr, "/other"), []byte("other"))
	r := j.rogue()

	grant := func(path string, access hemera.Access) hemera.Grant {
		t.Helper()
		g, err := j.manager.Files.Open(ctx, hemera.SystemIdentity(), hemera.OpenRequest{Path: path, Access: access, Mode: 0o600})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	tokenOf := func(g hemera.Grant) string {
		token, err := g.Permit.Token()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	open := func(path, token string) error {
		u := urlAt(t, n.Addr, path)
		u.Opaque = wire.Opaque("").With(wire.OpaqueCapability, token)
		f, err := c.Open(ctx, u, xrootd.OpenOptions{})
		if err == nil {
			_ = f.Close(ctx)
		}
		return err
	}
	reads := grant("/secret", hemera.AccessRead)
	if err := open("/secret", tokenOf(reads)); err != nil {
		t.Fatalf("the manager's own: %v", err)
	}
	wants(t, "the token of another path", open("/other", tokenOf(reads)), errs.Denied)
	wants(t, "a forged read", open("/secret", r.forged(reads.Permit.Capability)), errs.Denied)
	for id := range hemera.FileID(20) {
		_, _, err := r.Resolve(ctx, id)
		wants(t, "resolve", err, errs.Denied, errs.NotFound)
	}

	writes := grant("/secret", hemera.AccessCreate)
	forged := writes.Permit.Capability
	forged.Head = r.credentials.Node()
	for how, token := range map[string]string{"another's": tokenOf(writes), "a forged": r.forged(forged)} {
		_, err := r.Commit(ctx, hemera.CommitRequest{Permit: hemera.ParsePermit(token)})
		wants(t, "commit by "+how+" token", err, errs.Denied)
		wants(t, "abort by "+how+" token", r.Abort(ctx, hemera.ParsePermit(token)), errs.Denied)
		_, err = r.Replace(ctx, hemera.ParsePermit(token), []hemera.DiskID{writes.Permit.Targets[0].Disk})
		wants(t, "replace by "+how+" token", err, errs.Denied)
	}
	stolen := []hemera.OpenWrite{{Permit: writes.Permit}, {Permit: hemera.ParsePermit(r.forged(forged))}}
	_ = j.manager.Control.Abort(ctx, writes.Permit)
	j.holdsNothing(r, n.ID(), stolen)
	read(t, c, urlAt(t, j.manager.Addr, "/secret"), secret)

	shown, err := j.manager.Cluster.Keys.Ring().MintFor(reads.Permit.Capability, r.credentials.Node())
	if err != nil {
		t.Fatal(err)
	}
	if err := open("/secret", shown); err != nil {
		t.Fatal(err)
	}
	if err := j.admin.Trust.ExpelNode(ctx, r.credentials.Node()); err != nil {
		t.Fatal(err)
	}
	r.isNothing(ctx, tokenOf(writes))
	for open("/secret", shown) == nil { // until the next heartbeat has told the node
		select {
		case <-ctx.Done():
			t.Fatal("what it was shown still opens")
		case <-time.After(10 * time.Millisecond):
		}
	}
	read(t, c, urlAt(t, j.manager.Addr, "/secret"), secret)
}

// holdsNothing has the rogue announce writes, by permits that are not its own. It hears of no refusal, and no name is held.
func (j *joined) holdsNothing(r *rogue, other hemera.NodeID, writes []hemera.OpenWrite) {
	j.t.Helper()
	ctx, epoch := j.t.Context(), r.welcome.Epoch
	wants(j.t, "an announcement for another node", r.Announce(ctx, hemera.Announcement{Node: other, Epoch: epoch}), errs.Denied)
	if err := r.Announce(ctx, hemera.Announcement{Node: r.credentials.Node(), Epoch: epoch, Writes: writes}); err != nil {
		j.t.Error(err)
	}
	if list, err := j.manager.Writes.Writes(ctx, hemera.SystemIdentity()); err != nil || len(list) != 0 {
		j.t.Errorf("after announcements of a rogue %+v hold names, %v", list, err)
	}
}

// isNothing makes every call there is.
func (r *rogue) isNothing(ctx context.Context, token string) {
	r.t.Helper()
	_, register := r.Register(ctx, hemera.NodeHello{Addr: "127.0.0.1:9"})
	_, beat := r.Heartbeat(ctx, r.credentials.Node(), r.welcome.Epoch, hemera.NodeReport{})
	_, exchange := r.Exchange(ctx, r.credentials.Node(), r.welcome.Epoch, nil)
	_, commit := r.Commit(ctx, hemera.CommitRequest{Permit: hemera.ParsePermit(token)})
	_, replace := r.Replace(ctx, hemera.ParsePermit(token), nil)
	_, _, resolve := r.Resolve(ctx, 2)
	for call, err := range map[string]error{
		"register": register, "heartbeat": beat, "exchange": exchange, "commit": commit, "abort": r.Abort(ctx, hemera.ParsePermit(token)), "replace": replace, "resolve": resolve,
		"renew": r.credentials.Renew(ctx, r.Client), "announce": r.Announce(ctx, hemera.Announcement{Node: r.credentials.Node(), Epoch: r.welcome.Epoch}),
	} {
		wants(r.t, "after its removal, "+call, err, errs.NotFound)
	}
}

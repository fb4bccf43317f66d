// Package tpc has the common part of both ends of a third-party copy (§4): which of its opens is which, and the key that
// lets the destination read the source for its client.
//
// A copy has three opens. The client opens the destination, naming the source; then the source, naming the destination;
// and the destination opens the source, naming the client. Only these three know the key. The source remembers the
// client's open in a [Rendezvous] until the destination comes, which may be before the client.
//
// It is a package of its own because it has the common part of three parties, and needs nothing of a connection.
package tpc

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// Keys of third-party copies in the opaque part of a URL (§4.1).
const (
	Prefix    = "tpc."
	Key       = "tpc.key"
	SourceKey = "tpc.src" // at the destination: address of the source
	DestKey   = "tpc.dst" // at the source, from the client: the destination
	OriginKey = "tpc.org" // at the source, from the destination: the client
	PathKey   = "tpc.lfn"
	OpaqueKey = "tpc.scgi"
)

// Party is the place of an open among the three opens of a copy.
type Party uint8

// The parties.
const (
	Target   Party = 1 // the client's open of the destination
	Provider Party = 2 // the client's open of the source
	Puller   Party = 3 // the destination's open of the source
)

// PartyOf returns the party of an open with tpc.key.
func PartyOf(o wire.Opaque) (Party, error) {
	src, dst, org := o.Has(SourceKey), o.Has(DestKey), o.Has(OriginKey)
	switch {
	case src && !dst && !org:
		return Target, nil
	case dst && !org && !src:
		return Provider, nil
	case org && !dst && !src:
		return Puller, nil
	}
	return 0, translate.Refuse(wire.ArgInvalid, "third-party copy: exactly one of tpc.src, tpc.dst and tpc.org goes with tpc.key")
}

// Pulls reports whether an open is the destination's open of its source. It fails like [PartyOf].
func Pulls(o wire.Opaque) (bool, error) {
	if !o.Has(Key) {
		return false, nil
	}
	party, err := PartyOf(o)
	return party == Puller, err
}

// HostNames returns the names that a source may have for a host: stock servers use the DNS name if there is one,
// otherwise the address in a form of their own.
func HostNames(ctx context.Context, ip netip.Addr) []string {
	number := "[" + ip.String() + "]"
	if ip.Is4() {
		number = "[::ffff:" + ip.String() + "]"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	names, err := net.DefaultResolver.LookupAddr(ctx, ip.String())
	switch {
	case err != nil || len(names) == 0:
		return []string{number}
	case ip.IsLoopback(): // they find no name for the address in their form
		return []string{number, strings.TrimSuffix(names[0], ".")}
	}
	return []string{strings.TrimSuffix(names[0], "."), number}
}

// arrangedMax bounds the arranged copies, arrangedPerClient those of one client.
const arrangedMax, arrangedPerClient = 16384, 1024

// Rendezvous records, at a source, which key opens which file, once. O identifies the client that arranged a copy, for
// its share. The zero Rendezvous is empty. It is safe for concurrent use.
type Rendezvous[O comparable] struct {
	mu           sync.Mutex
	arrangements map[string]Arrangement[O]
	changed      chan struct{} // closed and replaced when an arrangement is added
}

// Arrangement is a copy that a client arranged: the destination with the key may open the file.
type Arrangement[O comparable] struct {
	Path   string
	Client string // as the destination names it
	Owner  O      // the client that arranged it
	Token  string // of the capability to read

	expires time.Time
}

// Register records an arrangement under its key for the time ttl. It fails with ItExists if the key is in use, and with
// Overloaded if this client, or all together, have arranged too many.
func (v *Rendezvous[O]) Register(key string, a Arrangement[O], ttl time.Duration) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if v.arrangements == nil {
		v.arrangements = map[string]Arrangement[O]{}
	}
	owned := 0
	for k, old := range v.arrangements {
		switch {
		case now.After(old.expires):
			delete(v.arrangements, k)
		case old.Owner == a.Owner:
			owned++
		}
	}
	switch _, taken := v.arrangements[key]; {
	case len(key) < 8:
		return translate.Refuse(wire.ArgInvalid, "tpc.key is too short")
	case taken:
		return translate.Refuse(wire.ItExists, "tpc.key is in use")
	case owned >= arrangedPerClient:
		return errs.New(errs.Overloaded, "xrd.Copy", a.Path, "this client has arranged too many third-party copies").
			WithRemedy("let those that were arranged begin first")
	case len(v.arrangements) >= arrangedMax:
		return errs.New(errs.Overloaded, "xrd.Copy", a.Path, "too many third-party copies are arranged")
	}
	a.expires = now.Add(ttl)
	v.arrangements[key] = a
	if v.changed != nil {
		close(v.changed)
		v.changed = nil
	}
	return nil
}

// Redeem returns the arrangement of a key and removes it. If there is none, added is closed when the next one is
// registered.
func (v *Rendezvous[O]) Redeem(key, path, client string) (a Arrangement[O], ok bool, added <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	a, ok = v.arrangements[key]
	if ok && a.Path == path && a.Client == client && time.Now().Before(a.expires) {
		delete(v.arrangements, key)
		return a, true, nil
	}
	if v.changed == nil {
		v.changed = make(chan struct{})
	}
	return Arrangement[O]{}, false, v.changed
}

package capability

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// KeysMax is the largest number of keys in a keyring. More are never in use at once.
const KeysMax = 16

// Keyring has the secrets of the manager. The one with the highest id signs, all verify. The zero Keyring is empty and
// signs nothing. It is safe for concurrent use, also while it is replaced.
type Keyring struct {
	masters atomic.Pointer[[]*master] // newest first, never changed in place
	drafts  sync.Pool                 // of *draft
}

// draft is the memory for one new token.
type draft struct {
	nodes      []hemera.NodeID // the nodes that the token is for
	body, text []byte          // the token before and after base64
}

// NewKeyring returns a keyring with the secrets.
func NewKeyring(keys ...hemera.Key) *Keyring {
	k := new(Keyring)
	k.Set(keys)
	return k
}

// Set replaces all secrets. Beyond [KeysMax] the oldest are left out. Keys derived from secrets that stay are kept.
func (k *Keyring) Set(keys []hemera.Key) {
	before := k.load()
	masters := make([]*master, 0, min(len(keys), KeysMax))
	for _, key := range newestFirst(keys) {
		at := slices.IndexFunc(before, func(m *master) bool { return m.ID == key.ID && bytes.Equal(m.Secret, key.Secret) })
		if at >= 0 {
			masters = append(masters, before[at])
		} else {
			masters = append(masters, newMaster(key))
		}
	}
	k.masters.Store(&masters)
}

// newestFirst returns the keys with the highest ids first, at most [KeysMax].
func newestFirst(keys []hemera.Key) []hemera.Key {
	sorted := slices.SortedStableFunc(slices.Values(keys), func(a, b hemera.Key) int { return cmp.Compare(b.ID, a.ID) })
	return sorted[:min(len(sorted), KeysMax)]
}

// load returns the secrets that are in use now.
func (k *Keyring) load() []*master {
	if p := k.masters.Load(); p != nil {
		return *p
	}
	return nil
}

// NodeKeys returns the keys of the node, newest first. The manager sends them to it.
func (k *Keyring) NodeKeys(id hemera.NodeID) []hemera.Key {
	masters := k.load()
	keys := make([]hemera.Key, len(masters))
	for i, m := range masters {
		keys[i] = m.node(id).Key
	}
	return keys
}

// Mint signs the capability with the newest secret, for the nodes that it names: its head, its targets and those of its
// base. The token has Expires to the second, rounded down. Mint fails with Unavailable while there is no secret, and with
// TooLarge beyond [TokenMax].
func (k *Keyring) Mint(c hemera.Capability) (string, error) { return k.MintFor(c) }

// MintFor works like Mint, and also signs for other nodes.
func (k *Keyring) MintFor(c hemera.Capability, also ...hemera.NodeID) (string, error) {
	masters := k.load()
	if len(masters) == 0 || !masters[0].usable() {
		return "", errs.New(errs.Unavailable, "capability.Mint", c.Path, "there is no key to sign with yet")
	}
	d, _ := k.drafts.Get().(*draft)
	if d == nil {
		d = new(draft)
	}
	defer k.drafts.Put(d)
	d.nodes = nodesOf(d.nodes[:0], &c, also)
	if len(d.nodes) > nodesMax {
		return "", errs.New(errs.TooLarge, "capability.Mint", c.Path, "the capability is for too many nodes")
	}
	d.write(masters[0], &c)
	if len(d.text) > TokenMax {
		return "", errs.New(errs.TooLarge, "capability.Mint", c.Path, "the capability does not fit a token")
	}
	return string(d.text), nil
}

// nodesOf appends the nodes that a capability is for, each once.
func nodesOf(list []hemera.NodeID, c *hemera.Capability, also []hemera.NodeID) []hemera.NodeID {
	add := func(id hemera.NodeID) {
		if id != 0 && !slices.Contains(list, id) { // a handful: a map would cost more
			list = append(list, id)
		}
	}
	add(c.Head)
	for i := range c.Targets {
		add(c.Targets[i].Node)
	}
	if c.Base != nil {
		for i := range c.Base.Pieces {
			add(c.Base.Pieces[i].Node)
		}
	}
	for _, id := range also {
		add(id)
	}
	return list
}

// write makes the token of a capability: version, key id, nodes, fields, for a write the keys of its head, then one
// signature for each node and the manager's. The signatures cover the SHA-256 of all before them, so that a long
// capability is hashed once.
func (d *draft) write(m *master, c *hemera.Capability) {
	e := encoder{buf: d.body[:0]}
	writes := c.Access != hemera.AccessRead
	if writes {
		e.byte(versionWrite)
	} else {
		e.byte(version)
	}
	e.uint(uint64(m.ID))
	e.byte(byte(len(d.nodes)))
	for _, id := range d.nodes {
		e.uint(uint64(id))
	}
	e.capability(c)
	sum := sha256.Sum256(e.buf)
	if writes {
		end := len(e.buf)
		for _, id := range d.nodes[min(1, len(d.nodes)):] {
			e.buf = append(e.buf, hidden(m.node(d.nodes[0]), m.node(id).headSum(&sum), &sum, id)...)
		}
		sum = withHeads(&sum, e.buf[end:])
	}
	for _, id := range d.nodes {
		e.buf = m.node(id).append(e.buf, sum[:])
	}
	d.body = m.own.append(e.buf, sum[:])
	d.text = encoding.AppendEncode(d.text[:0], d.body)
}

// Verify returns the capability of a token that this manager signed; see [Verifier.Verify]. It refuses signatures of nodes.
func (k *Keyring) Verify(token string, now time.Time) (hemera.Capability, error) {
	e, err := open(token)
	if err != nil {
		return hemera.Capability{}, err
	}
	for _, m := range k.load() { // the id is a hint, the signature decides
		if uint64(m.ID) == e.key && m.usable() && m.own.signed(e.digest(), e.manager()) {
			return e.read(now)
		}
	}
	return hemera.Capability{}, unsigned()
}

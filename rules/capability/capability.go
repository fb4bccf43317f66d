// Package capability makes and checks the signed permission a redirect carries: a hemera.Capability
// as compact text that is safe in a URL. It is pure: the caller brings keys and time.
//
// A token names the nodes that it is for, and carries a truncated HMAC-SHA256 for each of them and one for the
// manager, each by a key of its own. A node holds its own key only ([Verifier]): what it signs opens nothing at
// another node and commits nothing. The manager ([Keyring]) holds the secret that all these keys are made of.
// docs/formats/capability.md has the bytes.
//
// # Keys
//
//	secret (hemera.Key, the manager only)
//	  ├─ HMAC(secret, "… manager") → the manager's own signature: what a commit shows
//	  └─ HMAC(secret, "… node N")  → the key of node N, sent to it with each heartbeat
//
// A node that is taken over can therefore forge permissions for itself only. It cannot commit, and it cannot open pieces at
// another node. Secrets are rotated: the newest signs, all that are still known verify.
//
// # The head of a write
//
// The token of a write is in the hands of its client, and opens the pieces too: a client may send them itself. What the head
// makes there is the head's alone, so it proves who it is. Its proof at node N is what N signs of the token, by a key that N has
// and the manager. The token carries that for each node, hidden by what the head alone can sign ([Verifier.HeadProof]).
//
// # Invariants
//
//   - No server decodes a token into a [hemera.Capability] before a signature over all of it was found to be good. Clients,
//     which have no keys, use [Peek] for tokens that they were given.
//   - A signature is compared in constant time.
//   - No length in a token is believed beyond the bytes that are there, and [TokenMax] bounds the bytes.
//
// # Concurrency
//
// Keyring and Verifier are read without locks: their keys are behind atomic pointers and never changed in place. Signing state
// is reused through pools, because an HMAC begins with hashing its key.
package capability

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"maps"
	"sync"
	"sync/atomic"

	"hemera/words/hemera"
)

const (
	// version is the first byte of the tokens that this program signs for reads, versionWrite of those for writes, which have keys
	// for their head as well.
	version      = 2
	versionWrite = 3

	macSize = 16 // bytes of each signature: HMAC-SHA256 cut to half, as RFC 2104 section 5 allows
	// TokenMax bounds a token's characters: the longest path, and targets and base of the widest
	// layout, fit with room to spare.
	TokenMax = 24 << 10
	// SecretMin is the least number of bytes a key's secret must have to sign or verify.
	SecretMin = 16
	// nodesMax bounds the nodes that one token is for.
	nodesMax = 255
)

// What keys are made of a secret for.
const (
	forManager = "hemera capability 2 manager"
	forNode    = "hemera capability 2 node "
)

// What a node signs, with the digest of a token, besides tokens.
const (
	asHead  = "hemera capability 3 head " // makes what the head shows to the node that signs
	forHead = "hemera capability 3 key "  // hides that from all but the head, which signs; the other node's id follows
)

// encoding is strict: two texts of one token would be two names for one permission.
var encoding = base64.RawURLEncoding.Strict()

// digest is what signatures are made of: everything in a token before them.
type digest = [sha256.Size]byte

// signer signs with one key, from many goroutines.
type signer struct {
	hemera.Key
	macs sync.Pool // of *macState
}

// macState is an HMAC that has hashed its key, and room for its result. One goroutine uses it at a time.
type macState struct {
	mac hash.Hash // Reset returns it to the state after the key
	sum digest    // the last result
}

// newSigner makes a signer. A key that is not usable makes one too, which is never asked to sign.
func newSigner(key hemera.Key) *signer {
	s := &signer{Key: key}
	s.macs.New = func() any { return &macState{mac: hmac.New(sha256.New, key.Secret)} }
	return s
}

// usable is false for a short secret: it would let anybody sign.
func (s *signer) usable() bool { return len(s.Secret) >= SecretMin }

// append adds the signature of the text to b.
func (s *signer) append(b, text []byte) []byte {
	d := s.macs.Get().(*macState)
	defer s.macs.Put(d)
	return append(b, d.sign(text)...)
}

// signed reports whether sum is the signature of the text.
func (s *signer) signed(text, sum []byte) bool {
	d := s.macs.Get().(*macState)
	defer s.macs.Put(d)
	return hmac.Equal(d.sign(text), sum)
}

// sign returns the signature, which is valid until the macState is used again.
func (d *macState) sign(text []byte) []byte {
	d.mac.Reset()
	d.mac.Write(text)
	return d.mac.Sum(d.sum[:0])[:macSize]
}

// master is one secret of the manager and the keys made of it.
type master struct {
	hemera.Key
	own *signer // the manager's own key

	grow  sync.Mutex                                // serializes additions to nodes
	nodes atomic.Pointer[map[hemera.NodeID]*signer] // never changed in place
}

// newMaster makes the manager's own key at once, and those of nodes when they are first needed.
func newMaster(key hemera.Key) *master {
	m := &master{Key: key, own: newSigner(hemera.Key{ID: key.ID, Secret: derive(key.Secret, forManager)})}
	m.nodes.Store(&map[hemera.NodeID]*signer{})
	return m
}

// usable is as signer.usable.
func (m *master) usable() bool { return len(m.Secret) >= SecretMin }

// node is the signer with the node's key.
func (m *master) node(id hemera.NodeID) *signer {
	if s := (*m.nodes.Load())[id]; s != nil {
		return s
	}
	m.grow.Lock()
	defer m.grow.Unlock()
	known := *m.nodes.Load()
	if s := known[id]; s != nil {
		return s
	}
	more := maps.Clone(known)
	purpose := string(binary.BigEndian.AppendUint32([]byte(forNode), uint32(id)))
	more[id] = newSigner(hemera.Key{ID: m.ID, Secret: derive(m.Secret, purpose), Node: id})
	m.nodes.Store(&more)
	return more[id]
}

// derive makes a key of a secret. From what it makes nobody finds the secret, or what it makes for others.
func derive(secret []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

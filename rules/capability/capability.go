// Package capability makes and checks the signed permission that a redirect carries: a hemera.Capability as compact text
// that is safe in a URL. It is pure: the caller passes keys and time.
//
// A token names the nodes that it is for, and carries a truncated HMAC-SHA256 for each of them and one for the manager,
// each made with a key of its own. A node holds its own key only ([Verifier]): its signatures open nothing at another
// node and commit nothing. The manager ([Keyring]) holds the secret from which all these keys are derived.
// docs/formats/capability.md has the bytes.
//
// # Keys
//
//	secret (hemera.Key, the manager only)
//	  ├─ HMAC(secret, "… manager") → the manager's own signature, which a commit carries
//	  └─ HMAC(secret, "… node N")  → the key of node N, sent to it with each heartbeat
//
// An attacker who controls a node can therefore forge permissions for that node only: no commits, and no opens of pieces
// at another node. Secrets are rotated: the newest one signs, and all that the manager still has verify.
//
// # The head of a write
//
// The client of a write has its token, which opens the pieces too: a client may send them itself. Some operations on
// pieces are for the head alone, so the head proves that it is the head. Its proof at node N is a signature over the
// token by a key that only N and the manager have. The token carries this proof for each node, masked with a signature
// that only the head and the manager can compute ([Verifier.HeadProof]).
//
// # Invariants
//
//   - No server decodes a token into a [hemera.Capability] before a signature over all of it has been verified.
//     Clients, which have no keys, use [Peek] for tokens that they were given.
//   - A signature is compared in constant time.
//   - A length in a token is checked against the bytes that follow, and [TokenMax] bounds the bytes.
//
// # Concurrency
//
// Keyring and Verifier are read without locks: their keys are behind atomic pointers and never changed in place. Signing
// state is reused through pools, because an HMAC begins with hashing its key.
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
	// version is the first byte of the tokens that this program signs for reads. Those for writes have versionWrite,
	// because they also carry keys for their head.
	version      = 2
	versionWrite = 3

	macSize = 16 // bytes of each signature: HMAC-SHA256 cut to half, as RFC 2104 section 5 allows
	// TokenMax is the largest number of characters of a token. The longest path, and targets and base of the widest
	// layout, fit with room to spare.
	TokenMax = 24 << 10
	// SecretMin is the least number of bytes a key's secret must have to sign or verify.
	SecretMin = 16
	// nodesMax is the largest number of nodes in one token.
	nodesMax = 255
)

// Purposes for which [derive] makes keys from a secret.
const (
	forManager = "hemera capability 2 manager"
	forNode    = "hemera capability 2 node "
)

// Prefixes of the texts, besides tokens, that a node signs with the digest of a token.
const (
	asHead  = "hemera capability 3 head " // signs the proof that the head shows to this node
	forHead = "hemera capability 3 key "  // masks that proof so that only the head can read it; the other node's id follows
)

// encoding is strict: otherwise two texts would stand for one token.
var encoding = base64.RawURLEncoding.Strict()

// digest is the SHA-256 that is signed: of everything in a token before the signatures.
type digest = [sha256.Size]byte

// signer signs with one key. It is safe for concurrent use.
type signer struct {
	hemera.Key
	macs sync.Pool // of *macState
}

// macState is an HMAC that has hashed its key, and space for its result. One goroutine uses it at a time.
type macState struct {
	mac hash.Hash // Reset returns it to the state after the key
	sum digest    // the last result
}

// newSigner makes a signer. It accepts a key that is not usable; the caller must not sign with it.
func newSigner(key hemera.Key) *signer {
	s := &signer{Key: key}
	s.macs.New = func() any { return &macState{mac: hmac.New(sha256.New, key.Secret)} }
	return s
}

// usable reports whether the secret is long enough. A short one could be guessed.
func (s *signer) usable() bool { return len(s.Secret) >= SecretMin }

// append appends the signature of the text to b.
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

// master is one secret of the manager and the keys derived from it.
type master struct {
	hemera.Key
	own *signer // the manager's own key

	grow  sync.Mutex                                // serializes additions to nodes
	nodes atomic.Pointer[map[hemera.NodeID]*signer] // never changed in place
}

// newMaster derives the manager's own key at once, and those of nodes when they are first needed.
func newMaster(key hemera.Key) *master {
	m := &master{Key: key, own: newSigner(hemera.Key{ID: key.ID, Secret: derive(key.Secret, forManager)})}
	m.nodes.Store(&map[hemera.NodeID]*signer{})
	return m
}

// usable reports whether the secret is long enough, see signer.usable.
func (m *master) usable() bool { return len(m.Secret) >= SecretMin }

// node returns the signer with the node's key.
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

// derive makes a key for a purpose from a secret. The result reveals neither the secret nor the keys for other purposes.
func derive(secret []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

package capability

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Verifier has the keys of one node, and the nodes that lost their trust. The zero Verifier has no key and refuses
// everything. It is safe for concurrent use, also while it is changed.
type Verifier struct {
	signers atomic.Pointer[[]*signer]       // newest first, never changed in place
	barred  atomic.Pointer[[]hemera.NodeID] // never changed in place
}

// NewVerifier returns a verifier with the keys.
func NewVerifier(keys ...hemera.Key) *Verifier {
	v := new(Verifier)
	v.Set(keys)
	return v
}

// Set replaces all keys; beyond [KeysMax] the oldest are left out.
func (v *Verifier) Set(keys []hemera.Key) {
	before := v.load()
	signers := make([]*signer, 0, min(len(keys), KeysMax))
	for _, key := range newestFirst(keys) {
		at := slices.IndexFunc(before, func(s *signer) bool {
			return s.ID == key.ID && s.Node == key.Node && bytes.Equal(s.Secret, key.Secret)
		})
		if at >= 0 {
			signers = append(signers, before[at])
		} else {
			signers = append(signers, newSigner(key))
		}
	}
	v.signers.Store(&signers)
}

// Bar refuses from now on every token that is also for one of these nodes: they were removed, and may have copies of
// tokens that clients showed them. The list replaces that of the call before.
func (v *Verifier) Bar(nodes []hemera.NodeID) {
	nodes = slices.Clone(nodes)
	v.barred.Store(&nodes)
}

// Verify returns the capability of the token. It fails with Invalid if the text is not a token, and with Denied if the
// manager did not sign it for this node, or if it expired before now: the client opens the file again for a new one. If
// now is zero, Verify accepts expired tokens: they still end the write that they began. The capability's texts share one
// copy of the token: clone a text that must outlive the others.
func (v *Verifier) Verify(token string, now time.Time) (hemera.Capability, error) {
	e, err := open(token)
	if err != nil {
		return hemera.Capability{}, err
	}
	for _, s := range v.load() {
		if uint64(s.ID) != e.key || !s.usable() {
			continue
		}
		if sum := e.of(s.Node); sum != nil && s.signed(e.digest(), sum) {
			if v.bars(e.nodes) {
				return hemera.Capability{}, errs.New(errs.Denied, op, "", "the capability is also for a node that was removed").
					WithRemedy("open the file again at the manager")
			}
			return e.read(now)
		}
	}
	return hemera.Capability{}, unsigned()
}

// load returns the keys that are in use now.
func (v *Verifier) load() []*signer {
	if p := v.signers.Load(); p != nil {
		return *p
	}
	return nil
}

// bars reports whether a token is also for a node that was removed.
func (v *Verifier) bars(nodes []hemera.NodeID) bool {
	p := v.barred.Load()
	if p == nil || len(*p) == 0 {
		return false
	}
	return slices.ContainsFunc(nodes, func(id hemera.NodeID) bool { return slices.Contains(*p, id) })
}

// op is the operation of all errors here: users see the same for both kinds of verifiers.
const op = "capability.Verify"

// envelope is a decoded token with signatures that are not checked yet.
type envelope struct {
	version byte              // 3 of writes, 2 of reads
	key     uint64            // the id of the secret that signed
	nodes   []hemera.NodeID   // those with a signature, in the order of sums
	few     [20]hemera.NodeID // memory for nodes if they fit
	body    []byte            // the signed bytes, with heads
	fields  []byte            // the end of body: the capability
	heads   []byte            // of a write: for each node but the head its proof, masked
	sums    []byte            // a signature for each node, then the manager's
}

// open splits a token into its parts. It fails with Invalid if it is malformed.
func open(token string) (*envelope, error) {
	malformed := func(text string) (*envelope, error) { return nil, errs.New(errs.Invalid, op, "", text) }
	if len(token) > TokenMax {
		return malformed("the token is too long")
	}
	raw, err := encoding.DecodeString(token)
	if err != nil || len(raw) < macSize+2 {
		return malformed("this is no capability")
	}
	e := &envelope{version: raw[0]}
	if e.version < version || e.version > versionWrite {
		return nil, errs.New(errs.Invalid, op, "", "the capability is of an unknown version").WithRemedy("open the file again at the manager")
	}
	rest := raw[1:]
	number := func(most uint64) (n uint64) {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > most {
			err = errs.New(errs.Invalid, op, "", "the capability is malformed")
			return 0
		}
		rest = rest[size:]
		return n
	}
	e.key = number(1<<32 - 1)
	e.nodes = e.few[:0] // no allocation for the usual token
	if err == nil {
		if len(rest) == 0 {
			return malformed("the capability is malformed")
		}
		count := int(rest[0])
		rest = rest[1:]
		for range count {
			e.nodes = append(e.nodes, hemera.NodeID(number(1<<32-1)))
			if err != nil {
				return nil, err
			}
		}
	}
	signatures := (len(e.nodes) + 1) * macSize // one for each node, and the manager's
	heads := 0
	if e.version == versionWrite {
		heads = max(0, len(e.nodes)-1) * macSize
	}
	if err != nil || len(rest) < signatures+heads {
		return malformed("the capability is malformed")
	}
	end := len(raw) - signatures - heads
	e.body, e.heads, e.sums = raw[:end], raw[end:end+heads], raw[end+heads:]
	e.fields = rest[:len(rest)-signatures-heads]
	return e, nil
}

// digest returns the digest that the signatures cover.
func (e *envelope) digest() []byte {
	sum := sha256.Sum256(e.body)
	if e.version == versionWrite {
		sum = withHeads(&sum, e.heads)
	}
	return sum[:]
}

// of returns the signature for the node, or nil if the token is not for it.
func (e *envelope) of(node hemera.NodeID) []byte {
	i := slices.Index(e.nodes, node)
	if i < 0 || node == 0 {
		return nil
	}
	return e.sums[i*macSize:][:macSize]
}

// manager returns the last signature, the manager's.
func (e *envelope) manager() []byte { return e.sums[len(e.sums)-macSize:] }

// decode reads the fields. It reports false if they are malformed.
func (e *envelope) decode() (hemera.Capability, bool) {
	d := newDecoder(e.fields)
	c := d.capability()
	return c, !d.bad && len(d.buf) == 0
}

// read decodes a token whose signature is verified.
func (e *envelope) read(now time.Time) (hemera.Capability, error) {
	c, ok := e.decode()
	if !ok {
		return hemera.Capability{}, errs.New(errs.Invalid, op, "", "the capability is signed but malformed")
	}
	// This follows the check of the signature: a forged token must not lead to an error about clocks.
	if !now.IsZero() && now.After(c.Expires) {
		return hemera.Capability{}, errs.New(errs.Denied, op, c.Path, "the capability has expired").
			WithRemedy("open the file again; if this happens at once, compare the clocks of manager and node")
	}
	return c, nil
}

// unsigned returns the same error for an unknown key, a bad signature and a token for other nodes, so that a forger
// learns nothing from it.
func unsigned() error {
	return errs.New(errs.Denied, op, "", "the capability was not signed for this server, or with a key that is over").
		WithRemedy("open the file again at the manager")
}

package hemera

import (
	"log/slog"
	"sync/atomic"
)

// Permit is a [Capability] in the hands of a process. It is in one of three states:
//
//   - local: this process decided on the capability ([NewPermit]). It is trusted as it is. The token is signed when another
//     process has to see it: an open that never leaves the manager's process signs nothing.
//   - verified: the capability came in a token whose signature this process verified ([VerifiedPermit]).
//   - unverified: only the token is known ([ParsePermit]), as it came from a client or over the network. The Capability is
//     zero, which permits nothing. [Permit.Verify] makes a verified permit of it.
//
// Between processes a permit travels as its token and arrives unverified, so a local permit cannot be forged from
// outside. A token is a secret: neither fmt, slog nor JSON show it. A permit is never changed after it was made, and may
// be used concurrently. A nil permit is unverified, with an empty token.
type Permit struct {
	Capability
	signer Signer                 // of a local permit; nil otherwise
	token  atomic.Pointer[string] // nil: not signed yet
}

// Signer makes the tokens of local permits. capability.Keyring is one. It answers from memory.
type Signer interface {
	// Mint returns the signed capability, safe in a URL. Unavailable while there is no key, TooLarge.
	Mint(c Capability) (string, error)
}

// NewPermit returns a local permit, for a capability that this process decided on.
func NewPermit(c Capability, s Signer) *Permit { return &Permit{Capability: c, signer: s} }

// VerifiedPermit returns the permit of a token whose signature was verified, or that came from the manager itself.
func VerifiedPermit(c Capability, token string) *Permit {
	p := &Permit{Capability: c}
	p.token.Store(&token)
	return p
}

// ParsePermit returns the unverified permit of a token. It does not look at the token.
func ParsePermit(token string) *Permit { return VerifiedPermit(Capability{}, token) }

// Local reports whether this process decided on the capability.
func (p *Permit) Local() bool { return p != nil && p.signer != nil }

// Token returns the signed capability. It fails like [Signer.Mint]; a later call tries again. Two callers that come
// first at the same time may sign twice; both tokens are good.
func (p *Permit) Token() (string, error) {
	if p == nil {
		return "", nil
	}
	if t := p.token.Load(); t != nil {
		return *t, nil
	}
	if p.signer == nil {
		return "", nil
	}
	token, err := p.signer.Mint(p.Capability)
	if err == nil {
		p.token.Store(&token)
	}
	return token, err
}

// Verify returns a permit whose capability can be relied on: p itself if it is local, otherwise what check makes of the
// token. It fails like check.
func (p *Permit) Verify(check func(token string) (Capability, error)) (*Permit, error) {
	if p.Local() {
		return p, nil
	}
	token, _ := p.Token() // it signs nothing, so it does not fail
	c, err := check(token)
	if err != nil {
		return nil, err
	}
	return VerifiedPermit(c, token), nil
}

// String describes the permit without its token.
func (p *Permit) String() string {
	switch {
	case p == nil:
		return "no permit"
	case p.Access == 0:
		return "unverified permit"
	case p.Access == AccessRead:
		return "permit to read " + p.Path
	}
	return "permit to write " + p.Path
}

// LogValue keeps the token out of logs.
func (p *Permit) LogValue() slog.Value { return slog.StringValue(p.String()) }

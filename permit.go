package hemera

import (
	"context"
	"sync"
)

// Permit is a capability in the hands of who may use it: the process that decided on it, or one that
// verified its signature. Another process is shown the Token, which is made when somebody first asks
// for it: an open that never leaves the manager's process needs none. Safe for concurrent use.
type Permit struct {
	Capability
	sign func(Capability) (string, error) // nil: it came signed

	mu    sync.Mutex
	token string
}

// NewPermit is the permit of a capability decided on in this process.
func NewPermit(c Capability, sign func(Capability) (string, error)) *Permit {
	return &Permit{Capability: c, sign: sign}
}

// SignedPermit is the permit of a capability that came in a token.
func SignedPermit(c Capability, token string) *Permit { return &Permit{Capability: c, token: token} }

// Decided reports whether this process decided on the capability.
func (p *Permit) Decided() bool { return p.sign != nil }

// Token is the signed capability. Its errors are those of signing; a later call tries again.
func (p *Permit) Token() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token != "" || p.sign == nil {
		return p.token, nil
	}
	token, err := p.sign(p.Capability)
	if err == nil {
		p.token = token
	}
	return token, err
}

// LocalNode is a storage node in the manager's own process.
type LocalNode interface {
	// OpenPermit is [Node].Open for a permit of this process. Denied when it has expired.
	OpenPermit(ctx context.Context, p *Permit, o NodeOpen) (File, error)
	// WrittenPermit is [Node].Written for a permit of this process.
	WrittenPermit(p *Permit) FileInfo
}

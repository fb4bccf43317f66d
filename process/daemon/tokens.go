package daemon

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"hemera/platform/pki"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// tokens makes join tokens for this manager. It implements adminapi.TokenAdmin.
type tokens struct {
	*pki.Authority
	addr     string        // of this manager, in each token
	lifetime time.Duration // if a request names none
}

var _ adminapi.TokenAdmin = tokens{}

// fromMax bounds the networks in one token.
const fromMax = 64

// CreateToken implements adminapi.TokenAdmin.
func (t tokens) CreateToken(ctx context.Context, r adminapi.TokenRequest) (string, error) {
	o := pki.TokenOptions{Addrs: []string{t.addr}, Lifetime: cmp.Or(r.Lifetime, t.lifetime), Uses: r.Uses}
	if len(r.From) > fromMax {
		return "", errs.New(errs.TooLarge, "daemon.CreateToken", "", "too many addresses for one token")
	}
	for _, text := range r.From {
		network, err := networkOf(text)
		if err != nil {
			return "", errs.New(errs.Invalid, "daemon.CreateToken", text, "it is no address, like 10.1.0.2, and no network, like 10.1.0.0/16")
		}
		o.From = append(o.From, network)
	}
	return t.Authority.CreateToken(ctx, o)
}

// networkOf reads a network, or an address as a network of one. Bits beyond the mask are dropped: 10.1.2.3/16 becomes
// 10.1.0.0/16.
func networkOf(text string) (netip.Prefix, error) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return network.Masked(), nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	// The manager compares with addresses in this form.
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

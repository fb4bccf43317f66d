package pki

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TokenOptions describes what a join token allows.
type TokenOptions struct {
	Addrs    []string // the manager's control port, for nodes
	Lifetime time.Duration
	Uses     int            // number of nodes that it admits, at most [UsesMax]; zero means one
	From     []netip.Prefix // networks from which they must connect; empty: any
}

// CreateToken makes a join token and stores its record. It returns the text of the token. It fails with Invalid for bad
// addresses or numbers, or a lifetime that is not positive.
func (a *Authority) CreateToken(ctx context.Context, o TokenOptions) (string, error) {
	if o.Lifetime <= 0 {
		return "", errs.New(errs.Invalid, "pki.CreateToken", o.Lifetime.String(), "a token's lifetime must be positive").WithRemedy("for example 30m or 24h")
	}
	o.Uses = cmp.Or(o.Uses, 1)
	if o.Uses < 0 || o.Uses > UsesMax {
		return "", errs.New(errs.Invalid, "pki.CreateToken", fmt.Sprint(o.Uses), fmt.Sprintf("a token is for 1 to %d nodes", UsesMax))
	}
	// Only the text has the secret; the manager keeps its hash.
	t, err := newToken(o.Addrs, a.Fingerprint())
	if err != nil {
		return "", err
	}
	now := a.options.Now()
	record := TokenRecord{Made: now, Expires: now.Add(o.Lifetime), Uses: o.Uses, From: o.From}
	if err := a.options.Tokens.PutToken(ctx, tokenID(t.Secret()), record); err != nil {
		return "", errs.Wrap(err, "pki.CreateToken", "")
	}
	return t.Text(), nil
}

// Tokens lists the tokens that have not expired, the newest first.
func (a *Authority) Tokens(ctx context.Context) ([]adminapi.TokenInfo, error) {
	records, err := a.options.Tokens.Tokens(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "pki.Tokens", "")
	}
	var list []adminapi.TokenInfo
	for id, r := range records {
		if !a.options.Now().Before(r.Expires) {
			continue // the store may still have it
		}
		info := adminapi.TokenInfo{ID: shortID(id), Made: r.Made, Expires: r.Expires, Left: r.left()}
		for _, p := range r.From {
			info.From = append(info.From, p.String())
		}
		for _, u := range r.Used {
			info.Used = append(info.Used, adminapi.TokenUse{Node: u.Node, From: u.From, At: u.At})
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(x, y adminapi.TokenInfo) int {
		return cmp.Or(y.Made.Compare(x.Made), strings.Compare(x.ID, y.ID))
	})
	return list, nil
}

// shortID returns the id by which people name a token. It is a part of the secret's hash, and does not reveal the secret.
func shortID(id [32]byte) string { return hex.EncodeToString(id[:6]) }

// RemoveToken revokes the token with the id that [Authority.Tokens] shows. Nodes that it admitted stay. It fails with
// NotFound.
func (a *Authority) RemoveToken(ctx context.Context, short string) error {
	if err := a.tokens.Acquire(ctx); err != nil { // so that no node is being admitted with it
		return errs.Wrap(err, "pki.RemoveToken", short)
	}
	defer a.tokens.Release()
	records, err := a.options.Tokens.Tokens(ctx)
	if err != nil {
		return errs.Wrap(err, "pki.RemoveToken", "")
	}
	for id := range records {
		if shortID(id) == short {
			return errs.Wrap(a.options.Tokens.RemoveToken(ctx, id), "pki.RemoveToken", short)
		}
	}
	return errs.New(errs.NotFound, "pki.RemoveToken", short, "no such token").WithRemedy("see `hemera token ls`")
}

// Join admits the node that sends a token's secret from an address: it reserves a node id and signs a certificate for it.
// A node that lost the answer asks again, with the same key, and gets the same id. It fails with Unauthenticated for an
// unknown, expired or used token, or one for another address, and with Invalid for a bad request.
func (a *Authority) Join(ctx context.Context, secret string, request []byte, from netip.Addr) ([]byte, error) {
	// The request is checked first, so that a bad one does not use up the token.
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	id, err := a.redeem(ctx, secret, csr, from)
	if err != nil {
		return nil, err
	}
	return a.issue(id, csr)
}

// redeem returns the id of the node that the token admits.
func (a *Authority) redeem(ctx context.Context, secret string, csr *x509.CertificateRequest, from netip.Addr) (hemera.NodeID, error) {
	refuse := func(text string) (hemera.NodeID, error) {
		return 0, errs.New(errs.Unauthenticated, "pki.Join", "", text).
			WithRemedy("create a new token at the manager: hemera token create")
	}
	if err := a.tokens.Acquire(ctx); err != nil { // reading and marking a record is one step
		return 0, errs.Wrap(err, "pki.Join", "")
	}
	defer a.tokens.Release()
	id := tokenID(secret)
	record, err := a.options.Tokens.Token(ctx, id)
	switch {
	case errs.KindOf(err) == errs.NotFound && err != nil:
		return refuse("the manager does not know this join token")
	case err != nil:
		return 0, errs.Wrap(err, "pki.Join", "")
	case !a.options.Now().Before(record.Expires):
		return refuse("the join token expired at " + record.Expires.UTC().Format(time.RFC3339) + " by the manager's clock")
	case !record.admits(from):
		return refuse("the join token is not for a node at " + from.Unmap().String())
	}
	// The key identifies the node: if it appears again, the node did not get the answer.
	key := sha256.Sum256(csr.RawSubjectPublicKeyInfo)
	if use, ok := record.used(key[:]); ok {
		return use.Node, nil
	}
	if record.left() == 0 {
		return refuse("the join token was for fewer nodes and has been used")
	}
	// An id that is reserved and then not recorded is lost, which does no harm.
	node, err := a.options.NewNode(ctx)
	if err != nil {
		return 0, errs.Wrap(err, "pki.Join", "")
	}
	record.Used = append(slices.Clone(record.Used), TokenUse{Key: key[:], Node: node, From: from.Unmap().String(), At: a.options.Now()})
	return node, errs.Wrap(a.options.Tokens.PutToken(ctx, id, record), "pki.Join", "")
}

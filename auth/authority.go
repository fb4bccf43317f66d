package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
)

// Lifetimes of certificates. They are renewed when two thirds are over, so a node may be switched
// off for the last third, four months, before it has to join again.
const (
	authorityLifetime = 20 * 365 * 24 * time.Hour
	nodeLifetime      = 365 * 24 * time.Hour
	managerLifetime   = 90 * 24 * time.Hour
)

// Authority is the certificate authority of one cluster, in the manager. It lives in one file of the
// manager's state directory, "authority.pem" (0600: certificate and key); whoever has that file is
// the manager. Safe for concurrent use.
type Authority struct {
	options AuthorityOptions
	root    *x509.Certificate
	key     *ecdsa.PrivateKey

	mu       sync.Mutex // guards all below
	manager  *tls.Certificate
	verified map[[32]byte]nodeCertificate
}

// AuthorityOptions are the parts an authority works with.
type AuthorityOptions struct {
	Tokens TokenStore
	// NewNode reserves the id of a node that is being admitted. Required to admit nodes.
	NewNode func(ctx context.Context) (hemera.NodeID, error)
	Now     func() time.Time // nil is time.Now
}

// AuthorityFile is the authority's file in a manager's state directory: secret, and to be kept.
const AuthorityFile = "authority.pem"

// OpenAuthority loads the authority of a state directory, or makes it at the first start. Corrupt
// when the file is damaged: it is never replaced, since all nodes would be locked out.
func OpenAuthority(dir string, o AuthorityOptions) (*Authority, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Authority{options: o, verified: map[[32]byte]nodeCertificate{}}
	path := filepath.Join(dir, AuthorityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := a.create(path); err != nil {
			return nil, err
		}
		return a, nil
	}
	if err != nil {
		return nil, errs.Wrap(err, "auth.OpenAuthority", path)
	}
	bundle, err := parseBundle(data)
	if err != nil || bundle.key == nil || len(bundle.chain) != 1 || !bundle.chain[0].IsCA {
		return nil, errs.As(errors.Join(err, errors.New("not one CA certificate and its key")), errs.Corrupt, "auth.OpenAuthority", path)
	}
	a.root, a.key = bundle.chain[0], bundle.key
	return a, nil
}

func (a *Authority) create(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return errs.As(err, errs.Internal, "auth.create", path)
	}
	template := authorityTemplate(a.options.Now())
	a.root, err = sign(template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	a.key = key
	return bundle{chain: []*x509.Certificate{a.root}, key: key}.save(path)
}

// Fingerprint is the SHA-256 of the authority's certificate, by which nodes know it.
func (a *Authority) Fingerprint() [32]byte { return sha256.Sum256(a.root.Raw) }

// TokenOptions say what a join token shall allow.
type TokenOptions struct {
	Addrs    []string // where nodes find the manager's control port
	Lifetime time.Duration
	Once     bool // for one node only
}

// CreateToken makes a join token and stores what is needed to recognise it. Invalid for bad
// addresses or a lifetime that is not positive.
func (a *Authority) CreateToken(ctx context.Context, o TokenOptions) (string, error) {
	if o.Lifetime <= 0 {
		return "", errs.New(errs.Invalid, "auth.CreateToken", o.Lifetime.String(), "a token's lifetime must be positive").WithRemedy("for example 30m or 24h")
	}
	t, err := newToken(o.Addrs, a.Fingerprint())
	if err != nil {
		return "", err
	}
	record := TokenRecord{Expires: a.options.Now().Add(o.Lifetime), Once: o.Once}
	if err := a.options.Tokens.PutToken(ctx, tokenID(t.Secret()), record); err != nil {
		return "", errs.Wrap(err, "auth.CreateToken", "")
	}
	return t.Text(), nil
}

// Join admits the node that shows a token's secret: it reserves a node id and signs a certificate
// for it. A lost answer costs one unused id. Unauthenticated: unknown, expired or used token;
// Invalid: a bad request.
func (a *Authority) Join(ctx context.Context, secret string, request []byte) ([]byte, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	if err := a.redeem(ctx, secret, csr); err != nil {
		return nil, err
	}
	id, err := a.options.NewNode(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "auth.Join", "")
	}
	return a.issue(id, csr)
}

// Renew signs the next certificate of a node whose present one the caller has verified. Invalid.
func (a *Authority) Renew(_ context.Context, node hemera.NodeID, request []byte) ([]byte, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	return a.issue(node, csr)
}

func (a *Authority) redeem(ctx context.Context, secret string, csr *x509.CertificateRequest) error {
	refuse := func(text string) error {
		return errs.New(errs.Unauthenticated, "auth.Join", "", text).
			WithRemedy("create a new token at the manager: hemera token create")
	}
	a.mu.Lock() // so that a token for one node is looked at and marked in one step
	defer a.mu.Unlock()
	id := tokenID(secret)
	record, err := a.options.Tokens.Token(ctx, id)
	switch {
	case errs.KindOf(err) == errs.NotFound && err != nil:
		return refuse("the manager does not know this join token")
	case err != nil:
		return errs.Wrap(err, "auth.Join", "")
	case !a.options.Now().Before(record.Expires):
		return refuse("the join token expired at " + record.Expires.UTC().Format(time.RFC3339) + " by the manager's clock")
	case !record.Once:
		return nil
	}
	key := sha256.Sum256(csr.RawSubjectPublicKeyInfo)
	if record.UsedBy != nil {
		if !bytes.Equal(record.UsedBy, key[:]) {
			return refuse("the join token was for one node and has been used")
		}
		return nil
	}
	record.UsedBy = key[:]
	return errs.Wrap(a.options.Tokens.PutToken(ctx, id, record), "auth.Join", "")
}

func (a *Authority) issue(node hemera.NodeID, csr *x509.CertificateRequest) ([]byte, error) {
	if node == 0 {
		return nil, errs.New(errs.Internal, "auth.issue", "0", "zero is no node")
	}
	cert, err := sign(nodeTemplate(node, a.options.Now()), a.root, csr.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	return bundle{chain: []*x509.Certificate{cert, a.root}}.encode()
}

package pki

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Credentials has a node's certificate and key, stored in one file of its state directory, "node.pem" (0600), with the
// manager's addresses. It is safe for concurrent use.
type Credentials struct {
	path    string                 // of node.pem
	current atomic.Pointer[bundle] // chain: the node's certificate, then the authority's
}

// Joiner is the manager's control port for a client with a token; *rpc.Client implements it, dialled with the token's
// addresses and TLS configuration.
type Joiner interface {
	Join(ctx context.Context, secret string, request []byte) (chain []byte, err error)
}

// Renewer is the manager's control port for a node; *rpc.Client implements it.
type Renewer interface {
	Renew(ctx context.Context, request []byte) (chain []byte, err error)
	// Reconnect makes later calls present the newest certificate. Connections that were made before would be refused when
	// the old one expires.
	Reconnect()
}

// LoadCredentials reads the credentials that Enrol stored. It fails with NotFound if the node has not joined yet.
func LoadCredentials(dir string) (*Credentials, error) {
	path := filepath.Join(dir, "node.pem")
	data, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errs.New(errs.NotFound, "pki.LoadCredentials", path, "this node has not joined a cluster").
			WithRemedy("create a token at the manager (hemera token create) and start the node with --join TOKEN")
	}
	if err != nil {
		return nil, errs.Wrap(err, "pki.LoadCredentials", path)
	}
	// Check everything on which later calls rely, so that they cannot fail.
	b, err := parseBundle(data)
	if err == nil {
		_, err = nodeIn(b.chain[0])
	}
	if err != nil || b.key == nil || len(b.chain) != 2 || checkAddrs(b.addrs) != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "pki.LoadCredentials", Subject: path, Text: "not a node's credentials", Cause: err,
			Remedy: "join the node again with a new token"}
	}
	c := &Credentials{path: path}
	c.current.Store(&b)
	return c, nil
}

// Enrol joins a cluster: it makes a key, which never leaves this machine, gets a certificate for it from the manager, and
// stores both in dir. It replaces earlier credentials only if everything succeeded.
func Enrol(ctx context.Context, dir string, t Token, manager Joiner) (*Credentials, error) {
	key, request, err := newRequest()
	if err != nil {
		return nil, err
	}
	answer, err := manager.Join(ctx, t.Secret(), request)
	// The token may have been used up by a call whose answer was lost: the same request then gets the answer again.
	for range joinTries - 1 {
		if err == nil || !errs.Undecided(err) || ctx.Err() != nil {
			break
		}
		answer, err = manager.Join(ctx, t.Secret(), request)
	}
	if err != nil {
		return nil, errs.Wrap(err, "pki.Enrol", t.String())
	}
	c := &Credentials{path: filepath.Join(dir, "node.pem")}
	b, err := accept(answer, key, func(root *x509.Certificate) bool { return sha256.Sum256(root.Raw) == t.Fingerprint })
	if err != nil {
		return nil, err
	}
	b.addrs = t.Addrs // the manager may get more names later; see Learn
	if err := b.save(c.path); err != nil {
		return nil, err
	}
	c.current.Store(&b)
	return c, nil
}

// joinTries is the number of times that a node asks for admission if it gets no answer.
const joinTries = 3

// newRequest makes a key and the request for its certificate. Only the key in the request matters.
func newRequest() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, errs.As(err, errs.Internal, "pki.NewRequest", "")
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	return key, request, errs.As(err, errs.Internal, "pki.NewRequest", "")
}

// accept checks an issuer's answer: the certificate is for our key, for a node, and signed by the known authority.
func accept(answer []byte, key *ecdsa.PrivateKey, known func(root *x509.Certificate) bool) (bundle, error) {
	b, err := parseBundle(answer)
	switch {
	case err != nil:
	case len(b.chain) != 2 || !known(b.chain[1]):
		err = errors.New("it is not this cluster's authority's")
	case !key.PublicKey.Equal(b.chain[0].PublicKey):
		err = errors.New("it is not for the key that was sent")
	default:
		err = verifyChain(b.chain[0], b.chain[1], x509.ExtKeyUsageClientAuth, time.Now())
	}
	if err == nil {
		_, err = nodeIn(b.chain[0])
	}
	if err != nil {
		return bundle{}, errs.As(err, errs.Unauthenticated, "pki.Accept", "certificate from the manager")
	}
	return bundle{chain: b.chain, key: key}, nil
}

// Node returns the id in the certificate.
func (c *Credentials) Node() hemera.NodeID {
	id, _ := nodeIn(c.current.Load().chain[0]) // checked before it was stored
	return id
}

// Addrs returns the manager's control addresses.
func (c *Credentials) Addrs() []string { return c.current.Load().addrs }

// Expired reports whether the certificate has expired, by this machine's clock, so that the manager refuses it.
func (c *Credentials) Expired(now time.Time) bool {
	return now.After(c.current.Load().chain[0].NotAfter)
}

// Learn adds the manager's addresses from a token of the same authority before the known ones, and stores them, so that
// the node finds a manager that has moved. It changes nothing if all are known. It fails with Conflict for a token of
// another authority.
func (c *Credentials) Learn(t Token) error {
	old := c.current.Load()
	if sha256.Sum256(old.chain[1].Raw) != t.Fingerprint {
		return errs.New(errs.Conflict, "pki.Join", t.String(), "this node has joined already, and the token is of another authority").
			WithRemedy("to leave the former for it, remove " + c.path + " and start the node again; else take --join away")
	}
	unknown := func(addr string) bool { return !slices.Contains(old.addrs, addr) }
	if !slices.ContainsFunc(t.Addrs, unknown) { // usually the token of the first start
		return nil
	}
	b := *old
	b.addrs = slices.Clone(t.Addrs)
	for _, addr := range old.addrs {
		if !slices.Contains(b.addrs, addr) && len(b.addrs) < addrsMax {
			b.addrs = append(b.addrs, addr)
		}
	}
	if err := b.save(c.path); err != nil {
		return err
	}
	c.current.Store(&b)
	return nil
}

// TLS returns the node's side of mutual TLS with the manager. Connections made after a renewal use the new certificate.
func (c *Credentials) TLS() *tls.Config {
	config := clientTLS(func([]*x509.Certificate) (*x509.Certificate, error) { return c.current.Load().chain[1], nil })
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		b := c.current.Load()
		return &tls.Certificate{Certificate: [][]byte{b.chain[0].Raw}, PrivateKey: b.key, Leaf: b.chain[0]}, nil
	}
	return config
}

// Renew replaces certificate and key now.
func (c *Credentials) Renew(ctx context.Context, manager Renewer) error {
	key, request, err := newRequest()
	if err != nil {
		return err
	}
	answer, err := manager.Renew(ctx, request)
	if err != nil {
		return errs.Wrap(err, "pki.Renew", c.path)
	}
	old := c.current.Load()
	// The authority stays the one that the node knows: a manager with another one is not its manager.
	b, err := accept(answer, key, old.chain[1].Equal)
	if err != nil {
		return err
	}
	b.addrs = old.addrs
	if err := b.save(c.path); err != nil {
		return err
	}
	c.current.Store(&b)
	manager.Reconnect() // otherwise calls would continue to present the old certificate
	return nil
}

// Keep renews the certificate before it expires, until ctx ends. It repeats a failed renewal every hour; there is a third
// of the certificate's life for it.
func (c *Credentials) Keep(ctx context.Context, manager Renewer, log *slog.Logger) {
	for {
		// This machine's clock decides. If it is slow, the renewal is late, and there is a third of the lifetime for it.
		wait := time.Until(renewAt(c.current.Load().chain[0]))
		if wait <= 0 {
			err := c.Renew(ctx, manager)
			if err == nil {
				log.Info("renewed the node's certificate", "expires", c.current.Load().chain[0].NotAfter)
			} else {
				log.Warn("cannot renew the node's certificate, trying again", "error", err, "expires", c.current.Load().chain[0].NotAfter)
			}
			wait = time.Hour // also after a success: a clock far ahead must not cause a loop of renewals
		}
		// Long timers stop while a machine sleeps: check the clock at least once a day.
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(wait, 24*time.Hour)):
		}
	}
}

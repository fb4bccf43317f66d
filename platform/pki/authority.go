package pki

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

	"hemera/platform/turn"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Lifetimes of certificates. They are renewed when two thirds are over. So a node may be switched off for the last third,
// four months, before it has to join again.
const (
	authorityLifetime = 20 * 365 * 24 * time.Hour // not renewed
	nodeLifetime      = 365 * 24 * time.Hour      // renewed after eight months
	managerLifetime   = 90 * 24 * time.Hour       // of a key that exists in memory only
)

// Authority is the certificate authority of one cluster, in the manager. It is stored in one file of the manager's state
// directory, "authority.pem" (0600: certificate and key). A process with that file is the manager. It is safe for
// concurrent use.
type Authority struct {
	options AuthorityOptions  // complete
	root    *x509.Certificate // the CA's
	key     *ecdsa.PrivateKey // of root

	tokens turn.Turn // for reading and changing records of tokens, which is I/O

	mu       sync.Mutex                   // guards all below
	manager  *tls.Certificate             // made at first use
	verified map[[32]byte]nodeCertificate // by the SHA-256 of the certificate
}

// AuthorityOptions has the parts that an authority uses.
type AuthorityOptions struct {
	Tokens TokenStore // the store of join tokens
	// NewNode reserves the id of a node that is being admitted. It is required to admit nodes.
	NewNode func(ctx context.Context) (hemera.NodeID, error)
	Record  AuthorityRecord  // nil: any file counts
	Now     func() time.Time // nil is time.Now
}

// AuthorityFile is the name of the authority's file in a manager's state directory. It is secret and must be kept.
const AuthorityFile = "authority.pem"

// AuthorityRecord records which authority a cluster has, separately from the authority's file: a file that is lost, or
// that is another cluster's, is noticed before nodes are locked out. Authority answers from memory; SetAuthority waits
// for the store, and fails only if that does, or when ctx ends.
type AuthorityRecord interface {
	// Authority returns the fingerprint of the cluster's authority, nil if none was recorded. begun says that nodes were
	// admitted, so that there was an authority in any case.
	Authority() (fingerprint []byte, begun bool)
	// SetAuthority records the fingerprint durably.
	SetAuthority(ctx context.Context, fingerprint []byte) error
}

// OpenAuthority loads the authority of a state directory, or makes it at the first start. It never replaces one, since
// that would lock out all nodes. It fails with Corrupt if the file is damaged, with NotFound if the cluster had one and
// the file is missing, and with Conflict if it is another one than the cluster had.
func OpenAuthority(ctx context.Context, dir string, o AuthorityOptions) (*Authority, error) {
	var known []byte
	var begun bool
	if o.Record != nil {
		known, begun = o.Record.Authority()
	}
	path := filepath.Join(dir, AuthorityFile)
	a, err := loadAuthority(path, o)
	switch {
	case errors.Is(err, errs.NotFound) && (known != nil || begun):
		return nil, unusable(errs.NotFound, dir, "the certificate authority of this cluster is missing; without it no node is let in", nil)
	case errors.Is(err, errs.NotFound):
		a, err = NewAuthority(dir, o)
	}
	if err != nil {
		return nil, err
	}
	// The record and the file have to agree, whichever of them was restored from a backup.
	fingerprint := a.Fingerprint()
	switch {
	case o.Record == nil || bytes.Equal(known, fingerprint[:]):
		return a, nil
	case known != nil:
		return nil, unusable(errs.Conflict, dir, "the certificate authority is not the one this cluster has; with it no node is let in", nil)
	}
	return a, o.Record.SetAuthority(ctx, fingerprint[:])
}

// unusable returns the error for a file without which the nodes are locked out.
func unusable(kind errs.Kind, dir, text string, cause error) error {
	return &errs.Error{Kind: kind, Op: "pki.OpenAuthority", Subject: filepath.Join(dir, AuthorityFile), Text: text, Cause: cause,
		Remedy: "put back " + AuthorityFile + " of the newest backup, which `hemera ns restore FILE EMPTYDIR` unpacks; without one, move away what is there, " +
			"begin a new authority with `hemera ns rekey " + dir + "` and let every node join again"}
}

// loadAuthority reads the file. It fails with Corrupt if the file is not a CA certificate with its key.
func loadAuthority(path string, o AuthorityOptions) (*Authority, error) {
	data, err := readSecret(path)
	if err != nil {
		return nil, errs.Wrap(err, "pki.OpenAuthority", path)
	}
	bundle, err := parseBundle(data)
	if err != nil || bundle.key == nil || len(bundle.chain) != 1 || !bundle.chain[0].IsCA {
		return nil, unusable(errs.Corrupt, filepath.Dir(path), "not one CA certificate and its key", err)
	}
	return newAuthority(bundle, o), nil
}

// newAuthority returns an authority with the content of a file.
func newAuthority(b bundle, o AuthorityOptions) *Authority {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Authority{options: o, root: b.chain[0], key: b.key, tokens: turn.New(), verified: map[[32]byte]nodeCertificate{}}
}

// NewAuthority makes an authority in a state directory: the first one of a cluster, or one that replaces a lost one. The
// caller records it. It fails with Exists if the file exists.
func NewAuthority(dir string, o AuthorityOptions) (*Authority, error) {
	path := filepath.Join(dir, AuthorityFile)
	// A dangling link counts too: something was meant to be there.
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return nil, errs.Wrap(err, "pki.NewAuthority", path)
		}
		return nil, errs.New(errs.Exists, "pki.NewAuthority", path, "there is one").
			WithRemedy("move the file away first, and keep it: with it all nodes that have joined come back by themselves")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, errs.As(err, errs.Internal, "pki.NewAuthority", path)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	template := authorityTemplate(o.Now())
	root, err := sign(template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	b := bundle{chain: []*x509.Certificate{root}, key: key}
	return newAuthority(b, o), b.save(path)
}

// File returns the content of the authority's file, which is secret. A backup takes it from here, even if the file has
// been changed or lost.
func (a *Authority) File() ([]byte, error) {
	return bundle{chain: []*x509.Certificate{a.root}, key: a.key}.encode()
}

// Fingerprint returns the SHA-256 of the authority's certificate, by which nodes recognize it.
func (a *Authority) Fingerprint() [32]byte { return sha256.Sum256(a.root.Raw) }

// Renew signs the next certificate of a node. The caller has verified its current one. It fails with Invalid for a bad
// request.
func (a *Authority) Renew(_ context.Context, node hemera.NodeID, request []byte) ([]byte, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	return a.issue(node, csr)
}

// issue signs a certificate for the key of a checked request. It takes only the key from the request: the authority
// chooses name, uses and lifetime.
func (a *Authority) issue(node hemera.NodeID, csr *x509.CertificateRequest) ([]byte, error) {
	if node == 0 {
		return nil, errs.New(errs.Internal, "pki.Issue", "0", "zero is no node")
	}
	cert, err := sign(nodeTemplate(node, a.options.Now()), a.root, csr.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	return bundle{chain: []*x509.Certificate{cert, a.root}}.encode()
}

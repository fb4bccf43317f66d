package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// ServerTLS returns the configuration of the manager's control port. Clients may connect without a certificate, or with a
// bad one, and get a readable answer. [Authority.Node] decides what they may do; every handler for nodes must call it.
func (a *Authority) ServerTLS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		ClientAuth:     tls.RequestClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.managerCertificate() },
	}
}

// managerCertificate returns the manager's certificate. It makes it at first use and whenever two thirds of its life are
// over. Its key exists in memory only.
func (a *Authority) managerCertificate() (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.options.Now()
	// Making a certificate takes a key and a signature, which is fast enough under the lock.
	if a.manager != nil && now.Before(renewAt(a.manager.Leaf)) {
		return a.manager, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, errs.As(err, errs.Internal, "pki.ManagerCertificate", "")
	}
	leaf, err := sign(managerTemplate(now), a.root, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	a.manager = &tls.Certificate{Certificate: [][]byte{leaf.Raw, a.root.Raw}, PrivateKey: key, Leaf: leaf}
	return a.manager, nil
}

// renewAt returns the time at which two thirds of a certificate's life, counted from its issue, are over.
func renewAt(leaf *x509.Certificate) time.Time {
	issued := leaf.NotBefore.Add(backdate) // NotBefore is a day early
	return issued.Add(leaf.NotAfter.Sub(issued) / 3 * 2)
}

// nodeCertificate is a certificate whose signature was checked.
type nodeCertificate struct {
	node hemera.NodeID
	leaf *x509.Certificate
}

// verifiedMax bounds the number of remembered certificates; a cluster has one or two for each node.
const verifiedMax = 8192

// Node returns the node of the certificate that the client of a connection presented; TLS has verified that it has the
// key. It fails with Unauthenticated if there is no certificate, or if it is another cluster's, has expired, or is not a
// node's.
func (a *Authority) Node(state tls.ConnectionState) (hemera.NodeID, error) {
	if len(state.PeerCertificates) == 0 {
		return 0, errs.New(errs.Unauthenticated, "pki.Node", "", "the client showed no certificate").
			WithRemedy("join the node with a token: hemera node --join TOKEN")
	}
	// TLS has only verified that the client has the key; the signature and its purpose are checked here.
	leaf, now := state.PeerCertificates[0], a.options.Now()
	id := sha256.Sum256(leaf.Raw)
	a.mu.Lock()
	known, ok := a.verified[id]
	a.mu.Unlock()
	if ok && !now.After(known.leaf.NotAfter) {
		return known.node, nil
	}
	if err := verifyChain(leaf, a.root, x509.ExtKeyUsageClientAuth, now); err != nil {
		return 0, err
	}
	node, err := nodeIn(leaf)
	if err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.verified) >= verifiedMax { // renewals leave old ones behind
		clear(a.verified)
	}
	a.verified[id] = nodeCertificate{node, leaf}
	return node, nil
}

// TLS returns the configuration for a client that has only the token: the server must present the CA that the token
// names, and a manager's certificate signed by it.
func (t Token) TLS() *tls.Config {
	return clientTLS(func(chain []*x509.Certificate) (*x509.Certificate, error) {
		// The fingerprint came with the token, so this certificate needs no further proof.
		for _, c := range chain {
			if sha256.Sum256(c.Raw) == t.Fingerprint {
				return c, nil
			}
		}
		return nil, errs.New(errs.Unauthenticated, "pki.TLS", "", "what answers is not the manager that made this join token").
			WithRemedy("check the address, and that nothing between here and the manager opens TLS connections")
	})
}

// clientTLS verifies the manager with one root, and with the clock rules of verifyChain instead of package tls's.
func clientTLS(root func(chain []*x509.Certificate) (*x509.Certificate, error)) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13, // both ends are ours
		ServerName:         ManagerName,
		InsecureSkipVerify: true, // replaced by VerifyConnection, which also runs when a session is resumed
		VerifyConnection: func(state tls.ConnectionState) error {
			ca, err := root(state.PeerCertificates)
			if err != nil {
				return err
			}
			leaf := state.PeerCertificates[0] // TLS makes sure that there is one
			if err := verifyChain(leaf, ca, x509.ExtKeyUsageServerAuth, time.Now()); err != nil {
				return err
			}
			return errs.As(leaf.VerifyHostname(ManagerName), errs.Unauthenticated, "pki.TLS", leaf.Subject.CommonName)
		},
	}
}

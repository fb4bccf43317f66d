package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// ManagerName is the DNS name in the manager's certificate. It is never looked up: a node wants to find the manager at
// whatever address it dials.
const ManagerName = "manager.hemera.internal"

// backdate is the time by which a new certificate's validity begins earlier. Hemera's verification does not need it (see
// verifyChain), but that of other programs may.
const backdate = 24 * time.Hour

// authorityTemplate returns a CA that signs leaves only: authorities below it are not valid.
func authorityTemplate(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "Hemera cluster authority"},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
}

// managerTemplate returns a certificate for servers only.
func managerTemplate(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: "Hemera manager"},
		DNSNames:     []string{ManagerName},
		URIs:         []*url.URL{{Scheme: "hemera", Host: "manager"}},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(managerLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// nodeTemplate returns a certificate for clients only, so that a node cannot act as the manager.
func nodeTemplate(id hemera.NodeID, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: "Hemera node " + id.String()},
		URIs:         []*url.URL{{Scheme: "hemera", Host: "node", Path: "/" + id.String()}},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(nodeLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// serial returns 127 random bits, as RFC 5280 §4.1.2.2 allows 159.
func serial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (package crypto/rand)
	b[0] &= 0x7f           // a positive number in DER
	return new(big.Int).SetBytes(b[:])
}

// sign makes a certificate and parses it again, so that it is used as others will read it.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, errs.As(err, errs.Internal, "pki.Sign", template.Subject.CommonName)
	}
	cert, err := x509.ParseCertificate(der)
	return cert, errs.As(err, errs.Internal, "pki.Sign", template.Subject.CommonName)
}

// parseRequest checks that the sender of the request has the key. It ignores the rest: the authority decides names and
// uses. It accepts only key types of bounded cost.
func parseRequest(der []byte) (*x509.CertificateRequest, error) {
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "pki.ParseRequest", "certificate request")
	}
	switch k := csr.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return nil, errs.New(errs.Invalid, "pki.ParseRequest", "certificate request", "the curve must be P-256")
		}
	case ed25519.PublicKey:
	default:
		return nil, errs.New(errs.Invalid, "pki.ParseRequest", "certificate request", fmt.Sprintf("keys of type %T are not taken", k))
	}
	return csr, errs.As(csr.CheckSignature(), errs.Invalid, "pki.ParseRequest", "certificate request")
}

// verifyChain checks that root signed the leaf for the use. Clocks of machines without a battery start years behind: a
// certificate that is not valid yet is accepted, since only the authority can have made it. One that has expired by our
// clock is refused.
func verifyChain(leaf, root *x509.Certificate, use x509.ExtKeyUsage, now time.Time) error {
	for _, c := range []*x509.Certificate{root, leaf} {
		if now.Before(c.NotBefore) {
			now = c.NotBefore
		}
	}
	if now.After(leaf.NotAfter) {
		return errs.New(errs.Unauthenticated, "pki.VerifyChain", leaf.Subject.CommonName,
			fmt.Sprintf("the certificate expired at %s and it is %s here", leaf.NotAfter.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))).
			WithRemedy("compare the clocks of both machines; if they are right, join the node again with a new token")
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{use}, CurrentTime: now})
	if err != nil {
		return &errs.Error{Kind: errs.Unauthenticated, Op: "pki.VerifyChain", Subject: leaf.Subject.CommonName, Cause: err,
			Remedy: "the certificate is another cluster's: join the node again with a token of this one"}
	}
	return nil
}

// nodeIn reads the node id from the certificate's only URI, "hemera://node/<id>".
func nodeIn(leaf *x509.Certificate) (hemera.NodeID, error) {
	if len(leaf.URIs) == 1 && leaf.URIs[0].Scheme == "hemera" && leaf.URIs[0].Host == "node" {
		digits := strings.TrimPrefix(leaf.URIs[0].Path, "/")
		if id, err := strconv.ParseUint(digits, 10, 32); err == nil && id != 0 && strconv.FormatUint(id, 10) == digits {
			return hemera.NodeID(id), nil
		}
	}
	return 0, errs.New(errs.Unauthenticated, "pki.ReadNode", leaf.Subject.CommonName, "the certificate is no node's")
}

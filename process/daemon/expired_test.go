package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"hemera/platform/pki"
	"hemera/words/hemera"
)

// expire gives the node a certificate of the manager's authority that ended long ago.
func (s *site) expire(m *Manager, id hemera.NodeID) {
	s.t.Helper()
	past, err := pki.OpenAuthority(s.t.Context(), m.Dir(), pki.AuthorityOptions{Now: func() time.Time { return time.Now().Add(-500 * 24 * time.Hour) }})
	if err != nil {
		s.t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := past.Renew(s.t.Context(), id, request)
	if err != nil {
		s.t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "HEMERA MANAGER ADDRESSES", Bytes: []byte(m.Addr)})...)
	if err := os.WriteFile(s.path("node/node.pem"), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// A node that was switched off until its certificate had expired joins again with a token.
func TestANodeWhoseCertificateHasExpired(t *testing.T) {
	s := newSite(t)
	m, stop := s.start()
	token := s.token(m)
	first := s.joins(token)
	s.expire(m, first)
	stop()
	m, stop = s.start() // the node's former lease has ended
	defer stop()
	n, err := OpenNode(t.Context(), NodeOptions{
		Dir: s.path("node"), Listen: "127.0.0.1:0", Join: strings.Replace(token, "hemera-join:", "hemera-join:damaged", 1), Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	if err != nil || n.credentials.Node() != first || !strings.Contains(s.log.String(), "has expired, and it cannot join again") {
		t.Fatalf("with a token that is no good: %v; log %s", err, s.log.String())
	}
	serving(t, n.Run)()
	second := s.joins(token)
	if second == first || s.diskOf(m) != second {
		t.Errorf("node %v joined again as %v, its disk is node %v's", first, second, s.diskOf(m))
	}
	if third := s.joins(token); third != second {
		t.Errorf("node %v came back as %v", second, third)
	}
}

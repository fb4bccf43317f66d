package rpc_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	"hemera/platform/pki"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestJoinedNodeIsKnown(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	if creds.Node() == 0 {
		t.Fatal("no node id")
	}
	if _, err := client.Register(context.Background(), hemera.NodeHello{}); err != nil {
		t.Fatal(err)
	}
	call := c.manager.calls[0].([]any)
	if hello := call[1].(hemera.NodeHello); hello.ID != creds.Node() {
		t.Errorf("the manager saw node %d, the certificate is %d's", hello.ID, creds.Node())
	}
}

func TestNodeSpeaksForItselfOnly(t *testing.T) {
	c := newCluster(t)
	victim, _ := c.join(t)
	_, client := c.join(t)
	ctx := context.Background()
	other := victim.Node()
	_, register := client.Register(ctx, hemera.NodeHello{ID: other})
	_, beat := client.Heartbeat(ctx, other, 1, hemera.NodeReport{})
	_, exchange := client.Exchange(ctx, other, 1, nil)
	announce := client.Announce(ctx, hemera.Announcement{Node: other, Epoch: 1})
	for name, err := range map[string]error{"Register": register, "Heartbeat": beat, "Exchange": exchange, "Announce": announce} {
		if !errors.Is(err, errs.Denied) || errs.RemedyOf(err) == "" {
			t.Errorf("%s as another node: %v, want Denied with a remedy", name, err)
		}
	}
	if len(c.manager.calls) != 0 {
		t.Errorf("the manager was called: %v", c.manager.calls)
	}
}

// The certificate of a removed node is valid for months. It gets neither another certificate nor the names of files.
func TestARemovedNodeLearnsNothing(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	_, other := c.join(t)
	ctx := context.Background()
	if err := creds.Renew(ctx, client); err != nil {
		t.Fatal(err)
	}
	c.removed.Store(uint32(creds.Node()))
	if err := creds.Renew(ctx, client); !errors.Is(err, errs.NotFound) {
		t.Errorf("a new certificate: %v", err)
	}
	if _, _, err := client.Resolve(ctx, 7); !errors.Is(err, errs.NotFound) {
		t.Errorf("a file's name: %v", err)
	}
	if len(c.manager.calls) != 0 {
		t.Errorf("the manager was asked: %v", c.manager.calls)
	}
	if _, _, err := other.Resolve(ctx, 7); err != nil {
		t.Errorf("another node: %v", err)
	}
}

func refused(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v (%v); want %v with %q", err, errs.KindOf(err), kind, text)
	}
}

func TestCertificatesThatAreRefused(t *testing.T) {
	ctx := context.Background()
	t.Run("none", func(t *testing.T) {
		c := newCluster(t)
		refused(t, dial(t, c.token(t, false).TLS(), c.addr).Abort(ctx, hemera.ParsePermit("x")), errs.Unauthenticated, "no certificate")
	})
	t.Run("another cluster's", func(t *testing.T) {
		c, foreign := newCluster(t), newCluster(t)
		creds, _ := foreign.join(t)
		// The node itself notices first.
		refused(t, dial(t, creds.TLS(), c.addr).Abort(ctx, hemera.ParsePermit("x")), errs.Unauthenticated, "certificate")
		// A node that does not verify the manager is refused by the manager.
		careless := c.token(t, false).TLS()
		careless.GetClientCertificate = creds.TLS().GetClientCertificate
		refused(t, dial(t, careless, c.addr).Abort(ctx, hemera.ParsePermit("x")), errs.Unauthenticated, "certificate")
	})
	t.Run("expired, also on a connection that was good", func(t *testing.T) {
		c := newCluster(t)
		_, client := c.join(t)
		if err := client.Abort(ctx, hemera.ParsePermit("x")); err != nil {
			t.Fatal(err)
		}
		c.clock.Store(int64(366 * 24 * time.Hour / time.Second))
		refused(t, client.Abort(ctx, hemera.ParsePermit("x")), errs.Unauthenticated, "expired")
	})
	t.Run("the manager's own", func(t *testing.T) {
		c := newCluster(t)
		config := c.token(t, false).TLS()
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return c.authority.ServerTLS().GetCertificate(nil)
		}
		refused(t, dial(t, config, c.addr).Abort(ctx, hemera.ParsePermit("x")), errs.Unauthenticated, "certificate")
	})
	if len(newCluster(t).manager.calls) != 0 {
		t.Error("refused calls reached the manager")
	}
}

func TestClocksThatDiffer(t *testing.T) {
	ctx := context.Background()
	for name, ahead := range map[string]time.Duration{"manager a year behind": -365 * 24 * time.Hour, "manager ten years ahead": 10 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t) // its CA is made with a correct clock
			c.clock.Store(int64(ahead / time.Second))
			token := c.token(t, false)
			if ahead < 0 {
				// By the node's clock, the manager's certificate expired long ago.
				_, err := pki.Enrol(ctx, t.TempDir(), token, dial(t, token.TLS(), c.addr))
				refused(t, err, errs.Unauthenticated, "expired")
				if !strings.Contains(errs.RemedyOf(err), "clock") {
					t.Errorf("the remedy must name the clocks: %q", errs.RemedyOf(err))
				}
				return
			}
			_, client := c.join(t) // the node's clock is far behind, like that of a board without a battery
			if err := client.Abort(ctx, hemera.ParsePermit("x")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	ctx := context.Background()
	enrol := func(t *testing.T, c *cluster, token pki.Token) error {
		_, err := pki.Enrol(ctx, t.TempDir(), token, dial(t, token.TLS(), c.addr))
		return err
	}
	t.Run("unknown secret", func(t *testing.T) {
		c := newCluster(t)
		_, err := dial(t, c.token(t, false).TLS(), c.addr).Join(ctx, "guess", csr(t))
		refused(t, err, errs.Unauthenticated, "does not know")
		if text := c.log.String(); !strings.Contains(text, "refused a node that wants to join") || !strings.Contains(text, "remote=127.0.0.1:") || strings.Contains(text, "guess") {
			t.Errorf("the log says %q", text)
		}
	})
	t.Run("expired", func(t *testing.T) {
		c := newCluster(t)
		token := c.token(t, false)
		c.clock.Store(3600)
		refused(t, enrol(t, c, token), errs.Unauthenticated, "expired")
	})
	t.Run("replayed", func(t *testing.T) {
		c := newCluster(t)
		token := c.token(t, true)
		if err := enrol(t, c, token); err != nil {
			t.Fatal(err)
		}
		refused(t, enrol(t, c, token), errs.Unauthenticated, "has been used")
	})
	t.Run("the same node asks again", func(t *testing.T) {
		c := newCluster(t)
		token, request := c.token(t, true), csr(t)
		for range 2 {
			if _, err := dial(t, token.TLS(), c.addr).Join(ctx, token.Secret(), request); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("another manager answers", func(t *testing.T) {
		c, impostor := newCluster(t), newCluster(t)
		refused(t, enrol(t, impostor, c.token(t, false)), errs.Unauthenticated, "not the manager that made this join token")
	})
	t.Run("a node answers", func(t *testing.T) {
		c := newCluster(t)
		creds, _ := c.join(t)
		config := creds.TLS()
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert, err := config.GetClientCertificate(nil)
			if err == nil {
				ca, _ := c.authority.ServerTLS().GetCertificate(nil)
				cert.Certificate = append(cert.Certificate, ca.Certificate[1])
			}
			return cert, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		server := &http.Server{Handler: http.NotFoundHandler(), ErrorLog: log.New(io.Discard, "", 0)}
		go func() { _ = server.Serve(l) }()
		token := c.token(t, false)
		_, err = pki.Enrol(ctx, t.TempDir(), token, dial(t, token.TLS(), l.Addr().String()))
		refused(t, err, errs.Unauthenticated, "certificate")
	})
	t.Run("damaged request", func(t *testing.T) {
		c := newCluster(t)
		token, good := c.token(t, false), csr(t)
		good[len(good)-5] ^= 1
		for _, request := range [][]byte{nil, []byte("x"), good, make([]byte, 100<<10)} {
			if _, err := dial(t, token.TLS(), c.addr).Join(ctx, token.Secret(), request); err == nil {
				t.Errorf("a request of %d bytes was signed", len(request))
			}
		}
	})
}

func TestRenewal(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	before, err := creds.TLS().GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.clock.Store(int64(300 * 24 * time.Hour / time.Second))
	// A long poll keeps the old connection busy while the certificate is replaced.
	c.manager.block, c.manager.waiting = make(chan struct{}), make(chan struct{})
	polled := make(chan error, 1)
	go func() {
		_, err := client.Exchange(context.Background(), creds.Node(), 1, nil)
		polled <- err
	}()
	<-c.manager.waiting
	if err := creds.Renew(context.Background(), client); err != nil {
		t.Fatal(err)
	}
	after, err := creds.TLS().GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(before.Certificate[0], after.Certificate[0]) || !after.Leaf.NotAfter.After(before.Leaf.NotAfter) {
		t.Error("the certificate is the old one")
	}
	c.clock.Store(int64(400 * 24 * time.Hour / time.Second)) // the old one has expired
	node := creds.Node()
	if _, err := client.Heartbeat(context.Background(), node, 1, hemera.NodeReport{}); err != nil {
		t.Errorf("the renewed node %d: %v", node, err)
	}
	close(c.manager.block)
	if err := <-polled; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
}

func TestFailOverAndReconnect(t *testing.T) {
	ctx := context.Background()
	c := newCluster(t)
	creds, _ := c.join(t)
	client := dial(t, creds.TLS(), heldAddr(t), c.addr)
	if err := client.Abort(ctx, hemera.ParsePermit("first address is down")); err != nil {
		t.Fatal(err)
	}
	c.stop()
	err := client.Abort(ctx, hemera.ParsePermit("all are down"))
	if !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("no manager: %v, want Unavailable with a remedy", err)
	}
	c.listen(t, c.addr)
	if err := client.Abort(ctx, hemera.ParsePermit("again up")); err != nil {
		t.Errorf("after the manager's restart: %v", err)
	}
}

func TestDeadlinesReachTheManager(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	c.manager.block = make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Exchange(ctx, creds.Node(), 1, nil); !errors.Is(err, errs.Timeout) {
		t.Errorf("a long poll beyond its deadline: %v, want Timeout", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if _, err := client.Exchange(ctx, creds.Node(), 1, nil); !errors.Is(err, errs.Cancelled) {
		t.Errorf("a cancelled long poll: %v, want Cancelled", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := client.Exchange(context.Background(), creds.Node(), 1, nil)
		done <- err
	}()
	close(c.manager.block)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOversizedMessagesAreRefused(t *testing.T) {
	c := newCluster(t)
	_, client := c.join(t)
	err := client.Abort(context.Background(), hemera.ParsePermit(strings.Repeat("x", 17<<20)))
	if !errors.Is(err, errs.TooLarge) {
		t.Errorf("a message of 17 MiB: %v, want TooLarge", err)
	}
	if len(c.manager.calls) != 0 {
		t.Error("it reached the manager")
	}
}

func csr(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

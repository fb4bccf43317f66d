package rpc_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"hemera/words/hemera"
)

// stranger returns a connection to the control port without a certificate, after its handshake.
func stranger(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	_ = s.SetDeadline(time.Now().Add(20 * time.Second))
	if err := s.Handshake(); err != nil {
		t.Fatal(err)
	}
	return s
}

// slowJoin begins a request to join and never ends it.
func slowJoin(t *testing.T, addr string) net.Conn {
	t.Helper()
	c := stranger(t, addr)
	_, err := fmt.Fprintf(c, "POST /hemera.control.v1/Join HTTP/1.1\r\nHost: m\r\nContent-Type: application/cbor\r\nContent-Length: 60000\r\n\r\n.")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A client without a certificate may begin any number of joins: few of its connections are kept, for a short time, and
// nodes are served at the same time.
func TestSlowJoinsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	creds, node := c.join(t)
	ended := make(chan error, 60)
	for range cap(ended) {
		slow := slowJoin(t, c.addr)
		go func() {
			_, err := io.ReadAll(slow)
			if e, ok := err.(net.Error); !ok || !e.Timeout() {
				err = nil
			}
			ended <- err
		}()
	}
	if _, err := node.Heartbeat(t.Context(), creds.Node(), 1, hemera.NodeReport{}); err != nil {
		t.Error(err)
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Fatal("a slow request is still there after 20 s: ", err)
		}
	}
	// A node's connection is not a stranger's, however many strangers there are.
	for range 40 {
		stranger(t, c.addr)
	}
	if _, err := node.Heartbeat(t.Context(), creds.Node(), 1, hemera.NodeReport{}); err != nil {
		t.Error(err)
	}
}

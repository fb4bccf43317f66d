package etcdjournal_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/platform/kv/journal"
	"hemera/platform/kv/journal/etcdjournal"
	"hemera/test/fixture/etcd"
	"hemera/words/errs"
)

// TestMemberFarBehind: a member that was away for longer than the others keep entries for it gets etcd's file from them, and follows.
func TestMemberFarBehind(t *testing.T) {
	all := etcd.Options(t, 3)
	var members []*etcdjournal.Member
	for i := range all {
		all[i].CatchUpEntries = 50
		members = append(members, etcd.Start(t, all[i]))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := members[0].Ready(ctx); err != nil {
		t.Fatal(err)
	}
	members[2].Close()
	const count = 400
	j := members[0].Journal(etcdjournal.Options{})
	if err := j.Create(ctx, 0); err != nil {
		t.Fatal(err)
	}
	epoch, last, err := j.Begin(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	for range count {
		e := journal.Entry{Seq: last.Seq + 1, Epoch: epoch, Prev: last.Chain, Batch: make([]byte, 1000)}
		if err := j.Append(ctx, e); err != nil {
			t.Fatal(err)
		}
		last = e.Position()
	}
	if err := j.Trim(ctx, 11); err != nil {
		t.Fatal(err)
	}
	back := etcd.Start(t, all[2])
	if err := back.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	seen, enough := uint64(10), errors.New("enough")
	err = back.Journal(etcdjournal.Options{}).Follow(ctx, seen+1, func(e journal.Entry) error {
		if seen++; e.Seq != seen {
			return errs.New(errs.Corrupt, "test.Visit", "", "another entry")
		}
		if seen == count {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("the member that came back has entries up to %d: %v", seen, err)
	}
}

// TestFullJournal: beyond the quota appends are refused, and not left open; trims are still possible, and let appends in again.
func TestFullJournal(t *testing.T) {
	o := etcd.Options(t, 1)[0]
	o.QuotaBytes = 4 << 20
	m := etcd.Start(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	j := m.Journal(etcdjournal.Options{})
	err := m.Ready(ctx)
	if err == nil {
		err = j.Create(ctx, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	epoch, last, err := j.Begin(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	add := func() error {
		e := journal.Entry{Seq: last.Seq + 1, Epoch: epoch, Prev: last.Chain, Batch: make([]byte, 256<<10)}
		err := j.Append(ctx, e)
		if err == nil {
			last = e.Position()
		}
		return err
	}
	for err == nil && last.Seq < 100 {
		err = add()
	}
	if !errors.Is(err, errs.NoSpace) {
		t.Fatalf("after %d entries: %v", last.Seq, err)
	}
	if err := m.Shrink(ctx); !errors.Is(err, errs.NoSpace) && err != nil {
		t.Errorf("shrink without a trim: %v", err)
	}
	if err := errors.Join(j.Trim(ctx, last.Seq), m.Shrink(ctx)); err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Errorf("an append after the trim: %v", err)
	}
}

// certificate writes a certificate for the loopback and its key, of an authority of its own, and returns their files.
func certificate(t *testing.T) etcdjournal.PeerTLS {
	t.Helper()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "members"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	tls := etcdjournal.PeerTLS{CertFile: filepath.Join(dir, "cert"), KeyFile: filepath.Join(dir, "key"), CAFile: filepath.Join(dir, "cert")}
	err = errors.Join(os.WriteFile(tls.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600),
		os.WriteFile(tls.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return tls
}

// TestMembersOverTLS: members with certificates of one authority find each other, and one with a certificate of another authority stays alone.
func TestMembersOverTLS(t *testing.T) {
	ours, other := certificate(t), certificate(t)
	all := etcd.Options(t, 3)
	for name, at := range all[0].Peers { // the map is shared
		all[0].Peers[name] = strings.Replace(at, "http:", "https:", 1)
	}
	var members []*etcdjournal.Member
	for i, o := range all {
		if o.TLS = ours; i == 2 {
			o.TLS = other
		}
		members = append(members, etcd.Start(t, o))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, m := range members[:2] {
		if err := m.Ready(ctx); err != nil {
			t.Fatal(err)
		}
	}
	j := members[0].Journal(etcdjournal.Options{})
	if err := j.Create(ctx, 0); err != nil {
		t.Fatal(err)
	}
	epoch, last, err := j.Begin(ctx, "test")
	if err == nil {
		err = j.Append(ctx, journal.Entry{Seq: 1, Epoch: epoch, Prev: last.Chain, Batch: []byte("batch")})
	}
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := members[2].Ready(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the member of another authority: %v", err)
	}
}

// TestMembersNeedTLS: a member does not talk to other machines in the clear.
func TestMembersNeedTLS(t *testing.T) {
	for _, at := range []string{"http://192.0.2.1:2380", "http://localhost:2380", "https://192.0.2.1:2380", "192.0.2.1:2380"} {
		_, err := etcdjournal.Start(etcdjournal.MemberOptions{Name: "a", Dir: t.TempDir(), Peers: map[string]string{"a": at}})
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

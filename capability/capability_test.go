package capability

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera"
	"hemera/errs"
)

var (
	keyA = hemera.Key{ID: 7, Secret: []byte("0123456789abcdef0123456789abcdef")}
	keyB = hemera.Key{ID: 8, Secret: []byte("fedcba9876543210fedcba9876543210")}
	when = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
)

func sample() hemera.Capability {
	sum, _ := hemera.MakeChecksum(hemera.Adler32, []byte{1, 2, 3, 4})
	return hemera.Capability{
		File: 123456, Gen: 3, Parent: 1042, Name: "run1234.root", Path: "/data/2031/raw/run1234.root",
		Access: hemera.AccessUpdate, Layout: hemera.Replica(2),
		Checksums: []hemera.ChecksumKind{hemera.Adler32, hemera.CRC32C}, PiecesMin: 2, Sync: true,
		Space: "default", Size: 5 << 30, Mode: 0o644,
		Targets: []hemera.Target{
			{Index: 0, Disk: 12, Node: 3, Addr: "node3.example.org:1095"},
			{Index: 1, Disk: 31, Node: 9, Addr: "node9.example.org:1095"},
		},
		Base: &hemera.Base{Gen: 2, Size: 77, Pieces: []hemera.Target{{Index: 1, Disk: 31, Node: 9, Addr: "[::1]:1"}}},
		Sums: []hemera.Checksum{sum}, BaseGen: 2,
		Who:     hemera.Identity{Name: "alice", UID: 1000, GID: 100, Protocol: "unix", Host: "login1.example.org", App: "xrdcp"},
		Expires: when, Trace: "0123456789abcdef", Nonce: 1<<63 + 5, Epoch: 42,
	}
}

func mint(key hemera.Key, c hemera.Capability) string { return newSigner(key).mint(&c) }

func TestRoundTrip(t *testing.T) {
	for name, change := range map[string]func(*hemera.Capability){
		"as is":        func(*hemera.Capability) {},
		"zero":         func(c *hemera.Capability) { *c = hemera.Capability{Expires: when} },
		"renamed":      func(c *hemera.Capability) { c.Name = "other" },
		"admin forced": func(c *hemera.Capability) { c.Who.Admin, c.Force, c.Sync, c.Base = true, true, false, nil },
		"negative":     func(c *hemera.Capability) { c.Size = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := sample()
			change(&c)
			got, err := NewKeyring(keyB, keyA).Verify(mint(keyA, c), when)
			if err != nil {
				t.Fatal(err)
			}
			if c.Name == "" {
				got.Name = "" // path.Base("") is "."
			}
			if diff := cmp.Diff(c, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTokensOfOtherVersionsStand: a token outlives the program that made it, so its bytes may not change.
func TestTokensOfOtherVersionsStand(t *testing.T) {
	const golden = "AQcFwMQHA5IIGy9kYXRhLzIwMzEvcmF3L3J1bjEyMzQucm9vdAMCAQIAAgECAgdkZWZhdWx0gICAgCikAwIADAMWbm9kZTMuZXhhbXBsZS5vcmc6MTA5NQEfCRZub2RlOS5leGFtcGxlLm9yZzoxMDk1AgKaAQEBHwkHWzo6MV06MQEBAQIDBAVhbGljZegHZAR1bml4EmxvZ2luMS5leGFtcGxlLm9yZwV4cmRjcLLvkbYOEDAxMjM0NTY3ODlhYmNkZWaFgICAgICAgIABKilvwAMREUHm7WOlfPSQaWM"
	signer := newSigner(keyA)
	for range 3 { // the first signature prepares what the others use
		c := sample()
		if got := signer.mint(&c); got != golden {
			t.Fatalf("got %s", got)
		}
	}
}

func TestTokenIsShortAndSafeInURLs(t *testing.T) {
	c := sample()
	c.Base = nil
	token := mint(keyA, c)
	if len(token) >= 500 {
		t.Errorf("%d characters", len(token))
	}
	if strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		t.Errorf("token needs escaping: %s", token)
	}
}

func TestGroupsAreNotCarried(t *testing.T) {
	c := sample()
	c.Who.Groups = []uint32{1, 2}
	got, err := NewKeyring(keyA).Verify(mint(keyA, c), when)
	if err != nil || got.Who.Groups != nil {
		t.Errorf("got %v, %v", got.Who.Groups, err)
	}
}

func TestRefusals(t *testing.T) {
	good := mint(keyA, sample())
	weak := hemera.Key{ID: 9, Secret: []byte("short")}
	for _, c := range []struct {
		name, token string
		keys        []hemera.Key
		now         time.Time
		want        errs.Kind
	}{
		{"empty", "", []hemera.Key{keyA}, when, errs.Invalid},
		{"not base64", "!!!!", []hemera.Key{keyA}, when, errs.Invalid},
		{"too long", strings.Repeat("A", TokenMax+1), []hemera.Key{keyA}, when, errs.Invalid},
		{"other version", "_" + good[1:], []hemera.Key{keyA}, when, errs.Invalid},
		{"no such key", good, []hemera.Key{keyB}, when, errs.Denied},
		{"no keys", good, nil, when, errs.Denied},
		{"same id, other secret", good, []hemera.Key{{ID: 7, Secret: keyB.Secret}}, when, errs.Denied},
		{"weak key", mint(weak, sample()), []hemera.Key{weak}, when, errs.Denied},
		{"expired", good, []hemera.Key{keyA}, when.Add(time.Second), errs.Denied},
		{"cut", good[:len(good)/4*4-4], []hemera.Key{keyA}, when, errs.Denied},
	} {
		if _, err := NewKeyring(c.keys...).Verify(c.token, c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := NewKeyring(keyA).Verify(good, time.Time{}); err != nil {
		t.Errorf("zero time: %v", err)
	}
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	raw, _ := encoding.DecodeString(mint(keyA, sample()))
	for bit := range len(raw) * 8 {
		forged := bytes.Clone(raw)
		forged[bit/8] ^= 1 << (bit % 8)
		if _, err := NewKeyring(keyA, keyB).Verify(encoding.EncodeToString(forged), when); err == nil {
			t.Fatalf("bit %d: accepted", bit)
		}
	}
}

func TestKeyringNewestSignsAllVerify(t *testing.T) {
	ring := NewKeyring(keyA)
	old, err := ring.Mint(sample())
	if err != nil {
		t.Fatal(err)
	}
	ring.Set([]hemera.Key{keyA, keyB})
	fresh, err := ring.Mint(sample())
	if err != nil {
		t.Fatal(err)
	}
	if fresh != mint(keyB, sample()) {
		t.Error("the newest key does not sign")
	}
	for _, token := range []string{old, fresh} {
		if _, err := ring.Verify(token, when); err != nil {
			t.Error(err)
		}
	}
	ring.Set([]hemera.Key{keyB})
	if _, err := ring.Verify(old, when); !errors.Is(err, errs.Denied) {
		t.Errorf("retired key: %v", err)
	}
	if _, err := new(Keyring).Mint(sample()); !errors.Is(err, errs.Unavailable) {
		t.Errorf("empty ring: %v", err)
	}
}

func TestKeyringConcurrently(t *testing.T) {
	ring := NewKeyring(keyA)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 200 {
				if i == 0 {
					ring.Set([]hemera.Key{keyA, keyB})
					continue
				}
				token, err := ring.Mint(sample())
				if err == nil {
					_, err = ring.Verify(token, when)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzDecode feeds bodies that a holder of the key could sign: whatever is accepted must encode to
// itself, and nothing may panic or allocate beyond the input.
func FuzzDecode(f *testing.F) {
	e, c := encoder{}, sample()
	e.capability(&c)
	f.Add(e.buf)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	r := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		b := bytes.Clone(e.buf)
		b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := newDecoder(body)
		c := d.capability()
		if d.bad || len(d.buf) != 0 {
			return
		}
		e := encoder{}
		e.capability(&c)
		again := newDecoder(e.buf)
		if diff := cmp.Diff(c, again.capability()); diff != "" || again.bad {
			t.Fatal(diff)
		}
	})
}

// FuzzVerify feeds arbitrary text; nothing is a capability without the key.
func FuzzVerify(f *testing.F) {
	f.Add(mint(keyB, sample()))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := NewKeyring(keyA).Verify(token, when); err == nil {
			t.Fatal("accepted without the key")
		}
	})
}

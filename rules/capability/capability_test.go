package capability

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera/words/errs"
	"hemera/words/hemera"
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
		Expires: when, Trace: "0123456789abcdef", Nonce: 1<<63 + 5, Epoch: 42, SizeMax: 6 << 30, Head: 3,
	}
}

func mint(key hemera.Key, c hemera.Capability) string {
	token, err := NewKeyring(key).Mint(c)
	if err != nil {
		panic(err)
	}
	return token
}

// unguarded signs with a secret that is too short.
func unguarded(key hemera.Key, c hemera.Capability) string {
	d := &draft{nodes: nodesOf(nil, &c, nil)}
	d.write(newMaster(key), &c)
	return string(d.text)
}

// at returns the verifier of a node that has the keys of a manager with these secrets.
func at(node hemera.NodeID, secrets ...hemera.Key) *Verifier {
	return NewVerifier(NewKeyring(secrets...).NodeKeys(node)...)
}

func TestRoundTrip(t *testing.T) {
	for name, change := range map[string]func(*hemera.Capability){
		"as is":        func(*hemera.Capability) {},
		"zero":         func(c *hemera.Capability) { *c = hemera.Capability{Expires: when} },
		"renamed":      func(c *hemera.Capability) { c.Name = "other" },
		"conversion":   func(c *hemera.Capability) { c.Convert, c.Force, c.Base = true, false, nil },
		"admin forced": func(c *hemera.Capability) { c.Who.Admin, c.Force, c.Sync, c.Base = true, true, false, nil },
		"negative":     func(c *hemera.Capability) { c.Size, c.SizeMax = -1, -1 },
		"replacing":    func(c *hemera.Capability) { c.Replaces, c.Gen = 1<<40, 1 },
		"may read":     func(c *hemera.Capability) { c.SizeMax, c.Head = 0, 0 },
		"on tape":      func(c *hemera.Capability) { c.OnTape = true },
		"owned":        func(c *hemera.Capability) { c.Owner = &hemera.FileOwner{UID: 1<<32 - 1, GID: 7, Mode: 0o2750} },
	} {
		t.Run(name, func(t *testing.T) {
			c := sample()
			change(&c)
			token := mint(keyA, c)
			got, err := NewKeyring(keyB, keyA).Verify(token, when)
			if err != nil {
				t.Fatal(err)
			}
			if c.Name == "" {
				got.Name = "" // path.Base("") is "."
			}
			if diff := cmp.Diff(c, got); diff != "" {
				t.Error(diff)
			}
			for _, target := range c.Targets {
				at, err := at(target.Node, keyB, keyA).Verify(token, when)
				if diff := cmp.Diff(c, at); diff != "" || err != nil {
					t.Error(target.Node, err, diff)
				}
			}
		})
	}
}

// TestTokensOfOtherVersionsStand: a token outlives the program that made it, so its bytes may not change.
func TestTokensOfOtherVersionsStand(t *testing.T) {
	const golden = "AwcCAwkFwMQHA5IIGy9kYXRhLzIwMzEvcmF3L3J1bjEyMzQucm9vdAMCAQIAAgECAgdkZWZhdWx0gICAgCikAwIADAMWbm9kZTMuZXhhbXBsZS5vcmc6MTA5NQEfCRZub2RlOS5leGFtcGxlLm9yZzoxMDk1AgKaAQEBHwkHWzo6MV06MQEBAQIDBAVhbGljZegHZAR1bml4EmxvZ2luMS5leGFtcGxlLm9yZwV4cmRjcLLvkbYOEDAxMjM0NTY3ODlhYmNkZWaFgICAgICAgIABKoCAgIAwAwECU9hH7QceQ8etu1A0zxqXGiAzZHFofiK5frjGdnIJHDvtgQpBdzK0_k0i-KN7-AYvd565EL5WyNZz2tTmWKY"
	for range 3 { // the first signature prepares what the others use
		if got := mint(keyA, sample()); got != golden {
			t.Fatalf("got %s", got)
		}
	}
	const before = "AgcCAwkFwMQHA5IIGy9kYXRhLzIwMzEvcmF3L3J1bjEyMzQucm9vdAMCAQIAAgECAgdkZWZhdWx0gICAgCikAwIADAMWbm9kZTMuZXhhbXBsZS5vcmc6MTA5NQEfCRZub2RlOS5leGFtcGxlLm9yZzoxMDk1AgKaAQEBHwkHWzo6MV06MQEBAQIDBAVhbGljZegHZAR1bml4EmxvZ2luMS5leGFtcGxlLm9yZwV4cmRjcLLvkbYOEDAxMjM0NTY3ODlhYmNkZWaFgICAgICAgIABKoCAgIAwA5zlTQZsOO-bFxW5FmuV0Zpew0MSnpKaHGI8W9PuyOCkyeNrQ-bCYTtRjbe1RO2vwA" // of a write, without keys for its head
	for what, err := range map[string]error{"the manager": second(NewKeyring(keyA).Verify(before, when)), "a node": second(at(3, keyA).Verify(before, when))} {
		if err != nil {
			t.Errorf("%s refuses a token of version 2: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

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
		{"of version 1", "AQcF" + good[4:], []hemera.Key{keyA}, when, errs.Invalid},
		{"no such key", good, []hemera.Key{keyB}, when, errs.Denied},
		{"no keys", good, nil, when, errs.Denied},
		{"same id, other secret", good, []hemera.Key{{ID: 7, Secret: keyB.Secret}}, when, errs.Denied},
		{"weak key", unguarded(weak, sample()), []hemera.Key{weak}, when, errs.Denied},
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
		_, atManager := NewKeyring(keyA, keyB).Verify(encoding.EncodeToString(forged), when)
		_, atNode := at(3, keyA, keyB).Verify(encoding.EncodeToString(forged), when)
		// A wrong bit in one signature concerns only the server for which that signature is.
		others := 8 * (len(raw) - 2*macSize)
		if atNode == nil && bit < others || atManager == nil && (bit < others-8*macSize || bit >= others+8*macSize) {
			t.Fatalf("bit %d: accepted: %v, %v", bit, atManager, atNode)
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

// The keys of a node verify what the manager signed for it. No other node, and not the manager, accepts a signature made
// with them.
func TestNodesCannotForge(t *testing.T) {
	c := sample()
	rogue := NewKeyring(keyA).NodeKeys(3)[0]
	asMaster := rogue
	asMaster.Node = 0
	forged := map[string]string{"as a manager with its own key": mint(asMaster, c)}
	// The manager's own bytes with other fields, signed again at every place with the only key that the node has.
	raw, _ := encoding.DecodeString(mint(keyA, c))
	e, err := open(mint(keyA, c))
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Clone(raw[:len(e.body)])
	body[len(body)-1]++ // another head
	sum := sha256.Sum256(body)
	sum = withHeads(&sum, e.heads)
	signer, all := newSigner(rogue), append(bytes.Clone(body), e.heads...)
	for range len(e.nodes) + 1 {
		all = signer.append(all, sum[:])
	}
	forged["in all places"] = encoding.EncodeToString(all)
	for how, token := range forged {
		if _, err := NewKeyring(keyA).Verify(token, when); !errors.Is(err, errs.Denied) {
			t.Errorf("%s: the manager: %v", how, err)
		}
		if _, err := at(9, keyA).Verify(token, when); !errors.Is(err, errs.Denied) {
			t.Errorf("%s: another node: %v", how, err)
		}
	}
	if _, err := at(3, keyA).Verify(forged["in all places"], when); err != nil {
		t.Errorf("the test forged nothing that anybody takes: %v", err)
	}
}

// A token opens at the nodes that it is for and at no other.
func TestATokenIsForItsNodes(t *testing.T) {
	c := sample()
	c.Head = 4 // the first piece was moved away from it
	ring := NewKeyring(keyA)
	plain, err := ring.Mint(c)
	if err != nil {
		t.Fatal(err)
	}
	wider, err := ring.MintFor(c, 17)
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[hemera.NodeID][2]bool{3: {true, true}, 9: {true, true}, 4: {true, true}, 17: {false, true}, 5: {false, false}} {
		for i, token := range []string{plain, wider} {
			if _, err := at(node, keyA).Verify(token, when); (err == nil) != want[i] || err != nil && !errors.Is(err, errs.Denied) {
				t.Errorf("node %d, token %d: %v", node, i, err)
			}
		}
	}
	other := NewKeyring(keyA).NodeKeys(5)
	other[0].Node = 3
	if _, err := NewVerifier(other...).Verify(plain, when); !errors.Is(err, errs.Denied) {
		t.Errorf("a node that takes itself for another: %v", err)
	}
}

// Tokens that clients showed to a removed node open nothing any more, and the node cannot remove its name from them.
func TestWhatARemovedNodeWasShownIsBarred(t *testing.T) {
	token := mint(keyA, sample())
	v := at(9, keyA)
	v.Bar([]hemera.NodeID{5, 3})
	if _, err := v.Verify(token, when); !errors.Is(err, errs.Denied) || errs.RemedyOf(err) == "" {
		t.Error(err)
	}
	raw, _ := encoding.DecodeString(token)
	stripped := append(bytes.Clone(raw[:2]), 1, 9) // key id 7 is one byte
	stripped = append(stripped, raw[5:len(raw)-3*macSize]...)
	stripped = append(stripped, raw[len(raw)-2*macSize:]...)
	if e, err := open(encoding.EncodeToString(stripped)); err != nil || len(e.nodes) != 1 || e.nodes[0] != 9 {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err := v.Verify(encoding.EncodeToString(stripped), when); !errors.Is(err, errs.Denied) {
		t.Errorf("stripped: %v", err)
	}
	v.Bar(nil)
	if _, err := v.Verify(token, when); err != nil {
		t.Errorf("after the bar: %v", err)
	}
}

func TestTokensOfWideLayoutsFit(t *testing.T) {
	c := wide(hemera.ReplicasMax)
	c.Base = &hemera.Base{Gen: 2, Size: 77}
	for i := range hemera.ReplicasMax {
		c.Base.Pieces = append(c.Base.Pieces, hemera.Target{Index: uint8(i), Disk: 5, Node: hemera.NodeID(1000 + i), Addr: "other.example.org:1095"})
	}
	token := mint(keyA, c)
	if len(token) > 5500 {
		t.Errorf("%d characters", len(token))
	}
	if _, err := at(1015, keyA).Verify(token, when); err != nil {
		t.Error(err)
	}
	c = wide(hemera.PiecesMax)
	c.Path = "/" + strings.Repeat("p", hemera.PathMax-1)
	if _, err := NewKeyring(keyA).Mint(c); err != nil {
		t.Error(err)
	}
}

// TestPeek: a client can decode its token like a server, without keys and after its expiry; text that is not a token is
// refused.
func TestPeek(t *testing.T) {
	good := mint(keyA, sample())
	got, err := Peek(good)
	if diff := cmp.Diff(sample(), got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for name, token := range map[string]string{
		"empty": "", "not base64": "!!!!", "too long": strings.Repeat("A", TokenMax+1), "other version": "_" + good[1:], "cut": good[:len(good)/8*4],
	} {
		if c, err := Peek(token); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// FuzzDecode decodes bodies that a holder of the key could sign: an accepted body must encode to itself, and decoding
// must not panic or allocate beyond the input.
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

// FuzzVerify verifies arbitrary text; without the key nothing is a capability.
func FuzzVerify(f *testing.F) {
	f.Add(mint(keyB, sample()))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		_, _ = Peek(token) // must not panic
		if _, err := NewKeyring(keyA).Verify(token, when); err == nil {
			t.Fatal("accepted without the key")
		}
		if _, err := at(3, keyA).Verify(token, when); err == nil {
			t.Fatal("a node accepted it without the key")
		}
	})
}

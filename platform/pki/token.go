package pki

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Token is a join token. With it a new node finds its manager, verifies that it is the right one, and is admitted. Its
// text is "hemera-join:" and base64url (no padding) of one version byte, 1; the SHA-256 of the manager's CA certificate
// (DER); 32 random bytes, the secret; and the manager's control addresses, "host:port" joined by commas.
type Token struct {
	Addrs       []string // of the manager's control port, host:port
	Fingerprint [32]byte // SHA-256 of the CA certificate, DER
	secret      [32]byte // unexported, so that printing a Token does not show it
}

const (
	tokenPrefix  = "hemera-join:" // so that people and scanners for secrets recognize it
	tokenVersion = 1
	tokenMax     = 4096 // bytes of text
	addrsMax     = 16   // of a manager, in a token and at a node
)

// newToken makes a token with a fresh secret.
func newToken(addrs []string, fingerprint [32]byte) (Token, error) {
	t := Token{Addrs: addrs, Fingerprint: fingerprint}
	if _, err := rand.Read(t.secret[:]); err != nil {
		return Token{}, errs.As(err, errs.Internal, "pki.NewToken", "")
	}
	return t, checkAddrs(addrs)
}

// Text returns the token as people copy it. It contains the secret.
func (t Token) Text() string {
	b := append([]byte{tokenVersion}, t.Fingerprint[:]...)
	b = append(b, t.secret[:]...)
	b = append(b, strings.Join(t.Addrs, ",")...)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(b)
}

// String hides the secret, so that a token can be printed and logged.
func (t Token) String() string { return tokenPrefix + "…@" + strings.Join(t.Addrs, ",") }

// GoString hides the secret from %#v.
func (t Token) GoString() string { return t.String() }

// Secret returns the secret that the manager checks, as text.
func (t Token) Secret() string { return base64.RawURLEncoding.EncodeToString(t.secret[:]) }

// ParseToken reads the result of [Token.Text]. It fails with Invalid; the error never contains the text, which may be a
// damaged secret.
func ParseToken(text string) (Token, error) {
	invalid := func(what string) (Token, error) {
		return Token{}, errs.New(errs.Invalid, "pki.ParseToken", "", "join token: "+what).
			WithRemedy("copy the whole token that `hemera token create` printed, or create a new one")
	}
	text = strings.TrimSpace(text) // if a line was copied
	if len(text) > tokenMax {
		return invalid(fmt.Sprintf("longer than %d bytes", tokenMax))
	}
	encoded, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return invalid("does not begin with " + tokenPrefix)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") {
		return invalid("is damaged (not base64url)")
	}
	var t Token
	switch {
	case len(b) < 1+len(t.Fingerprint)+len(t.secret):
		return invalid("is cut short")
	case b[0] != tokenVersion:
		return invalid(fmt.Sprintf("has version %d, this program knows %d", b[0], tokenVersion))
	}
	b = b[1:]
	b = b[copy(t.Fingerprint[:], b):]
	b = b[copy(t.secret[:], b):]
	t.Addrs = strings.Split(string(b), ",")
	if err := checkAddrs(t.Addrs); err != nil {
		return invalid("is damaged (addresses)")
	}
	return t, nil
}

// checkAddrs returns Invalid for addresses that could not be read back from a token's text.
func checkAddrs(addrs []string) error {
	if len(addrs) == 0 || len(addrs) > addrsMax {
		return errs.New(errs.Invalid, "pki.CheckAddrs", "", fmt.Sprintf("%d manager addresses; 1 to %d are possible", len(addrs), addrsMax))
	}
	for _, a := range addrs {
		host, port, err := net.SplitHostPort(a)
		if err != nil || host == "" || port == "" || !printable(a) || strings.Contains(a, ",") {
			return errs.New(errs.Invalid, "pki.CheckAddrs", a, "is no host:port")
		}
	}
	return nil
}

// printable reports whether s is UTF-8 without spaces and control characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// TokenRecord is the manager's record of a token.
type TokenRecord struct {
	Made    time.Time // by the manager's clock, as is Expires
	Expires time.Time
	// Uses is the number of nodes that the token admits.
	Uses int
	// From has the networks from which a node must connect; empty means any.
	From []netip.Prefix
	// Used lists the nodes that it admitted.
	Used []TokenUse
}

// TokenUse is one node that a token admitted. Key is its public key (SHA-256), so that only this node may ask again if it
// lost the answer.
type TokenUse struct {
	Key  []byte
	Node hemera.NodeID
	From string // the address from which it connected
	At   time.Time
}

// UsesMax is the largest number of nodes that one token admits.
const UsesMax = 1000

// left returns how many more nodes the token admits.
func (r *TokenRecord) left() int { return max(0, r.Uses-len(r.Used)) }

// admits reports whether a node at the address may use the token.
func (r *TokenRecord) admits(from netip.Addr) bool {
	return len(r.From) == 0 || slices.ContainsFunc(r.From, func(p netip.Prefix) bool { return p.Contains(from.Unmap()) })
}

// used returns the earlier use with the key.
func (r *TokenRecord) used(key []byte) (TokenUse, bool) {
	i := slices.IndexFunc(r.Used, func(u TokenUse) bool { return bytes.Equal(u.Key, key) })
	if i < 0 {
		return TokenUse{}, false
	}
	return r.Used[i], true
}

// TokenStore keeps the records of tokens under the SHA-256 of their secrets. The store is not enough to make a token. It
// may drop expired records. Calls wait for the store, and fail if that does, or when ctx ends. A change is durable when
// it returns.
type TokenStore interface {
	// PutToken stores the record durably, replacing one with the same id.
	PutToken(ctx context.Context, id [32]byte, r TokenRecord) error
	// Token returns the record. It fails with NotFound.
	Token(ctx context.Context, id [32]byte) (TokenRecord, error)
	// Tokens returns all records.
	Tokens(ctx context.Context) (map[[32]byte]TokenRecord, error)
	// RemoveToken removes a record durably. It is not an error if there is no such record.
	RemoveToken(ctx context.Context, id [32]byte) error
}

// MemoryTokens is a TokenStore in memory, which is lost when the process ends. The zero value is ready to use.
type MemoryTokens struct {
	mu      sync.Mutex
	records map[[32]byte]TokenRecord
}

// PutToken implements [TokenStore].
func (m *MemoryTokens) PutToken(_ context.Context, id [32]byte, r TokenRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[[32]byte]TokenRecord{}
	}
	m.records[id] = r
	return nil
}

// Token implements [TokenStore].
func (m *MemoryTokens) Token(_ context.Context, id [32]byte) (TokenRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if !ok {
		return TokenRecord{}, errs.New(errs.NotFound, "pki.Token", "", "no such token")
	}
	return r, nil
}

// Tokens implements [TokenStore].
func (m *MemoryTokens) Tokens(context.Context) (map[[32]byte]TokenRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.records), nil
}

// RemoveToken implements [TokenStore].
func (m *MemoryTokens) RemoveToken(_ context.Context, id [32]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, id)
	return nil
}

// tokenID returns the store's key for a secret's text.
func tokenID(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

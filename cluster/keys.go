package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"hemera"
	"hemera/capability"
	"hemera/errs"
	"hemera/kv"
)

const (
	// keyLifetime is how long a key signs; keysKept are kept to verify, so that a write may take as
	// long as a key lives.
	keyLifetime = 24 * time.Hour
	keysKept    = 3
	// keyLead is how long before it signs a key is given to nodes.
	keyLead = 2 * hemera.HeartbeatTimeout
	// TokenLifetimeMax bounds join tokens.
	TokenLifetimeMax = 30 * 24 * time.Hour
	secretSize       = 32
)

// Ring is the keys the manager signs with and verifies by. A new key is in it only after nodes had
// time to learn it.
func (c *Cluster) Ring() *capability.Keyring { return &c.ring }

func (c *Cluster) newKey() keyRecord {
	k := keyRecord{Key: hemera.Key{ID: 1, Secret: make([]byte, secretSize)}, Made: c.now()}
	_, _ = rand.Read(k.Secret)
	for id := range c.keys {
		k.ID = max(k.ID, id+1)
	}
	return k
}

// newestFirst lists the keys in the order of their ids, which is that of their making.
func (c *Cluster) newestFirst() []keyRecord {
	return slices.SortedFunc(maps.Values(c.keys), func(a, b keyRecord) int { return cmp.Compare(b.ID, a.ID) })
}

func (c *Cluster) allKeys() (keys []hemera.Key) {
	for _, k := range c.newestFirst() {
		keys = append(keys, k.Key)
	}
	return keys
}

// refreshRing leaves out keys too young for every node to know, unless there are no others.
func (c *Cluster) refreshRing() {
	keys := c.newestFirst()
	for len(keys) > 1 {
		if age := c.now().Sub(keys[0].Made); age >= keyLead || age < 0 {
			break
		}
		keys = keys[1:]
	}
	ring := make([]hemera.Key, len(keys))
	for i, k := range keys {
		ring[i] = k.Key
	}
	c.ring.Set(ring)
}

func (c *Cluster) rotate(ctx context.Context) error {
	keys := c.newestFirst()
	if c.now().Sub(keys[0].Made) < keyLifetime {
		c.refreshRing()
		return nil
	}
	var ch change
	ch.put(c.newKey())
	for _, old := range keys[min(len(keys), keysKept-1):] {
		ch.delete(old)
	}
	if err := c.commit(ctx, &ch); err != nil {
		return err
	}
	c.refreshRing()
	return nil
}

// CreateToken makes a join token that any number of nodes may use until it expires. Only its hash
// is stored. A lifetime of zero is an hour.
func (c *Cluster) CreateToken(ctx context.Context, lifetime time.Duration) (string, error) {
	if lifetime == 0 {
		lifetime = time.Hour
	}
	if lifetime < 0 || lifetime > TokenLifetimeMax {
		return "", errs.New(errs.Invalid, "cluster.CreateToken", lifetime.String(), "a token lives at most "+TokenLifetimeMax.String())
	}
	secret := make([]byte, secretSize)
	_, _ = rand.Read(secret)
	token := base64.RawURLEncoding.EncodeToString(secret)
	text, err := json.Marshal(tokenRecord{Expires: c.now().Add(lifetime)})
	if err != nil {
		return "", errs.Wrap(err, "cluster.CreateToken", "")
	}
	var b kv.Batch
	b.Put(tokenKey(token), text)
	ticket, err := c.writer.Enqueue(&b)
	if err == nil {
		err = ticket.Wait(ctx)
	}
	return token, errs.Wrap(err, "cluster.CreateToken", "")
}

// CheckToken returns nil if the join token is good; Unauthenticated if it is unknown or expired.
func (c *Cluster) CheckToken(ctx context.Context, token string) error {
	refused := errs.New(errs.Unauthenticated, "cluster.CheckToken", "", "the join token is unknown or has expired").
		WithRemedy("make a new one with `hemera token create`")
	text, err := c.store.Get(ctx, tokenKey(token))
	if errors.Is(err, errs.NotFound) {
		return refused
	}
	if err != nil {
		return errs.Wrap(err, "cluster.CheckToken", "")
	}
	var r tokenRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return errs.Wrap(err, "cluster.CheckToken", "")
	}
	if c.now().After(r.Expires) {
		return refused
	}
	return nil
}

func tokenKey(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return []byte(Prefix + "token/" + hex.EncodeToString(sum[:]))
}

package tier

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A key has a name and a secret. The name is an object of the
// configuration: pools say it for new tapes, and a tape has the one that
// its first files were written with, recorded with them. The secret is kept beside the
// namespace. What joins the two is a fingerprint in the configuration, so
// that a file with another secret is never used: a tape that is half of
// one key and half of another could not be read.
//
// A secret goes to the tape server with the mount that needs it, and
// nowhere else. A tape whose secret is not there is not mounted; the rules
// say so, and so does the list of what needs a person.

// Secrets keeps the secrets of keys, outside of the namespace. Calls that
// change it are made one after the other.
type Secrets interface {
	// Secret reads one. NotFound.
	Secret(name string) (hemera.TapeSecret, error)
	// Keep stores one durably. Exists if there is another one of the name.
	Keep(name string, s hemera.TapeSecret) error
	// Forget removes one for ever. One that is not there is no error.
	Forget(name string) error
}

// keyring is the keys of the configuration as they can be used now.
type keyring map[string]keyState

// keyState is a secret, or why it cannot be used.
type keyState struct {
	secret  hemera.TapeSecret
	problem string
}

// readKeys reads the secrets. There are tens at most, each in a small file;
// they are read for each decision, so that one that a person puts back is
// used at once.
func readKeys(from Secrets, keys map[string]tapeconfig.Key) keyring {
	ring := keyring{}
	for name, k := range keys {
		ring[name] = readKey(from, name, k.Fingerprint)
	}
	return ring
}

// readKey reads one secret and compares its fingerprint.
func readKey(from Secrets, name, want string) keyState {
	if from == nil {
		return keyState{problem: "this manager keeps no keys"}
	}
	s, err := from.Secret(name)
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return keyState{problem: "its file is missing"}
	case err != nil:
		return keyState{problem: err.Error()}
	case fingerprint(s) != want:
		return keyState{problem: fmt.Sprintf("its file has another key: the fingerprint is %s, not %s", fingerprint(s), want)}
	}
	return keyState{secret: s}
}

// fingerprint tells keys apart. From 8 bytes of a digest nobody finds a
// key of 32 random bytes.
func fingerprint(s hemera.TapeSecret) string {
	digest := sha256.Sum256(s)
	return hex.EncodeToString(digest[:8])
}

// lock says why a key cannot be used. The empty name is no key.
func (r keyring) lock(name string) mounting.Lock {
	if name == "" {
		return mounting.Lock{}
	}
	k, known := r[name]
	switch {
	case !known:
		return mounting.Lock{Key: name, Why: "nobody has added it"}
	case k.problem != "":
		return mounting.Lock{Key: name, Why: k.problem}
	}
	return mounting.Lock{}
}

// key is what a mount gets of a key; the zero one for no name.
func (r keyring) key(name string) hemera.TapeKey {
	if name == "" {
		return hemera.TapeKey{}
	}
	return hemera.TapeKey{Name: name, Secret: r[name].secret}
}

// keyOfTape is the key that a mount needs: that of what is on the tape, or
// for one that is written from its beginning that of its pool.
func keyOfTape(tape hemera.Tape, pool tapeconfig.Pool, writes bool) string {
	if writes && tape.LastFSeq == 0 {
		return pool.Key
	}
	return tape.Key
}

// inClear reports whether a tape was begun without encryption and its pool
// asks for it now. Nothing is added to such a tape, as in CTA: somebody
// who gives a pool a key wants no more files in clear.
func inClear(tape hemera.Tape, pool tapeconfig.Pool) bool {
	return pool.Key != "" && tape.Key == "" && tape.LastFSeq > 0
}

// TapeKeyList implements hemera.TapeKeys.
func (t *configurer) TapeKeyList(ctx context.Context) (rows []hemera.TapeKeyRow, err error) {
	all, err := t.catalogue.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	config := t.settings()
	ring := readKeys(t.Secrets, config.Keys)
	for _, name := range slices.Sorted(maps.Keys(config.Keys)) {
		rows = append(rows, keyRow(name, config, ring, all))
	}
	return rows, nil
}

// keyRow is a key as people see it.
func keyRow(name string, config tapeconfig.Config, ring keyring, all []hemera.Tape) hemera.TapeKeyRow {
	k := config.Keys[name]
	row := hemera.TapeKeyRow{Name: name, Fingerprint: k.Fingerprint, Problem: ring[name].problem, MadeBy: k.MadeBy, Made: k.Made, Comment: k.Comment}
	for _, pool := range slices.Sorted(maps.Keys(config.Pools)) {
		if config.Pools[pool].Key == name {
			row.Pools = append(row.Pools, pool)
		}
	}
	for _, tape := range all {
		if tape.Key == name {
			row.Tapes, row.Files = row.Tapes+1, row.Files+tape.Files
		}
	}
	return row
}

// AddTapeKey implements hemera.TapeKeys.
func (t *configurer) AddTapeKey(ctx context.Context, who string, k hemera.TapeKey, comment string) (row hemera.TapeKeyRow, err error) {
	const op = "tier.AddKey"
	if t.Secrets == nil {
		return row, errs.New(errs.Unsupported, op, k.Name, "this manager keeps no keys")
	}
	imported := len(k.Secret) > 0
	if !imported {
		k.Secret = make(hemera.TapeSecret, hemera.TapeSecretSize)
		if _, err := rand.Read(k.Secret); err != nil {
			return row, errs.Wrap(err, op, k.Name)
		}
	}
	if len(k.Secret) != hemera.TapeSecretSize {
		return row, errs.New(errs.Invalid, op, k.Name, fmt.Sprintf("a key has %d bytes, not %d", hemera.TapeSecretSize, len(k.Secret)))
	}
	err = t.change(ctx, "key "+k.Name, func(config tapeconfig.Config, used tapeconfig.Usage) (tapeconfig.Config, error) {
		old, there := config.Keys[k.Name]
		switch {
		case !there:
		case !imported:
			return config, errs.New(errs.Exists, op, k.Name, "the key is there already").WithRemedy("see `hemera tape key ls`; to bring a missing secret back: --from FILE")
		// Another secret would make its tapes unreadable.
		case old.Fingerprint != fingerprint(k.Secret):
			return config, errs.New(errs.Conflict, op, k.Name, "the key of that name has fingerprint "+old.Fingerprint+", this one "+fingerprint(k.Secret)).
				WithRemedy("add it under another name")
		default:
			return config, t.Secrets.Keep(k.Name, k.Secret)
		}
		c := hemera.TapeChange{Object: string(tapeconfig.KindKey), Verb: "add", Name: k.Name, Values: map[string]string{"fingerprint": fingerprint(k.Secret), "comment": comment}}
		next, err := config.Apply(c, tapeconfig.Author{Name: who, Time: t.now()}, used)
		if err != nil {
			return config, err
		}
		// The secret before its name: a name without a secret would be a key
		// that nobody can use.
		return next, t.Secrets.Keep(k.Name, k.Secret)
	})
	if err != nil {
		return row, err
	}
	rows, err := t.TapeKeyList(ctx)
	at := slices.IndexFunc(rows, func(r hemera.TapeKeyRow) bool { return r.Name == k.Name })
	if err != nil || at < 0 {
		return row, err
	}
	return rows[at], nil
}

// recordKeyed records what was written with a key. A key that is new to a
// tape must not be removed meanwhile: the secret would go, and with it what
// was just written. So it has the turn of changes. Conflict when the key is
// gone: the files are archived again.
func (t *recorder) recordKeyed(ctx context.Context, r catalogue.Report) (out catalogue.Recorded, err error) {
	if r.Key == "" {
		return t.catalogue.Written(ctx, r)
	}
	release, err := takeTurn(ctx, t.changing, "tape "+r.VID)
	if err != nil {
		return out, err
	}
	defer release()
	if _, known := t.settings().Keys[r.Key]; !known {
		return out, errs.New(errs.Conflict, "tier.TapeDone", r.VID, "it was written with key "+r.Key+", which was removed meanwhile")
	}
	return t.catalogue.Written(ctx, r)
}

// changeKey changes the comment of a key, or removes one that nothing uses.
func (t *configurer) changeKey(ctx context.Context, who string, c hemera.TapeChange) error {
	if c.Verb == "add" {
		_, err := t.AddTapeKey(ctx, who, hemera.TapeKey{Name: c.Name}, c.Values["comment"])
		return err
	}
	if _, is := c.Values["fingerprint"]; is {
		return errs.New(errs.Invalid, "tier.Change", "key "+c.Name, "the fingerprint follows from the key")
	}
	if err := t.changeConfig(ctx, who, c); err != nil || c.Verb != "remove" || t.Secrets == nil {
		return err
	}
	// The name first: what is left after a crash is a file that nobody uses.
	return t.Secrets.Forget(c.Name)
}

// explainKey says what the key of a tape keeps from it.
func (t *reporter) explainKey(f facts, tape hemera.Tape) (out []string) {
	if l := f.keys.lock(tape.Key); l.Key != "" {
		out = append(out, fmt.Sprintf("it is encrypted with key %s, which cannot be used: %s (hemera tape key add %s --from FILE)", l.Key, l.Why, l.Key))
	}
	if pool := t.settings().Pools[tape.Pool]; inClear(tape, pool) {
		out = append(out, fmt.Sprintf("it was begun without encryption, and pool %s has key %s: it is read, and nothing is added (hemera tape tape set %s full=true; then it can be repacked)",
			tape.Pool, pool.Key, tape.VID))
	}
	return out
}

// locked is what needs a person of keys: those that cannot be used, and
// what waits for them.
func (t *reporter) locked(f facts) (out []hemera.TapeAttention) {
	for _, name := range slices.Sorted(maps.Keys(t.settings().Keys)) {
		row := keyRow(name, t.settings(), f.keys, f.tapes)
		if row.Problem == "" || row.Tapes == 0 && len(row.Pools) == 0 {
			continue
		}
		what := fmt.Sprintf("cannot be used: %s; %d tapes with %d files are not mounted", row.Problem, row.Tapes, row.Files)
		if len(row.Pools) > 0 {
			what += ", and no tape is begun for " + strings.Join(row.Pools, ", ")
		}
		out = append(out, hemera.TapeAttention{Subject: "key " + name, What: what, Command: "hemera tape key add " + name + " --from FILE"})
	}
	return out
}

package tier

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// A key has a name and a secret. The name is an object of the
// configuration. A pool names the key of its new tapes. A tape keeps the key
// of its first files, recorded with them. The secret is kept beside the
// namespace. What joins the two is a fingerprint in the configuration, so
// that a file with another secret is never used: a tape that is half of
// one key and half of another could not be read.
//
// A secret goes to the tape server with the mount that needs it, and
// nowhere else. A tape whose secret is not there is not mounted; the rules
// say so, and so does the list of what needs a person.

// Secrets keeps the secrets of keys, outside of the namespace. Calls that change it are made one after the other. They
// block for the disk; IO when it fails.
type Secrets interface {
	// Secret reads one. NotFound.
	Secret(name string) (tapeapi.Secret, error)
	// Keep stores one durably. Exists if there is another one of the name.
	Keep(name string, s tapeapi.Secret) error
	// Forget removes one durably, for ever. One that is not there is no error.
	Forget(name string) error
}

// keyring is the keys of the configuration as they can be used now.
type keyring map[string]keyState

// keyState is a secret, or why it cannot be used.
type keyState struct {
	secret  tapeapi.Secret
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
func fingerprint(s tapeapi.Secret) string {
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

// key returns the part of a key that a mount gets; the zero one for no name.
func (r keyring) key(name string) tapeapi.Key {
	if name == "" {
		return tapeapi.Key{}
	}
	return tapeapi.Key{Name: name, Secret: r[name].secret}
}

// keyOfTape returns the key that a mount needs: that of what is on the tape, or for one that is written from its
// beginning that of its pool.
func keyOfTape(tape tapeapi.Tape, pool tapeconfig.Pool, writes bool) string {
	if writes && tape.LastFSeq == 0 {
		return pool.Key
	}
	return tape.Key
}

// inClear reports whether a tape was begun without encryption and its pool
// asks for it now. Nothing is added to such a tape, as in CTA: somebody
// who gives a pool a key wants no more files in clear.
func inClear(tape tapeapi.Tape, pool tapeconfig.Pool) bool {
	return pool.Key != "" && tape.Key == "" && tape.LastFSeq > 0
}

// keyRow returns a key as people see it.
func keyRow(name string, config tapeconfig.Config, ring keyring, all []tapeapi.Tape) adminapi.TapeKeyRow {
	k := config.Keys[name]
	row := adminapi.TapeKeyRow{Name: name, Fingerprint: k.Fingerprint, Problem: ring[name].problem, MadeBy: k.MadeBy, Made: k.Made, Comment: k.Comment}
	for _, pool := range slices.Sorted(maps.Keys(config.Pools)) {
		if config.Pools[pool].Key == name {
			row.Pools = append(row.Pools, string(tapeapi.PoolName(pool)))
		}
	}
	for _, tape := range all {
		if tape.Key == name {
			row.Tapes, row.Files = row.Tapes+1, row.Files+tape.Files
		}
	}
	return row
}

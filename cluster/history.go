package cluster

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
)

// secretLen is the length of the secret of a store, in bytes.
const secretLen = 32

// livesMax bounds how many lives the store knows; of those before, it knows that they ended where the first began.
const livesMax = 64

// historyRecord is the secret by which the store knows the marks it gave, and its last lives, oldest first.
type historyRecord struct {
	Secret []byte
	Lives  []life `json:",omitempty"`
}

// life is one run of the manager, and how many changes were there when it began.
type life struct{ ID, Since uint64 }

func (historyRecord) key() string { return "history" }

// historyTable owns the record of the lives of the store.
type historyTable struct {
	secret []byte // of the marks that nodes are given; replaced as a whole, never changed
	lives  []life // of the store, oldest first; the last is this one
}

// newHistory begins the history of a store, with a secret that no other store has.
func newHistory() historyRecord {
	secret := make([]byte, secretLen)
	_, _ = rand.Read(secret) // never fails
	return historyRecord{Secret: secret}
}

// newLife returns the number of a life of the manager.
func newLife() uint64 {
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails
	return binary.BigEndian.Uint64(raw[:])
}

// endOf returns the largest number of changes that there may have been when a life ended; over is false for the last
// life, which is not over.
func endOf(lives []life, id uint64) (end uint64, over bool) {
	i := slices.IndexFunc(lives, func(l life) bool { return l.ID == id })
	if i == len(lives)-1 {
		return 0, false
	}
	return lives[i+1].Since, true // of a life that is not known the first is the end
}

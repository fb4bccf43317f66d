package simtape

import (
	"slices"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Storage classes of the simulation, by the number of their copies.
const (
	ClassOne = "default" // there without any set-up
	ClassTwo = "double"  // one copy in each pool
)

// Configuration returns the objects that an admin sets up, with the words of the command. Files wait for seconds for a mount, where real ones wait
// for minutes. Half of the cartridges are in each pool, so that the two copies of a file are never on one tape.
func Configuration() []adminapi.TapeChange {
	changes := []adminapi.TapeChange{
		{Object: "policy", Verb: "set", Name: "default", Values: map[string]string{"archiveMinRequestAge": "2", "retrieveMinRequestAge": "1"}},
		{Object: "mounting", Verb: "set", Name: "default", Values: map[string]string{"lingerSeconds": "5"}},
		{Object: "pool", Verb: "add", Name: "second", Values: map[string]string{"vo": "default"}},
		{Object: "class", Verb: "add", Name: ClassTwo, Values: map[string]string{"nbCopies": "2", "vo": "default"}},
		{Object: "route", Verb: "add", Name: ClassTwo + "/1", Values: map[string]string{"tapepool": "default"}},
		{Object: "route", Verb: "add", Name: ClassTwo + "/2", Values: map[string]string{"tapepool": "second"}},
	}
	// Tapes last: they are in pools that are there by now.
	for i := range Cartridges {
		pool := []string{"default", "second"}[i%2]
		changes = append(changes, adminapi.TapeChange{Object: "tape", Verb: "add", Name: VID(i), Values: map[string]string{"tapepool": pool}})
	}
	return changes
}

// copies returns the number of copies on tape that a class asks for, and 0 for a class that does not exist.
func copies(class string) int { return map[string]int{ClassOne: 1, ClassTwo: 2}[class] }

// Missing lists the numbers of the copies that a file lacks on tape.
// A file without a class lacks none.
func Missing(e *hemera.Entry) (numbers []uint8) {
	// An empty file is archived by its record alone.
	if e.Size == 0 && e.OnTape() {
		return nil
	}
	for n := range uint8(copies(e.StorageClass())) {
		// Numbers count from 1.
		if !slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == n+1 }) {
			numbers = append(numbers, n+1)
		}
	}
	return numbers
}

// Bare reports whether a file has no disk copy, and fewer copies on tape than its class asks for. It must never be so.
// Two copies on one tape are as good as one.
func Bare(e *hemera.Entry) bool {
	tapes := map[hemera.VID]bool{}
	for _, c := range e.Tape {
		tapes[c.VID] = true
	}
	return e.Size > 0 && len(e.Pieces) == 0 && len(tapes) != copies(e.StorageClass())
}

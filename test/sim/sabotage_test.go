package sim

import (
	"testing"

	"hemera/test/fixture/effort"
)

// TestSabotageIsNoticed breaks the system in ways that the contract forbids: a simulator that finds
// nothing then would find nothing ever.
func TestSabotageIsNoticed(t *testing.T) {
	if effort.Raced {
		t.Skip("whether a fault is found is no matter of races, and takes many simulations")
	}
	for name, sabotage := range map[string]Sabotage{
		"commits dropped": DropCommits, "pieces forgotten": ForgetPieces, "moves over removals": MoveOverRemovals,
		"readers mixed": MixReaders, "nodes believed": BelieveNodes, "footers trusted": TrustFooters, "marks forgotten": ForgetMarks,
		"bars forgotten": ForgetBars, "parity kept": KeepParity, "old pieces rebuilt": RebuildOld,
		"kept files purged": PurgeKept, "owners lost": LoseOwners,
		"tapes not flushed": ForgetFlushes, "evicted too early": EvictTooEarly, "failures void": VoidFailures, "requests forgotten": ForgetRequests,
		"reservations trusted": TrustReservations, "tapes written over": WriteOver, "marks late": LateMarks, "older copies trusted": TrustCopies,
		"writes forgotten": ForgetWrites,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const enough = 80
			for seed := range uint64(enough) {
				if r := simulate(t, Options{Seed: seed + 1, Sabotage: sabotage}); len(r.Failures) > 0 {
					t.Logf("seed %d: %s", seed+1, r.Failures[0])
					return
				}
			}
			t.Errorf("not noticed in %d simulations", enough)
		})
	}
}

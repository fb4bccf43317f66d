package sim

import (
	"hash/fnv"
	"hemera/test/sim/simnet"
	"math/rand/v2"
	"time"
)

// Sabotage breaks the system on purpose, to show that the simulator notices.
type Sabotage int

// What can be broken.
// Each breaks one rule that a check of the simulator must notice. Tests run seeds until one does.
const (
	Nothing      Sabotage = iota // the system as it is
	DropCommits                  // some commits are acknowledged to the node and never reach the manager
	ForgetPieces                 // some pieces are acknowledged as sealed and not kept
	MixReaders                   // readers that were cut off go on with whatever content there is
	// MoveOverRemovals: pieces are moved to disks that are still to remove them.
	MoveOverRemovals
	// BelieveNodes: who calls the manager is not asked.
	BelieveNodes
	// ForgetBars: a write can be committed although an audit has given its pieces up.
	ForgetBars
	// TrustFooters: a piece with a footer that stands where a copy is to be made is the copy.
	TrustFooters
	// ForgetMarks: nodes do not show how far they saw the manager.
	ForgetMarks
	// KeepParity: what is written over in a parity piece stays as it was.
	KeepParity
	// RebuildOld: pieces of coded files are made again from an older generation, where a drive still has that.
	RebuildOld
	// PurgeKept: some entries of bins are purged although nobody asked for it.
	PurgeKept
	// LoseOwners: pieces do not have the owners of their files.
	LoseOwners
	// ForgetFlushes: the manager hears of files on tape that drives have not flushed.
	ForgetFlushes
	// EvictTooEarly: disk copies go although a tape copy is missing.
	EvictTooEarly
	// VoidFailures: what could not be archived or recalled counts as of no use any more.
	VoidFailures
	// ForgetRequests: some requests to stage files are acknowledged and never made.
	ForgetRequests
	// TrustReservations: numbers that were reserved when a backup was taken count as given out before it.
	TrustReservations
	// LateMarks: nodes learn how far the manager's store is from heartbeats alone.
	LateMarks
	// WriteOver: a restored manager does not know that it went back, and drives hide what stands behind the place of an append.
	WriteOver
	// TrustCopies: disks that come back as older copies of themselves do not say so.
	TrustCopies
	// ForgetWrites: nodes do not announce what is under way.
	ForgetWrites
)

// Options say what to simulate.
// The same seed gives the same plan, whatever the directory.
type Options struct {
	Seed     uint64
	Dir      string // for the nodes' state; on fast storage
	Sabotage Sabotage
}

// plan is the shape of one simulation: everything that follows from the seed before it begins.
// Later subjects have sources of their own, so that they change no old seed's plan.
type plan struct {
	seed     uint64   // of everything random
	dir      string   // for the nodes' state; removed by the test
	sabotage Sabotage // Nothing in ordinary runs

	machines, drives, replicas, clients int           // drives of each machine
	minPieces                           string        // policy.minpieces of the space
	load                                time.Duration // clients work for that long, in simulated time
	pause                               time.Duration // at most, between operations of a client
	cacheBytes                          int64         // of the namespace; small ones evict
	hold                                time.Duration // of replaced and removed content
	smallBytes                          int64         // of memory for short contents at a node; negative: none
	weather                             simnet.Weather
	// strain bounds the delay of steps that move and remove pieces; zero: no step is delayed.
	strain time.Duration
	stalls bool // some commits arrive hours late
	rogue  bool // one more node has joined, and does what it must not
	plants bool // pieces of files stand where they do not belong
	// lossy: the machine with the number loser has a bad cable.
	lossy bool
	loser int
	// uneven: drives are small, of several sizes, and balanced to a percent.
	uneven bool
	// stale: the manager's directory is put back to an older copy now and then.
	stale   bool
	layouts // of coded files
	keeping // of recycle bins and versions
	taping  // of tape
	// rebuild: at the very end the namespace is lost, and made again from the pieces.
	rebuild bool
	// merge: at the very end the namespace is lost, and made again from a backup of a short time ago and the pieces.
	merge bool
	// cut: at the very end the manager's log loses its last moments.
	cut bool
	// older: at the end a drive comes back as an older copy of itself.
	older bool
	// victims are the drives that may lose what they acknowledged, by machine and number; all others keep it. No file has less
	// redundancy than there are of them.
	victims [][2]int
	cruel   bool // some faults lose data on the victims
}

// newPlan draws a plan from the seed: sizes of the cluster, actors and faults.
// The order of the draws from r is part of what a seed means: a new one goes at the end or has a source of its own.
func newPlan(o Options) plan {
	p := plan{seed: o.Seed, dir: o.Dir, sabotage: o.Sabotage}
	r := p.random("plan")
	p.machines = 3 + r.IntN(3) // to 5
	p.drives = 1 + r.IntN(2)
	p.replicas = []int{1, 2, 2, 2, 3, 3}[r.IntN(6)] // two, as most sites have
	if p.machines*p.drives == p.replicas {
		p.drives = 2 // without one of the drives, files must still find room
	}
	p.clients = 2 + r.IntN(3)
	p.load = time.Duration(20+r.IntN(40)) * time.Second
	p.pause = time.Duration(200+r.IntN(1000)) * time.Millisecond
	// A small cache, so that entries are evicted and read again.
	p.cacheBytes = 16 << 10
	if r.IntN(2) == 0 {
		p.cacheBytes = 4 << 20
	}
	// The default twice, one that is soon full, off.
	p.smallBytes = []int64{0, 0, 40 << 10, -1}[p.random("small").IntN(4)]
	// From nothing to longer than the load.
	p.hold = []time.Duration{0, 2 * time.Second, 20 * time.Second, 10 * time.Minute}[p.random("hold").IntN(4)]
	if r := p.random("strain"); r.IntN(3) == 0 {
		p.strain = time.Duration(1+r.IntN(6)) * time.Second
	}
	// A sabotage needs its actor.
	p.rogue = p.random("rogue").IntN(3) == 0 || p.sabotage == BelieveNodes
	p.plants = p.random("plants").IntN(3) == 0 || p.sabotage == TrustFooters
	if p.stale = p.random("stale").IntN(3) == 0 || p.sabotage == ForgetMarks; p.stale {
		p.hold = 10 * time.Minute // what it removes by mistake is there when the right one comes back
		p.load += 20 * time.Second
	}
	// Not where pieces that no file has are planted, or kept because the namespace may have forgotten them.
	if p.stalls = p.random("stalled").IntN(3) == 0 && !p.plants && !p.stale; p.sabotage == ForgetBars {
		p.stalls, p.plants, p.stale = true, false, false
	}
	// With one replica, a drive that loses data loses files, and nothing could be checked.
	p.cruel = p.replicas > 1 && r.IntN(2) == 0
	p.victims = [][2]int{{r.IntN(p.machines), r.IntN(p.drives)}}
	// A file acknowledged with fewer pieces than its layout has less redundancy until it is repaired.
	p.minPieces = "auto"
	if p.cruel {
		p.minPieces = "2"
	}
	if p.sabotage == MoveOverRemovals { // where one move too many is noticed
		p.strain, p.replicas, p.cruel, p.minPieces = 4*time.Second, 1, false, "auto"
		p.machines, p.drives, p.load = 3, 1, 3*time.Minute
		p.plants, p.stale, p.rogue, p.hold = false, false, false, 0
	}
	p.drawLayouts()
	p.drawKeeping()
	p.rebuild = p.sabotage == Nothing && !p.ruin && p.random("rebuild").IntN(3) == 0 || p.sabotage == LoseOwners
	p.drawTape()
	p.back = p.tape && !p.rebuild && (p.sabotage == WriteOver || p.sabotage == Nothing && p.random("back").IntN(4) == 0)
	p.merge = p.sabotage == Nothing && !p.rebuild && !p.ruin && !p.tape && p.random("merge").IntN(3) == 0 || p.sabotage == TrustReservations
	p.cut = p.sabotage == Nothing && !p.rebuild && !p.ruin && !p.tape && !p.merge || p.sabotage == LateMarks
	p.older = p.sabotage == TrustCopies || p.sabotage == Nothing && !p.ruin && !p.tape && p.random("older").IntN(3) == 0
	if p.older && p.replicas == 1 { // what the older copy lacks is nowhere else
		p.older = false
	}
	if r := p.random("lossy"); r.IntN(4) == 0 {
		p.lossy, p.loser = true, r.IntN(p.machines)
	}
	p.uneven = p.random("uneven").IntN(3) == 0
	// A double arrives up to forty seconds late, when its sender may have been restarted.
	p.weather = simnet.Weather{Delay: 5 * time.Millisecond, SlowDelay: 3 * time.Second, Late: 40 * time.Second}
	switch r.IntN(3) {
	case 0: // fair
		p.weather.Slow = 2
	case 1:
		p.weather.LostRequest, p.weather.LostReply, p.weather.Doubled, p.weather.Slow = 5, 5, 20, 20 // thousandths
	case 2:
		p.weather.LostRequest, p.weather.LostReply, p.weather.Doubled, p.weather.Slow = 30, 30, 100, 50
	}
	return p
}

// turns reports whether disks are drained in turns.
func (p *plan) turns() bool { return p.strain > 0 || p.plants }

// capacity returns the room on a drive in bytes; 0 is without limit. It is enough for all that clients write.
func (p *plan) capacity(machine, drive int) int64 {
	if !p.uneven {
		return 0
	}
	return []int64{128 << 20, 256 << 20, 512 << 20}[(int(p.seed%3)+machine+2*drive)%3]
}

// random returns a source of choices for one actor, so that what one does changes nothing for others.
// Two calls with one name return the same sequence.
func (p *plan) random(actor string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(actor))
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}

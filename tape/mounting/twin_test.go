package mounting

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// twin is a slow, obvious way to find what a drive could do: every queue with every tape, each rule a line.
type twin struct{ p Picture }

// option is a queue and a tape that the drive may mount for it.
type option struct {
	q    Queue
	t    Tape
	here bool // the tape is in the drive
}

func (w twin) holder(vid hemera.VID) *Drive {
	for i := range w.p.Drives {
		if w.p.Drives[i].VID == vid {
			return &w.p.Drives[i]
		}
	}
	return nil
}

// drives counts those that work for what f says.
func (w twin) drives(f func(Work) bool) (n int64) {
	for _, d := range w.p.Drives {
		if d.Work != nil && f(*d.Work) {
			n++
		}
	}
	return n
}

// partial counts tapes of a pool in a library that are partly full or in a drive, and that some drive writes; but not an empty one in the drive itself.
func (w twin) partial(pool tapeapi.PoolName, d Drive) (n int64) {
	for _, t := range w.p.Tapes {
		written := slices.ContainsFunc(w.p.Drives, func(o Drive) bool { return o.Up && o.Library == t.Library && takes(&o, t.Media, true) })
		holder := w.holder(t.VID)
		if t.Pool == pool && t.Library == d.Library && t.Write && !t.Full && written && (t.Used == 0 || t.Lock.Key == "") && (t.Used > 0 || holder != nil && holder.Name != d.Name) {
			n++
		}
	}
	return n
}

// allowed reports whether the drive may mount the tape for the queue, whatever that is worth.
func (w twin) allowed(q Queue, t Tape, d Drive) bool {
	holder := w.holder(t.VID)
	org, limited := w.p.Organisations[q.Organisation]
	sameOrg := func(writes bool) int64 {
		return w.drives(func(o Work) bool { return o.Organisation == q.Organisation && o.Queue.Writes() == writes })
	}
	if q.Files == 0 || w.p.Libraries[d.Library] != "" || t.Library != d.Library || holder != nil && holder.Name != d.Name || !takes(&d, t.Media, q.Writes()) {
		return false
	}
	if limited && q.Writes() && sameOrg(true) >= org.WriteDrives || limited && !q.Writes() && sameOrg(false) >= org.ReadDrives {
		return false
	}
	if !q.Writes() {
		room := w.p.Buffer.Free - w.p.Buffer.Keep
		for _, o := range w.p.Drives {
			if o.Work != nil {
				room -= o.Work.Reserved
			}
		}
		return q.VID == t.VID && t.Read && t.Lock.Key == "" && (q.Kind == tapeapi.Verify || q.Short == "" && room >= max(q.Largest, min(q.Bytes, w.p.Buffer.Batch)))
	}
	if !t.Write || t.Full || t.Used > 0 && t.Lock.Key != "" || t.Used == 0 && w.p.Pools[q.Pool].Lock.Key != "" {
		return false
	}
	most := max(1, w.p.Pools[q.Pool].Partial)
	return t.Pool == q.Pool && (t.Used > 0 || w.partial(q.Pool, d) < most) ||
		slices.Contains(w.p.Pools[q.Pool].Supplies, t.Pool) && t.Used == 0 && holder == nil && w.partial(q.Pool, d) < most
}

// worth reports whether the queue is worth another mount.
func (w twin) worth(q Queue) bool {
	k := w.drives(func(o Work) bool { return o.Queue == q.Key })
	for _, d := range w.p.Drives {
		for _, t := range w.p.Tapes {
			if q.Writes() && (q.Kind == tapeapi.Archive || q.Kind == tapeapi.Repack) && d.Work == nil && d.Up && w.p.Libraries[d.Library] == "" &&
				d.VID == t.VID && t.Pool == q.Pool && t.Write && !t.Full && (t.Used == 0 || t.Lock.Key == "") && takes(&d, t.Media, true) {
				k++
			}
		}
	}
	c := w.p.Criteria
	return q.Files > k && (q.Bytes/(1+k) >= c.MinBytes || q.Files/(1+k) >= c.MinFiles || k == 0 && w.p.Now.Sub(q.Oldest) >= q.MinAge)
}

// options lists all that the drive may do, the best first.
func (w twin) options(d Drive) (list []option) {
	for _, q := range w.p.Queues {
		var tapes []option
		for _, t := range w.p.Tapes {
			if w.allowed(q, t, d) {
				tapes = append(tapes, option{q, t, d.VID == t.VID})
			}
		}
		supplies := append([]tapeapi.PoolName{q.Pool}, w.p.Pools[q.Pool].Supplies...)
		slices.SortFunc(tapes, func(x, y option) int {
			if x.here != y.here { // the tape in the drive first, then the fullest, then those of the pool, then of its supplies in order
				if x.here {
					return -1
				}
				return 1
			}
			return cmp.Or(cmp.Compare(y.t.Used, x.t.Used), cmp.Compare(slices.Index(supplies, x.t.Pool), slices.Index(supplies, y.t.Pool)), cmp.Compare(x.t.VID, y.t.VID))
		})
		if len(tapes) > 0 && (tapes[0].here || w.worth(q)) {
			list = append(list, tapes[0])
		}
	}
	slices.SortFunc(list, func(x, y option) int { return before(&entry{Queue: &x.q}, &entry{Queue: &y.q}) })
	return list
}

// decide returns the action of the drive by the rules in the package's documentation.
func (w twin) decide(d Drive) (do tapeapi.MountKind, o option) {
	if d.Work != nil || w.p.Libraries[d.Library] != "" {
		return tapeapi.MountNothing, o
	}
	if !d.Up {
		if d.VID == "" {
			return tapeapi.MountNothing, o
		}
		return tapeapi.MountUnload, o
	}
	lingers := d.VID != "" && w.p.Now.Sub(d.Idle) < w.p.Criteria.Linger
	var kept, other *option
	for _, one := range w.options(d) {
		if one.here {
			// After its turn a queue goes behind others of the tape with the same priority.
			if kept == nil || kept.q.Priority == one.q.Priority && kept.q.Key == d.Last && w.p.Now.Sub(d.Begun) >= w.p.Criteria.Turn {
				kept = &one
			}
			continue
		}
		if other == nil && !(lingers && w.emptyTakes(one.q, d)) {
			other = &one
		}
	}
	turnOver := w.p.Now.Sub(d.Mounted) >= w.p.Criteria.Turn
	switch {
	case kept != nil && (other == nil || other.q.Priority < kept.q.Priority || other.q.Priority == kept.q.Priority && !turnOver):
		return tapeapi.MountWork, *kept
	case other != nil:
		return tapeapi.MountWork, *other
	case d.VID != "" && !lingers:
		return tapeapi.MountUnload, o
	}
	return tapeapi.MountNothing, o
}

// emptyTakes reports whether an idle drive without a tape could serve the queue.
func (w twin) emptyTakes(q Queue, d Drive) bool {
	for _, o := range w.p.Drives {
		if o.Name == d.Name || !o.Up || o.Work != nil || o.VID != "" {
			continue
		}
		if slices.ContainsFunc(w.options(o), func(one option) bool { return one.q.Key == q.Key }) {
			return true
		}
	}
	return false
}

// random makes a small picture in which all rules matter.
func random(r *rand.Rand) Picture {
	pick := func(names ...string) string { return names[r.IntN(len(names))] }
	p := Picture{
		Now: now(), Pools: map[tapeapi.PoolName]Pool{}, Organisations: map[string]Organisation{}, Libraries: map[string]string{},
		Criteria: Criteria{MinBytes: 50, MinFiles: 8, Linger: time.Minute, Turn: 10 * time.Minute},
		Buffer:   Buffer{Free: r.Int64N(200), Keep: 20, Batch: 40},
	}
	if r.IntN(8) == 0 {
		p.Libraries["l2"] = "moved"
	}
	for _, pool := range []tapeapi.PoolName{"p1", "p2", "s1"} {
		p.Pools[pool] = Pool{Partial: r.Int64N(4)}
	}
	p.Pools["p1"] = Pool{Partial: r.Int64N(4), Supplies: []tapeapi.PoolName{"s1", "p2"}}
	if r.IntN(4) == 0 {
		p.Pools["p2"] = Pool{Partial: r.Int64N(4), Lock: Lock{Key: "k"}}
	}
	for _, org := range []string{"o1", "o2"} {
		p.Organisations[org] = Organisation{r.Int64N(4), r.Int64N(4)}
	}
	for i := range 10 {
		full := r.IntN(4) == 0
		t := Tape{
			VID: hemera.VID("V" + strconv.Itoa(i)), Pool: tapeapi.PoolName(pick("p1", "p2", "s1")), Library: pick("l1", "l1", "l2"), Media: pick("m1", "m2", "m3"),
			Read: r.IntN(8) > 0, Write: r.IntN(4) > 0, Full: full, Used: max(0, r.Int64N(8)-3),
		}
		if r.IntN(6) == 0 {
			t.Lock.Key = "k"
		}
		p.Tapes = append(p.Tapes, t)
	}
	for _, k := range randomKeys(r) {
		p.Queues = append(p.Queues, Queue{
			Key: k, Organisation: pick("o1", "o2", "o3"), Files: r.Int64N(20), Bytes: r.Int64N(150), Largest: r.Int64N(60), Short: pick("", "", "no room"),
			Oldest: now().Add(-time.Duration(r.IntN(20)) * time.Minute), Priority: r.Int64N(3), MinAge: time.Duration(r.IntN(30)) * time.Minute,
		})
	}
	free := r.Perm(len(p.Tapes)) // no tape is in two drives
	for i := range 5 {
		d := Drive{
			Name: "d" + strconv.Itoa(i), Library: pick("l1", "l1", "l2"), Up: r.IntN(6) > 0,
			Idle: now().Add(-time.Duration(r.IntN(120)) * time.Second), Mounted: now().Add(-time.Duration(r.IntN(20)) * time.Minute),
			Begun: now().Add(-time.Duration(r.IntN(20)) * time.Minute),
		}
		if r.IntN(2) == 0 {
			d.Writes, d.Reads = []string{"m2"}, []string{"m1"}
		}
		if r.IntN(2) == 0 {
			d.VID = p.Tapes[free[i]].VID
			k := Key{Kind: tapeapi.Recall, VID: d.VID}
			if r.IntN(2) == 0 {
				k = Key{Kind: tapeapi.Archive, Pool: p.Tapes[free[i]].Pool}
			}
			d.Last = k
			if r.IntN(2) == 0 {
				d.Work = &Work{Queue: k, Organisation: pick("o1", "o2"), Priority: r.Int64N(3), Left: r.Int64N(100), Reserved: r.Int64N(20)}
			}
		}
		p.Drives = append(p.Drives, d)
	}
	return p
}

// randomKeys names some queues, each once.
func randomKeys(r *rand.Rand) (keys []Key) {
	all := []Key{}
	for _, pool := range []tapeapi.PoolName{"p1", "p2"} {
		all = append(all, archive(pool), Key{Kind: tapeapi.Repack, Pool: pool})
	}
	for i := range 10 {
		vid := "V" + strconv.Itoa(i)
		all = append(all, recall(hemera.VID(vid)), Key{Kind: tapeapi.Verify, VID: hemera.VID(vid)}, Key{Kind: tapeapi.Repack, VID: hemera.VID(vid)})
	}
	for _, k := range all {
		if r.IntN(3) == 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// Decide finds what the twin finds, in pictures in which every rule matters; and a board on which drives began is the same as a new one.
func TestTwin(t *testing.T) {
	seeds := uint64(20_000)
	if testing.Short() {
		seeds = 1000
	}
	counts := map[Rule]int{}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		p := random(r)
		board := New(p)
		for _, i := range r.Perm(len(p.Drives)) {
			d := p.Drives[i]
			got := board.Decide(d.Name)
			do, want := twin{p}.decide(d)
			if got.Do != do || got.Queue != want.q.Key || do == work && got.VID != want.t.VID {
				t.Fatalf("seed %d, %s: %+v, the twin says %v %+v", seed, d.Name, got, do, want)
			}
			counts[got.Rule]++
			board.Begin(d.Name, got)
			p.begin(i, got)
		}
	}
	for _, rule := range []Rule{
		TapeUnknown, TapeState, KeyMissing, LibraryDisabled, OtherLibrary, Media, TapeInUse, PartialTapes, NoTape, DriveLimit, BufferFull, TooLittle, DriveDown, DriveBusy,
		Mounted, EnoughBytes, EnoughFiles, OldEnough, Lingering, LingerOver,
	} {
		if counts[rule] == 0 && rule != TapeUnknown {
			t.Errorf("no picture shows rule %q", rule)
		}
	}
}

// begin does to a picture what Board.Begin does to a board.
func (p *Picture) begin(i int, what Decision) {
	d := &p.Drives[i]
	switch what.Do {
	case tapeapi.MountUnload:
		d.VID = ""
	case tapeapi.MountWork:
		if d.VID != what.VID {
			d.VID, d.Mounted = what.VID, p.Now
		}
		if d.Last != what.Queue {
			d.Last, d.Begun = what.Queue, p.Now
		}
		q := p.queue(what.Queue)
		d.Work = &Work{Queue: what.Queue, Organisation: q.Organisation, Priority: q.Priority, Reserved: what.Reserve}
		if what.Supply != "" {
			p.tape(what.VID).Pool = what.Queue.Pool
		}
	}
}

func (p *Picture) queue(k Key) *Queue {
	for i := range p.Queues {
		if p.Queues[i].Key == k {
			return &p.Queues[i]
		}
	}
	return nil
}

func (p *Picture) tape(vid hemera.VID) *Tape {
	for i := range p.Tapes {
		if p.Tapes[i].VID == vid {
			return &p.Tapes[i]
		}
	}
	return nil
}

package balance

import "hemera/words/hemera"

// Volume is a filesystem with one or more disks of a space.
type Volume struct {
	Disks    []hemera.DiskID
	Capacity int64 // bytes for users: used and free ones, without what is kept free
	Used     int64 // bytes; it may be above Capacity
	// Own counts the bytes of pieces. Only these can be moved.
	Own int64
	// Gives: pieces can be moved away. Takes: new pieces can be placed here.
	Gives, Takes bool
	in, out      bool // moves to it and from it are under way
}

// Filling returns the share of the volume that is used.
func (v Volume) Filling() float64 {
	if v.Capacity <= 0 {
		return 0
	}
	return float64(v.Used) / float64(v.Capacity) // as hemera.Room.Filling, with what moves change
}

// Known has the figures of a disk that are not in the view.
type Known struct {
	Own int64 // bytes of pieces according to the namespace
	// In and Out are the bytes that moves bring and take away and that the disk's report may not include yet.
	In, Out int64
	// Leaving counts the bytes that will be freed without a move.
	Leaving int64
}

// Volumes lists the volumes of a space whose disks are readable and in use, in the order of their first disks. A disk
// that is drained or fails is left out: drain and repair empty it.
func Volumes(v *hemera.View, space hemera.SpaceName, known func(hemera.DiskID) Known) (list []Volume) {
	type place struct {
		host string
		id   uint64
	}
	at := map[place]int{}
	for _, d := range v.Disks {
		if d.Space != space || !d.Active || d.Config != hemera.ConfigRW && d.Config != hemera.ConfigRO || d.Doubtful() {
			continue
		}
		n, _ := v.Node(d.Node)
		k := known(d.ID)
		where := place{n.Host(), d.Filesystem}
		i, shared := at[where]
		if d.Filesystem == 0 || !shared {
			i = len(list)
			at[where] = i
			list = append(list, Volume{Capacity: d.Used + max(d.Free, 0), Used: d.Used})
		}
		w := &list[i]
		w.Disks = append(w.Disks, d.ID)
		w.Used = max(0, w.Used+k.In-k.Out-k.Leaving)
		w.Own += k.Own
		w.in, w.out = w.in || k.In > 0, w.out || k.Out > 0
		w.Gives = w.Gives || d.Health != hemera.HealthReadOnly
		w.Takes = w.Takes || n.Enabled && d.Writable()
	}
	for i := range list {
		w := &list[i]
		// A move may count twice, as under way and in the report. Then a volume that gives looks emptier than it is, and
		// one that takes looks fuller. Neither may change sides because of that.
		w.Gives, w.Takes = w.Gives && !w.in, w.Takes && !w.out
	}
	return list
}

package manager

import (
	"fmt"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// whyPiece says whether a piece can be read, and if not, what stands in the way.
func whyPiece(v *hemera.View, p hemera.Piece) adminapi.Reason {
	d, ok := v.Disk(p.Disk)
	r := adminapi.Reason{About: fmt.Sprintf("piece %d, disk %d", p.Index, p.Disk)}
	if !ok {
		r.Text, r.Remedy = "the disk is not in the cluster", "if there is a backup of the file, restore it from there"
		if was, known := v.RemovedDisk(p.Disk); known {
			r.Text, r.Remedy = "the disk was removed; it was "+was.Where(), "add it again if it is still there: hemera fs add "+was.Addr+" "+was.Path
		}
		return r
	}
	n, _ := v.Node(d.Node)
	at := d.Path + " on " + n.Addr
	switch {
	case d.Readable() && d.Config == hemera.ConfigDrain:
		r.Text = "can be read at " + at + ", and is being moved away"
	// A failing disk is read as long as it answers.
	case d.Readable() && d.Health == hemera.HealthFailing:
		r.Text = "can be read at " + at + ", which is failing"
	case d.Readable():
		r.Text = "can be read at " + at
	default:
		r.Text, r.Remedy = "cannot be read at "+at+": the disk "+d.Unreadable(n), "hemera why disk "+d.ID.String()
	}
	return r
}

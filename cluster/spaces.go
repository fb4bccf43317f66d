package cluster

import (
	"hemera/words/hemera"
)

// spaceRecord is a space and its policy for new files.
type spaceRecord struct {
	Name      hemera.SpaceName
	Layout    hemera.Layout // of new files
	BlockSize uint32        `json:",omitempty"` // of coded files whose directory or client names none; 0: [hemera.BlockSizeDefault]
	Checksum  string        // by its name: numbers are the program's
	PiecesMin uint8         // 0: found out at each open
	NoSync    bool          // pieces count as sealed before they are on the device
	Headroom  int64         // bytes kept free on each disk; 0: see [Headroom]
	Recycle   string        `json:",omitempty"` // what is kept of removed files, as of the attribute sys.recycle; "": nothing
	// Balancer has its defaults as zeros, and is left out if nothing was set.
	Balancer balancerRecord `json:",omitzero"`
}

// balancerRecord has the limits of the space's balancing.
type balancerRecord struct {
	Off       bool  `json:",omitempty"`
	Threshold int   `json:",omitempty"` // percent
	Rate      int64 `json:",omitempty"` // bytes per second
}

func (s spaceRecord) key() string { return "space/" + string(s.Name) }

// spaceTable owns the records of spaces, by name.
type spaceTable map[hemera.SpaceName]spaceRecord

// defaultSpace returns a space as `space set NAME define` makes it: two replicas, Adler-32.
func defaultSpace(name hemera.SpaceName) spaceRecord {
	return spaceRecord{Name: name, Layout: hemera.Replica(2), Checksum: hemera.Adler32.String()}
}

// firstSpace returns the record of the space that a new cluster begins with.
func firstSpace(s hemera.Space) spaceRecord {
	rec := defaultSpace(hemera.DefaultSpace)
	if s.Policy.Layout.Validate() != nil {
		return rec
	}
	rec.Layout, rec.Checksum, rec.PiecesMin = s.Policy.Layout, s.Policy.Checksum.String(), s.Policy.PiecesMin
	rec.BlockSize = s.Policy.BlockSize
	rec.NoSync, rec.Headroom = !s.Policy.Sync, s.Headroom
	return rec
}

// info returns the space as views show it. A checksum that this version does not know is none.
func (s spaceRecord) info() hemera.Space {
	sum, _ := hemera.ParseChecksumKind(s.Checksum)
	return hemera.Space{
		Name: s.Name, Headroom: s.Headroom, Recycle: s.Recycle, Balancer: hemera.Balancer(s.Balancer),
		Policy: hemera.Policy{
			Space: s.Name, Layout: s.Layout, BlockSize: s.BlockSize, Checksum: sum, PiecesMin: s.PiecesMin, Sync: !s.NoSync,
		},
	}
}

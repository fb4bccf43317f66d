package cluster

import (
	"fmt"
	"strings"

	"hemera/words/hemera"
)

// attachRecord is the wish of an admin that a node takes a path as a disk. It goes when the node has taken it,
// or has said that it cannot.
type attachRecord struct {
	Node   hemera.NodeID    // that is to take it
	Path   string           // absolute and clean
	Space  hemera.SpaceName // of the new disk
	Folder bool             `json:",omitempty"` // a directory that is no filesystem of its own will do
}

func (r attachRecord) key() string { return fmt.Sprintf("attach/%08x/%s", uint32(r.Node), r.Path) }

// attachTable owns the wishes of admins for disks, by key.
type attachTable map[string]attachRecord

// of lists the disks that admins added and the node has not taken yet. mu is held.
func (t attachTable) of(id hemera.NodeID) (list []hemera.AttachDisk) {
	// The path is empty, so the key ends with the slash that follows the node.
	prefix := attachRecord{Node: id}.key()
	for key, a := range t {
		if strings.HasPrefix(key, prefix) {
			list = append(list, hemera.AttachDisk{Path: a.Path, Space: a.Space, Folder: a.Folder})
		}
	}
	return list
}

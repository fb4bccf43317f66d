package cluster

import (
	"cmp"
	"fmt"
	"time"

	"hemera/words/hemera"
)

// diskRecord is the durable part of a disk: its identity, and the decisions of an admin.
type diskRecord struct {
	ID      hemera.DiskID     // in the records of pieces; never given out twice
	UUID    string            // on the disk itself, by which it is known again at another path or node
	Node    hemera.NodeID     // that has it now
	Path    string            // there
	Space   hemera.SpaceName  // whose policy new files on it have
	ZoneSet string            // as an admin says; wins over the node's
	Config  hemera.DiskConfig // what an admin wants of it
	// Removed: an admin took it out. It is in no view; the record goes when the namespace lists no
	// piece on it any more.
	Removed bool
	// RemovedAt is the time of the removal, in seconds since 1970, and RemovedAddr the address of its node then: the node
	// may be removed too.
	RemovedAt   int64  `json:",omitempty"`
	RemovedAddr string `json:",omitempty"`
	// Cleared are errors that an admin has seen: they count no more.
	Cleared clearedErrors `json:",omitzero"`
}

// clearedErrors are the counts of a disk's errors when an admin cleared them.
type clearedErrors struct {
	Started      int64 // when the node's process started that counted them, in nanoseconds since 1970; another one counts from 0
	Checksum, IO int64
}

func (r diskRecord) key() string { return fmt.Sprintf("disk/%08x", uint32(r.ID)) }

// disk has the durable record of a disk, and its node's last report of it.
type disk struct {
	diskRecord
	report hemera.NodeDisk // Health gone unless its node reported it
}

// diskTable owns the records of disks, and what nodes reported of them. It has removed ones too, until they are forgotten.
type diskTable struct {
	all    map[hemera.DiskID]*disk
	byUUID map[string]*disk
	byNode map[hemera.NodeID]map[hemera.DiskID]*disk // by the node that has each now
}

// put makes a record true in memory.
func (t *diskTable) put(r diskRecord) {
	d := t.all[r.ID]
	if d == nil {
		d = new(disk)
		t.all[r.ID] = d
	}
	// The disk may come from another node. A new one has node 0, where nothing is deleted.
	delete(t.byNode[d.Node], d.ID)
	d.diskRecord = r
	t.byUUID[d.UUID] = d
	if t.byNode[d.Node] == nil {
		t.byNode[d.Node] = map[hemera.DiskID]*disk{}
	}
	t.byNode[d.Node][d.ID] = d
}

// forget removes a record from memory.
func (t *diskTable) forget(r diskRecord) {
	delete(t.all, r.ID)
	delete(t.byUUID, r.UUID)
	delete(t.byNode[r.Node], r.ID)
}

// absent returns the report of a disk that no node reports: gone, for the reason given.
func absent(d diskRecord, why string) hemera.NodeDisk {
	return hemera.NodeDisk{UUID: d.UUID, Path: d.Path, ID: d.ID, Health: hemera.HealthGone, Why: why}
}

// claimStrength ranks a node's claim to a disk it reports: 0, no claim, if the disk is not there.
func claimStrength(r hemera.NodeDisk) int {
	switch r.Health {
	case hemera.HealthGone:
		return 0
	case hemera.HealthFailing:
		return 1
	}
	return 2
}

// info joins the admin's wish with the last report. A node that is offline or switched off makes its
// disks inactive; what they held stays visible.
func (d *disk) info(n *node) hemera.Disk {
	r := d.report
	info := hemera.Disk{
		ID: d.ID, UUID: d.UUID, Node: d.Node, Path: d.Path, Space: d.Space, Zone: d.ZoneSet,
		Config: d.Config, Health: cmp.Or(r.Health, hemera.HealthOK), Why: r.Why, DiskStats: r.DiskStats,
	}
	if n == nil {
		return info
	}
	info.Zone = cmp.Or(d.ZoneSet, n.zone())
	info.Stopping = n.online && n.stopping
	// What the process that counted them had when they were cleared counts no more.
	if d.Cleared != (clearedErrors{}) && d.Cleared.Started == n.stats.Started.UnixNano() {
		info.Load.ChecksumErrors = max(0, info.Load.ChecksumErrors-d.Cleared.Checksum)
		info.Load.IOErrors = max(0, info.Load.IOErrors-d.Cleared.IO)
	}
	// A failing disk is active: its pieces are read as long as it answers.
	info.Active = n.online && !n.Disabled && info.Health != hemera.HealthGone
	switch {
	case n.online && n.Disabled:
		info.Why = cmp.Or(info.Why, "its node is switched off")
	case info.Stopping:
		info.Why = cmp.Or(info.Why, "its node is about to stop")
	case !n.online:
		info.Why = cmp.Or(info.Why, "its node is offline")
	}
	return info
}

// removed returns the disk as views show it after its removal.
func (r diskRecord) removed() hemera.RemovedDisk {
	out := hemera.RemovedDisk{ID: r.ID, UUID: r.UUID, Node: r.Node, Addr: r.RemovedAddr, Path: r.Path, Space: r.Space}
	if r.RemovedAt > 0 {
		out.Removed = time.Unix(r.RemovedAt, 0)
	}
	return out
}

// Headroom returns the bytes kept free on a disk: the space's setting, or when that is zero (auto) a
// hundredth of the disk but at most 1 GiB.
func Headroom(setting, capacity int64) int64 {
	if setting > 0 {
		return setting
	}
	// For small disks a hundredth, for large ones a size that does not waste terabytes.
	return min(capacity/100, 1<<30)
}

package hemera

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"slices"
	"sort"
	"time"
)

// DiskConfig is the admin's setting of a disk (EOS: configstatus).
type DiskConfig string

// The wishes an admin can have, from full use to none.
const (
	ConfigRW    DiskConfig = "rw"    // read and write
	ConfigRO    DiskConfig = "ro"    // read only
	ConfigDrain DiskConfig = "drain" // read only, and move every piece elsewhere
	ConfigEmpty DiskConfig = "empty" // drained: nothing left, can be removed
	ConfigOff   DiskConfig = "off"   // not used at all
)

// DiskHealth is the node's finding about a disk.
type DiskHealth string

// The states a node reports.
const (
	HealthOK       DiskHealth = "ok"
	HealthFull     DiskHealth = "full"     // below its headroom: reads only
	HealthReadOnly DiskHealth = "readonly" // the filesystem refuses writes
	HealthFailing  DiskHealth = "failing"  // I/O errors or checksum errors beyond the limit
	HealthGone     DiskHealth = "gone"     // not mounted, or another disk is there
)

// HealthOlder is the manager's finding about a disk that came back as an older copy of itself: it is read, after others, takes no new pieces, and
// what the namespace has on it is not counted on until an audit found all of it there.
const HealthOlder DiskHealth = "older"

// Disk is one mounted filesystem of one node, as the cluster knows it.
type Disk struct {
	ID     DiskID
	UUID   string // written on the disk when it was added
	Node   NodeID
	Path   string // mount point on its node
	Space  SpaceName
	Zone   string
	Config DiskConfig
	// The node's last report.
	Health DiskHealth
	Why    string // in words, when Health is not ok
	Active bool   // its node is alive and Health allows reading
	DiskStats
	// LastAudit is the time at which the disk was last compared with the namespace, LastScrub that at which all of its
	// data had been read and verified; zero: never.
	LastAudit, LastScrub time.Time
	// Held are pieces of replaced and removed content that stay for readers under way, and HeldBytes
	// their size; only where an admin asks for the view.
	Held      int64
	HeldBytes int64
	// Stopping is as in its [NodeInfo].
	Stopping bool
}

// DiskStats has the measurements of a node on a disk. It is embedded where a disk is described, from the disk to the
// view, so that a figure is added here alone. JSON and CBOR have its fields in the place of the embedded struct, in this
// order.
type DiskStats struct {
	// Filesystem is equal for disks that are folders of one filesystem of their host; zero: not known.
	Filesystem uint64
	Capacity   int64 // of the filesystem, in bytes
	Used       int64 // by whatever is on the filesystem, in bytes
	Free       int64 // bytes that users may still write, headroom already taken off
	// Pieces are those that are sealed; too low until they have been counted after an open. Admins are shown how many files have on
	// a disk that cannot be read.
	Pieces int64
	// Inodes and InodesFree are how many files the filesystem has room for in all, and still; zero
	// where it has no such bound or does not tell.
	Inodes, InodesFree int64
	Load               DiskLoad
}

// DiskSurvey has the times at which a disk was last looked at as a whole, and is to be, by the manager's clock.
type DiskSurvey struct {
	LastAudit time.Time // compared with the namespace; zero: never
	AuditDue  time.Time // the next time; zero: not decided yet
	LastScrub time.Time // all of its data read and verified; zero: never
	Away      bool      // it was out of reach, and has not been seen since
	// Changes is the highest number that the disk's label had ([NodeDisk]), and Older: a lower one came, and no audit has found since
	// that the disk has all of its pieces.
	Changes uint64 `json:",omitempty"`
	Older   bool   `json:",omitempty"`
}

// Unreadable says why the disk of the node cannot be read now, as the end of a sentence about it: "is switched off". It is "" for a disk that
// can be read. All outputs have their words from here.
func (d Disk) Unreadable(n NodeInfo) string {
	switch {
	case d.Readable():
		return ""
	// The widest cause first: what a disk reported before its node went says nothing now.
	case n.Status != NodeOnline && n.Heartbeat.IsZero():
		return "is on an offline node"
	case n.Status != NodeOnline:
		return "is on an offline node (last heard of at " + n.Heartbeat.UTC().Format(time.DateTime+" MST") + ")"
	case !n.Enabled:
		return "is on a node that is switched off"
	case d.Config == ConfigOff && d.Health == HealthGone:
		return "is switched off, and is gone" + d.because()
	case d.Config == ConfigOff:
		return "is switched off"
	}
	return "is " + string(d.Health) + d.because()
}

// because returns the node's explanation of the disk's health, as the end of a sentence.
func (d Disk) because() string {
	if d.Why == "" {
		return ""
	}
	return ": " + d.Why
}

// Readable reports whether reads may be sent to the disk now.
func (d Disk) Readable() bool { return d.Active && d.Config != ConfigOff }

// Reliable reports whether the pieces that the namespace has on the disk can be read now, as far as it is known. An older copy may lack them.
func (d Disk) Reliable() bool { return d.Readable() && d.Health != HealthOlder }

// Doubtful reports whether other disks are read first, and whose pieces do not count in how many a file can still lose.
func (d Disk) Doubtful() bool { return d.Health == HealthFailing || d.Health == HealthOlder }

// Writable reports whether new pieces may be placed on the disk now.
func (d Disk) Writable() bool {
	return d.Active && !d.Stopping && d.Config == ConfigRW && d.Health == HealthOK
}

// Room is the bytes of several disks together, and how many files their filesystems have room for.
type Room struct{ Capacity, Used, Free, Inodes, InodesFree int64 }

// Filling returns the used share, 0 to 1, of what disks hold at most: used and free bytes, without what is kept free. At 1 they
// take no more. It is the one scale in which Hemera says how full something is, that of df(1). 0 if nothing is known.
func (r Room) Filling() float64 { return filling(r.Used, r.Free) }

// Filling returns the filling of the disk; see [Room.Filling].
func (d DiskStats) Filling() float64 { return filling(d.Used, d.Free) }

func filling(used, free int64) float64 {
	whole := float64(used) + float64(max(free, 0)) // as floating point: a sum of what nodes report may be too large
	if used <= 0 || whole <= 0 {
		return 0
	}
	return float64(used) / whole
}

// FormatSize shows bytes in decimal units, as disks are sold: "4.00 TB".
func FormatSize(n float64) string {
	// 64-bit numbers end below 10 EB, so EB is the last unit that is needed.
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	i := 0
	for ; (n >= 1000 || n <= -1000) && i < len(units)-1; i++ {
		n /= 1000
	}
	if i == 0 {
		return fmt.Sprintf("%.0f B", n)
	}
	return fmt.Sprintf("%.2f %s", n, units[i])
}

// Largest returns the largest size of a piece that each of n disks takes, from the free bytes of all. It returns 0 if
// there are fewer disks.
func Largest(free []int64, n int) int64 {
	if n < 1 || n > len(free) {
		return 0
	}
	return slices.Sorted(slices.Values(free))[len(free)-n]
}

// PathRoom is the room below a path as clients are shown it (statvfs, `xrdfs spaceinfo`), in bytes of one copy of each disk's
// filesystem: redundancy is not divided out. If a quota holds for the client, Quota is its limit, Total and Used are of
// it, and Free and LargestFree are at most what it leaves. Otherwise Quota is 0 and Total and Used are those of all disks.
type PathRoom struct {
	Name              SpaceName // of the space
	Total, Free, Used int64
	LargestFree       int64 // on one disk: no single plain file can be larger
	Disks             int64 // that take new pieces now
	Quota             int64 // bytes of content; 0: none
}

// Room sums disks of the view, each filesystem of a host once: folders of one filesystem share its
// room, also when they belong to several nodes there.
func (v *View) Room(disks []Disk) (r Room) {
	type place struct {
		host string
		id   uint64
	}
	seen := map[place]bool{}
	for _, d := range disks {
		n, _ := v.Node(d.Node)
		at := place{n.Host(), d.Filesystem}
		if d.Filesystem != 0 && seen[at] {
			continue
		}
		seen[at] = true
		r = Room{plus(r.Capacity, d.Capacity), plus(r.Used, d.Used), plus(r.Free, d.Free), plus(r.Inodes, d.Inodes), plus(r.InodesFree, d.InodesFree)}
	}
	return r
}

// plus adds what nodes report, and stays at the greatest number where there is no greater one.
func plus(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// RemovedDisk is a disk that was removed while files still had pieces on it. It is remembered until no
// file has one there.
type RemovedDisk struct {
	ID      DiskID
	UUID    string
	Node    NodeID
	Addr    string // host:port of the node that had it, as of the removal
	Path    string
	Space   SpaceName
	Removed time.Time // zero: not known
}

// Where names the disk's last place.
func (r RemovedDisk) Where() string {
	where := r.Path
	if r.Addr != "" {
		where += " on " + r.Addr
	}
	if r.Removed.IsZero() {
		return where
	}
	return where + ", removed " + r.Removed.UTC().Format("2006-01-02 15:04 MST")
}

// DiskLoad is a disk's recent activity, averaged over the heartbeat interval.
type DiskLoad struct {
	ReadBytes, WriteBytes int64   // per second
	Busy                  float64 // 0..1 of the time (EOS: diskload)
	ReadOpens, WriteOpens int64   // open now
	ChecksumErrors        int64   // since the node started, or since an admin cleared them
	IOErrors              int64
	// Read, Write and Sync are how long the calls to the device's filesystem took, since the node started.
	Read, Write, Sync Latency
}

// NodeStatus is whether a node answers.
type NodeStatus string

// The states of a node.
const (
	NodeOnline  NodeStatus = "online"
	NodeOffline NodeStatus = "offline"
	// NodeWaiting has joined and is to be admitted by an admin: it has no keys, no lease and no disks.
	NodeWaiting NodeStatus = "waiting"
)

// NodeInfo is one storage node, as the cluster knows it.
type NodeInfo struct {
	ID        NodeID
	Addr      string // host:port of its xrd door, as clients reach it
	Zone      string
	Status    NodeStatus
	Enabled   bool // the admin's wish (EOS: activated on/off)
	Epoch     Epoch
	Version   string
	Heartbeat time.Time // the manager's clock, when the last one came
	// ClockSkew is the time by which the node's clock is ahead of the manager's, as of the last heartbeat and with the
	// time that it took; zero when the node does not tell.
	ClockSkew time.Duration
	Stats     NodeStats
	// Stopping: it is about to stop, and lets the writes end that it has. It is given no new pieces, and read where no other node has the file.
	Stopping bool
	// NetworkWeight is the share of its usual part that the node gets of new pieces and of readers, in (0,1]: less than 1
	// while its network is suspected; 0: nothing is known, which counts as 1.
	NetworkWeight float64
}

// Host returns the host in the node's address, a name or an IP address without brackets. It is "" without an address.
func (n NodeInfo) Host() string {
	host, _, _ := net.SplitHostPort(n.Addr)
	return host
}

// NodeStats has the measurements of a node on itself.
type NodeStats struct {
	Net        []NetStats
	RSS        int64 // bytes
	VSize      int64 // bytes
	Threads    int
	Goroutines int
	Sockets    int
	Kernel     string
	Arch       string
	Started    time.Time
	CPUSeconds float64
	Load1      float64
	// Unusable are paths that the node has as disks and could never use.
	Unusable []UnusableDisk
	// Limits are the bounds that refused a client a short time ago.
	Limits []LimitUse
	// Kept counts the writes whose client is gone that wait here for a person.
	Kept int
}

// UnusableDisk is a path that a node cannot use as a disk, why, and what to do there; Remedy may be "".
type UnusableDisk struct{ Path, Why, Remedy string }

// Text says it of a node's address.
func (u UnusableDisk) Text(addr string) string {
	return u.Path + " on " + addr + " cannot be used as a disk: " + u.Why
}

// LimitUse is a bound of a process that refused a client a short time ago. Refused counts since the process started,
// RefusedAgo is how long ago the last time was.
type LimitUse struct {
	Name               string
	Used, Max, Refused int64
	RefusedAgo         time.Duration
}

// NetStats is one interface's traffic (EOS: stat.net.*). Rates are bytes per second over the last
// heartbeat; Speed is the link's nominal rate in bits per second, zero if unknown.
type NetStats struct {
	Name                         string
	Speed                        int64
	InRate, OutRate              float64
	InErrors, OutErrors, InDrops int64
}

// SpaceName names a space: letters, digits, dots, dashes and underscores.
type SpaceName string

// DefaultSpace is the space of disks and files that name no other. It always exists.
const DefaultSpace SpaceName = "default"

// Space is disks under one policy.
type Space struct {
	Name   SpaceName
	Policy Policy
	// Headroom is kept free on every disk, in bytes.
	Headroom int64
	// Recycle says what is kept of removed and replaced files, as the attribute sys.recycle does; "" for nothing.
	Recycle  string
	Balancer Balancer
}

// Balancer has the settings by which the disks of a space are kept equally full. The zero value is the default.
type Balancer struct {
	Off bool `json:",omitempty"`
	// Threshold is the percent by which a disk's filling may differ from the space's mean; 0: [BalancerThreshold].
	Threshold int `json:",omitempty"`
	// Rate is the bytes per second that balancing moves from a disk and to one, on average; 0: [BalancerRate].
	Rate int64 `json:",omitempty"`
}

// What a space's balancing has where nothing was set, and the largest threshold.
const (
	BalancerThreshold    = 5
	BalancerThresholdMax = 50
	BalancerRate         = 50e6
)

// Limits returns the threshold in percent and the rate in bytes per second that hold.
func (b Balancer) Limits() (threshold int, rate int64) {
	return cmp.Or(b.Threshold, BalancerThreshold), cmp.Or(b.Rate, BalancerRate)
}

// View is an immutable picture of the cluster: each decision is made on one View. Slices are
// ordered by id (spaces by name).
type View struct {
	Version uint64
	Disks   []Disk
	Nodes   []NodeInfo
	Spaces  []Space
	// Removed are disks that were taken out while files had pieces on them.
	Removed []RemovedDisk
	// Grace is the time for which a disk is out of reach before its files are repaired elsewhere.
	Grace time.Duration
}

// Disk finds a disk by id.
func (v *View) Disk(id DiskID) (Disk, bool) {
	i := sort.Search(len(v.Disks), func(i int) bool { return v.Disks[i].ID >= id })
	if i == len(v.Disks) || v.Disks[i].ID != id {
		return Disk{}, false
	}
	return v.Disks[i], true
}

// RemovedDisk finds a disk that was taken out by its id.
func (v *View) RemovedDisk(id DiskID) (RemovedDisk, bool) {
	for _, r := range v.Removed {
		if r.ID == id {
			return r, true
		}
	}
	return RemovedDisk{}, false
}

// Node finds a node by id.
func (v *View) Node(id NodeID) (NodeInfo, bool) {
	i := sort.Search(len(v.Nodes), func(i int) bool { return v.Nodes[i].ID >= id })
	if i == len(v.Nodes) || v.Nodes[i].ID != id {
		return NodeInfo{}, false
	}
	return v.Nodes[i], true
}

// Space finds a space by name.
func (v *View) Space(name SpaceName) (Space, bool) {
	i := sort.Search(len(v.Spaces), func(i int) bool { return v.Spaces[i].Name >= name })
	if i == len(v.Spaces) || v.Spaces[i].Name != name {
		return Space{}, false
	}
	return v.Spaces[i], true
}

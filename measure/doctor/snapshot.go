package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"hemera/measure/result"
	"hemera/words/errs"
)

// Schema is the version of the JSON of a snapshot.
const Schema = 1

// Snapshot has the information about a machine at one time. Zero values mean unknown.
type Snapshot struct {
	Schema      int            `json:"schema"`
	Taken       time.Time      `json:"taken"`
	Version     string         `json:"version"` // of Hemera
	Machine     result.Machine `json:"machine"`
	Disks       []Disk         `json:"disks"`
	Filesystems []Filesystem   `json:"filesystems"`
	Processor   Processor      `json:"processor"`
	Memory      Memory         `json:"memory"`
	Links       []Link         `json:"links"`
	Network     Network        `json:"network"`
	Clock       Clock          `json:"clock"`
	Limits      Limits         `json:"limits"`
	Cluster     *Cluster       `json:"cluster,omitempty"`  // nil if no cluster was probed
	Nodes       []Cluster      `json:"nodes,omitempty"`    // as this machine reaches them; nil if none were probed
	Together    float64        `json:"together,omitempty"` // rate of direct reads from all disks at once; 0 with one disk
	Unseen      []Unseen       `json:"unseen,omitempty"`
}

// Unseen is information that this machine does not have, or that could not be measured. It is not a fault.
type Unseen struct {
	What   string `json:"what"`
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"` // how to make it visible; "" if that is impossible
}

// Disk is a block device with a file system.
type Disk struct {
	result.Device
	MaxRequest     int64   `json:"max_request_bytes,omitempty"`          // of one request, as set
	MaxRequestOfHW int64   `json:"max_request_hardware_bytes,omitempty"` // limit of the hardware
	NUMANode       int     `json:"numa_node"`                            // -1 if the machine has one node only
	Busy           float64 `json:"busy,omitempty"`                       // share of the time with requests of other programs, just before the measurement
	Direct         float64 `json:"direct,omitempty"`                     // rate of direct reads of the device
	Smart          *Smart  `json:"smart,omitempty"`
	Stacked        bool    `json:"virtual,omitempty"` // a device of a hypervisor, or one made of others: the scheduler of the real disk is elsewhere
}

// Smart has a disk's own data about its health.
type Smart struct {
	Passed      bool  `json:"passed"`
	Reallocated int64 `json:"reallocated_sectors,omitempty"`
	Pending     int64 `json:"pending_sectors,omitempty"` // that could not be read
	MediaErrors int64 `json:"media_errors,omitempty"`    // of NVMe and SAS
	Used        int64 `json:"percentage_used,omitempty"` // of NVMe: 100 is the planned life
	Hours       int64 `json:"power_on_hours,omitempty"`
}

// Filesystem is a mounted file system on a disk of this machine, or one that was named.
type Filesystem struct {
	Path      string   `json:"path"` // where it is mounted
	Type      string   `json:"type"`
	Source    string   `json:"source"`
	Disk      string   `json:"disk,omitempty"` // as below /sys/block; "" for one on no disk
	Options   []string `json:"options"`        // of the mount and of the file system
	Total     int64    `json:"total_bytes"`
	Free      int64    `json:"free_bytes"`      // for users without privileges
	Files     int64    `json:"files,omitempty"` // that it can have; 0 if it has no such bound
	FilesLeft int64    `json:"files_left,omitempty"`
	Errors    int64    `json:"errors,omitempty"` // that the file system itself has counted
	// MakeFailed is the system's reason why a file could not be made; "" if it could, or was not tried.
	MakeFailed string    `json:"make_failed,omitempty"`
	Test       *FileTest `json:"test,omitempty"`
}

// FileTest has the results of a test with a temporary file. Each rate is that of the best pass: other work of the machine
// makes passes slower, never faster.
type FileTest struct {
	Bytes   int64   `json:"bytes"`   // of the file
	Extents int     `json:"extents"` // contiguous parts on the disk; 0 if unknown
	Write   float64 `json:"write"`   // direct, several at once, durable at the end
	Direct  float64 `json:"direct"`  // reads past the page cache, depth 16
	Stream  float64 `json:"stream"`  // one program that reads sequentially through an empty page cache
	Ahead   float64 `json:"ahead"`   // the same program with 16 MiB requested in advance
	Many    float64 `json:"many"`    // Streams such programs together
	Streams int     `json:"streams"`
	Cached  float64 `json:"cached"` // the same bytes again, from the page cache
	Depth   int     `json:"depth"`
	// Buffered states that the file system has no direct I/O, so that Direct went through an emptied page cache.
	Buffered bool `json:"buffered,omitempty"`
}

// Processor has the abilities of the cores.
type Processor struct {
	Flags    []string   `json:"flags"`              // those that matter for storage, with the kernel's names
	Cores    []Clocking `json:"cores,omitempty"`    // those whose frequency the kernel controls
	Checksum float64    `json:"checksum,omitempty"` // CRC-32C of one core
	Nodes    int        `json:"numa_nodes"`
}

// Clocking is a core's frequency under load.
type Clocking struct {
	ID       int    `json:"id"`
	Governor string `json:"governor"`
	Driver   string `json:"driver"`
	Now      int64  `json:"now_hz"` // while all cores worked; 0 if it was not measured
	Max      int64  `json:"max_hz"` // of all cores at once, if the driver reports it
}

// Memory has the sizes of the memory, and the rate of copies.
type Memory struct {
	Total     int64   `json:"total_bytes"`
	Available int64   `json:"available_bytes"`
	SwapUsed  int64   `json:"swap_used_bytes,omitempty"`
	Copy      float64 `json:"copy,omitempty"` // bytes a second that all cores together copy
}

// snapshotMax bounds a snapshot that is read: machines with hundreds of disks have some hundred KiB.
const snapshotMax = 16 << 20

// Decode reads a snapshot; name is for errors. It fails with Invalid if it is none, or of a later schema.
func Decode(r io.Reader, name string) (*Snapshot, error) {
	var s Snapshot
	if err := json.NewDecoder(io.LimitReader(r, snapshotMax)).Decode(&s); err != nil {
		return nil, errs.New(errs.Invalid, "doctor.Decode", name, fmt.Sprintf("it is no snapshot: %v", err)).WithRemedy("hemera doctor --save makes one")
	}
	if s.Schema < 1 || s.Schema > Schema {
		return nil, errs.New(errs.Invalid, "doctor.Decode", name, fmt.Sprintf("its schema is %d; this program knows 1 to %d", s.Schema, Schema)).WithRemedy("use the version that wrote it, or a later one")
	}
	return &s, nil
}

package doctor

import "time"

// Link is a network interface that is up.
type Link struct {
	Name     string `json:"name"`
	Speed    int64  `json:"speed_bytes_per_s,omitempty"` // 0 when the driver does not say
	MTU      int    `json:"mtu"`
	Half     bool   `json:"half_duplex,omitempty"`
	Virtual  bool   `json:"virtual,omitempty"` // made by software, such as a bridge
	NUMANode int    `json:"numa_node"`         // -1 if the machine has one node only
	Queues   int    `json:"rx_queues,omitempty"`
	// Interrupts counts those of the link by core since the machine started.
	Interrupts []uint64 `json:"interrupts,omitempty"`
	Since      Packets  `json:"since_start"` // since the machine started
	During     Packets  `json:"during"`      // while the machine was measured
	Coalesce   *Delay   `json:"coalesce,omitempty"`
}

// Packets counts what an interface carried and lost.
type Packets struct {
	Received    uint64 `json:"received"`
	Sent        uint64 `json:"sent"`
	BadReceived uint64 `json:"bad_received,omitempty"` // damaged
	Missed      uint64 `json:"missed,omitempty"`       // that found no room
	BadSent     uint64 `json:"bad_sent,omitempty"`     // not sent, for errors or for want of room
}

// Delay is how long a card waits before it interrupts.
type Delay struct {
	Adaptive bool          `json:"adaptive"`
	Receive  time.Duration `json:"receive"`
	Frames   int           `json:"frames"`
}

// Network is what TCP of this machine may use and did.
type Network struct {
	ReceiveMax  int64   `json:"receive_max_bytes,omitempty"` // of a connection's buffer
	SendMax     int64   `json:"send_max_bytes,omitempty"`
	NoScaling   bool    `json:"no_window_scaling,omitempty"`
	Local       float64 `json:"local,omitempty"`      // one connection of the machine to itself
	LocalMany   float64 `json:"local_many,omitempty"` // LocalStreams of them together
	LocalCount  int     `json:"local_count,omitempty"`
	Segments    uint64  `json:"segments,omitempty"` // of all connections while the machine was measured
	Retransmits uint64  `json:"retransmits,omitempty"`
}

// Clock is how sure the machine is of the time.
type Clock struct {
	Synchronised bool          `json:"synchronised"` // the kernel was told so by NTP, PTP or a hypervisor's clock
	Error        time.Duration `json:"max_error"`
}

// Limits are what processes may use.
type Limits struct {
	Files      int64     `json:"files"` // that a process may have open at most: the hard limit
	MemoryMax  int64     `json:"memory_max_bytes,omitempty"`
	MemoryUsed int64     `json:"memory_used_bytes,omitempty"` // of the control group, without its page cache
	Killed     int64     `json:"killed,omitempty"`            // processes of the group that ended for want of memory
	Processes  []Process `json:"processes,omitempty"`
}

// Process is a manager or node of Hemera on this machine.
type Process struct {
	PID      int   `json:"pid"`
	Open     int   `json:"open_files"`
	FilesMax int64 `json:"files_max"`
}

// Cluster is what this machine sees of its cluster: of the manager, or of one node.
type Cluster struct {
	Address string        `json:"address"`
	Failed  string        `json:"failed,omitempty"` // why it cannot be reached, in words
	Version string        `json:"version,omitempty"`
	Trip    time.Duration `json:"round_trip,omitempty"`
	Skew    time.Duration `json:"skew,omitempty"`       // the cluster's clock minus this one
	SkewBy  time.Duration `json:"skew_error,omitempty"` // how far Skew may be off
	PathMTU int           `json:"path_mtu,omitempty"`
	Packets uint64        `json:"packets,omitempty"` // of the test, both ways
	Lost    uint64        `json:"lost,omitempty"`    // of them, sent again or received out of order
	Link    string        `json:"link,omitempty"`    // the interface that the path begins with
}

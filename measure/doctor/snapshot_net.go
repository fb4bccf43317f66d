package doctor

import "time"

// Link is a network interface that is up.
type Link struct {
	Name     string `json:"name"`
	Speed    int64  `json:"speed_bytes_per_s,omitempty"` // 0 if the driver does not report it
	MTU      int    `json:"mtu"`
	Half     bool   `json:"half_duplex,omitempty"`
	Virtual  bool   `json:"virtual,omitempty"` // made by software, such as a bridge
	NUMANode int    `json:"numa_node"`         // -1 if the machine has one node only
	Queues   int    `json:"rx_queues,omitempty"`
	// Interrupts counts the interrupts of the link for each core since the machine started.
	Interrupts []uint64 `json:"interrupts,omitempty"`
	Since      Packets  `json:"since_start"` // since the machine started
	During     Packets  `json:"during"`      // while the machine was measured
	Coalesce   *Delay   `json:"coalesce,omitempty"`
}

// Packets counts the transferred and lost packets of an interface.
type Packets struct {
	Received    uint64 `json:"received"`
	Sent        uint64 `json:"sent"`
	BadReceived uint64 `json:"bad_received,omitempty"` // damaged
	Missed      uint64 `json:"missed,omitempty"`       // without space in a buffer
	BadSent     uint64 `json:"bad_sent,omitempty"`     // not sent because of errors or lack of space
}

// Delay is the time that a card delays interrupts.
type Delay struct {
	Adaptive bool          `json:"adaptive"`
	Receive  time.Duration `json:"receive"`
	Frames   int           `json:"frames"`
}

// Network has limits and counters of TCP of this machine.
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

// Clock is the accuracy of the machine's clock.
type Clock struct {
	Synchronised bool          `json:"synchronised"` // as NTP, PTP or a hypervisor's clock reported to the kernel
	Error        time.Duration `json:"max_error"`
}

// Limits has the limits of processes.
type Limits struct {
	Files      int64     `json:"files"` // the most that a process may have open: the hard limit
	MemoryMax  int64     `json:"memory_max_bytes,omitempty"`
	MemoryUsed int64     `json:"memory_used_bytes,omitempty"` // of the control group, without its page cache
	Killed     int64     `json:"killed,omitempty"`            // processes of the group that were killed for lack of memory
	Processes  []Process `json:"processes,omitempty"`
}

// Process is a manager or node of Hemera on this machine.
type Process struct {
	PID      int   `json:"pid"`
	Open     int   `json:"open_files"`
	FilesMax int64 `json:"files_max"`
}

// Cluster is the view of this machine on its cluster: on the manager, or on one node.
type Cluster struct {
	Address string        `json:"address"`
	Failed  string        `json:"failed,omitempty"` // the reason why it cannot be reached, in words
	Version string        `json:"version,omitempty"`
	Trip    time.Duration `json:"round_trip,omitempty"`
	Skew    time.Duration `json:"skew,omitempty"`       // the cluster's clock minus this one
	SkewBy  time.Duration `json:"skew_error,omitempty"` // error bound of Skew
	PathMTU int           `json:"path_mtu,omitempty"`
	Packets uint64        `json:"packets,omitempty"` // of the test, in both directions
	Lost    uint64        `json:"lost,omitempty"`    // of them, sent again or received out of order
	Link    string        `json:"link,omitempty"`    // the first interface of the path
}

package config

import (
	"log/slog"
	"net/netip"
	"time"

	"hemera/platform/auth"
)

// Config has all settings. The tags of a field are:
//
//   - key: the setting's name, below the key of the struct that it is in
//   - flag: the flag's name, if it is not the key with - instead of . and _
//   - default: as a user would write it
//   - doc: the description, in one sentence without a full stop
//   - min, max: limits, inclusive
//   - oneof: the possible words
//   - secret: the value is never shown
//   - live: it can change while the server runs; see [Running]
type Config struct {
	Data string `key:"data" default:"/var/lib/hemera" doc:"directory for the state of this process"`
	// The default is loopback: a server is not open to a network before its admin says so.
	Listen string `key:"listen" default:"127.0.0.1" doc:"IP address to listen on; 0.0.0.0 or :: for all addresses, so that other machines can connect"`
	// The default is IANA's port for XRootD, which stock clients use for a URL without a port.
	Port      int    `key:"port" default:"1094" min:"0" max:"65535" doc:"TCP port for every protocol; nodes of hemera up take the following ports; 0 chooses a free one"`
	Advertise string `key:"advertise" default:"" doc:"host or host:port by which clients and other nodes reach this process; if empty, the process finds it out"`

	Connections Connections `key:"connections"`
	HTTP        HTTP        `key:"http"`
	Auth        Auth        `key:"auth"`
	TPC         TPC         `key:"tpc"`
	Space       Space       `key:"space"`
	Node        Node        `key:"node"`
	Up          Up          `key:"up"`
	Tape        Tape        `key:"tape"`
	Repair      Repair      `key:"repair"`
	Removal     Removal     `key:"removal"`
	Writes      Writes      `key:"writes"`
	Scrub       Scrub       `key:"scrub"`
	Cache       Cache       `key:"cache"`
	Log         Log         `key:"log"`
}

// Connections decides how connections of XRootD clients are served.
type Connections struct {
	// False avoids a fault of the event loop (platform/poll): Go's own poller serves then.
	EventLoop bool `key:"event_loop" flag:"event-loop" default:"true" doc:"serve XRootD connections with an event loop of a few threads; false gives each connection a goroutine of its own, which is slower"`
}

// HTTP has the settings of HTTP: additional listeners besides the common port, and who may use them.
type HTTP struct {
	Listen string `key:"listen" default:"" doc:"additional address, host:port, for HTTP only (metrics, health, admin API); empty for none"`
	// A unix socket identifies the process at its other end, which a port forwarded by ssh or a proxy does not.
	Socket string `key:"socket" default:"admin.sock" doc:"unix socket of the manager for HTTP from users of this machine, whom their processes identify; a relative path is below the data directory; empty for none"`
	// MetricsNetworks applies to every port and socket of the process.
	MetricsNetworks []netip.Prefix `key:"metrics_networks" live:"true" flag:"metrics-networks" default:"" doc:"networks, such as 10.9.0.0/24, whose hosts may read /metrics; this machine always may"`
	Hosts           []string       `key:"hosts" live:"true" default:"" doc:"names of this server in HTTP requests, besides the advertised name and the machine's own; requests to other names are refused, so that no web page can reach the server under a foreign name"`
}

// Auth decides which clients and nodes are admitted.
type Auth struct {
	TrustedNetworks []auth.Network `key:"trusted_networks" live:"true" flag:"trusted-networks" default:"" doc:"networks, such as 10.1.0.0/16, whose hosts may name their users; root becomes nobody there; 10.1.0.0/16=own accepts root too, =nobody turns every user into nobody; clients of other machines are refused"`
	TokenLifetime   time.Duration  `key:"token_lifetime" default:"24h" min:"1m" max:"8760h" doc:"lifetime of a join token, unless its creator gives another"`
	Admission       string         `key:"admission" default:"token" oneof:"token admin" doc:"what admits a node that joins: its token alone, or also an admin (hemera node admit)"`
	NewDisks        string         `key:"new_disks" default:"rw" oneof:"rw off" doc:"configstatus of new disks that a node brings with it; with off, a disk is used after hemera fs set ID configstatus=rw"`
}

// TPC has the settings of third-party copies.
type TPC struct {
	Allow []netip.Prefix `key:"allow" live:"true" default:"" doc:"networks that third-party copies may read from, besides the nodes of this cluster; if empty, the trusted networks, and this machine if the manager listens on loopback only"`
}

// Space is the policy of the default space of a new cluster. An existing cluster keeps its own.
type Space struct {
	Layout      string `key:"layout" flag:"layout" default:"replica" doc:"how new files are stored: plain, replica, rs:4+2 (4 data and 2 parity pieces), lrc:12+2+2 or stripe:4; or a layout of EOS with all its pieces, such as raid6:6"`
	Replicas    int    `key:"replicas" default:"2" min:"1" max:"16" doc:"copies of a file with layout replica"`
	ReplicasMin int    `key:"replicas_min" default:"0" min:"0" max:"16" doc:"copies that must be safe before a close is acknowledged; repair makes the rest; 0 means all, or one fewer if there is no spare disk; with a coded layout, one less than this is the number of pieces that may be lost then"`
	BlockSize   string `key:"block_size" default:"1M" doc:"block size of coded files, 64k to 16M"`
	Checksum    string `key:"checksum" default:"adler32" oneof:"none adler32 crc32c crc64nvme md5 sha256 xxh3 blake3 crc32 zcrc32" doc:"checksum of whole files"`
	Sync        bool   `key:"sync" default:"true" doc:"fsync every copy before a close is acknowledged; without it, a power cut can lose acknowledged files"`
	Headroom    Bytes  `key:"headroom" default:"0B" min:"0" doc:"bytes kept free on every disk; 0 means 1 % of the disk, at most 1 GiB"`
}

// Node has the settings of a storage node.
type Node struct {
	Disks []string `key:"disks" flag:"disk" default:"" doc:"directories to use as disks, each the root of a filesystem or a folder; PATH or PATH=SPACE"`
	Zone  string   `key:"zone" flag:"zone" default:"" doc:"failure domain, such as room::rack; replicas go to different zones if possible"`
	Join  string   `key:"join" flag:"join" default:"" secret:"true" doc:"join token from hemera token create, needed at the first start only; as a flag, everybody on the machine can read it"`
	// JoinFile keeps the token out of the process's arguments, which all users of the machine can read.
	JoinFile string `key:"join_file" flag:"join-file" default:"" doc:"file with the join token; - reads it from standard input"`
}

// Up has the settings of hemera up, which runs a whole cluster in one process.
type Up struct {
	Nodes int  `key:"nodes" flag:"nodes" default:"6" min:"1" max:"64" doc:"storage nodes to run"`
	Disks int  `key:"disks" flag:"disks" default:"6" min:"1" max:"1024" doc:"folders to use as disks, distributed to the nodes in turn"`
	Tape  bool `key:"tape" flag:"tape" default:"false" doc:"an emulated tape library of two drives and 20 slots, in DIR/tape, whose tapes take files at once; a directory that has one keeps it"`
}

// Tape has the settings of a tape library.
type Tape struct {
	Library string `key:"library" flag:"library" default:"" doc:"name of the tape library, unique in the cluster; if empty, it is named after the directory of the process"`
	Changer string `key:"changer" flag:"changer" default:"" doc:"device of a tape library's robot, such as /dev/sg3; if empty, the one of this machine"`
	// Their order does not matter if the library reports serial numbers.
	Drives  []string `key:"drives" flag:"drive" default:"" doc:"devices of tape drives in the library, such as /dev/nst0; if none, those of this machine that are in it"`
	Emulate string   `key:"emulate" flag:"emulate" default:"" doc:"what the emulated tape library has, such as drives=2,slots=40,cartridges=30,media=LTO-9,capacity=4000000000; it is made in the data directory at the first start"`
	Speed   int      `key:"speed" flag:"tape-speed" default:"100" min:"0" max:"1000000" doc:"how many times faster than real an emulated tape library moves; 1 is real time, 0 does not wait"`
	// CTA can read a tape with containers, and sees each container as one file.
	Containers bool `key:"containers" flag:"tape-containers" default:"true" doc:"small files share tape files, so that a flush serves more of them; false gives each file a tape file of its own"`
}

// Repair decides when lost pieces are rebuilt.
type Repair struct {
	// A repair moves as much data as the disk has, so the restart of a node must not begin one.
	Grace time.Duration `key:"grace" live:"true" default:"5m" min:"1s" max:"720h" doc:"time that a disk may be out of reach before its files are repaired on other disks"`
}

// Removal decides when the room of removed content is freed.
type Removal struct {
	Hold time.Duration `key:"hold" live:"true" default:"10m" min:"0s" max:"168h" doc:"time that replaced and removed content stays on its disks for readers that have it open; shorter if a disk lacks room; 0 removes it at once"`
}

// Writes bounds the files that are open for writing. Each of them has a lock in the manager's memory.
type Writes struct {
	PerUser       int `key:"per_user" default:"16384" min:"1" max:"1048576" doc:"files that one user may have open for writing at a time; users without a name are counted by host; admins have no limit"`
	PerConnection int `key:"per_connection" default:"4096" min:"1" max:"1048576" doc:"files that one connection may have open for writing at a time; connections of admins have no limit"`
}

// Scrub is the regular reading and verifying of all data at rest.
type Scrub struct {
	Rate Bytes `key:"rate" live:"true" default:"20MiB" min:"0B" doc:"limit, in bytes per second and disk, for reading and verifying data at rest; a node reads a whole disk every 14 days if the limit allows it, with less priority than clients; 0 reads nothing"`
}

// Cache is memory for speed.
type Cache struct {
	Namespace Bytes `key:"namespace" default:"0B" min:"0B" doc:"bytes of the manager's memory for the namespace: records, blocks of the store and data that waits to be written; at least 256MiB; 0 means a quarter of the machine's memory"`
}

// Log is the log, on standard error.
type Log struct {
	// Level and Format are the only settings of the log: the supervisor of the process decides where it goes.
	Level  slog.Level `key:"level" live:"true" default:"info" doc:"messages of this level and above are logged: debug, info, warn or error"`
	Format string     `key:"format" default:"auto" oneof:"auto text json" doc:"auto is text on a terminal and JSON elsewhere"`
}

package config

import (
	"log/slog"
	"net/netip"
	"time"

	"hemera/platform/auth"
)

// Config is all settings. Tags: key, the setting's name; default, as one would write it; doc, one
// sentence; min and max, inclusive; oneof, the words that are possible; secret, never shown.
type Config struct {
	Data      string `key:"data" default:"/var/lib/hemera" doc:"directory of everything this process must remember"`
	Listen    string `key:"listen" default:"127.0.0.1" doc:"IP address to listen on; 0.0.0.0 or :: for all, which other machines can reach"`
	Port      int    `key:"port" default:"1094" min:"0" max:"65535" doc:"TCP port for every protocol; nodes of hemera up take the following ports; 0 chooses a free one"`
	Advertise string `key:"advertise" default:"" doc:"host or host:port under which clients and other nodes reach this process; empty finds it out"`

	HTTP    HTTP    `key:"http"`
	Auth    Auth    `key:"auth"`
	TPC     TPC     `key:"tpc"`
	Space   Space   `key:"space"`
	Node    Node    `key:"node"`
	Up      Up      `key:"up"`
	Repair  Repair  `key:"repair"`
	Removal Removal `key:"removal"`
	Writes  Writes  `key:"writes"`
	Scrub   Scrub   `key:"scrub"`
	Cache   Cache   `key:"cache"`
	Log     Log     `key:"log"`
}

// HTTP is an HTTP door besides the one on the common port.
type HTTP struct {
	Listen string `key:"listen" default:"" doc:"one more address, host:port, that answers HTTP only (metrics, health, admin API); empty for none"`
	Socket string `key:"socket" default:"admin.sock" doc:"unix socket, at the manager, that answers HTTP to users of this machine, who are known by their process; below the data directory unless it begins with /; empty for none"`
	// MetricsNetworks is of this door and of the common port.
	MetricsNetworks []netip.Prefix `key:"metrics_networks" flag:"metrics-networks" default:"" doc:"networks, like 10.9.0.0/24, whose hosts may read /metrics; this machine always may"`
	Hosts           []string       `key:"hosts" default:"" doc:"names, besides the advertised one and the machine's own, that HTTP requests may call this server by; requests that name another are refused, so that no web page reaches it by a name of its own"`
}

// Auth is who may come in.
type Auth struct {
	TrustedNetworks []auth.Network `key:"trusted_networks" flag:"trusted-networks" default:"" doc:"networks, like 10.1.0.0/16, whose hosts are believed when they name their user, but root is nobody; 10.1.0.0/16=own believes root too, =nobody makes everybody nobody; clients of other machines are refused otherwise"`
	TokenLifetime   time.Duration  `key:"token_lifetime" default:"24h" min:"1m" max:"8760h" doc:"how long a join token works unless its creator says otherwise"`
	Admission       string         `key:"admission" default:"token" oneof:"token admin" doc:"what lets a node in that has joined: its token alone, or an admin besides (hemera node admit)"`
	NewDisks        string         `key:"new_disks" default:"rw" oneof:"rw off" doc:"how new disks that a joined node brings by itself begin; off waits for hemera fs set ID configstatus=rw"`
}

// TPC is third-party copy.
type TPC struct {
	Allow []netip.Prefix `key:"allow" default:"" doc:"networks that third-party copies may read from, besides the nodes of this cluster; empty for the trusted networks, and this machine if the manager serves no other"`
}

// Space is the policy of the space that a new cluster begins with.
type Space struct {
	Layout      string `key:"layout" default:"replica" oneof:"plain replica" doc:"how new files are stored"`
	Replicas    int    `key:"replicas" default:"2" min:"1" max:"16" doc:"copies of a file with layout replica"`
	ReplicasMin int    `key:"replicas_min" default:"0" min:"0" max:"16" doc:"copies that must be safe before a close is acknowledged, repair makes the rest; 0 is all, or one fewer when no disk is spare"`
	Checksum    string `key:"checksum" default:"adler32" oneof:"none adler32 crc32c crc64nvme md5 sha256 xxh3 blake3 crc32 zcrc32" doc:"checksum of whole files"`
	Sync        bool   `key:"sync" default:"true" doc:"fsync every copy before a close is acknowledged; without, a power cut can lose files that were"`
	Headroom    Bytes  `key:"headroom" default:"0B" min:"0" doc:"bytes kept free on every disk; 0 is 1 % of the disk, at most 1 GiB"`
	GroupSize   int    `key:"group_size" default:"24" min:"1" max:"1000" doc:"how many disks a group aims at"`
}

// Node is a storage node.
type Node struct {
	Disks []string `key:"disks" flag:"disk" default:"" doc:"directories to use as disks, each the root of its own filesystem or a folder; PATH or PATH=SPACE"`
	Zone  string   `key:"zone" flag:"zone" default:"" doc:"failure domain, like room::rack; replicas go to different zones where they can"`
	Join  string   `key:"join" flag:"join" default:"" secret:"true" doc:"join token from hemera token create; needed at the first start only; as a flag everybody on the machine can read it"`
	// JoinFile keeps the token out of the arguments.
	JoinFile string `key:"join_file" flag:"join-file" default:"" doc:"file with the join token; - reads it from standard input"`
}

// Up is hemera up, everything in one process.
type Up struct {
	Nodes int `key:"nodes" flag:"nodes" default:"6" min:"1" max:"64" doc:"storage nodes to run"`
	Disks int `key:"disks" flag:"disks" default:"6" min:"1" max:"1024" doc:"folders to use as disks, dealt to the nodes in turn"`
}

// Repair is how failures are acted on.
type Repair struct {
	Grace time.Duration `key:"grace" default:"5m" min:"1s" max:"720h" doc:"how long a disk may be out of use before its files are repaired elsewhere"`
}

// Removal is when space is given back.
type Removal struct {
	Hold time.Duration `key:"hold" default:"10m" min:"0s" max:"168h" doc:"how long replaced and removed content stays on its disks for readers that have it open, shorter where a disk lacks room; 0 removes it at once"`
}

// Writes are how many files may be open for writing at a time.
type Writes struct {
	PerUser       int `key:"per_user" default:"16384" min:"1" max:"1048576" doc:"files that one user may have open for writing at a time; users without a name are told apart by their hosts; admins are not bounded"`
	PerConnection int `key:"per_connection" default:"4096" min:"1" max:"1048576" doc:"files that one connection may have open for writing at a time, of users who are no admins"`
}

// Scrub is the reading and verifying of all data at rest.
type Scrub struct {
	Rate Bytes `key:"rate" default:"20MiB" min:"0B" doc:"bytes of each disk that are read and verified a second at most, at nodes; all of a disk every 14 days where that is enough, after clients' reads and writes; 0 reads none"`
}

// Cache is memory that makes things faster.
type Cache struct {
	Namespace Bytes `key:"namespace" default:"0B" min:"0B" doc:"bytes of memory for the namespace, at the manager: records, blocks of the store and what waits to be written; at least 256MiB; 0 is a quarter of the machine's"`
}

// Log is the log, on standard error.
type Log struct {
	Level  slog.Level `key:"level" default:"info" doc:"least important messages to print: debug, info, warn or error"`
	Format string     `key:"format" default:"auto" oneof:"auto text json" doc:"auto is text on a terminal and JSON elsewhere"`
}

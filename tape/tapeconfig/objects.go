package tapeconfig

import (
	"hemera/words/tapeapi"
	"time"
)

// Kind is a kind of object of the configuration. The names are those of the admin protocol.
type Kind string

// The kinds of objects.
const (
	KindMedia        Kind = "media"
	KindOrganisation Kind = "organisation"
	KindPool         Kind = "pool"
	KindClass        Kind = "class"
	KindRoute        Kind = "route"
	KindPolicy       Kind = "policy"
	KindRule         Kind = "rule"
	KindLibrary      Kind = "library"
	KindMounting     Kind = "mounting"
	KindBuffer       Kind = "buffer"
	KindKey          Kind = "key"
	KindServer       Kind = "server"
)

// Kinds lists all kinds: an object refers to others of earlier kinds, and pools to pools.
func Kinds() []Kind {
	return []Kind{KindMedia, KindOrganisation, KindKey, KindPool, KindClass, KindRoute, KindPolicy, KindRule, KindLibrary, KindMounting, KindBuffer, KindServer}
}

// DefaultName is the name of the object of a kind that is taken where nothing else is said.
const DefaultName = "default"

// Bytes is a size. In changes it may be written 100G or 4GiB.
type Bytes int64

// Seconds is an age. In changes it may be written 15m.
type Seconds int64

// Duration returns the duration as the library has it.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// Log says who made and changed an object, and what they noted.
type Log struct {
	MadeBy    string    `json:"createdBy"` // "" for a default
	Made      time.Time `json:"creationTime,omitzero"`
	ChangedBy string    `json:"modifiedBy"` // also by who made it
	Changed   time.Time `json:"modificationTime,omitzero"`
	Comment   string    `json:"comment"` // the only part that a change can set
}

// MediaType is a kind of cartridge.
type MediaType struct {
	Cartridge string `json:"cartridge"`          // as vendors write it
	Suffix    string `json:"barcodeSuffix"`      // the last two characters of barcodes, "" for none
	Capacity  Bytes  `json:"capacity"`           // native
	Density   int64  `json:"primaryDensityCode"` // that drives report
	Wraps     int64  `json:"numberOfWraps"`      // 0: unknown
	Log
}

// Organisation is a virtual organisation: a group of users who share drives.
type Organisation struct {
	ReadDrives  int64 `json:"readMaxDrives"`  // that recall at the same time, at most; 0: none
	WriteDrives int64 `json:"writeMaxDrives"` // that archive at the same time, at most; 0: none
	MaxFileSize Bytes `json:"maxFileSize"`    // 0: no limit
	Repack      bool  `json:"isRepackVo"`     // repack mounts are charged to it; at most one organisation. Without one the pool's is charged.
	Log
}

// Pool is a set of tapes that are written one after the other.
type Pool struct {
	Organisation string `json:"vo"`                // that its mounts are charged to
	PartialTapes int64  `json:"numPartialTapes"`   // that are written at the same time, at most; at least 1
	Key          string `json:"encryptionKeyName"` // of tapes that are written from their beginning, "" for no encryption
	Supply       string `json:"supply"`            // pools that empty tapes are taken from, separated by commas
	Log
}

// Class is a storage class.
type Class struct {
	Copies       int64  `json:"nbCopies"` // on tape, 1 to 4
	Organisation string `json:"vo"`       // whose limit of file sizes holds
	Log
}

// Types of routes.
const (
	RouteDefault = "DEFAULT"
	RouteRepack  = "REPACK" // goes before DEFAULT for files that a repack writes
)

// Route says which pool a copy of a class goes to.
type Route struct {
	Class string           `json:"storageClass"`     // with the copy and the type it is the name: [Route.Name]
	Copy  int64            `json:"copyNumber"`       // from 1
	Type  string           `json:"archiveRouteType"` // [RouteDefault] or [RouteRepack]
	Pool  tapeapi.PoolName `json:"tapepool"`         // another one for each copy
	Log
}

// Policy is a mount policy. A larger priority goes first.
type Policy struct {
	ArchivePriority int64   `json:"archivePriority"`
	ArchiveMinAge   Seconds `json:"archiveMinRequestAge"` // from this age on files are archived, however few
	RecallPriority  int64   `json:"retrievePriority"`
	RecallMinAge    Seconds `json:"retrieveMinRequestAge"` // the same for files that are read
	Log
}

// Rule gives requests a mount policy, by who asks. Exactly one of Requester and Group is set.
type Rule struct {
	Requester string `json:"requester"`     // a user's name; "default" is everybody that no other rule is for
	Group     string `json:"group"`         // a group's name
	Activity  string `json:"activityRegex"` // with Requester: only recalls of activities that it matches
	Policy    string `json:"mountPolicy"`   // that the requests get
	Log
}

// Library is a tape library that admins have said something about. Libraries without an object are enabled.
type Library struct {
	Disabled bool   `json:"isDisabled"`     // its drives mount nothing, and its tapes wait
	Reason   string `json:"disabledReason"` // needed while it is disabled
	Log
}

// Server is a node that is admitted as a tape server. Its name is the number of the node.
type Server struct {
	// Library is the name of its library, which no other server has; "": it is the one that the server reports first.
	Library string `json:"library"`
	Log
}

// Mounting has the conditions under which a drive mounts a tape, for all pools. There is one object, [DefaultName].
type Mounting struct {
	MinBytes Bytes   `json:"minBytesToWarrantAMount"` // that wait for one mount
	MinFiles int64   `json:"minFilesToWarrantAMount"` // or so many files
	Linger   Seconds `json:"lingerSeconds"`           // that a tape stays mounted after its last job
	Turn     Seconds `json:"turnSeconds"`             // after which a tape leaves its drive for others that wait
	Batch    Bytes   `json:"minFreeToRecall"`         // room on disks that a recall session needs to begin, or its queue if that is less
	Verify   Seconds `json:"verifySeconds"`           // after which all files of a tape are read and compared again; 0: never
	// ReadBack says which new files of a tape are read back and compared before disk copies go that count on them: "always", "never", or the
	// number of the first ones of each session.
	ReadBack string `json:"readBack"`
	Log
}

// Buffer is the room that the disks of a space keep for tape: its name is that of the space, or [DefaultName] for spaces without an object. A space
// of that name has the object, too. Percentages are of the capacity of the disks that can be used.
type Buffer struct {
	EvictBelow int64   `json:"evictBelowPercentFree"` // disk copies of files on tape go when less is free
	EvictUntil int64   `json:"evictUntilPercentFree"` // until so much is free
	MinAge     Seconds `json:"evictMinAge"`           // files that were used less long ago stay
	Keep       int64   `json:"recallKeepPercentFree"` // that recalls leave free, for what users write
	Log
}

// Key is the name of an encryption key. The key itself is not in the configuration: see the manager's key directory.
type Key struct {
	// Fingerprint tells keys apart, in hexadecimal: the first 8 bytes of the SHA-256 of the key. People cannot set it.
	Fingerprint string `json:"fingerprint"`
	Log
}

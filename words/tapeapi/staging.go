package tapeapi

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// Staging brings files from tape to disk and lets their disk copies go, for clients of any door. All methods check
// what who may do: reading a file is enough to stage it; to evict it, who must be its owner, or an admin, or one of
// those who staged it. Calls block for the namespace's store, but wait for no tape. What a call changed of requests
// and files is durable at return; disks remove copies later.
type Staging interface {
	// Stage remembers a request durably and begins it. Paths that cannot be staged are part of the request, with their error.
	// A file that is on disk is done at once, and stays there until it was released. Equal paths are one. Invalid without paths, or with more than
	// [StagePathsMax]. Overloaded if who has as many requests, or requests at a time, as one user may, and if bounds refuse each file.
	Stage(ctx context.Context, who hemera.Identity, r StageRequest) (id string, err error)
	// StageStatus returns a request with the state of its files now. NotFound; Denied to others than who made it.
	StageStatus(ctx context.Context, who hemera.Identity, id string) (StageStatus, error)
	// CancelStage removes paths from a request, or all of it when there are none; a file for which no other request waits is not recalled. With
	// forget the request is removed. NotFound; Invalid when a path is not in the request.
	CancelStage(ctx context.Context, who hemera.Identity, id string, paths []string, forget bool) error
	// Release says that who needs the files on disk no more. It counts against a request that who made: that of the id, or with "" the oldest that
	// has the file. Admins release those of others too. When no request uses a file any more, its disk copies go as soon as all tape copies are there;
	// a user that has no request for it needs the right to write it for that. errs has one result for each path: nil when it is done, and when there
	// was nothing to release. Denied for the request of somebody else; an id that nobody knows is no id.
	Release(ctx context.Context, who hemera.Identity, id string, paths []string) (errs []error, err error)
	// Localities says of each path where it is, in their order. id is a request, or "". What is wrong with a path is
	// in its place of the result. It fails with Overloaded if too many calls of the user wait.
	Localities(ctx context.Context, who hemera.Identity, id string, paths []string) ([]Locality, error)
	// Stages lists requests that are remembered, of who or of all users, the newest first, at most 10,000. All: admins only.
	// It fails with Denied if others ask for all.
	Stages(ctx context.Context, who hemera.Identity, all bool) ([]StageSummary, error)
	// ArchiveNow has a file archived by the class, whatever its directory says, and returns how many copies it queued: 0 for an empty file, which is
	// archived by its record. Exists when it is archived already.
	ArchiveNow(ctx context.Context, who hemera.Identity, path, class string) (copies int, err error)
	// Evict removes the disk copies of a file that has all its tape copies, whatever its evict counter, and returns how many bytes they had: 0 for a
	// file without any. Admins only. Conflict while copies are missing.
	Evict(ctx context.Context, who hemera.Identity, path string) (freed int64, err error)
}

// StagePathsMax bounds the paths of one request.
const StagePathsMax = 100_000

// StageRequest asks for files to be on disk.
type StageRequest struct {
	Files []StageFile
	// Name is a name that the client gives the request, "" for one that is made.
	Name string
}

// StageFile is one file of a request.
type StageFile struct {
	Path     string
	Activity string // for mount rules, "" for none
}

// StageSummary is a request that is remembered, without its files.
type StageSummary struct {
	ID        string
	UID       uint32 // who made it
	Made      time.Time
	Files     int
	Bytes     int64 // that it takes in the manager's store
	Cancelled bool  `json:",omitempty"` // all of it
	Failed    bool  `json:",omitempty"` // none of its files could be staged
}

// StageStatus is a request and its files.
type StageStatus struct {
	ID      string
	Who     hemera.Identity `json:"-"`
	Made    time.Time
	Started time.Time `json:",omitzero"` // when the first file was being worked on
	Ended   time.Time `json:",omitzero"` // when all were done, had failed or were withdrawn
	Files   []Locality
}

// Locality is the place of a file: disk, tape or both.
type Locality struct {
	Path      string
	Exists    bool
	OnDisk    bool
	OnTape    bool // see [hemera.Entry.OnTape]
	Requested bool // it is being recalled
	HasID     bool // by the request that the question names
	Asked     time.Time
	Cancelled bool
	Error     string
	// Estimate is the time at which a file that is being recalled may be on disk; zero: unknown. Why says what it waits
	// for.
	Estimate time.Time
	Why      string
	Size     int64
}

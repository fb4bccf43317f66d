package mounting

import (
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Picture is all that a decision depends on. Times are of one clock.
type Picture struct {
	Now    time.Time
	Queues []Queue
	// Tapes may leave out those that no queue reads, no drive holds, and no queue can write: such as full ones.
	Tapes         []Tape
	Pools         map[tapeapi.PoolName]Pool
	Drives        []Drive
	Organisations map[string]Organisation // one that is not here has no limits
	Libraries     map[string]string       // those that are disabled, and why
	Criteria      Criteria
	Buffer        Buffer
	Rates         Rates
}

// Key names a queue. A queue has a pool that it writes to, or a tape that it reads from.
type Key struct {
	Kind tapeapi.JobKind
	Pool tapeapi.PoolName
	VID  hemera.VID
}

// Writes reports whether jobs of the queue write to tape.
func (k Key) Writes() bool { return k.VID == "" }

// String returns the queue in words.
func (k Key) String() string {
	if k.Writes() {
		return k.Kind.String() + " to pool " + string(k.Pool)
	}
	return k.Kind.String() + " from tape " + string(k.VID)
}

// Queue is jobs that can be done with one mount. Jobs that wait for another attempt are not counted until then, nor are those that a mount was given.
type Queue struct {
	Key
	Organisation string // that its mounts are charged to
	Files, Bytes int64
	Largest      int64 // bytes of the largest file, 0: unknown
	Oldest       time.Time
	Priority     int64         // the highest of its jobs
	MinAge       time.Duration // the lowest of its jobs
	Short        string        // what its files lack in the part of the buffer that they go to; "": it may have room
}

// Tape is a tape of the catalogue.
type Tape struct {
	VID            hemera.VID
	Pool           tapeapi.PoolName
	Library, Media string
	// State and Reason are for sentences. What the state permits is Read and Write.
	State       tapeapi.State
	Reason      string
	Read, Write bool
	Full        bool
	Used        int64 // bytes on it; 0: empty
	Capacity    int64
	Lock        Lock // of what is on it
}

// Lock is an encryption key that cannot be used now. The zero Lock is none: the key is there, or nothing is encrypted.
type Lock struct{ Key, Why string }

// closed reports whether the key is needed and cannot be used.
func (l Lock) closed() bool { return l.Key != "" }

// writable reports whether blocks can be added to the tape, or written from its beginning, as far as the tape itself goes.
func (t *Tape) writable() bool { return t.Write && !t.Full && (t.Used == 0 || !t.Lock.closed()) }

// Pool is a tape pool.
type Pool struct {
	Partial  int64              // tapes that are partly full, at most, in each library; at least 1
	Supplies []tapeapi.PoolName // pools that empty tapes come from, in order
	Lock     Lock               // of empty tapes that are to be written
}

// Drive is a drive as its server reported it last.
type Drive struct {
	Name, Library string
	Up            bool       // wanted by admins, working, and its server is there
	Reason        string     // why not
	Remedy        string     // what helps then; "" to put it up
	Writes        []string   // media types that it writes and reads
	Reads         []string   // those that it reads besides. With both empty it takes all.
	VID           hemera.VID // the tape in it
	Mounted       time.Time
	Last          Key       // the queue that it worked for last, or works for
	Begun         time.Time // when it began with that queue, without another one since
	Work          *Work     // what it does, nil while idle
	Idle          time.Time // since when it is idle
	Unloads       bool      // it gives its tape back, and asks for no work until it has
}

// Work is the activity of a drive.
type Work struct {
	Queue        Key
	Organisation string
	Priority     int64
	Left         int64 // bytes of jobs that it was given and that are not done, for estimates
	Reserved     int64 // room in the buffer that it may still fill
}

// Organisation is the limits of a virtual organisation.
type Organisation struct {
	ReadDrives, WriteDrives int64
}

// Criteria are the conditions under which a mount is worth it.
type Criteria struct {
	MinBytes int64
	MinFiles int64
	Linger   time.Duration // that a tape stays mounted without work
	Turn     time.Duration // after which a tape leaves the drive for others that wait, and a queue leaves a tape for other queues of it
}

// Buffer is the room on disks for files that are recalled, in bytes.
type Buffer struct {
	Free  int64
	Keep  int64 // that is to stay free for writes
	Batch int64 // that a recall session needs at least, or its whole queue if that is less; so that it does not begin for one file
}

// Rates are the input of estimates: means of former sessions, or [DefaultRates].
type Rates struct {
	Archive, Recall int64         // bytes per second
	Mount           time.Duration // fetch, load and position
	Unmount         time.Duration // rewind, unload and carry back
	Locate          time.Duration // to the next file of an ordered recall
}

// Faster returns the rates of emulated drives that are faster than real ones by the factor.
func (r Rates) Faster(times int) Rates {
	n := time.Duration(max(1, times))
	return Rates{Archive: r.Archive * int64(n), Recall: r.Recall * int64(n), Mount: r.Mount / n, Unmount: r.Unmount / n, Locate: r.Locate / n}
}

// DefaultCriteria suit a few LTO-9 drives: a mount takes more than two minutes, in which a drive writes 50 GB. With a turn of 30 minutes at most
// a twelfth of the time goes into changes of tapes.
func DefaultCriteria() Criteria {
	return Criteria{MinBytes: 100e9, MinFiles: 2000, Linger: time.Minute, Turn: 30 * time.Minute}
}

// DefaultRates returns the rates of LTO-9: the native rate; robot 10 s, load 16 s and an average locate of 65 s; rewind 62 s, unload 56 s and robot
// 10 s (IBM's guide of TS2290 and vendors' sheets; the robot is an estimate). A locate is a third of a random one, which an ordered recall stays
// below.
func DefaultRates() Rates {
	return Rates{Archive: 400e6, Recall: 400e6, Mount: 91 * time.Second, Unmount: 128 * time.Second, Locate: 16 * time.Second}
}

package disk

import (
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// pictureAge bounds the age of the picture of a disk's room and label when a piece is made.
	pictureAge = time.Second
	// blindInterval is the interval of log lines about a disk that cannot be looked at.
	blindInterval = time.Minute
)

// condition has the state of a disk as seen from outside: its label, its room, its health. [health] decides; this type
// looks at the disk, and counts faults against it.
type condition struct {
	tree  *tree
	uuid  string // that the label must have
	log   *slog.Logger
	clock func() time.Time
	gauge *gauge

	mu       sync.Mutex
	headroom int64             // bytes that stay free
	health   health            // as of the last look or fault
	looked   time.Time         // when the last look began or ended
	blinded  time.Time         // when it was last said that a look was not possible
	shown    hemera.DiskHealth // in the log, last
}

func (c *condition) init(t *tree, uuid string, o Options, g *gauge) {
	c.tree, c.uuid, c.log, c.clock, c.gauge = t, uuid, o.Log, o.Now, g
	c.headroom, c.shown = o.Headroom, hemera.HealthOK
	g.rated = o.Now()
}

// verdict returns the disk's health and the reason. mu is held.
func (c *condition) verdict(now time.Time) (hemera.DiskHealth, string) {
	return c.health.verdict(c.headroom, now)
}

// blame counts a failure against the disk, if its kind says that the disk is to blame.
func (c *condition) blame(kind errs.Kind) {
	now := c.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind {
	case errs.IO:
		c.gauge.ioErrors.Add(1)
		c.health = c.health.fault(now)
	case errs.Corrupt:
		c.gauge.sumErrors.Add(1)
		c.health = c.health.fault(now)
	case errs.ReadOnly: // the kernel remounts a filesystem that lost its journal
		c.health = c.health.refusal(now)
	}
}

func (c *condition) setHeadroom(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headroom = n
}

// reserved returns the bytes that are to stay free.
func (c *condition) reserved() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headroom
}

// free returns the bytes that may still be written, by the last look.
func (c *condition) free() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.health.seen.Free-c.headroom)
}

// isStale reports whether the last look is old, and takes it on the caller to look again.
func (c *condition) isStale(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < pictureAge {
		return false
	}
	c.looked = now // others that come meanwhile make do with the old picture
	return true
}

// look looks at the disk's label and room. It waits for the device as long as that takes. A look that fails because
// the process has run out of something says nothing: the picture before it stays.
func (c *condition) look() {
	o, err := c.observation()
	if exhausted(err) {
		c.blind(err)
		return
	}
	if err != nil {
		o.Gone = errs.Reason(err, c.tree.path)
	}
	now := c.clock()
	c.mu.Lock()
	c.looked = now
	c.health = c.health.look(o, now) // what admit has taken off the room since the last look is in the new one, or was not used
	is, why := c.verdict(now)
	was := c.shown
	c.shown = is
	c.mu.Unlock()
	if is != was {
		c.log.Warn("disk health changed", "disk", c.tree.path, "from", was, "to", is, "why", why)
	}
}

// exhausted reports whether the process or its machine has run out of something: open files, memory, processes.
// That says nothing about the disk, peer or file that the call was about.
func exhausted(err error) bool {
	for _, e := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EAGAIN} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// observation looks at the disk's label and room.
func (c *condition) observation() (o observation, err error) {
	uuid, err := ReadLabel(c.tree.fs, c.tree.path)
	if err != nil {
		return o, err
	}
	if uuid != c.uuid { // the mount was exchanged under a process that has files open in both
		return observation{Gone: "another disk is mounted there: " + uuid}, nil
	}
	// The label is there, so this is the disk's room and not that of the filesystem above.
	space, err := c.tree.fs.Space(c.tree.path)
	if err != nil {
		return o, err
	}
	return observation{
		Filesystem: space.ID, Total: space.Total, Free: space.Free, ReadOnly: space.ReadOnly,
		Inodes: space.Inodes, InodesFree: space.InodesFree,
	}, nil
}

// blind notes that the disk could not be looked at, for which it is not to blame.
func (c *condition) blind(why error) {
	now := c.clock()
	c.mu.Lock()
	c.looked = now
	say := now.Sub(c.blinded) >= blindInterval
	if say {
		c.blinded = now
	}
	c.mu.Unlock()
	if say {
		c.log.Warn("cannot look at a disk: this process has run out of open files or memory", "disk", c.tree.path, "error", why,
			"remedy", "let the process have more (LimitNOFILE, MemoryMax of its unit); see Limits in docs/operations.md")
	}
}

// admit refuses what the disk's health forbids, and a piece that would not leave the headroom. An admitted piece counts
// as taken until the next look: many that come between two looks share one picture of the room.
func (c *condition) admit(op string, size int64) error {
	now := c.clock()
	if c.isStale(now) {
		c.look()
	}
	path := c.tree.path
	c.mu.Lock()
	defer c.mu.Unlock()
	health, why := c.verdict(now)
	switch {
	case health == hemera.HealthReadOnly:
		return errs.New(errs.ReadOnly, op, path, why)
	case health == hemera.HealthFull:
		return errs.New(errs.NoSpace, op, path, why)
	case health != hemera.HealthOK:
		return errs.New(errs.Unavailable, op, path, why)
	case size > c.health.seen.Free-c.headroom: // the disk is not full for smaller ones
		return errs.New(errs.NoSpace, op, path, "less room than the piece will need")
	}
	c.health.seen.Free -= size
	return nil
}

// status returns the condition as the last look found it, and the load since the status before.
func (c *condition) status() Status {
	now := c.clock()
	load := c.gauge.load(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	health, why := c.verdict(now)
	seen := c.health.seen
	// Used includes the bytes of others on the filesystem: for placement all used bytes are alike. Free is what the
	// headroom leaves, as admit decides, and not below zero. Pieces are counted elsewhere; [Disk.Status] adds them.
	return Status{
		UUID: c.uuid, Path: c.tree.path, Health: health, Why: why,
		DiskStats: hemera.DiskStats{
			Filesystem: seen.Filesystem, Capacity: seen.Total, Used: seen.Total - seen.Free, Free: max(0, seen.Free-c.headroom),
			Inodes: seen.Inodes, InodesFree: seen.InodesFree, Load: load,
		},
	}
}

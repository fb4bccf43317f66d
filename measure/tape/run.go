package tape

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hemera/measure/result"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// streamMax bounds the file of the single stream.
const streamMax = 1 << 30

// run is one run of the level. It belongs to the goroutine of Run.
type run struct {
	o    *Options
	rec  *result.Recorder
	log  writer
	done int // steps
	made int // sets of files; each has other directory names
}

// writer is the destination of the cluster's output.
type writer interface {
	Write(p []byte) (int, error)
	Close() error
}

// Run measures. It removes its files before it returns, also when ctx ends.
func Run(ctx context.Context, o Options, rec *result.Recorder) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	r := &run{o: &o, rec: rec}
	if r.log, err = rec.Raw("cluster.log"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.log.Close()) }()
	r.describe()
	// Before the cluster starts, so that nothing else uses the disks.
	if err := r.streams(ctx); err != nil {
		return err
	}
	if err := r.within(ctx, true, func(c *cluster) error { return errors.Join(r.large(ctx, c), r.small(ctx, c, "yes")) }); err != nil {
		return err
	}
	// Containers are a setting of the tape server, so this needs another cluster.
	if !o.Plain || len(o.Small) == 0 {
		return nil
	}
	return r.within(ctx, false, func(c *cluster) error { return r.small(ctx, c, "no") })
}

// describe records the conditions of the run.
func (r *run) describe() {
	r.rec.Set("directories", strings.Join(r.o.Directories, ","))
	for key, n := range map[string]int64{"size": r.o.Size, "file_size": r.o.FileSize, "small_files": int64(r.o.SmallFiles), "iterations": int64(r.o.Iterations)} {
		r.rec.Set(key, strconv.FormatInt(n, 10))
	}
	for i, dir := range r.o.Directories {
		if readAhead, ok := readAheadOf(dir); ok {
			r.rec.Set(fmt.Sprintf("read_ahead_%d", i+1), strconv.FormatInt(readAhead, 10))
		}
	}
	r.rec.Note("The drives are emulated: they take the time of LTO-9 drives, and no tape moves. Nodes, tape server and drives share this machine.")
	for _, f := range figures(r.o) {
		r.rec.Figure(f)
	}
}

// steps returns the number of all steps, for the progress line.
func (r *run) steps() int {
	// An archive and a recall in each pass.
	small := len(r.o.Small)
	if r.o.Plain {
		small *= 2
	}
	return len(r.o.Directories) + 2*r.o.Iterations*(len(r.o.Drives)+small)
}

// step reports the next step.
func (r *run) step(format string, args ...any) {
	r.rec.Step(r.done, r.steps(), format, args...)
	r.done++
}

// streams measures the rate of one buffered stream in each directory.
func (r *run) streams(ctx context.Context) error {
	for i, dir := range r.o.Directories {
		r.step("one stream in %s", dir)
		for range r.o.Iterations {
			rate, err := stream(ctx, dir, min(r.o.Size, streamMax))
			if err != nil {
				return err
			}
			r.rec.Add(result.Measure{Name: "throughput", Labels: result.Labels{"test": "stream", "disk": strconv.Itoa(i + 1)}, Unit: "B/s", Better: result.Higher,
				Samples: []float64{rate}})
		}
	}
	return nil
}

// within calls do with a cluster.
func (r *run) within(ctx context.Context, containers bool, do func(c *cluster) error) error {
	c, err := start(ctx, r.o, containers, r.log)
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.end())
}

// large archives and recalls large files with each number of drives.
func (r *run) large(ctx context.Context, c *cluster) error {
	// One drive first: its tape is positioned before the pass with two.
	for i := range r.o.Iterations {
		for _, drives := range r.o.Drives {
			count := int(r.o.Size / r.o.FileSize)
			p := pass{labels: result.Labels{"test": "large", "drives": strconv.Itoa(drives)}, drives: drives, count: count, size: r.o.FileSize, course: i == 0}
			if err := r.pass(ctx, c, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// small archives and recalls small files of each size with one drive.
func (r *run) small(ctx context.Context, c *cluster, containers string) error {
	// More drives would measure the speed of opens at nodes, not the supply of a drive.
	for range r.o.Iterations {
		for _, size := range r.o.Small {
			p := pass{labels: result.Labels{"test": "small", "size": strconv.FormatInt(size, 10), "containers": containers}, drives: 1, count: r.o.SmallFiles, size: size, small: true}
			if err := r.pass(ctx, c, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass archives files and recalls them under one set of conditions.
type pass struct {
	labels result.Labels
	drives int
	count  int   // files of each drive
	size   int64 // of each
	small  bool  // files are counted
	course bool  // keep the courses of its sessions
}

// pass runs one pass.
func (r *run) pass(ctx context.Context, c *cluster, p pass) (err error) {
	// Each pass has its own directories, because removals may still be in progress.
	r.made++
	var files []file
	for drive := range p.drives {
		dir := fmt.Sprintf("/%s/set%d", nameOf(drive), r.made)
		if _, err := c.admin.Names.Mkdir(ctx, hemera.SystemIdentity(), dir, 0o777, true); err != nil {
			return err
		}
		files = append(files, batch(dir, p.count, p.size, int64(r.made*1000+drive*37))...)
	}
	r.step("%s: %d files of %d bytes are written and archived", p.labels["test"], len(files), p.size)
	// Files of the drives alternate.
	slices.SortStableFunc(files, func(a, b file) int { return strings.Compare(filepath.Base(a.path), filepath.Base(b.path)) })
	if err := errors.Join(c.enable(ctx, false), write(ctx, c.client, c.server, files), chill(c.disks)); err != nil {
		return err
	}
	// Nothing is written to tape here, so the difference is the size of the files on tape.
	used, err := c.used(ctx)
	if err != nil {
		return err
	}
	archived, err := r.moved(ctx, c, tapeapi.Archive, len(files), func() error { return errors.Join(c.enable(ctx, true), c.mounted(ctx)) })
	if err != nil {
		return err
	}
	r.add(p, "archive", archived)
	after, err := c.used(ctx)
	if err != nil {
		return err
	}
	if p.small {
		r.rec.Add(result.Measure{Name: "tape_space", Labels: p.labels, Unit: "B", Better: result.Lower, Samples: []float64{float64(after-used) / float64(len(files))}})
	}
	// The tape is still in its drive, and winds back.
	r.step("%s: %d files of %d bytes are recalled", p.labels["test"], len(files), p.size)
	if err := c.evict(ctx, files); err != nil {
		return err
	}
	recalled, err := r.moved(ctx, c, tapeapi.Recall, len(files), func() error { return errors.Join(c.stage(ctx, files), c.positioned(ctx)) })
	if err != nil {
		return err
	}
	r.add(p, "recall", recalled)
	return c.remove(ctx, files)
}

// used returns the number of bytes written on all tapes.
func (c *cluster) used(ctx context.Context) (bytes int64, err error) {
	tapes, err := c.admin.Tape.Tapes(ctx)
	for _, t := range tapes {
		bytes += t.Occupancy
	}
	return bytes, err
}

// evict removes the disk copies of files, and waits until their room is free.
func (c *cluster) evict(ctx context.Context, files []file) error {
	// Nodes have files of their own there, which stay.
	before, err := held(c.disks)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for _, f := range files {
		if _, err := c.admin.Staging.Evict(ctx, hemera.SystemIdentity(), f.path); err != nil {
			return err
		}
		bytes += f.size
	}
	// Removals pass through the nodes, some time after the answer.
	return c.until(ctx, func() (bool, error) {
		left, err := held(c.disks)
		return before-left >= bytes/100*99, err
	})
}

// positioned waits until the first bytes of a recall arrive on the disks. Drives wind back first, which takes a minute or
// more.
func (c *cluster) positioned(ctx context.Context) error {
	before, err := held(c.disks)
	if err != nil {
		return err
	}
	// Data on the disks shows it: the counts of a session are of whole files.
	return c.warm(ctx, func() (bool, error) {
		now, err := held(c.disks)
		return now > before, err
	})
}

// mounted waits until a drive has its tape and starts to work, because status changes are reported at once. The robot and
// the load take 20 s.
func (c *cluster) mounted(ctx context.Context) error {
	return c.warm(ctx, func() (bool, error) {
		p, err := c.admin.Tape.TapePicture(ctx)
		// Few files may be on tape before the first look.
		return len(p.Queues) == 0 || slices.ContainsFunc(p.Drives, func(d adminapi.TapeDrive) bool { return d.Status == tapeapi.DriveTransferring }), err
	})
}

// warm waits until a condition holds, and keeps memory occupied meanwhile; see occupy.
func (c *cluster) warm(ctx context.Context, so func() (bool, error)) error {
	busy, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		var err error
		for busy.Err() == nil && err == nil {
			err = occupy(busy, c.holes)
		}
		ended <- err // buffered, also if it is never received
	}()
	err := c.until(ctx, so)
	cancel()
	return errors.Join(err, <-ended)
}

// stage requests files, all at once: in one request they come in the order of the tape.
func (c *cluster) stage(ctx context.Context, files []file) error {
	var r tapeapi.StageRequest
	for _, f := range files {
		r.Files = append(r.Files, tapeapi.StageFile{Path: f.path})
	}
	_, err := c.admin.Staging.Stage(ctx, hemera.SystemIdentity(), r)
	return err
}

// remove makes room for the next pass. The rest is removed with the directories.
func (c *cluster) remove(ctx context.Context, files []file) error {
	for _, f := range files {
		if err := c.admin.Names.Remove(ctx, hemera.SystemIdentity(), f.path, hemera.KindFile); err != nil {
			return err
		}
	}
	return nil
}

// moved has files move, and returns the sessions that did it, with their courses.
func (r *run) moved(ctx context.Context, c *cluster, kind tapeapi.JobKind, files int, begin func() error) (all []tapeapi.Session, err error) {
	// Sessions of earlier passes are in the list, too.
	known := map[tapeapi.MountID]bool{}
	p, err := c.admin.Tape.TapePicture(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range p.Sessions {
		known[s.Mount] = true
	}
	if err := begin(); err != nil {
		return nil, err
	}
	// An empty queue ends its session; later files are in another one.
	err = c.until(ctx, func() (bool, error) {
		p, err := c.admin.Tape.TapePicture(ctx)
		if err != nil {
			return false, err
		}
		all = all[:0]
		moved := int64(0)
		for _, s := range p.Sessions {
			if known[s.Mount] || s.Kind != kind {
				continue
			}
			if s.Failed > 0 || s.Error != "" {
				return false, errs.New(errs.IO, "tape.Run", string(s.VID), fmt.Sprintf("a session failed at %d files: %s", s.Failed, s.Error)).WithRemedy("see raw/tape-cluster.log of the run")
			}
			all, moved = append(all, s), moved+s.Files
		}
		return moved >= int64(files), nil
	})
	if err != nil {
		return nil, err
	}
	// The list has no courses.
	for i := range all {
		if all[i], err = c.admin.Tape.TapeSession(ctx, all[i].Mount); err != nil {
			return nil, err
		}
	}
	return all, nil
}

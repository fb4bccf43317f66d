package tapescale

import (
	"context"
	"fmt"
	"math/rand/v2"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// operation is one thing that is asked of both catalogues.
type operation struct {
	name string
	// of is the number of files in one call, for rates; 0: it is a call.
	of int64
	// times bounds the number of calls.
	times int
	do    func(ctx context.Context, c *catalogue, r *rand.Rand) error
}

// batch is the number of files in claims, reports and requests.
const batch = 1000

// operations returns all operations, in the order in which they are measured. Those that change the queues come last.
func operations() []operation {
	// Names are those of the table in tape/catalogue/DESIGN.md.
	return []operation{
		{"mount decision", 0, 300, func(ctx context.Context, c *catalogue, _ *rand.Rand) error { _, err := c.mount(ctx, 3); return err }},
		{"queue, drive and pool listing", 0, 300, func(ctx context.Context, c *catalogue, _ *rand.Rand) error {
			_, err := c.tier.Reports.TapePicture(ctx)
			return err
		}},
		{"tape ls", 0, 300, func(ctx context.Context, c *catalogue, _ *rand.Rand) error {
			_, err := c.tier.Admin.Tapes(ctx)
			return err
		}},
		{"tape files, a page of 1000", 0, 300, listTape},
		{"request ls, a page of 1000", 0, 100, func(ctx context.Context, c *catalogue, _ *rand.Rand) error {
			_, err := c.tier.Queue.TapeJobList(ctx, adminapi.TapeJobQuery{})
			return err
		}},
		{"ls -y of a directory of 1000", 0, 300, listDirectory},
		{"why of a file that waits", 0, 300, func(ctx context.Context, c *catalogue, r *rand.Rand) error {
			_, err := c.tier.Reports.ExplainTape(ctx, c.path(r.Int64N(c.shape.Tape.Archive+c.shape.Tape.Recall)))
			return err
		}},
		{"open of a file on tape", 0, 300, openOnTape},
		{"query prepare, 1000 files that wait", batch, 30, localities},
		{"stage, a request of 1000 files", batch, 20, stage},
		{"claim, 1000 jobs to archive", batch, 10, func(ctx context.Context, c *catalogue, _ *rand.Rand) error {
			return c.claim(ctx, 0, tapeapi.Archive)
		}},
		{"claim and report, 1000 files archived", batch, fewest, archive},
		{"claim, 1000 jobs to recall", batch, 10, func(ctx context.Context, c *catalogue, _ *rand.Rand) error {
			return c.claim(ctx, 1, tapeapi.Recall)
		}},
	}
}

// boss may do everything.
func boss() hemera.Identity { return hemera.Identity{Name: "root", Admin: true} }

// mount has a drive ask for work; it gives back what it had.
func (c *catalogue) mount(ctx context.Context, drive int) (tapeapi.Mount, error) {
	// A server that does not report is gone after half a minute.
	c.tier.Servers.ReportLibrary(server, c.state)
	// A drive that asks has nothing any more: the mount that it had ends.
	m, err := c.tier.Drives.NextMount(ctx, server, driveName(drive))
	// A new tape gets its label first.
	if err == nil && m.Kind == tapeapi.MountLabel {
		if err = c.tier.Results.TapeDone(ctx, server, tapeapi.Results{Mount: m.ID, VID: m.VID, Labelled: true, Ended: true}); err == nil {
			m, err = c.tier.Drives.NextMount(ctx, server, driveName(drive))
		}
	}
	if err == nil && m.Kind != tapeapi.MountWork {
		err = errs.New(errs.Internal, "tapescale.Mount", driveName(drive), fmt.Sprintf("the decision was %+v", m))
	}
	return m, err
}

// claim mounts and takes jobs, which are free again with the next mount of the drive.
func (c *catalogue) claim(ctx context.Context, drive int, kind tapeapi.JobKind) error {
	_, _, err := c.claimed(ctx, drive, kind)
	return err
}

// claimed mounts and takes jobs.
func (c *catalogue) claimed(ctx context.Context, drive int, kind tapeapi.JobKind) (m tapeapi.Mount, jobs []tapeapi.Work, err error) {
	if m, err = c.mount(ctx, drive); err != nil {
		return m, nil, err
	}
	// One batch, as a session asks for it; the next one is another call.
	r, err := c.tier.Jobs.TapeJobs(ctx, server, tapeapi.JobsRequest{Mount: m.ID, Files: batch})
	if err == nil && (m.Job != kind || len(r.Jobs) == 0) {
		err = errs.New(errs.Internal, "tapescale.Claim", driveName(drive), fmt.Sprintf("%d jobs to %s", len(r.Jobs), m.Job))
	}
	return m, r.Jobs, err
}

// archive claims jobs and reports that they are on tape.
func archive(ctx context.Context, c *catalogue, _ *rand.Rand) error {
	m, jobs, err := c.claimed(ctx, 0, tapeapi.Archive)
	if err != nil {
		return err
	}
	// Ended, so that its tape is free for the next call.
	r := tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true, Session: tapeapi.Session{Mount: m.ID, Kind: m.Job, VID: m.VID, Drive: driveName(0)}}
	// Each job is a tape file of its own, behind the last one of the tape.
	for i, j := range jobs {
		at := m.Labels.LastFSeq + uint64(i)
		sum, _ := hemera.FindChecksum(j.Checksum, hemera.Adler32)
		r.Written = append(r.Written, tapeapi.Written{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: at + 1, Block: 10 * at, Size: j.Size, Sum: sum, Bytes: j.Size})
	}
	return c.tier.Results.TapeDone(ctx, server, r)
}

// listTape lists a page of a tape from anywhere.
func listTape(ctx context.Context, c *catalogue, r *rand.Rand) error {
	_, err := c.tier.Queue.TapeFiles(ctx, hemera.VID(fmt.Sprintf("N%05d", r.IntN(tapesOfAll-1))), uint64(r.Int64N(c.shape.Tape.FilesPerTape)), false)
	return err
}

// listDirectory lists a directory of anywhere, with all that is known of its files.
func listDirectory(ctx context.Context, c *catalogue, r *rand.Rand) error {
	// Cut back to the directory of a file.
	path := c.path(r.Int64N(c.files))
	for path[len(path)-1] != '/' {
		path = path[:len(path)-1]
	}
	return c.tree.Tree.List(ctx, boss(), path[:len(path)-1], func(hemera.Entry) error { return nil })
}

// fresh returns a file that is on tape, and that nobody asked for yet.
func (c *catalogue) fresh() int64 {
	// Operations are called one after the other, so no lock is needed.
	c.next++
	return c.next - 1
}

// openOnTape opens a file on tape: it is recalled, and the client told to wait.
func openOnTape(ctx context.Context, c *catalogue, r *rand.Rand) error {
	path := c.path(c.fresh())
	e, err := c.tree.Tree.Stat(ctx, boss(), path)
	if err != nil {
		return err
	}
	// One of the users that wait already.
	who := hemera.Identity{Name: "user", UID: 1000 + uint32(r.IntN(usersOfAll))}
	if err := c.tier.Stager.OnOpen(ctx, who, e, path); errs.KindOf(err) != errs.Unavailable {
		return err
	}
	return nil
}

// localities says of files that wait where they are, and why.
func localities(ctx context.Context, c *catalogue, r *rand.Rand) error {
	// Only what waits needs a reason, which is the work.
	paths := make([]string, batch)
	for i := range paths {
		paths[i] = c.path(c.shape.Tape.Archive + r.Int64N(c.shape.Tape.Recall))
	}
	_, err := c.tier.Stager.Localities(ctx, boss(), "", paths)
	return err
}

// stage asks for files by one request.
func stage(ctx context.Context, c *catalogue, r *rand.Rand) error {
	// A ninth of them waits already: clients repeat what others ask for.
	var request tapeapi.StageRequest
	for range batch {
		request.Files = append(request.Files, tapeapi.StageFile{Path: c.path(c.shape.Tape.Archive + r.Int64N(c.files-c.shape.Tape.Archive))})
	}
	_, err := c.tier.Stager.Stage(ctx, boss(), request)
	return err
}

package tier

import (
	"context"

	"hemera/rules/limits"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// The methods of Tier are what the manager and its doors call. Each is done by one part, which says
// how; here is the list.

var (
	_ adminapi.TapeAdmin    = (*Tier)(nil)
	_ adminapi.TapeKeys     = (*Tier)(nil)
	_ adminapi.TapeSessions = (*Tier)(nil)
	_ tapeapi.Staging       = (*Tier)(nil)
)

// TapeConfig implements adminapi.TapeAdmin.
func (t *Tier) TapeConfig(ctx context.Context) ([]byte, error) { return t.configurer.TapeConfig(ctx) }

// ChangeTape implements adminapi.TapeAdmin.
func (t *Tier) ChangeTape(ctx context.Context, who string, c adminapi.TapeChange) error {
	return t.configurer.ChangeTape(ctx, who, c)
}

// CheckClass returns an error for a storage class that does not exist,
// with the names of those that do. Its routes may come later.
func (t *Tier) CheckClass(class string) error { return t.configurer.CheckClass(class) }

// TapeKeyList implements adminapi.TapeKeys.
func (t *Tier) TapeKeyList(ctx context.Context) ([]adminapi.TapeKeyRow, error) {
	return t.configurer.TapeKeyList(ctx)
}

// AddTapeKey implements adminapi.TapeKeys.
func (t *Tier) AddTapeKey(ctx context.Context, who string, k tapeapi.Key, comment string) (adminapi.TapeKeyRow, error) {
	return t.configurer.AddTapeKey(ctx, who, k, comment)
}

// Tapes implements adminapi.TapeAdmin.
func (t *Tier) Tapes(ctx context.Context) ([]tapeapi.Tape, error) { return t.orderer.tasks.tapes(ctx) }

// TapeFiles implements adminapi.TapeAdmin.
func (t *Tier) TapeFiles(ctx context.Context, vid string, after uint64, dead bool) ([]tapeapi.File, error) {
	return t.jobs.files(ctx, vid, after, dead)
}

// TapeJobList implements adminapi.TapeAdmin.
func (t *Tier) TapeJobList(ctx context.Context, q adminapi.TapeJobQuery) ([]tapeapi.Work, error) {
	return t.jobs.TapeJobList(ctx, q)
}

// TapePicture implements adminapi.TapeAdmin.
func (t *Tier) TapePicture(ctx context.Context) (adminapi.TapePicture, error) {
	return t.reporter.TapePicture(ctx)
}

// ExplainTape implements adminapi.TapeAdmin.
func (t *Tier) ExplainTape(ctx context.Context, subject string) ([]string, error) {
	return t.reporter.ExplainTape(ctx, subject)
}

// OrderTape implements adminapi.TapeAdmin. It returns what was done, in words.
func (t *Tier) OrderTape(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	return t.orderer.OrderTape(ctx, who, o)
}

// TapeSession implements adminapi.TapeSessions.
func (t *Tier) TapeSession(ctx context.Context, mount uint64) (tapeapi.Session, error) {
	return t.reporter.TapeSession(ctx, mount)
}

// Unscanned lists tapes whose files the namespace may have lost when it went back, and the command that scans them.
func (t *Tier) Unscanned(ctx context.Context) (vids []string, command string, err error) {
	return t.reporter.Unscanned(ctx)
}

// Standing says in words what a read does of a file that is on tape only.
func (t *Tier) Standing(ctx context.Context, e *hemera.Entry) string {
	return t.reporter.Standing(ctx, e)
}

// CanRecall fails with IO if no tape of a file that is on tape only can be read now, as far as is known without a look at the tape.
func (t *Tier) CanRecall(ctx context.Context, e *hemera.Entry) error {
	return t.reporter.CanRecall(ctx, e)
}

// Shelf returns the shelf as of now. It reads the record of each tape, and the keys.
func (t *Tier) Shelf(ctx context.Context) (*Shelf, error) { return t.stager.disks.shelf(ctx) }

// Tell says in an entry that leaves the manager whether its copies on tape were not read back yet, and are to be.
func (t *Tier) Tell(ctx context.Context, e *hemera.Entry) { t.stager.disks.tell(ctx, e) }

// Stage implements tapeapi.Staging.
func (t *Tier) Stage(ctx context.Context, who hemera.Identity, r tapeapi.StageRequest) (string, error) {
	return t.stager.Stage(ctx, who, r)
}

// Stages implements hemera.StageList.
func (t *Tier) Stages(ctx context.Context, who hemera.Identity, all bool) ([]tapeapi.StageSummary, error) {
	return t.stager.Stages(ctx, who, all)
}

// StageStatus implements tapeapi.Staging.
func (t *Tier) StageStatus(ctx context.Context, who hemera.Identity, id string) (tapeapi.StageStatus, error) {
	return t.stager.StageStatus(ctx, who, id)
}

// CancelStage implements tapeapi.Staging.
func (t *Tier) CancelStage(ctx context.Context, who hemera.Identity, id string, paths []string, forget bool) error {
	return t.stager.CancelStage(ctx, who, id, paths, forget)
}

// Release implements tapeapi.Staging.
func (t *Tier) Release(ctx context.Context, who hemera.Identity, id string, paths []string) ([]error, error) {
	return t.stager.Release(ctx, who, id, paths)
}

// Localities implements tapeapi.Staging.
func (t *Tier) Localities(ctx context.Context, who hemera.Identity, id string, paths []string) ([]tapeapi.Locality, error) {
	return t.stager.Localities(ctx, who, id, paths)
}

// ArchiveNow implements tapeapi.Staging.
func (t *Tier) ArchiveNow(ctx context.Context, who hemera.Identity, path, class string) (int, error) {
	return t.stager.ArchiveNow(ctx, who, path, class)
}

// Evict implements tapeapi.Staging.
func (t *Tier) Evict(ctx context.Context, who hemera.Identity, path string) (int64, error) {
	return t.stager.Evict(ctx, who, path)
}

// OnOpen begins the recall of a file that is on tape only, and returns the error that has the client wait.
func (t *Tier) OnOpen(ctx context.Context, who hemera.Identity, e hemera.Entry, path string) error {
	return t.stager.OnOpen(ctx, who, e, path)
}

// Instead has a file recalled that nothing can read from its disks. begun is false where tape does not give
// this content back now: nothing changed then.
func (t *Tier) Instead(ctx context.Context, who hemera.Identity, e hemera.Entry) (begun bool, err error) {
	return t.stager.Instead(ctx, who, e)
}

// LimitUsages returns the bounds of requests to stage, and the use of each.
func (t *Tier) LimitUsages() []limits.Usage { return t.stager.LimitUsages() }

// Run does what no event announces, until the context ends.
func (t *Tier) Run(ctx context.Context) error { return t.sweeper.Run(ctx) }

// EndLost ends the mounts of servers that do not report any more, and forgets the libraries of nodes that left the cluster.
func (t *Tier) EndLost() { t.sweeper.EndLost() }

// LeaveMounts forgets the mounts of nodes that left the cluster. Tapes that they may have written are scanned before they are written again.
func (t *Tier) LeaveMounts(ctx context.Context) error { return t.sweeper.LeaveMounts(ctx) }

// ForgetStages removes requests that are old, with what they keep on disk. Run does it too.
func (t *Tier) ForgetStages(ctx context.Context) error { return t.sweeper.ForgetStages(ctx) }

// Report takes what a tape server says of its library. Denied for a node that is not admitted.
func (t *Tier) Report(ctx context.Context, node hemera.NodeID, own bool, state tapeapi.Library) error {
	return t.servers.Report(ctx, node, own, state)
}

// ReportLibrary does what Report does, for a node that is admitted and cartridges that the catalogue has.
func (t *Tier) ReportLibrary(node hemera.NodeID, state tapeapi.Library) {
	t.servers.ReportLibrary(node, state)
}

// NextMount says what an idle drive is to do, and blocks until there is something, for at most 20 seconds.
func (t *Tier) NextMount(ctx context.Context, node hemera.NodeID, drive string) (tapeapi.Mount, error) {
	return t.dispatcher.NextMount(ctx, node, drive)
}

// TapeJobs gives a mount its next jobs.
func (t *Tier) TapeJobs(ctx context.Context, node hemera.NodeID, want tapeapi.JobsRequest) (tapeapi.JobsReply, error) {
	return t.giver.TapeJobs(ctx, node, want)
}

// TapeGrant permits the transfer of a job.
func (t *Tier) TapeGrant(ctx context.Context, node hemera.NodeID, mount uint64, job tapeapi.JobKey) (tapeapi.Grant, error) {
	return t.giver.TapeGrant(ctx, node, mount, job)
}

// TapeDone records what a mount did. It is durable at return.
func (t *Tier) TapeDone(ctx context.Context, node hemera.NodeID, r tapeapi.Results) error {
	return t.recorder.TapeDone(ctx, node, r)
}

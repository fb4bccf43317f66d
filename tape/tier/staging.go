package tier

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"hemera/platform/fairshare"
	"hemera/rules/access"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A request to stage is remembered as its list of files. What becomes of
// each file is in the file: its attributes carry the ids of the requests
// that wait for it (sys.retrieve.req_id), so that a status is read from
// the files, and never disagrees with them.
//
//	Stage       looks up each path as the user, remembers the request, queues recalls
//	status      from the files, by id: they may have been moved since
//	CancelStage takes the request's id from its files; the last one takes the job along
//	Release     takes a request of the caller from the file; with the last one the disk copies may go
//
// A file that is on disk when it is asked for is done at once. Its evict
// counter grows, so it is not evicted under the reader. That is how EOS
// counts, and what FTS and gfal expect. Other than in EOS, each count is
// the pin of a request (tape/catalogue/pins.go): a repeated request
// counts once, and nobody releases what others asked for. Pins end with
// their request, so those of clients that never release end, too.

// stager brings files to disk and away, for users.
type stager struct {
	env      *env
	settings *settings
	stages   *stages
	recalls  *recalls
	disks    *diskCopies
	reporter *reporter
}

// Stage implements tapeapi.Staging. Its methods are those of users, so
// each path is looked up as them.
func (t *stager) Stage(ctx context.Context, who hemera.Identity, r tapeapi.StageRequest) (string, error) {
	if len(r.Files) == 0 || len(r.Files) > tapeapi.StagePathsMax {
		return "", errs.New(errs.Invalid, "manager.Stage", "", "a request has 1 to "+strconv.Itoa(tapeapi.StagePathsMax)+" files").
			WithRemedy("name at least one file, and make several requests of fewer files where there are more")
	}
	files := distinct(r.Files)
	call, err := t.env.Turns.Begin(ctx, who)
	if err != nil {
		return "", err
	}
	defer call.End()
	s := catalogue.Stage{ID: r.Name, UID: who.UID, Made: t.env.now()}
	if s.ID == "" {
		id := make([]byte, 8)
		rand.Read(id)
		// The form that clients of EOS know: an id, and when it was made.
		s.ID = hex.EncodeToString(id) + ":" + strconv.FormatInt(s.Made.Unix(), 10)
	} else if err := t.checkName(ctx, who, &s, files); err != nil {
		return "", err
	}
	s.Idle = true
	for _, f := range files {
		if err := call.Rest(ctx); err != nil {
			return "", err
		}
		one := catalogue.StagedFile{Path: f.Path, Activity: f.Activity}
		e, err := t.readable(ctx, who, "manager.Stage", f.Path)
		if err != nil {
			one.Error = errs.Text(err)
		} else {
			one.File, s.Idle = e.ID, false
		}
		s.Files = append(s.Files, one)
	}
	if err := t.stages.add(who, &s); err != nil {
		return "", err
	}
	// Remembered first: after a crash the request is there, and a client
	// that polls it sees what was not asked for yet.
	if err := t.env.catalogue.PutStage(ctx, s); err != nil {
		t.stages.remove(s.ID)
		return "", err
	}
	failed, err := t.stageAll(ctx, who, s, call)
	if err != nil || len(failed) == 0 {
		return s.ID, err
	}
	s.Idle = !slices.ContainsFunc(s.Files, func(f catalogue.StagedFile) bool { return f.Error == "" })
	// Most clients would never look at a request that does nothing.
	if s.Idle && errs.KindOf(failed[0]) == errs.Overloaded {
		t.stages.remove(s.ID)
		return "", errors.Join(failed[0], t.env.catalogue.RemoveStage(ctx, s))
	}
	t.stages.note(&s)
	return s.ID, t.env.catalogue.PutStage(ctx, s)
}

// distinct returns the files of a request, each once: the first of equal paths counts.
func distinct(files []tapeapi.StageFile) []tapeapi.StageFile {
	seen := make(map[string]bool, len(files))
	out := make([]tapeapi.StageFile, 0, len(files))
	for _, f := range files {
		if !seen[f.Path] {
			seen[f.Path] = true
			out = append(out, f)
		}
	}
	return out
}

// stageAll queues the recalls of a request. Each is by itself: one that
// fails does not keep the others from being staged. It returns the errors of those that
// have failed, of bounds first; their texts are in the request.
func (t *stager) stageAll(ctx context.Context, who hemera.Identity, s catalogue.Stage, call *fairshare.Call) (failed []error, err error) {
	known, err := t.env.knownTapes(ctx)
	if err != nil {
		return nil, err
	}
	each := make([]error, len(s.Files))
	err = t.env.together(len(s.Files), func(i int) error {
		f := &s.Files[i]
		if f.Error != "" {
			return nil
		}
		if err := call.Rest(ctx); err != nil {
			return err
		}
		r := catalogue.RecallRequest{File: f.File, Request: s.ID, UID: who.UID, Groups: groupsOf(who), Activity: f.Activity}
		if _, err := t.recalls.recallFrom(ctx, known, r); err != nil {
			f.Error, each[i] = errs.Text(err), named(err, "manager.Stage", f.Path)
		}
		return nil
	})
	t.env.wake.ring()
	failed = slices.DeleteFunc(each, func(err error) bool { return err == nil })
	slices.SortStableFunc(failed, func(a, b error) int { return rankOf(a) - rankOf(b) })
	return failed, err
}

// rankOf puts refusals by bounds before other failures: people can do something about them.
func rankOf(err error) int {
	if errs.KindOf(err) == errs.Overloaded {
		return 0
	}
	return 1
}

// checkName checks the name that a client gives its request. The same name for
// the same files is the same request, which keeps its time.
func (t *stager) checkName(ctx context.Context, who hemera.Identity, s *catalogue.Stage, files []tapeapi.StageFile) error {
	if strings.ContainsFunc(s.ID, func(r rune) bool { return r <= ' ' || r == ',' || r == unicode.ReplacementChar }) {
		return errs.New(errs.Invalid, "manager.Stage", s.ID, "the name of a request has no blanks and no commas").
			WithRemedy("give it another name")
	}
	was, err := t.env.catalogue.Stage(ctx, s.ID)
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return nil
	case err != nil:
		return err
	// Admins too: what they stage in the name of others is theirs to release.
	case was.UID != who.UID:
		return errs.New(errs.Denied, "manager.Stage", s.ID, "somebody else made a request of this name").
			WithRemedy("give yours another name")
	case !slices.EqualFunc(was.Files, files, func(a catalogue.StagedFile, b tapeapi.StageFile) bool { return a.Path == b.Path }):
		return errs.New(errs.Exists, "manager.Stage", s.ID, "a request of this name has other files").
			WithRemedy("give it another name, or drop the earlier one: `hemera tape stage drop " + s.ID + "`")
	}
	s.Made = was.Made
	return nil
}

// readable returns a file that who may read, for an operation.
func (t *stager) readable(ctx context.Context, who hemera.Identity, op, path string) (hemera.Entry, error) {
	e, err := t.env.Tree.Stat(ctx, who, path)
	switch {
	case err != nil:
		return e, err
	case e.IsDir():
		return e, errs.New(errs.IsDirectory, op, path, "it is a directory").
			WithRemedy("name its files; hemera tape stage, release and evict take -r")
	}
	if d := access.Decide(who, access.Of(e), access.Read); !d.Allowed {
		return e, errs.New(errs.Denied, op, path, d.Rule).
			WithRemedy("ask its owner for the right to read it: `hemera stat " + path + "` shows owner and mode")
	}
	return e, nil
}

// request returns a request that who made.
func (t *stager) request(ctx context.Context, who hemera.Identity, id string) (catalogue.Stage, error) {
	s, err := t.env.catalogue.Stage(ctx, id)
	if err == nil && s.UID != who.UID && !who.Admin {
		err = errs.New(errs.Denied, "manager.Stage", id, "somebody else made this request").
			WithRemedy("`hemera tape stage ls` lists yours; admins see and drop all of them: `hemera tape stage ls --all`")
	}
	return s, err
}

// StageStatus implements tapeapi.Staging.
func (t *stager) StageStatus(ctx context.Context, who hemera.Identity, id string) (out tapeapi.StageStatus, err error) {
	s, err := t.request(ctx, who, id)
	if err != nil {
		return out, err
	}
	call, err := t.env.Turns.Begin(ctx, who)
	if err != nil {
		return out, err
	}
	defer call.End()
	out = tapeapi.StageStatus{ID: id, Who: who, Made: s.Made, Started: s.Made}
	waits := false
	look := t.reporter.outlook()
	for _, f := range s.Files {
		if err := call.Rest(ctx); err != nil {
			return out, err
		}
		l := tapeapi.Locality{Path: f.Path, Error: f.Error, Cancelled: f.Cancelled || s.Cancelled}
		if f.File == 0 { // a directory, or a file that the user may not read, is there all the same
			_, err := t.env.Tree.Stat(ctx, who, f.Path)
			l.Exists = err == nil
		} else {
			// By id: the file may have been moved since.
			e, _, err := t.env.Tree.Resolve(ctx, f.File)
			if err != nil {
				l.Error = "the file was removed"
			} else {
				l = t.locality(ctx, &e, id, f.Path, look)
				l.Cancelled = f.Cancelled || s.Cancelled
				if f.Error != "" {
					l.Error = f.Error
				}
			}
		}
		waits = waits || !l.OnDisk && l.Error == "" && !l.Cancelled
		out.Files = append(out.Files, l)
	}
	if !waits {
		out.Ended = t.env.now()
	}
	return out, nil
}

// CancelStage implements tapeapi.Staging.
func (t *stager) CancelStage(ctx context.Context, who hemera.Identity, id string, paths []string, forget bool) error {
	s, err := t.request(ctx, who, id)
	if err != nil {
		return err
	}
	call, err := t.env.Turns.Begin(ctx, who)
	if err != nil {
		return err
	}
	defer call.End()
	// The last one of equal paths, which older requests have: all of them are the same file.
	at := map[string]int{}
	for i, f := range s.Files {
		at[f.Path] = i
	}
	for _, p := range paths {
		if _, ok := at[p]; !ok {
			return errs.New(errs.Invalid, "manager.CancelStage", p, "the path is not in the request").
				WithRemedy("name paths as they were when the request was made")
		}
	}
	if len(paths) == 0 {
		s.Cancelled = true
		for p := range at {
			paths = append(paths, p)
		}
	}
	for _, p := range paths {
		if err := call.Rest(ctx); err != nil {
			return err
		}
		f := &s.Files[at[p]]
		f.Cancelled = true
		if f.File != 0 {
			if err := t.env.catalogue.Withdraw(ctx, f.File, id); err != nil {
				return err
			}
		}
	}
	if forget {
		err := t.env.catalogue.RemoveStage(ctx, s)
		if err == nil {
			t.stages.remove(id)
		}
		return err
	}
	t.stages.note(&s)
	return t.env.catalogue.PutStage(ctx, s)
}

// Release implements tapeapi.Staging. A file whose copies are not all on
// tape stays on disk, and is no error: its users have released it.
func (t *stager) Release(ctx context.Context, who hemera.Identity, id string, paths []string) ([]error, error) {
	if id != "" {
		_, err := t.request(ctx, who, id)
		if errs.KindOf(err) == errs.NotFound {
			id, err = "", nil // forgotten: what is left are requests that the caller made later
		}
		if err != nil {
			return nil, err
		}
	}
	call, err := t.env.Turns.Begin(ctx, who)
	if err != nil {
		return nil, err
	}
	defer call.End()
	out := make([]error, len(paths))
	err = t.env.together(len(paths), func(i int) error {
		err := call.Rest(ctx)
		if err == nil {
			out[i] = t.releaseOne(ctx, who, id, paths[i])
		}
		return err
	})
	return out, err
}

// releaseOne takes a request of who from a file.
func (t *stager) releaseOne(ctx context.Context, who hemera.Identity, id, path string) error {
	e, err := t.readable(ctx, who, "manager.Release", path)
	if err != nil {
		return err
	}
	e, released, err := t.env.catalogue.Release(ctx, e.ID, catalogue.Releaser{UID: who.UID, Admin: who.Admin, Request: id})
	if err != nil || catalogue.EvictCounter(&e) > 0 || len(e.Pieces) == 0 {
		return err
	}
	// Nobody uses it. The user that says so last has it evicted, and so may those that could replace its content. Of others it is no error: a client
	// that lost the answer to a release sends it again, and what it had released then stays until room is needed.
	if !released && !access.Decide(who, access.Of(e), access.Write).Allowed {
		return nil
	}
	_, err = t.disks.evictNow(ctx, e.ID, false)
	// Copies are missing or were not read back, or somebody has staged it meanwhile.
	if errs.KindOf(err) != errs.Conflict {
		return err
	}
	if err := t.env.catalogue.LetGo(ctx, e.ID); err != nil {
		return err
	}
	// The last copy may have come before the note.
	if _, err = t.disks.evictNow(ctx, e.ID, false); errs.KindOf(err) == errs.Conflict {
		return nil
	}
	return err
}

// Localities implements tapeapi.Staging.
func (t *stager) Localities(ctx context.Context, who hemera.Identity, id string, paths []string) ([]tapeapi.Locality, error) {
	call, err := t.env.Turns.Begin(ctx, who)
	if err != nil {
		return nil, err
	}
	defer call.End()
	out := make([]tapeapi.Locality, len(paths))
	look := t.reporter.outlook()
	for i, p := range paths {
		if err := call.Rest(ctx); err != nil {
			return nil, err
		}
		e, err := t.readable(ctx, who, "manager.Stat", p)
		if err != nil {
			out[i] = tapeapi.Locality{Path: p, Exists: !errors.Is(err, errs.NotFound), Error: errs.Text(err)}
			continue
		}
		out[i] = t.locality(ctx, &e, id, p, look)
	}
	return out, t.refusals(ctx, who, id, out)
}

// refusals adds to the answers about files why the request did not get them. The files themselves do not know a request that was refused.
func (t *stager) refusals(ctx context.Context, who hemera.Identity, id string, out []tapeapi.Locality) error {
	at := map[string]*tapeapi.Locality{}
	for i := range out {
		if l := &out[i]; l.Exists && !l.HasID && l.Error == "" {
			at[l.Path] = l
		}
	}
	if len(at) == 0 || t.stages.files(id) == 0 {
		return nil
	}
	s, err := t.request(ctx, who, id)
	if kind := errs.KindOf(err); err != nil && (kind == errs.NotFound || kind == errs.Denied) {
		return nil
	}
	for _, f := range s.Files {
		if l := at[f.Path]; l != nil {
			l.Error = f.Error
		}
	}
	return err
}

// locality says where a file is. The outlook is the same for all files of
// an answer.
func (t *stager) locality(ctx context.Context, e *hemera.Entry, id, path string, look *outlook) tapeapi.Locality {
	ids := catalogue.RequestsOf(e)
	t.disks.Tell(ctx, e)
	l := tapeapi.Locality{Path: path, Exists: true, OnDisk: !e.Evicted(), OnTape: e.OnTape(), Requested: len(ids) > 0 || e.Xattrs[hemera.AttrRecallTime] != nil,
		Error: string(e.Xattrs[hemera.AttrRecallError]), Size: e.Size}
	for _, have := range ids {
		l.HasID = l.HasID || have == id
	}
	if seconds, err := strconv.ParseInt(string(e.Xattrs[hemera.AttrRecallTime]), 10, 64); err == nil {
		l.Asked = time.Unix(seconds, 0).UTC()
	}
	if l.Requested && !l.OnDisk {
		var waits bool
		// Programs such as FTS take an error for the end.
		if l.Why, l.Estimate, waits = look.whyRecall(ctx, e); waits {
			l.Error = ""
		}
	}
	if e.TapeUnread && l.Why == "" {
		l.Why = "it is archived, and was not read back from tape yet"
	}
	// One that is requested waits for a tape that is DISABLED, and is no failure.
	if !l.Requested && !l.OnDisk && l.Error == "" {
		l.Error = look.silent(ctx, e)
	}
	return l
}

// ArchiveNow implements tapeapi.Staging.
func (t *stager) ArchiveNow(ctx context.Context, who hemera.Identity, path, class string) (copies int, err error) {
	e, err := t.env.Tree.Stat(ctx, who, path)
	if err != nil {
		return 0, err
	}
	if e.IsDir() {
		return 0, errs.New(errs.IsDirectory, "manager.Archive", path, "only files are archived").
			WithRemedy("name its files, or add -r")
	}
	if !who.Admin && who.UID != e.UID {
		return 0, errs.New(errs.Denied, "manager.Archive", path, "only its owner and admins have a file archived").
			WithRemedy("ask its owner or an admin; `hemera stat " + path + "` shows the owner")
	}
	if err := t.settings.now().Config.Admit(class, e.Size); err != nil {
		return 0, err
	}
	if copies, err = t.env.catalogue.Archive(ctx, e.ID, class); err != nil {
		return 0, named(err, "manager.Archive", path)
	}
	t.env.wake.ring()
	return copies, nil
}

// Evict implements tapeapi.Staging.
func (t *stager) Evict(ctx context.Context, who hemera.Identity, path string) (freed int64, err error) {
	if !who.Admin {
		return 0, errs.New(errs.Denied, "manager.Evict", path, "only admins evict at once").WithRemedy("release it: `xrdfs HOST prepare -e " + path + "`")
	}
	e, err := t.env.Tree.Stat(ctx, who, path)
	if err != nil {
		return 0, err
	}
	freed, err = t.disks.evictNow(ctx, e.ID, true)
	return freed, named(err, "manager.Evict", path)
}

// OnOpen begins the recall of a file on tape only that a client opens, and returns the error that has the client wait.
func (t *stager) OnOpen(ctx context.Context, who hemera.Identity, e hemera.Entry, path string) error {
	e, err := t.recalls.recall(ctx, e, who.UID, groupsOf(who))
	if err != nil {
		return named(err, "manager.Open", path)
	}
	if why := string(e.Xattrs[hemera.AttrRecallError]); why != "" && e.Evicted() {
		t.env.Log.Debug("a file is opened whose recall failed before", "path", path, "error", why)
	}
	if !e.Evicted() {
		return nil
	}
	if why, remedy := t.blocked(ctx, &e, path); why != "" {
		return errs.New(errs.IO, "manager.Open", path, "the file is on tape, and is not brought to disk for now: "+why).WithRemedy(remedy)
	}
	if shelf, err := t.disks.Shelf(ctx); err == nil {
		if why := shelf.Silent(&e); why != "" {
			_, remedy := shelf.Trouble(&e)
			return errs.New(errs.Unavailable, "manager.Open", path, "the file is on tape, and waits: "+why).WithRemedy(remedy)
		}
	}
	return errs.New(errs.Unavailable, "manager.Open", path, "the file is on tape and is being brought to disk").
		WithRemedy("wait, or ask for it ahead of time: `xrdfs HOST prepare -s " + path + "`")
}

// blockedAfter is the number of reads of a tape that fail before the clients that wait for the file hear of it.
const blockedAfter = 2

// blocked says why a recall is not to be waited for: reads of it failed again and again, or something is wrong with each tape that has the file; ""
// for others. Its job waits on, and is done as soon as it can be.
func (t *stager) blocked(ctx context.Context, e *hemera.Entry, path string) (why, remedy string) {
	jobs, err := t.env.catalogue.JobsOf(ctx, e.ID)
	if err != nil {
		return "", ""
	}
	for _, j := range jobs {
		if j.Kind == tapeapi.Recall && j.Attempts >= blockedAfter && j.Error != "" {
			return fmt.Sprintf("%s failed, the last one: %s", count(int64(j.Attempts), "attempt", "attempts"), j.Error), "ask again later; `hemera tape why " + path + "` says when it is tried again"
		}
	}
	shelf, err := t.disks.Shelf(ctx)
	if err != nil || !shelf.Faulty(e) {
		return "", ""
	}
	return shelf.Trouble(e)
}

// Instead has a file recalled that nobody can read from its disks. What is
// on them is removed, like a copy that is evicted. begun is false where tape
// does not give this content back now: nothing changed, as what is left on
// disks may be all there is.
func (t *stager) Instead(ctx context.Context, who hemera.Identity, e hemera.Entry) (begun bool, err error) {
	shelf, err := t.disks.Shelf(ctx)
	if err != nil || !shelf.Gives(&e) {
		return false, err
	}
	_, err = t.disks.evictIf(ctx, e.ID, func(now *hemera.Entry) error {
		if now.Gen != e.Gen || !shelf.Gives(now) {
			return errs.New(errs.Conflict, "manager.Evict", "fxid:"+e.ID.Hex(), "the file has another content by now")
		}
		return nil
	})
	if err == nil {
		_, err = t.recalls.recall(ctx, e, who.UID, groupsOf(who))
	}
	// It was replaced, removed or evicted meanwhile, or it lost a copy.
	if kind := errs.KindOf(err); err != nil && (kind == errs.Conflict || kind == errs.NotFound || kind == errs.IO) {
		return false, nil
	}
	if err == nil {
		t.env.Log.Warn("a file whose disks cannot be read is recalled from tape", "file", e.ID, "pieces", len(e.Pieces))
	}
	return err == nil, err
}

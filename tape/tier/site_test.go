package tier_test

import (
	"context"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/tape/catalogue"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// server is the node that reports the library.
const server = hemera.NodeID(7)

func alice() hemera.Identity { return hemera.Identity{Name: "alice", UID: 1000, GID: 1000} }
func bob() hemera.Identity   { return hemera.Identity{Name: "bob", UID: 1001, GID: 1001} }
func admin() hemera.Identity { return hemera.SystemIdentity() }

// site is a tier over a namespace, with a library of two drives and the tapes AAA001 (pool default) and BBB001 (pool second). Class "single" has
// one copy, in default; "double" another one in second. A job is worth a mount at once. Time is that of the test's bubble.
type site struct {
	*testing.T
	tree  *namespace.Namespace
	tier  *tier.Tier
	state tapeapi.Library
	view  *hemera.View // of the disks; nil: nobody looks at their room
	// paused: drives only scan.
	paused bool
	// keys are the secrets of tape keys.
	keys    secrets
	recalls int // that are permitted and have not ended
}

// secrets keeps keys in memory. It implements tier.Secrets.
type secrets map[string]tapeapi.Secret

func (s secrets) Secret(name string) (tapeapi.Secret, error) {
	if k, ok := s[name]; ok {
		return k, nil
	}
	return nil, errs.New(errs.NotFound, "secrets.Secret", name, "no file")
}

func (s secrets) Keep(name string, k tapeapi.Secret) error {
	if old, ok := s[name]; ok && string(old) != string(k) {
		return errs.New(errs.Exists, "secrets.Keep", name, "another one")
	}
	s[name] = k
	return nil
}

func (s secrets) Forget(name string) error {
	delete(s, name)
	return nil
}

// grants permits everything. It counts the recalls that are permitted and have not ended.
type grants struct{ recalls *int }

func (grants) GrantArchive(_ context.Context, e hemera.Entry, path string) (tapeapi.Grant, error) {
	return tapeapi.Grant{Token: "read", Path: path, Size: e.Size}, nil
}

func (g grants) GrantRecall(context.Context, hemera.FileID, hemera.Generation) (tapeapi.Grant, func(), error) {
	*g.recalls++
	return tapeapi.Grant{Token: "write"}, func() { *g.recalls-- }, nil
}

// at runs a test at a fresh site, in a bubble: its clock moves when everybody waits.
func at(t *testing.T, test func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(open(t)) })
}

func open(t *testing.T) *site {
	t.Helper()
	return openOn(t, memkv.New())
}

// openOn does what open does, with a store that has been there before.
func openOn(t *testing.T, store kv.Store) *site {
	t.Helper()
	n, err := namespace.Open(t.Context(), store, namespace.Options{})
	s := &site{T: t, tree: n, keys: secrets{}}
	s.good(err)
	t.Cleanup(func() { s.good(n.Close()) })
	s.start()
	s.change("policy", "set", "default", "archiveMinRequestAge", "0", "retrieveMinRequestAge", "0")
	s.change("mounting", "set", "default", "readBack", "never") // tests of what reads back say so
	s.change("pool", "add", "second", "vo", "default")
	s.change("class", "add", "double", "nbCopies", "2", "vo", "default")
	s.change("route", "add", "double/1", "storageClass", "double", "copyNumber", "1", "tapepool", "default")
	s.change("route", "add", "double/2", "storageClass", "double", "copyNumber", "2", "tapepool", "second")
	media := []string{"LTO-9"}
	s.state = tapeapi.Library{Name: "lib", VIDs: map[hemera.VID]string{"AAA001": "LTO-9", "BBB001": "LTO-9"},
		Drives: []tapeapi.DriveState{{Name: "d1", Media: media}, {Name: "d2", Media: media}}}
	s.report()
	s.change("tape", "add", "AAA001")
	s.change("tape", "add", "BBB001", "tapepool", "second")
	_, err = n.Tree.Mkdir(t.Context(), admin(), "/double", 0o777, true)
	s.good(err)
	s.good(n.Tree.SetXattr(t.Context(), admin(), "/double", hemera.AttrStorageClass, []byte("double"), false))
	_, err = n.Tree.Mkdir(t.Context(), admin(), "/single", 0o777, true)
	s.good(err)
	s.good(n.Tree.SetXattr(t.Context(), admin(), "/single", hemera.AttrStorageClass, []byte("default"), false))
	return s
}

// start opens the tier, as a manager that starts does.
func (s *site) start() {
	s.Helper()
	o := tier.Options{Tree: s.tree.Parts(), Grants: grants{&s.recalls}, Secrets: s.keys, Paused: func() bool { return s.paused }, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if s.view != nil {
		o.View = func() *hemera.View { return s.view }
	}
	tier, err := tier.Open(s.Context(), o)
	s.good(err)
	s.tier = tier
}

func (s *site) good(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) wantKind(what string, err error, kind errs.Kind) {
	s.Helper()
	if errs.KindOf(err) != kind {
		s.Errorf("%s: got %v, want %v", what, err, kind)
	}
}

// change changes an object; values are names and values in turn.
func (s *site) change(object, verb, name string, values ...string) {
	s.Helper()
	c := adminapi.TapeChange{Object: object, Verb: verb, Name: name, Values: map[string]string{}}
	for pair := range slices.Chunk(values, 2) {
		c.Values[pair[0]] = pair[1]
	}
	s.good(s.tier.Config.ChangeTape(s.Context(), "ada", c))
}

// report makes the report that the server sends of its library every few seconds.
func (s *site) report() { s.tier.Servers.ReportLibrary(server, s.state) }

// ask asks for work as an idle drive does.
func (s *site) ask(drive string) tapeapi.Mount {
	s.Helper()
	s.report()
	m, err := s.tier.Drives.NextMount(s.Context(), server, drive)
	s.good(err)
	return m
}

// loaded says that a drive has a tape.
func (s *site) loaded(drive string, vid hemera.VID) {
	for i := range s.state.Drives {
		if s.state.Drives[i].Name == drive {
			s.state.Drives[i].VID = vid
		}
	}
	s.report()
}

// label labels the site's tapes, as mounts would.
func (s *site) label() {
	s.Helper()
	for _, vid := range []hemera.VID{"AAA001", "BBB001"} {
		s.good(s.tree.Parts().Tapes.ChangeTape(s.Context(), vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
			tape := *old
			tape.Labelled, tape.LabelBy = time.Now(), "d1"
			return &tape, nil
		}))
	}
}

// givenBefore makes a mount that d2 was given by the manager before this one.
func (s *site) givenBefore(kind tapeapi.JobKind, vid hemera.VID) tapeapi.MountID {
	s.Helper()
	const id = 1
	s.good(s.tree.Parts().Tapes.PutMount(s.Context(), catalogue.Mount{ID: id, Node: server, Drive: "d2", VID: vid, Kind: tapeapi.MountWork, Job: kind}))
	s.start()
	s.report()
	return id
}

// mount returns the work that a drive gets, which must be of the kind.
func (s *site) mount(drive string, kind tapeapi.JobKind) tapeapi.Mount {
	s.Helper()
	m := s.ask(drive)
	if m.Kind != tapeapi.MountWork || m.Job != kind {
		s.Fatalf("drive %s got %+v, want %s", drive, m, kind)
	}
	s.loaded(drive, m.VID)
	return m
}

// jobs returns the next jobs of a mount.
func (s *site) jobs(m tapeapi.Mount) []tapeapi.Work {
	s.Helper()
	r, err := s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID})
	s.good(err)
	if r.Last != (len(r.Jobs) == 0) {
		s.Errorf("%d jobs, and last is %v", len(r.Jobs), r.Last)
	}
	return r.Jobs
}

// written reports that a mount wrote all jobs.
func (s *site) written(m tapeapi.Mount, jobs []tapeapi.Work) tapeapi.Results {
	s.Helper()
	r := tapeapi.Results{Mount: m.ID, VID: m.VID, Key: m.Labels.Key.Name, Ended: true, Session: tapeapi.Session{Mount: m.ID, Kind: m.Job, VID: m.VID, Drive: "d1", Files: int64(len(jobs))}}
	last := s.tape(m.VID).LastFSeq
	for i, j := range jobs {
		r.Written = append(r.Written, tapeapi.Written{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: last + uint64(i) + 1, Block: 10 * (last + uint64(i)), Size: j.Size, Bytes: j.Size + 480})
	}
	return r
}

// archive writes what waits in all pools, by d1.
func (s *site) archive() {
	s.Helper()
	for s.waiting(tapeapi.Archive) > 0 {
		m := s.mount("d1", tapeapi.Archive)
		s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(m, s.jobs(m))))
		s.loaded("d1", "")
	}
}

// evicted makes a file that is on tape only.
func (s *site) evicted(file string) hemera.Entry {
	s.Helper()
	s.put(alice(), file, 1000)
	s.archive()
	s.good(second(s.tier.Stager.Evict(s.Context(), admin(), file)))
	return s.stat(file)
}

// waiting counts the jobs of a kind, failed ones apart.
func (s *site) waiting(kind tapeapi.JobKind) int {
	s.Helper()
	jobs, err := s.tier.Queue.TapeJobList(s.Context(), adminapi.TapeJobQuery{Kind: kind})
	s.good(err)
	return len(jobs)
}

// tape returns a tape of the catalogue.
func (s *site) tape(vid hemera.VID) tapeapi.Tape {
	s.Helper()
	all, err := s.tier.Admin.Tapes(s.Context())
	s.good(err)
	at := slices.IndexFunc(all, func(tape tapeapi.Tape) bool { return tape.VID == vid })
	if at < 0 {
		s.Fatalf("no tape %s", vid)
	}
	return all[at]
}

// stat returns a file.
func (s *site) stat(file string) hemera.Entry {
	s.Helper()
	e, err := s.tree.Tree.Stat(s.Context(), admin(), file)
	s.good(err)
	return e
}

// onTapeOnly reports whether a file has no disk copy.
func (s *site) onTapeOnly(file string) bool {
	s.Helper()
	e := s.stat(file)
	return e.Evicted()
}

// put writes a file to disk 1.
func (s *site) put(who hemera.Identity, file string, size int64) hemera.Entry {
	s.Helper()
	return s.putOn(1, who, file, size)
}

// putOn writes a file to a disk.
func (s *site) putOn(disk hemera.DiskID, who hemera.Identity, file string, size int64) hemera.Entry {
	s.Helper()
	p, err := s.tree.Writes.Prepare(s.Context(), who, hemera.OpenRequest{Path: file, Access: hemera.AccessCreate, Mode: 0o640})
	s.good(err)
	c := namespace.Commit{ID: p.ID, Gen: p.Gen, Parent: p.Parent.ID, Name: path.Base(file), Mode: 0o640, UID: who.UID, GID: who.GID,
		Size: size, Layout: hemera.Replica(1), Space: "default", Mtime: time.Now(), Who: who.Name, Pieces: []hemera.Piece{{Disk: disk}}}
	if p.Existing {
		c.BaseGen = p.Entry.Gen
	}
	e, err := s.tree.Writes.Commit(s.Context(), c)
	s.good(err)
	return e
}

// arrives brings a file to disk, as the commit of a recall does.
func (s *site) arrives(file string) {
	s.Helper()
	e := s.stat(file)
	p, _, err := s.tree.Writes.PrepareConversion(s.Context(), e.ID, e.Gen)
	s.good(err)
	_, err = s.tree.Writes.Commit(s.Context(), namespace.Commit{ID: e.ID, Gen: p.Gen, BaseGen: e.Gen, Convert: true, Parent: e.Parent, Name: e.Name, Mode: e.Mode,
		Size: e.Size, Layout: e.Layout, Space: e.Space, Sums: e.Checksums, Pieces: []hemera.Piece{{Disk: 2}}})
	s.good(err)
}

// attention returns the conditions that need a person: subjects and texts.
func (s *site) attention() (out []string) {
	s.Helper()
	p, err := s.tier.Reports.TapePicture(s.Context())
	s.good(err)
	for _, a := range p.Attention {
		out = append(out, a.Subject+" "+a.What)
	}
	return out
}

// counter returns the evict counter of a file.
func (s *site) counter(file string) int {
	s.Helper()
	n, _ := strconv.Atoi(string(s.stat(file).Xattrs[hemera.AttrEvictCounter]))
	return n
}

// stageOf asks for one file.
func stageOf(s *site, who hemera.Identity, file string) string {
	s.Helper()
	id, err := s.tier.Stager.Stage(s.Context(), who, tapeapi.StageRequest{Files: []tapeapi.StageFile{{Path: file}}})
	s.good(err)
	return id
}

// second returns the error of two results.
func second[T any](_ T, err error) error { return err }

// The configuration is durable, jobs too; mounts are not.
func TestWhatSurvivesARestart(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/double/f", 1000)
		m := s.mount("d1", tapeapi.Archive)
		given := s.jobs(m)
		config, err := s.tier.Config.TapeConfig(s.Context())
		s.good(err)
		s.start()
		again, err := s.tier.Config.TapeConfig(s.Context())
		if err != nil || string(again) != string(config) || !strings.Contains(string(again), `"double/2"`) {
			t.Errorf("%s, was %s, %v", again, config, err)
		}
		_, err = s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID})
		s.wantKind("a mount of before", err, errs.NotFound)
		// What it wrote is on tape all the same, once the server has said that the tape is in its library.
		s.wantKind("before its library is known", s.tier.Results.TapeDone(s.Context(), server, s.written(m, given)), errs.Unavailable)
		s.report()
		s.good(s.tier.Results.TapeDone(s.Context(), server, s.written(m, given)))
		if e := s.stat("/double/f"); len(e.Tape) != 1 || s.waiting(tapeapi.Archive) != 1 {
			t.Errorf("%+v", e)
		}
	})
}

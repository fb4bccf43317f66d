package rpc_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// tapeRecorder is a manager that gives prepared answers to tape servers, and remembers the calls.
type tapeRecorder struct{ recorder }

func (r *tapeRecorder) ReportLibrary(ctx context.Context, n hemera.NodeID, e hemera.Epoch, l tapeapi.Library) error {
	_, err := record[any](ctx, &r.recorder, "ReportLibrary", n, e, l)
	return err
}

func (r *tapeRecorder) NextMount(ctx context.Context, n hemera.NodeID, e hemera.Epoch, drive string) (tapeapi.Mount, error) {
	return record[tapeapi.Mount](ctx, &r.recorder, "NextMount", n, e, drive)
}

func (r *tapeRecorder) TapeJobs(ctx context.Context, n hemera.NodeID, e hemera.Epoch, want tapeapi.JobsRequest) (tapeapi.JobsReply, error) {
	return record[tapeapi.JobsReply](ctx, &r.recorder, "TapeJobs", n, e, want)
}

func (r *tapeRecorder) TapeGrant(ctx context.Context, n hemera.NodeID, e hemera.Epoch, mount tapeapi.MountID, job tapeapi.JobKey) (tapeapi.Grant, error) {
	return record[tapeapi.Grant](ctx, &r.recorder, "TapeGrant", n, e, mount, job)
}

func (r *tapeRecorder) TapeDone(ctx context.Context, n hemera.NodeID, e hemera.Epoch, results tapeapi.Results) ([]byte, error) {
	return record[[]byte](ctx, &r.recorder, "TapeDone", n, e, results)
}

// tapeStep is one call: the manager's answer, which the client must return, the call, and the arguments that the manager
// must get.
type tapeStep struct {
	reply any
	call  func() (any, error)
	want  []any
}

// tapeSteps returns calls of all methods of tapeapi.Control, with a value in each field.
func tapeSteps(ctx context.Context, node hemera.NodeID, control tapeapi.Control) []tapeStep {
	key := tapeapi.JobKey{File: 1 << 63, Kind: tapeapi.Recall, Copy: 2}
	at := hemera.TapeCopy{Number: 2, VID: "V00001", FSeq: 3, Block: 1 << 33, Member: 4}
	session := tapeapi.Session{Mount: 9, Kind: tapeapi.Archive, VID: "V00001", Drive: "d1", Begun: someTime, Ended: someTime, Files: 1, Bytes: 1 << 60,
		Failed: 2, Elapsed: time.Hour, Streaming: 0.25, BackHitches: 3, Disk: 1, Robot: 2, Tape: 3, Flushes: 4, Error: "x"}
	library := tapeapi.Library{Name: "lib", VIDs: map[hemera.VID]string{"V00001": "LTO-9"}, Capacities: map[hemera.VID]int64{"V00001": 5}, Problem: "p", Drives: []tapeapi.DriveState{{
		Name: "d1", Model: "m", Serial: "s", Device: "/dev/nst0", Media: []string{"LTO-9"}, Reads: []string{"LTO-8"}, VID: "V00001", Mount: 9,
		Status: tapeapi.DriveTransferring, Since: someTime, Problem: "q", Object: 1 << 40, Session: session}}}
	mount := tapeapi.Mount{ID: 9, Kind: tapeapi.MountWork, Job: tapeapi.Archive, VID: "V00001", Pool: "default", Why: "age",
		Labels: tapeapi.Labels{LastFSeq: 3, LastID: 4, Media: "LTO-9", Key: tapeapi.Key{Name: "k1", Secret: tapeapi.Secret{0, 255}}, Force: true, Protected: true}}
	want := tapeapi.JobsRequest{Mount: 9, Files: 10, Bytes: 1 << 40}
	jobs := tapeapi.JobsReply{Last: true, Jobs: []tapeapi.Work{{Path: somePath, Checksum: []hemera.Checksum{someSum}, Owner: hemera.FileOwner{UID: 1, GID: 2, Mode: 0o640},
		Mtime: someTime, Class: "default", Job: tapeapi.Job{JobKey: key, ArchiveID: 5, Queue: "V00001", Size: 6, UID: 7, Asked: someTime,
			Activity: "a", Policy: "p", From: &at, Attempts: 2, Error: "e", After: someTime, Failed: true, Seq: 8}}}}
	written := tapeapi.Written{Job: key, ArchiveID: 5, FSeq: 3, Block: 1 << 33, Member: 4, Size: 6, Sum: someSum, Bytes: 7}
	results := tapeapi.Results{Mount: 9, VID: "V00001", Written: []tapeapi.Written{written}, Failed: []tapeapi.Failure{{Job: key, Error: "e", Void: true, Copy: true, PutOff: true}},
		Done: []tapeapi.JobKey{key}, Full: true, Labelled: true, Problem: "p", Ended: true, Session: session,
		Scan: &tapeapi.ScanResults{Files: []tapeapi.Scanned{{Written: written, File: 1, Path: somePath, Sums: []hemera.Checksum{someSum}, Mtime: someTime, Class: "c", Copy: 2}},
			End: tapeapi.End{FSeq: 3, ArchiveID: 4, Bytes: 5}, Complete: true}}
	grant := tapeapi.Grant{Addr: "n:1", Token: "t", Path: somePath, Size: 6}
	return []tapeStep{
		{nil, func() (any, error) { return nil, control.ReportLibrary(ctx, node, 6, library) }, []any{"ReportLibrary", node, hemera.Epoch(6), library}},
		{mount, func() (any, error) { return control.NextMount(ctx, node, 6, "d1") }, []any{"NextMount", node, hemera.Epoch(6), "d1"}},
		{jobs, func() (any, error) { return control.TapeJobs(ctx, node, 6, want) }, []any{"TapeJobs", node, hemera.Epoch(6), want}},
		{grant, func() (any, error) { return control.TapeGrant(ctx, node, 6, 9, key) }, []any{"TapeGrant", node, hemera.Epoch(6), tapeapi.MountID(9), key}},
		{[]byte{1, 2}, func() (any, error) { return control.TapeDone(ctx, node, 6, results) }, []any{"TapeDone", node, hemera.Epoch(6), results}},
	}
}

// TestTapeControl tests the remote calls of tape servers in the same way: nothing changes on the way, and failures keep
// their kind.
func TestTapeControl(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	steps := tapeSteps(t.Context(), creds.Node(), client)
	for _, s := range steps {
		method := s.want[0].(string)
		c.tapes.recorder = recorder{reply: s.reply}
		got, err := s.call()
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		if diff := cmp.Diff(s.reply, got); diff != "" {
			t.Errorf("%s: the answer changed on the way (-sent +got):\n%s", method, diff)
		}
		if diff := cmp.Diff([]any{s.want}, c.tapes.calls); diff != "" {
			t.Errorf("%s: the arguments changed on the way (-sent +got):\n%s", method, diff)
		}
		c.tapes.recorder = recorder{err: errs.New(errs.Fenced, "manager.X", "n1", "older epoch")}
		if _, err = s.call(); errs.KindOf(err) != errs.Fenced {
			t.Errorf("%s: the failure became %v", method, err)
		}
	}
	if n := reflect.TypeFor[tapeapi.Control]().NumMethod(); n != len(steps) {
		t.Errorf("%d methods are tested of %d", len(steps), n)
	}
}

// TestTapeControlOfAnother: a node cannot act as another one's library, and the manager never gets the call.
func TestTapeControlOfAnother(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	for _, s := range tapeSteps(t.Context(), creds.Node()+1, client) {
		if _, err := s.call(); !errors.Is(err, errs.Denied) {
			t.Errorf("%v: %v", s.want[0], err)
		}
	}
	if len(c.tapes.calls) != 0 {
		t.Errorf("the manager got %v", c.tapes.calls)
	}
}

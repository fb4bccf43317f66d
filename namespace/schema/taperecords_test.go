package schema

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// fullTape has a value in each field of a tape.
func fullTape() *tapeapi.Tape {
	at := func(n int64) time.Time { return time.Unix(1700000000+n, 500).UTC() }
	return &tapeapi.Tape{VID: "V00001", MediaType: "LTO8", Vendor: "v", Library: "lib", Pool: "pool", Capacity: 12e12, Occupancy: 5, LastFSeq: 6, LastID: 7,
		Files: 8, Bytes: 9, Full: true, State: tapeapi.Disabled, Reason: "dust", Cause: tapeapi.Encrypted, Key: "k", Labelled: at(1), Read: at(2), Written: at(3),
		ReadBy: "d1", WrittenBy: "d2", LabelBy: "d3", Reads: 10, Writes: 11, Verified: at(4), Made: at(5), MadeBy: "a", Changed: at(6), ChangedBy: "b",
		Comment: "<c>", Foreign: true,
		Repack: &tapeapi.Task{By: "x", Begun: at(7), Files: 12, Bytes: 13, Queued: 14, Copies: true, Filled: true,
			Left: []tapeapi.Left{{Class: "cl", Copy: 2, Files: 15, Path: "/p", Why: "w", Remedy: "r"}}},
		Verifying: &tapeapi.Task{By: "y", Begun: at(8)}, Life: 16, Doubt: "doubt", ReclaimedFSeq: 17, ReclaimedID: 18, Inferred: 19, UnreadFSeq: 20,
		ReturnFSeq: 21, Returns: 22, Relabel: &tapeapi.Relabel{By: "z", Asked: at(9), Force: true}}
}

// fullFile has a value in each field of a file on a tape.
func fullFile() *tapeapi.File {
	sum := hemera.Checksum{Kind: hemera.Adler32, Value: [32]byte{1, 2, 3, 4}}
	at := time.Unix(1700000000, 0).UTC()
	return &tapeapi.File{TapeCopy: hemera.TapeCopy{Number: 1, VID: "V00001", FSeq: 2, Block: 3, Member: 4}, ArchiveID: 5, File: 6, Size: 7, Written: at, Found: true,
		Dead: &tapeapi.DeadFile{Path: "/d", Removed: at.Add(1), Why: "w", UID: 8, GID: 9, Mode: 0o640, Mtime: at.Add(2), Class: "cl", Sums: []hemera.Checksum{sum}, Inferred: true}}
}

// fullJob has a value in each field of a job.
func fullJob() *tapeapi.Job {
	at := time.Unix(1700000000, 0).UTC()
	return &tapeapi.Job{JobKey: tapeapi.JobKey{File: 1, Kind: tapeapi.Repack, Copy: 2}, ArchiveID: 3, Queue: "pool", Size: 4, UID: 5, Asked: at, Activity: "act", Policy: "pol",
		From: &hemera.TapeCopy{Number: 6, VID: "V00002", FSeq: 7, Block: 8, Member: 9}, Attempts: 10, Error: "e", Waits: "w", After: at.Add(time.Second), Failed: true, Seq: 11}
}

// TestTapeRecords holds the records of tapes, their files and jobs byte by byte: stores that exist have these. A record keeps every field, but for
// those that are found out again.
func TestTapeRecords(t *testing.T) {
	for _, test := range []struct {
		name string
		got  []byte
		want string
	}{
		{"tape", encoded(t, EncodeTape, fullTape()), `{"vid":"V00001","mediaType":"LTO8","vendor":"v","logicalLibrary":"lib","tapepool":"pool","capacity":12000000000000,"occupancy":5,"lastFseq":6,"lastArchiveId":7,"nbMasterFiles":8,"masterDataInBytes":9,"full":true,"state":"DISABLED","stateReason":"dust","stateCause":"encrypted","encryptionKeyName":"k","labelTime":"2023-11-14T22:13:21.0000005Z","lastReadTime":"2023-11-14T22:13:22.0000005Z","lastWrittenTime":"2023-11-14T22:13:23.0000005Z","lastReadDrive":"d1","lastWrittenDrive":"d2","labelDrive":"d3","readMountCount":10,"writeMountCount":11,"verifiedTime":"2023-11-14T22:13:24.0000005Z","creationTime":"2023-11-14T22:13:25.0000005Z","createdBy":"a","modificationTime":"2023-11-14T22:13:26.0000005Z","modifiedBy":"b","comment":"\u003cc\u003e","foreign":true,"repack":{"by":"x","begun":"2023-11-14T22:13:27.0000005Z","totalFiles":12,"totalBytes":13,"queuedFseq":14,"addCopies":true,"allQueued":true,"left":[{"storageClass":"cl","copyNb":2,"files":15,"firstPath":"/p","why":"w","remedy":"r"}]},"verification":{"by":"y","begun":"2023-11-14T22:13:28.0000005Z","totalFiles":0,"totalBytes":0,"queuedFseq":0,"addCopies":false,"allQueued":false},"life":16,"doubt":"doubt","reclaimedFseq":17,"reclaimedArchiveId":18,"inferredFiles":19,"unreadFseq":20,"returnFseq":21,"returns":22,"relabel":{"by":"z","asked":"2023-11-14T22:13:29.0000005Z","force":true}}`},
		{"empty tape", encoded(t, EncodeTape, &tapeapi.Tape{}), `{"vid":"","mediaType":"","vendor":"","logicalLibrary":"","tapepool":"","capacity":0,"occupancy":0,"lastFseq":0,"lastArchiveId":0,"nbMasterFiles":0,"masterDataInBytes":0,"full":false,"state":"","stateReason":"","encryptionKeyName":"","lastReadDrive":"","lastWrittenDrive":"","labelDrive":"","readMountCount":0,"writeMountCount":0,"createdBy":"","modifiedBy":"","comment":""}`},
		{"file", encoded(t, EncodeTapeFile, fullFile()), `{"Number":1,"VID":"V00001","FSeq":2,"Block":3,"Member":4,"ArchiveID":5,"File":6,"Size":7,"Written":"2023-11-14T22:13:20Z","Dead":{"Path":"/d","Removed":"2023-11-14T22:13:20.000000001Z","Why":"w","UID":8,"GID":9,"Mode":416,"Mtime":"2023-11-14T22:13:20.000000002Z","Class":"cl","Sums":["adler32:01020304"],"Inferred":true},"Found":true}`},
		{"empty file", encoded(t, EncodeTapeFile, &tapeapi.File{}), `{"Number":0,"VID":"","FSeq":0,"Block":0,"Member":0,"ArchiveID":0,"File":0,"Size":0,"Written":"0001-01-01T00:00:00Z"}`},
		{"dead file", encoded(t, EncodeTapeFile, &tapeapi.File{Dead: &tapeapi.DeadFile{}}), `{"Number":0,"VID":"","FSeq":0,"Block":0,"Member":0,"ArchiveID":0,"File":0,"Size":0,"Written":"0001-01-01T00:00:00Z","Dead":{"Path":"","Removed":"0001-01-01T00:00:00Z","Why":"","UID":0,"GID":0,"Mode":0,"Mtime":"0001-01-01T00:00:00Z","Class":""}}`},
		{"job", encoded(t, EncodeJob, fullJob()), `{"File":1,"Kind":4,"Copy":2,"ArchiveID":3,"Queue":"pool","Size":4,"UID":5,"Asked":"2023-11-14T22:13:20Z","Activity":"act","Policy":"pol","From":{"Number":6,"VID":"V00002","FSeq":7,"Block":8,"Member":9},"Attempts":10,"Error":"e","Waits":"w","After":"2023-11-14T22:13:21Z","Failed":true,"Seq":11}`},
		{"empty job", encoded(t, EncodeJob, &tapeapi.Job{}), `{"File":0,"Kind":0,"Copy":0,"ArchiveID":0,"Queue":"","Size":0,"UID":0,"Asked":"0001-01-01T00:00:00Z","Seq":0}`},
	} {
		if string(test.got) != test.want {
			t.Errorf("%s: %s", test.name, test.got)
		}
	}
	if got, err := DecodeTape(nil, encoded(t, EncodeTape, fullTape())); err != nil || !reflect.DeepEqual(got, fullTape()) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := DecodeTapeFile(nil, encoded(t, EncodeTapeFile, fullFile())); err != nil || !reflect.DeepEqual(got, fullFile()) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := DecodeJob(nil, encoded(t, EncodeJob, fullJob())); err != nil || !reflect.DeepEqual(got, fullJob()) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A field that is added to a tape is stored, or it is named here as one that follows from other records.
func TestTapeRecordsKeepEachField(t *testing.T) {
	for value, derived := range map[any][]string{fullTape(): {"Unscanned"}, fullTape().Repack: {"Waits"}} {
		v := reflect.ValueOf(value).Elem()
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && !slices.Contains(derived, name) {
				t.Errorf("%s.%s has no value here: is it stored?", v.Type(), name)
			}
		}
	}
	for _, v := range []reflect.Value{reflect.ValueOf(*fullFile()), reflect.ValueOf(*fullFile().Dead), reflect.ValueOf(*fullJob())} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s has no value here: is it stored?", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
	// What follows from other records is not in the record.
	shown := fullTape()
	shown.Unscanned, shown.Repack.Waits = "it waits", "it waits"
	if raw := encoded(t, EncodeTape, shown); string(raw) != string(encoded(t, EncodeTape, fullTape())) {
		t.Errorf("got %s", raw)
	}
}

// A time that JSON does not have, as a tape of another system may tell one, is an error.
func TestTapeRecordsOfImpossibleTimes(t *testing.T) {
	f := fullFile()
	f.Dead.Mtime = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)
	if raw, err := EncodeTapeFile(f); !errors.Is(err, errs.Invalid) {
		t.Errorf("got %s, %v", raw, err)
	}
}

// encoded returns the record of a value.
func encoded[T any](t testing.TB, encode func(*T) ([]byte, error), v *T) []byte {
	t.Helper()
	raw, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

package tape

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/output"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// The lists in JSON have at least the known keys of cta-admin --json: for drives and queues its JSON keys, for tapes,
// pools and failed requests the columns of its tables. Its nested objects are tested below.
func TestKeysOfCTA(t *testing.T) {
	p := adminapi.TapePicture{Drives: []adminapi.TapeDrive{{}}, Queues: []adminapi.TapeQueue{{Kind: tapeapi.Recall}}}
	for _, list := range []struct {
		name    string
		records []output.Record
		keys    string
	}{
		{"dr ls", driveRecords(p, time.Now()), `logicalLibrary driveName host desiredDriveState mountType driveStatus driveStatusSince vid tapepool vo
			filesTransferredInSession bytesTransferredInSession sessionId sessionElapsedTime timeSinceLastUpdate currentPriority currentActivity ctaVersion
			devFileName rawLibrarySlot reason comment diskSystemName reservedBytes schedulerBackendName instanceName logicalLibraryDisabled driveConfig`},
		{"sq", queueRecords(p, time.Now()), `mountType tapepool vo logicalLibrary vid queuedFiles queuedBytes oldestAge youngestAge priority minAge readMaxDrives
			writeMaxDrives curMounts curFiles curBytes tapesCapacity tapesFiles tapesBytes fullTapes writableTapes sleepingForSpace sleepStartTime
			diskSystemSleptFor highestPriorityMountPolicy lowestRequestAgeMountPolicy`},
		{"ta ls", []output.Record{tapeRecord(&tapeapi.Tape{}, "")}, `vid mediaType vendor logicalLibrary purchaseOrder tapepool vo encryptionKeyName capacity occupancy
			lastFseq full fromCastor state stateReason labelDrive labelTime lastWrittenDrive lastWrittenTime writeMountCount lastReadDrive lastReadTime
			readMountCount creationTime createdBy modificationTime modifiedBy instanceName comment`},
		{"fr ls", []output.Record{jobRecord(tapeapi.Work{})}, `objectId requestType copyNb tapepool vid requester group path schedulerBackendName instanceName`},
	} {
		if len(list.records) != 1 {
			t.Fatalf("%s: %d records", list.name, len(list.records))
		}
		have := map[string]bool{}
		for _, f := range list.records[0] {
			have[f.Key] = true
		}
		for _, key := range strings.Fields(list.keys) {
			if !have[key] {
				t.Errorf("%s lacks %s", list.name, key)
			}
		}
	}
}

// Nested messages are objects in JSON, with CTA's names. Times in them are seconds, whatever the flat field is. A flat
// field that an object of the same name replaces is a field of the object.
func TestObjectsOfCTA(t *testing.T) {
	made := time.Unix(1700000000, 0).UTC()
	tape := tapeRecord(&tapeapi.Tape{LabelBy: "d1", Labelled: made, WrittenBy: "d2", MadeBy: "ada", Made: made}, "")
	pool := output.Record{{Key: "name", Value: "p"}, {Key: "createdBy", Value: "ada"}, {Key: "creationTime", Value: made.Format(time.RFC3339)}, {Key: "modifiedBy", Value: "bob"}}
	job := jobRecord(tapeapi.Work{Job: tapeapi.Job{JobKey: tapeapi.JobKey{Kind: tapeapi.Recall}, Queue: "V00001", ArchiveID: 5, Size: 7, Asked: made,
		Attempts: 3, From: &hemera.TapeCopy{FSeq: 2, Block: 9}}, Path: "/f", Class: "raw"})
	for noun, want := range map[string]struct {
		record output.Record
		parts  []string
	}{
		"tape": {tape, []string{`"labelLog":{"drive":"d1","time":1700000000}`, `"lastWrittenLog":{"drive":"d2","time":0}`, `"lastReadLog":{"drive":"","time":0}`,
			`"creationLog":{"username":"ada","host":"","time":1700000000}`, `"lastModificationLog":{"username":"","host":"","time":0}`, `"labelDrive":"d1"`}},
		"pool": {pool, []string{`"created":{"username":"ada","host":"","time":1700000000}`, `"modified":{"username":"bob","host":"","time":0}`, `"createdBy":"ada"`}},
		"request": {job, []string{`"requester":{"username":"root","groupname":"root"}`,
			`"af":{"archiveId":5,"size":7,"storageClass":"raw","creationTime":1700000000,"df":{"path":"/f"}}`,
			`"tf":{"vid":"V00001","fSeq":2,"blockId":9}`, `"totalretries":3`, `"path":"/f"`}},
	} {
		var b strings.Builder
		if err := (output.Printer{W: &b, Format: output.JSON}).List(nil, withNested(noun, []output.Record{want.record})); err != nil {
			t.Fatal(err)
		}
		for _, part := range want.parts {
			if !strings.Contains(b.String(), part) {
				t.Errorf("%s lacks %s:\n%s", noun, part, b.String())
			}
		}
	}
}

// Pools have the keys of tp ls: their configuration, and the sums of their tapes.
func TestKeysOfPools(t *testing.T) {
	raw, err := json.Marshal(tapeconfig.Pool{})
	if err != nil {
		t.Fatal(err)
	}
	said, err := fields(raw)
	if err != nil {
		t.Fatal(err)
	}
	r := withSums(append(output.Record{{Key: "name", Value: "p"}}, said...), &adminapi.TapePool{})
	for _, key := range strings.Fields(`name vo numTapes numPartialTapes numPhysicalFiles capacityBytes dataBytes encrypt encryptionKeyName supply comment instanceName`) {
		if r.Get(key) == nil {
			t.Errorf("tp ls lacks %s", key)
		}
	}
}

// Archives wait for a pool, all other requests for a tape.
func TestWhereRequestsWait(t *testing.T) {
	for kind, want := range map[tapeapi.JobKind]string{tapeapi.Archive: "x/", tapeapi.Recall: "/x", tapeapi.Verify: "/x"} {
		r := jobRecord(tapeapi.Work{Job: tapeapi.Job{JobKey: tapeapi.JobKey{Kind: kind}, Queue: "x"}})
		if got := r.Get("tapepool").(string) + "/" + r.Get("vid").(string); got != want {
			t.Errorf("%s waits for %s, want %s", kind, got, want)
		}
	}
}

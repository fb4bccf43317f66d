package tape

import (
	"strings"
	"testing"
	"time"

	"hemera"
	"hemera/cmd/hemera/internal/output"
)

// The keys of the lists in JSON are those of cta-admin --json, as far as they are known: of drives and queues its own, of tapes, pools and failed
// requests those of the columns of its tables. There may be more.
func TestKeysOfCTA(t *testing.T) {
	p := hemera.TapePicture{Drives: []hemera.TapeDrive{{}}, Queues: []hemera.TapeQueue{{Kind: hemera.TapeRecall}}}
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
		{"ta ls", []output.Record{tapeRecord(&hemera.Tape{}, "")}, `vid mediaType vendor logicalLibrary purchaseOrder tapepool vo encryptionKeyName capacity occupancy
			lastFseq full fromCastor state stateReason labelDrive labelTime lastWrittenDrive lastWrittenTime writeMountCount lastReadDrive lastReadTime
			readMountCount creationTime createdBy modificationTime modifiedBy instanceName comment`},
		{"fr ls", []output.Record{jobRecord(hemera.TapeWork{})}, `objectId requestType copyNb tapepool vid requester group path schedulerBackendName instanceName`},
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

// Archives wait for a pool, all other requests for a tape.
func TestWhereRequestsWait(t *testing.T) {
	for kind, want := range map[hemera.TapeJobKind]string{hemera.TapeArchive: "x/", hemera.TapeRecall: "/x", hemera.TapeVerify: "/x"} {
		r := jobRecord(hemera.TapeWork{TapeJob: hemera.TapeJob{TapeJobKey: hemera.TapeJobKey{Kind: kind}, Queue: "x"}})
		if got := r.Get("tapepool").(string) + "/" + r.Get("vid").(string); got != want {
			t.Errorf("%s waits for %s, want %s", kind, got, want)
		}
	}
}

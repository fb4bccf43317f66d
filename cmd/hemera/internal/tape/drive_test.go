package tape

import (
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/tapeapi"
)

// TestADriveThatGoesDown: a drive that was put down but still works shows that it is going down, because its status stays
// for a while.
func TestADriveThatGoesDown(t *testing.T) {
	for _, c := range []struct {
		drive           adminapi.TapeDrive
		desired, reason string
	}{
		{adminapi.TapeDrive{DriveState: tapeapi.DriveState{Status: "TRANSFERRING"}, Reason: "dust (ada)"}, "DOWN", "going down, after what it does now: dust (ada)"},
		{adminapi.TapeDrive{DriveState: tapeapi.DriveState{Status: "DOWN"}, Reason: "dust (ada)"}, "DOWN", "dust (ada)"},
		{adminapi.TapeDrive{DriveState: tapeapi.DriveState{Status: "DOWN", Problem: "no answer"}, Up: true}, "UP", "no answer"},
		{adminapi.TapeDrive{DriveState: tapeapi.DriveState{Status: "FREE"}, Up: true, Reason: "of before"}, "UP", ""},
	} {
		r := driveRecords(adminapi.TapePicture{Drives: []adminapi.TapeDrive{c.drive}}, time.Now())[0]
		if r.Get("desiredDriveState") != c.desired || r.Get("reason") != c.reason {
			t.Errorf("%+v: desired %v, %q", c.drive, r.Get("desiredDriveState"), r.Get("reason"))
		}
	}
}

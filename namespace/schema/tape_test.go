package schema

import (
	"testing"
	"time"

	"hemera/words/tapeapi"
)

// A key of a sum says what its job says; those of before mount policies end with the user.
func TestQueueOf(t *testing.T) {
	j := tapeapi.Job{JobKey: tapeapi.JobKey{Kind: tapeapi.Recall}, Queue: "V00001", UID: 7, Asked: time.Unix(1, 0)}
	for _, policy := range []string{"", "x", "a longer name"} {
		for _, failed := range []bool{false, true} {
			j.Policy, j.Failed = policy, failed
			kind := uint8(j.Kind)
			if failed {
				kind += FailedJobs
			}
			got, err := QueueOf(SumKey(&j))
			if want := (Queue{kind, j.Queue, j.UID, policy}); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		}
	}
	j.Policy = ""
	k := SumKey(&j)
	if string(k) != string(UserQueueKey(TableQueue, uint8(j.Kind)+FailedJobs, j.Queue, j.UID)) {
		t.Errorf("%x", k)
	}
	for n := range len(k) {
		if got, err := QueueOf(k[:n]); err == nil {
			t.Errorf("%d bytes are %+v", n, got)
		}
	}
}

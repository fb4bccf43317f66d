package prepare

import (
	"encoding/json"
	"strconv"
	"time"

	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// State is the state of one file in the answer to `query prepare`. The fields are those of EOS and CTA, with estimate and
// why.
type State struct {
	Path      string `json:"path"`
	Exists    bool   `json:"path_exists"`
	OnTape    bool   `json:"on_tape"`
	Online    bool   `json:"online"`
	Requested bool   `json:"requested"`
	HasReqID  bool   `json:"has_reqid"`
	ReqTime   string `json:"req_time"` // seconds since 1970, "" for none
	Error     string `json:"error_text"`
	// Estimate is the time at which the file may be on disk, in seconds since 1970, and Why the reason for which it
	// waits; "" if unknown.
	Estimate string `json:"estimate"`
	Why      string `json:"why"`
}

// stateOf returns the state of a file with the locality.
func stateOf(l tapeapi.Locality) State {
	return State{
		Path: l.Path, Exists: l.Exists, OnTape: l.OnTape, Online: l.OnDisk, Requested: l.Requested, HasReqID: l.HasID,
		ReqTime: seconds(l.Asked), Error: errs.Plain(l.Error), Estimate: seconds(l.Estimate), Why: l.Why,
	}
}

// seconds returns a time in seconds since 1970, and "" for the zero time.
func seconds(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.Unix(), 10)
}

// answer returns the answer to `query prepare`: a JSON object on one line.
func answer(id string, list []State) (string, error) {
	if list == nil {
		list = []State{} // clients expect a JSON list
	}
	text, err := json.Marshal(struct {
		ID        string  `json:"request_id"`
		Responses []State `json:"responses"`
	}{id, list})
	return string(text), errs.Wrap(err, "xrd.Prepare", id)
}

const (
	// recallWaitUnknown is the time, in seconds, after which a client asks again for a file that is being recalled, if no
	// estimate is known.
	recallWaitUnknown = 5
	// Otherwise the wait is half of the estimated rest, within these bounds, in seconds.
	recallWaitMin, recallWaitMax = 1, 10
)

// recallWait returns the number of seconds after which a client opens again a file that is being recalled.
// Half of the estimated rest is never much too late. The upper bound is for wrong estimates, as with drives faster than
// LTO-9: an early file waits at most that long. Each try costs one open.
func recallWait(l tapeapi.Locality, now time.Time) int32 {
	if l.Estimate.IsZero() {
		return recallWaitUnknown
	}
	half := l.Estimate.Sub(now) / 2
	return int32(min(recallWaitMax, max(recallWaitMin, int64(half.Round(time.Second)/time.Second))))
}

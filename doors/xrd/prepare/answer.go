package prepare

import (
	"encoding/json"
	"strconv"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// State is one file in the answer to `query prepare`. The fields are those of EOS and CTA, with estimate and why.
type State struct {
	Path      string `json:"path"`
	Exists    bool   `json:"path_exists"`
	OnTape    bool   `json:"on_tape"`
	Online    bool   `json:"online"`
	Requested bool   `json:"requested"`
	HasReqID  bool   `json:"has_reqid"`
	ReqTime   string `json:"req_time"` // seconds since 1970, "" for none
	Error     string `json:"error_text"`
	// Estimate is when the file may be on disk, in seconds since 1970, and Why what it waits for; "" if that is not known.
	Estimate string `json:"estimate"`
	Why      string `json:"why"`
}

// stateOf is the state of a file by its locality.
func stateOf(l hemera.Locality) State {
	return State{
		Path: l.Path, Exists: l.Exists, OnTape: l.OnTape, Online: l.OnDisk, Requested: l.Requested, HasReqID: l.HasID,
		ReqTime: seconds(l.Asked), Error: errs.Plain(l.Error), Estimate: seconds(l.Estimate), Why: l.Why,
	}
}

// seconds is a time as clients of tape read it.
func seconds(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.Unix(), 10)
}

// answer is the answer to `query prepare`: a JSON object on one line.
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
	// recallWaitUnknown is how long a client waits for a file that is being recalled before it asks again, in seconds, when
	// nobody knows how long that takes.
	recallWaitUnknown = 5
	// The wait is otherwise half of what is left, within these bounds, in seconds.
	recallWaitMin, recallWaitMax = 1, 10
)

// recallWait is how many seconds a client is to wait before it opens a file again that is being recalled.
//
// Half of what is left is never much too late. The upper bound is for estimates that are wrong, as those of drives that are faster
// than LTO-9: an early file waits for that long at most. A question costs one open.
func recallWait(l hemera.Locality, now time.Time) int32 {
	if l.Estimate.IsZero() {
		return recallWaitUnknown
	}
	half := l.Estimate.Sub(now) / 2
	return int32(min(recallWaitMax, max(recallWaitMin, int64(half.Round(time.Second)/time.Second))))
}

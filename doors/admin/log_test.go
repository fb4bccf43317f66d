package admin

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// TestRequestsInLogsAreJSON checks that a request is an object in JSON logs, and the same JSON in text logs.
func TestRequestsInLogsAreJSON(t *testing.T) {
	var text, object bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&object, nil)} {
		d := &door{Services: Services{Log: slog.New(h)}}
		d.audit(t.Context(), hemera.SystemIdentity(), "SetDisk", &adminapi.SetDiskRequest{ID: 2, Key: "configstatus", Value: "drain"})
	}
	if got := strings.ReplaceAll(text.String(), `\`, ""); !strings.Contains(got, `"Key":"configstatus","Value":"drain"}`) || strings.Contains(got, "&{") {
		t.Errorf("text log: %s", got)
	}
	if !strings.Contains(object.String(), `"request":{"ID":2,"Key":"configstatus","Value":"drain"}`) {
		t.Errorf("JSON log: %s", &object)
	}
}

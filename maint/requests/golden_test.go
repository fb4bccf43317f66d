package requests

import (
	"encoding/json"
	"testing"
	"time"

	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// TestStoredRequests holds the records byte by byte: stores that exist have these.
func TestStoredRequests(t *testing.T) {
	at := time.Unix(1700000000, 500).UTC()
	full := adminapi.Conversion{ID: 1, ConversionRequest: adminapi.ConversionRequest{Path: "/p", Recursive: true,
		Form: hemera.Form{Layout: hemera.Replica(2), BlockSize: 1 << 20, Space: "s", Checksum: hemera.Adler32}}, Root: 2, Who: "w", Asked: at, Ended: at.Add(1),
		Pass: 3, Cursor: "c", Seen: 4, SeenBytes: 5, Done: 6, Bytes: 7, Skipped: 8, Failed: 9, Replaced: 10, Why: "y", Ending: "stopped", Left: 11, LeftBytes: 12}
	tree := lifecycle.Tree{Dir: 1, Since: at, Scanned: at.Add(1), Changed: at.Add(2), By: hemera.Setter{Admin: true, UID: 3}}
	for _, test := range []struct {
		name   string
		record any
		want   string
	}{
		{"request", recordOf(full), `{"ID":1,"Path":"/p","Recursive":true,"Form":{"Layout":{"Kind":2,"Data":1,"Pieces":2,"Local":0,"BlockSize":0},"BlockSize":1048576,"Space":"s","Checksum":"adler32"},"Root":2,"Who":"w","Asked":"2023-11-14T22:13:20.0000005Z","Ended":"2023-11-14T22:13:20.000000501Z","Pass":3,"Cursor":"c","Seen":4,"SeenBytes":5,"Done":6,"Bytes":7,"Skipped":8,"Failed":9,"Replaced":10,"Why":"y","Ending":"stopped","Left":11,"LeftBytes":12}`},
		{"empty request", recordOf(adminapi.Conversion{}), `{"ID":0,"Path":"","Recursive":false,"Form":{"Layout":{"Kind":0,"Data":0,"Pieces":0,"Local":0,"BlockSize":0},"BlockSize":0,"Space":"","Checksum":"none"},"Root":0,"Who":"","Asked":"0001-01-01T00:00:00Z","Ended":"0001-01-01T00:00:00Z","Pass":0,"Cursor":"","Seen":0,"SeenBytes":0,"Done":0,"Bytes":0,"Skipped":0,"Failed":0,"Why":""}`},
		{"tree", recordOfTree(tree), `{"Dir":1,"Since":"2023-11-14T22:13:20.0000005Z","Scanned":"2023-11-14T22:13:20.000000501Z","Changed":"2023-11-14T22:13:20.000000502Z","By":{"Admin":true,"UID":3}}`},
		{"empty tree", recordOfTree(lifecycle.Tree{}), `{"Dir":0,"Since":"0001-01-01T00:00:00Z","Scanned":"0001-01-01T00:00:00Z"}`},
	} {
		if got, err := json.Marshal(test.record); err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v", test.name, got, err)
		}
	}
	if got := recordOf(full).conversion(); got != full {
		t.Errorf("got %+v", got)
	}
	if got := recordOfTree(tree).tree(); got != tree {
		t.Errorf("got %+v", got)
	}
}

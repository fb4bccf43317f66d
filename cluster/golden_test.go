package cluster

import (
	"encoding/json"
	"testing"
	"time"

	"hemera/words/hemera"
)

// TestStoredRecords holds records byte by byte: stores that exist have these.
func TestStoredRecords(t *testing.T) {
	at := time.Unix(1700000000, 500).UTC()
	survey := hemera.DiskSurvey{LastAudit: at, AuditDue: at.Add(1), LastScrub: at.Add(2), Away: true, Changes: 3, Older: true}
	for _, test := range []struct {
		record record
		want   string
	}{
		{keyRecord{ID: 1, Secret: []byte("secret"), Node: 2, Made: at, Version: 2, Ends: at.Add(1)}, `{"ID":1,"Secret":"c2VjcmV0","Node":2,"Made":"2023-11-14T22:13:20.0000005Z","Version":2,"Ends":"2023-11-14T22:13:20.000000501Z"}`},
		{keyRecord{}, `{"ID":0,"Secret":null,"Node":0,"Made":"0001-01-01T00:00:00Z","Version":0,"Ends":"0001-01-01T00:00:00Z"}`},
		{surveyOf(7, survey), `{"Disk":7,"LastAudit":"2023-11-14T22:13:20.0000005Z","AuditDue":"2023-11-14T22:13:20.000000501Z","LastScrub":"2023-11-14T22:13:20.000000502Z","Away":true,"Changes":3,"Older":true}`},
		{surveyRecord{}, `{"Disk":0,"LastAudit":"0001-01-01T00:00:00Z","AuditDue":"0001-01-01T00:00:00Z","LastScrub":"0001-01-01T00:00:00Z","Away":false}`},
		{spaceRecord{Name: "s", Layout: hemera.Replica(2), BlockSize: 4096, Checksum: "adler32", PiecesMin: 1, NoSync: true, Headroom: 5, Recycle: "r",
			Balancer: balancerRecord{Off: true, Threshold: 7, Rate: 8}}, `{"Name":"s","Layout":{"Kind":2,"Data":1,"Pieces":2,"Local":0,"BlockSize":0},"BlockSize":4096,"Checksum":"adler32","PiecesMin":1,"NoSync":true,"Headroom":5,"Recycle":"r","Balancer":{"Off":true,"Threshold":7,"Rate":8}}`},
		{spaceRecord{}, `{"Name":"","Layout":{"Kind":0,"Data":0,"Pieces":0,"Local":0,"BlockSize":0},"Checksum":"","PiecesMin":0,"NoSync":false,"Headroom":0}`},
		{diskRecord{ID: 1, UUID: "u", Node: 2, Path: "/d", Space: "s", ZoneSet: "z", Config: hemera.ConfigRO, Removed: true, RemovedAt: 3, RemovedAddr: "a:1",
			Cleared: clearedErrors{4, 5, 6}}, `{"ID":1,"UUID":"u","Node":2,"Path":"/d","Space":"s","ZoneSet":"z","Config":"ro","Removed":true,"RemovedAt":3,"RemovedAddr":"a:1","Cleared":{"Started":4,"Checksum":5,"IO":6}}`},
		{nodeRecord{ID: 1, Addr: "a", Zone: "z", ZoneSet: "y", Disabled: true, Waiting: true, Epoch: 2, Version: "v"}, `{"ID":1,"Addr":"a","Zone":"z","ZoneSet":"y","Disabled":true,"Waiting":true,"Epoch":2,"Version":"v"}`},
	} {
		if got, err := json.Marshal(test.record); err != nil || string(got) != test.want {
			t.Errorf("%T: %s, %v", test.record, got, err)
		}
	}
}

package tier

import (
	"reflect"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/tapeapi"
)

// TestStoredScans holds the record of a scan byte by byte: stores that exist have these.
func TestStoredScans(t *testing.T) {
	at := time.Unix(1700000000, 500).UTC()
	full := &scan{TapeScan: adminapi.TapeScan{VID: "V00001", DryRun: true, Asked: at, Begun: at.Add(1), Ended: at.Add(2), Drive: "d", FSeq: 1, Files: 2, Bytes: 3,
		Counts: map[tapeapi.Outcome]int64{tapeapi.TookKnown: 4, tapeapi.TookLost: 5},
		Found:  []tapeapi.Taken{{Outcome: tapeapi.TookDead, FSeq: 6, Member: 7, ArchiveID: 8, Size: 9, Path: "/p", Why: "w"}, {}}, Why: "y", Problem: "p"},
		order: adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: "V00001", Force: true, Only: true, DryRun: true, To: "/t", Data: true, After: 10, Lose: 11, Tape: true},
		who:   "admin", cancelled: true}
	for _, test := range []struct {
		name string
		scan *scan
		want string
	}{
		{"full", full, `{"Scan":{"VID":"V00001","DryRun":true,"Asked":"2023-11-14T22:13:20.0000005Z","Begun":"2023-11-14T22:13:20.000000501Z","Ended":"2023-11-14T22:13:20.000000502Z","Drive":"d","FSeq":1,"Files":2,"Bytes":3,"Counts":{"known":4,"lost":5},"Found":[{"Outcome":"dead","FSeq":6,"Member":7,"ArchiveID":8,"Size":9,"Path":"/p","Why":"w"},{"Outcome":"","FSeq":0,"ArchiveID":0,"Size":0}],"Why":"y","Problem":"p"},"Order":{"Kind":"scan","Subject":"V00001","Force":true,"Only":true,"DryRun":true,"To":"/t","Data":true,"After":10,"Lose":11,"Tape":true},"Who":"admin","Cancelled":true}`},
		{"empty", &scan{}, `{"Scan":{"VID":"","DryRun":false,"Asked":"0001-01-01T00:00:00Z","Drive":"","FSeq":0,"Files":0,"Bytes":0,"Counts":null,"Found":null,"Why":"","Problem":""},"Order":{"Kind":"","Subject":"","Force":false,"Only":false,"DryRun":false,"To":"","Data":false},"Who":""}`},
		{"without findings", &scan{TapeScan: adminapi.TapeScan{Counts: map[tapeapi.Outcome]int64{}, Found: []tapeapi.Taken{}}}, `{"Scan":{"VID":"","DryRun":false,"Asked":"0001-01-01T00:00:00Z","Drive":"","FSeq":0,"Files":0,"Bytes":0,"Counts":{},"Found":[],"Why":"","Problem":""},"Order":{"Kind":"","Subject":"","Force":false,"Only":false,"DryRun":false,"To":"","Data":false},"Who":""}`},
	} {
		if got, err := test.scan.record(); err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v", test.name, got, err)
		}
		if got, err := readScan([]byte(test.want)); err != nil || !reflect.DeepEqual(got, test.scan) {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
}

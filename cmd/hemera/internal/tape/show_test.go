package tape

import (
	"testing"

	"hemera/cmd/hemera/internal/output"
)

// A queue to read is named by its tape, a queue to write by its pool.
func TestNamesOfQueues(t *testing.T) {
	l := listing{keys: []string{"vid", "tapepool"}}
	read := output.Record{{Key: "tapepool", Value: "raw"}, {Key: "vid", Value: "V00001"}}
	write := output.Record{{Key: "tapepool", Value: "raw"}, {Key: "vid", Value: ""}}
	if !l.is(read, "V00001") || l.is(read, "raw") || !l.is(write, "raw") || l.is(write, "V00001") || l.is(write, "") {
		t.Error("queues are known by other names than their own")
	}
}

// The page of an object has every field of a record, not only the columns of the table, and shows a list in one line.
func TestFieldsOfShow(t *testing.T) {
	r := output.Record{{Key: "name", Value: "x"}, {Key: "size", Value: int64(2000)}, {Key: "creationTime", Value: int64(0)},
		{Key: "driveConfig", Value: []output.Record{driveConfig("model", "EMU")}}}
	columns := fieldsOf([]output.Column{{Title: "how much", Key: "size", Show: output.Bytes}}, r)
	for i, want := range []string{"", "2.00 kB", "never", "model=EMU"} {
		c := columns[i]
		if c.Key != r[i].Key || (want == "") != (c.Show == nil) || want != "" && c.Show(r[i].Value) != want {
			t.Errorf("field %d is %+v, want %q", i, c, want)
		}
	}
}

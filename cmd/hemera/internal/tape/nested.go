package tape

import (
	"strings"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
)

// cta-admin prints protobuf messages as JSON, so that some of its values are
// objects in objects: who made a tape is creationLog.username. Records are
// flat, for tables and for -m, and JSON has CTA's objects besides.

// nested is a value of CTA's JSON, and the flat field that it is.
type nested struct{ key, flat string }

// nestedOf are CTA's objects of a noun, in the order of its messages. A flat
// field that is "" is one that nobody keeps: the host that an admin was at.
func nestedOf(noun string) []nested {
	// Nouns whose messages are flat in CTA too, such as drives, have none.
	switch noun {
	case "tape":
		return append([]nested{{"labelLog.drive", "labelDrive"}, {"labelLog.time", "labelTime"},
			{"lastWrittenLog.drive", "lastWrittenDrive"}, {"lastWrittenLog.time", "lastWrittenTime"},
			{"lastReadLog.drive", "lastReadDrive"}, {"lastReadLog.time", "lastReadTime"}}, logs("creationLog", "lastModificationLog")...)
	case "pool": // which CTA names otherwise than for tapes
		return logs("created", "modified")
	case "request":
		// af is the archive file, df the disk file that it was, tf the copy that
		// is read. The last is in lower case in CTA.
		return []nested{{"requester.username", "requester"}, {"requester.groupname", "group"},
			{"af.archiveId", "archiveId"}, {"af.size", "size"}, {"af.storageClass", "storageClass"}, {"af.creationTime", "asked"}, {"af.df.path", "path"},
			{"tf.vid", "vid"}, {"tf.fSeq", "fSeq"}, {"tf.blockId", "blockId"}, {"totalretries", "attempts"}}
	}
	return nil
}

// logs are the messages that say who made an object, and who changed it last.
func logs(made, changed string) []nested {
	return []nested{{made + ".username", "createdBy"}, {made + ".host", ""}, {made + ".time", "creationTime"},
		{changed + ".username", "modifiedBy"}, {changed + ".host", ""}, {changed + ".time", "modificationTime"}}
}

// inForm returns the records of a noun with CTA's objects, if they go out as
// JSON. A flat field of an object's name makes room for it.
func inForm(e *cli.Env, noun string, records []output.Record) []output.Record {
	if e.Printer().Format != output.JSON {
		return records
	}
	return withNested(noun, records)
}

// withNested is inForm for JSON.
func withNested(noun string, records []output.Record) (out []output.Record) {
	more := nestedOf(noun)
	// Two values of one name are no JSON; scripts for CTA expect the object.
	objects := map[string]bool{}
	for _, n := range more {
		if name, _, is := strings.Cut(n.key, "."); is {
			objects[name] = true
		}
	}
	for _, flat := range records {
		var r output.Record
		for _, f := range flat {
			if !objects[f.Key] {
				r = append(r, f)
			}
		}
		// Behind the flat fields, whose order people know.
		for _, n := range more {
			r = append(r, output.Field{Key: n.key, Value: valueOf(flat, n)})
		}
		out = append(out, r)
	}
	return out
}

// valueOf is the value of an object's field. Times are seconds everywhere in
// CTA, also those that the configuration has as text; 0 is never.
func valueOf(flat output.Record, n nested) any {
	// All keys are always there, so that a script needs no case for a tape
	// that was never written.
	value := flat.Get(n.flat)
	if !strings.HasSuffix(n.key, ".time") {
		if value == nil {
			return ""
		}
		return value
	}
	switch v := value.(type) {
	case int64:
		return v
	case string:
		at, err := time.Parse(time.RFC3339, v)
		if err == nil {
			return at.Unix()
		}
	}
	return int64(0)
}

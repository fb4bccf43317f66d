package tape

import (
	"strings"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
)

// cta-admin prints protobuf messages as JSON, in which some values are nested: the maker of a tape is
// creationLog.username. Records are flat, for tables and -m; JSON also gets CTA's objects.

// nested pairs a key of CTA's nested JSON with the key of the flat field that has its value.
type nested struct{ key, flat string }

// nestedOf returns CTA's objects of a noun, in the order of its messages. A flat key of "" stands for a value that Hemera
// does not record, such as the host of an admin.
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
		// af is the archive file, df the disk file, tf the copy that is read. tf is lower case in CTA.
		return []nested{{"requester.username", "requester"}, {"requester.groupname", "group"},
			{"af.archiveId", "archiveId"}, {"af.size", "size"}, {"af.storageClass", "storageClass"}, {"af.creationTime", "asked"}, {"af.df.path", "path"},
			{"tf.vid", "vid"}, {"tf.fSeq", "fSeq"}, {"tf.blockId", "blockId"}, {"totalretries", "attempts"}}
	}
	return nil
}

// logs returns the messages for the maker of an object and for its last change.
func logs(made, changed string) []nested {
	return []nested{{made + ".username", "createdBy"}, {made + ".host", ""}, {made + ".time", "creationTime"},
		{changed + ".username", "modifiedBy"}, {changed + ".host", ""}, {changed + ".time", "modificationTime"}}
}

// inForm returns the records of a noun, for JSON with CTA's objects. An object replaces a flat field of the same name.
func inForm(e *cli.Env, noun string, records []output.Record) []output.Record {
	if e.Printer().Format != output.JSON {
		return records
	}
	return withNested(noun, records)
}

// withNested adds CTA's objects to the records of a noun.
func withNested(noun string, records []output.Record) (out []output.Record) {
	more := nestedOf(noun)
	// JSON must not have two values of one name; scripts for CTA expect the object.
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
		// The objects come after the flat fields, whose order users know.
		for _, n := range more {
			r = append(r, output.Field{Key: n.key, Value: valueOf(flat, n)})
		}
		out = append(out, r)
	}
	return out
}

// valueOf returns the value of an object's field. All times are seconds, as in CTA, also those that are text in the
// configuration; 0 means never.
func valueOf(flat output.Record, n nested) any {
	// All keys are always present, so that a script needs no special case for a tape that was never written.
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

package cli

import (
	"testing"
)

func TestErrorsForPeople(t *testing.T) {
	for text, want := range map[string][2]string{
		"admin.Authorize 10.77.0.5: admin calls are taken from processes of the manager's own machine only":  {"authorize 10.77.0.5: admin calls are taken from processes of the manager's own machine only"},
		"link.Dial 10.0.0.1:1094: connection refused":                                                        {"dial 10.0.0.1:1094: connection refused"},
		"commit /py/lock.bin: commit /py/lock.bin: namespace.Commit fid:203104 lock.bin: the name was taken": {"commit /py/lock.bin: the name was taken"},
		"open root://h:1094//exp/x: open /exp/x: permission denied [trace 0123abcd] (3010)":                  {"open root://h:1094//exp/x: permission denied", "0123abcd"},
		"stat root://h:1094//exp/x: no such file or directory [trace 0123abcd] (3011)":                       {"stat root://h:1094//exp/x: no such file or directory", "0123abcd"},
		"namespace.Stat /f: no such file":                                                                    {"stat /f: no such file"},
		"hemera.FsAdd /data07: hemera.ReadDiskId x: want a number":                                           {"fs add /data07: read disk id x: want a number"},
		"copy /a/b: read /a/b: input/output error":                                                           {"copy /a/b: input/output error"},
		"copy /a/b: open /a/c: permission denied":                                                            {"copy /a/b: open /a/c: permission denied"},
		"disk.ReadLabel /d: layout.Decide: no label":                                                         {"read label /d: no label"},
		"copy.Copy (first of 2 failures): xrootd.Stat root://h:1094//exp/x: no such file or directory":       {"copy (first of 2 failures): root://h:1094//exp/x: no such file or directory"},
		"xrootd.Open root://h:1094//exp/x: xrootd.TalkTo node3:1095: the connection was lost":                {"open root://h:1094//exp/x: node3:1095: the connection was lost"},
		"hemera.NsBackup: no space":                                                                          {"ns backup: no space"},
		"place.Choose":                                                                                       {"place.Choose"},
		"place.Choose: no disk has room":                                                                     {"no disk has room"},
		"open /data/x.Root: no":                                                                              {"open /data/x.Root: no"},
		"read --size 5: want +n or -n":                                                                       {"read --size 5: want +n or -n"},
		"":                                                                                                   {""},
		"rm: interrupted; 3 files removed":                                                                   {"rm: interrupted; 3 files removed"},
		"copy root://h//f: checksum is adler32:01, the copy has crc32c:2":                                    {"copy root://h//f: checksum is adler32:01, the copy has crc32c:2"},
	} {
		if plain, trace := plainly(text); plain != want[0] || trace != want[1] {
			t.Errorf("%q became %q, %q; want %q", text, plain, trace, want)
		}
	}
}

package disks

import (
	"testing"
)

func TestIsFolder(t *testing.T) {
	if !IsFolder(t.TempDir()) || IsFolder("/proc") || IsFolder(t.TempDir()+"/missing") {
		t.Error("folders and mount points are mixed up")
	}
}

package memjournal_test

import (
	"testing"

	"hemera/platform/kv/journal"
	"hemera/platform/kv/journal/journaltest"
	"hemera/platform/kv/journal/memjournal"
)

func TestConformance(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journal.Journal { return memjournal.New().Machine("a") })
}

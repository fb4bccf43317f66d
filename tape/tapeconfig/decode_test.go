package tapeconfig

import (
	"encoding/json"
	"testing"
)

// What an earlier version stored has the defaults for what it did not know, and keeps what it did.
func TestDecodeOfAnEarlierVersion(t *testing.T) {
	c, err := Decode([]byte(`{"mounting":{"default":{"minBytesToWarrantAMount":5,"minFilesToWarrantAMount":6,"lingerSeconds":0,"comment":"ours"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	m, was := c.MountCriteria(), Defaults().Mounting[DefaultName]
	if m.MinBytes != 5 || m.MinFiles != 6 || m.Linger != 0 || m.Comment != "ours" || m.Turn != was.Turn || m.Batch != was.Batch {
		t.Errorf("%+v", m)
	}
	if c.BufferOf("default") != Defaults().Buffers[DefaultName] || c.BufferOf("other") != c.BufferOf("default") {
		t.Errorf("%+v", c.Buffers)
	}
	// What is stored now comes back as it was.
	c.Buffers["fast"] = Buffer{EvictBelow: 1, EvictUntil: 2, MinAge: 3}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(raw)
	if err != nil || again.BufferOf("fast") != c.BufferOf("fast") || again.MountCriteria() != m {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := Decode([]byte("{")); err == nil {
		t.Error("half a configuration was read")
	}
}

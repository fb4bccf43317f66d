package schema

import (
	"bytes"
	"testing"
	"time"

	"hemera/words/tapeapi"
)

// FuzzDecodeTape does what FuzzDecode does, for the records of tapes, writes that were cut and restores.
func FuzzDecodeTape(f *testing.F) {
	f.Add(encoded(f, EncodeTape, fullTape()))
	f.Add(encoded(f, EncodeTapeFile, fullFile()))
	f.Add(encoded(f, EncodeJob, fullJob()))
	f.Add(EncodeFound(7))
	f.Add(EncodeBarred(time.Unix(1, 0), 7))
	f.Add(EncodeRenamed(time.Unix(1, 0), "name"))
	f.Add(AppendQueueSum(nil, &QueueSum{1, 2}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if v, err := DecodeTape(nil, raw); err == nil {
			if again, err := DecodeTape(nil, encoded(t, EncodeTape, v)); err != nil || !bytes.Equal(encoded(t, EncodeTape, again), encoded(t, EncodeTape, v)) {
				t.Errorf("tape %+v: %v", v, err)
			}
		}
		if v, err := DecodeTapeFile(nil, raw); err == nil {
			if again, err := DecodeTapeFile(nil, encoded(t, EncodeTapeFile, v)); err != nil || !bytes.Equal(encoded(t, EncodeTapeFile, again), encoded(t, EncodeTapeFile, v)) {
				t.Errorf("file %+v: %v", v, err)
			}
		}
		if id, err := DecodeFound(nil, raw); err == nil && !bytes.Equal(EncodeFound(*id), raw) {
			t.Errorf("found %d of %x", *id, raw)
		}
		if id, err := DecodeBarred(raw); err == nil && !bytes.Equal(EncodeBarred(DecodeUntil(raw), id), raw) {
			t.Errorf("barred %d of %x", id, raw)
		}
		if name, err := DecodeRenamed(nil, raw); err == nil && !bytes.Equal(EncodeRenamed(DecodeUntil(raw), *name), raw) {
			t.Errorf("renamed %q of %x", *name, raw)
		}
		if q, err := DecodeQueueSum(nil, raw); err == nil && !bytes.Equal(AppendQueueSum(nil, q), raw) {
			t.Errorf("sum %+v of %x", q, raw)
		}
		if a, b, err := DecodePair(nil, raw); err == nil && !bytes.Equal(EncodePair(a, b), raw) {
			t.Errorf("pair %d, %d of %x", a, b, raw)
		}
		_, _ = DecodeJob(nil, raw)
		_ = DecodeMount(raw, new(tapeapi.Mount))
		_ = DecodeStage(raw, new(tapeapi.StageRequest))
		_, _ = QueueOf(raw)
	})
}

package etcdjournal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// found is the state of the journal when the condition of an append did not hold.
type found struct {
	epoch uint64           // of the writer
	last  journal.Position // the last entry
	entry []byte           // the one that has the number of the append; nil without one
}

// judge returns the result of an append whose condition did not hold, given its own position and the sum of the entry before it. nil if the entry is
// there: an earlier try of the same transaction put it, and its answer was lost. The order matters: an entry that got in before a newer epoch began is
// committed.
func judge(mine journal.Position, prev uint64, f found) error {
	const op = "etcdjournal.Append"
	if f.entry != nil {
		_, theirs, err := journal.Decode(f.entry)
		if err != nil {
			return err
		}
		if theirs == mine {
			return nil
		}
		return errs.New(errs.Fenced, op, "", fmt.Sprintf("entry %d is of epoch %d, not %d", mine.Seq, theirs.Epoch, mine.Epoch))
	}
	switch {
	case f.last.Seq >= mine.Seq && f.last == mine: // it was the last entry, and was trimmed
		return nil
	case f.epoch != mine.Epoch:
		return errs.New(errs.Fenced, op, "", fmt.Sprintf("epoch %d is over, the journal's writer has epoch %d", mine.Epoch, f.epoch))
	case f.last.Seq+1 < mine.Seq:
		return errs.New(errs.Conflict, op, "", fmt.Sprintf("the journal ends at %d, and the entry has the number %d", f.last.Seq, mine.Seq))
	case f.last.Seq+1 == mine.Seq && f.last.Chain == prev: // the condition holds: etcd broke its promise
		return errs.New(errs.Internal, op, "", "etcd refused an entry whose condition holds")
	case f.last.Seq+1 == mine.Seq:
		return errs.New(errs.Corrupt, op, "", fmt.Sprintf("the last entry of the journal, %d, is not the one that this writer follows", f.last.Seq))
	}
	// Behind the end, and not there: it was trimmed, and no entry is trimmed that its writer has not seen.
	return errs.New(errs.Corrupt, op, "", fmt.Sprintf("entry %d was trimmed before it was acknowledged", mine.Seq))
}

// kindOf returns the kind of an error of etcd. Unavailable says that the outcome is open: only errors that etcd gives before it carries
// out a request have another kind.
func kindOf(err error) errs.Kind {
	switch {
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return errs.TooLarge
	case errors.Is(err, rpctypes.ErrNoSpace):
		return errs.NoSpace
	case errors.Is(err, rpctypes.ErrCorrupt):
		return errs.Corrupt
	case errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrUserEmpty):
		return errs.Denied
	}
	return errs.Unavailable
}

// headOf returns the beginning of the value of head: number and sum, with a fixed length, so that values can be compared.
func headOf(seq, chain uint64) string { return fmt.Sprintf("%016x %016x ", seq, chain) }

// formatHead returns the value of head.
func formatHead(p journal.Position) string { return headOf(p.Seq, p.Chain) + formatNumber(p.Epoch) }

// parseHead returns the position that formatHead formatted.
func parseHead(text string) (p journal.Position, err error) {
	words := strings.Split(text, " ")
	if len(words) != 3 {
		return p, fmt.Errorf("%q is not the end of a journal", text)
	}
	var wrong [3]error
	p.Seq, wrong[0] = strconv.ParseUint(words[0], 16, 64)
	p.Chain, wrong[1] = strconv.ParseUint(words[1], 16, 64)
	p.Epoch, wrong[2] = strconv.ParseUint(words[2], 10, 64)
	return p, errors.Join(wrong[:]...)
}

// formatNumber returns an epoch as it is stored.
func formatNumber(n uint64) string { return strconv.FormatUint(n, 10) }

// random returns the sum of the beginning of a journal.
func random() uint64 { return rand.Uint64() }

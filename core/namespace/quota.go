package namespace

import (
	"encoding/binary"

	"hemera"
)

// A directory with limits is a quota node, and its entry says so: a change that meets no such
// directory on its way from the root costs nothing for quotas.
//
// A file counts for its user and its group at the nearest active node above it; together these files
// are the node's realm. The node keeps what they use in a set of accounts, each changed in the same
// batch as the files. Limits of a project need no accounts: the directory's tree totals are its usage.

// nodeState is what may be said of a node's accounts. The numbers are stored. The next state is
// always the counter's to enter (see count.go), one node after the other.
type nodeState uint8

const (
	// nodeWaiting: its files are not counted; they belong to the realm of the next node above.
	nodeWaiting nodeState = 1 + iota
	// nodeCounting: what changes in its realm is recorded, and what was there is being counted.
	nodeCounting
	// nodeMerging: what was there is counted, in the set Side, and moves into the node's set and out of From.
	nodeMerging
	// nodeExact: the set is what the realm uses.
	nodeExact
	// nodeEnding: its files belong to the next node above, and what is in its set moves to From.
	nodeEnding
)

// quotaNode is the record of a directory with limits.
type quotaNode struct {
	State nodeState
	Set   uint64 // of the accounts of the node's realm
	Side  uint64 // set of what was there when counting began
	From  uint64 // set of the node above when counting, or the end, began; zero: there was none
	// Limits is how many users and groups have limits; Project are the limits of the whole tree.
	Limits  uint64
	Project hemera.QuotaAmount
}

// active says that the files below count in the node's set.
func (q *quotaNode) active() bool {
	return q.State == nodeCounting || q.State == nodeMerging || q.State == nodeExact
}

// limited says that the node has a reason to be one.
func (q *quotaNode) limited() bool { return q.Limits > 0 || q.Project != hemera.QuotaAmount{} }

// quotaVersion begins the entry of a directory that is a quota node, instead of recordVersion.
const quotaVersion = 2

func entryVersion(e *hemera.Entry) byte {
	if e.Quota {
		return quotaVersion
	}
	return recordVersion
}

func encodeQuotaNode(q *quotaNode) []byte { return appendQuotaNode(nil, q) }

func appendQuotaNode(b []byte, q *quotaNode) []byte {
	b = append(b, recordVersion, byte(q.State))
	for _, n := range []uint64{q.Set, q.Side, q.From, q.Limits} {
		b = binary.AppendUvarint(b, n)
	}
	return appendAmount(b, q.Project)
}

func decodeQuotaNode(_, raw []byte) (*quotaNode, error) {
	d := decoder{rest: raw}
	d.version()
	q := &quotaNode{State: nodeState(d.byte())}
	if q.State < nodeWaiting || q.State > nodeEnding {
		d.bad = true
	}
	q.Set, q.Side, q.From, q.Limits = d.uint(), d.uint(), d.uint(), d.uint()
	q.Project = d.amount()
	return q, d.end()
}

func appendAmount(b []byte, a hemera.QuotaAmount) []byte {
	for _, n := range []int64{a.Files, a.Bytes, a.Physical} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func (d *decoder) amount() hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: d.int(), Bytes: d.int(), Physical: d.int()}
}

func encodeAmount(a *hemera.QuotaAmount) []byte { return appendAmount([]byte{recordVersion}, *a) }

func decodeAmount(_, raw []byte) (*hemera.QuotaAmount, error) {
	d := decoder{rest: raw}
	d.version()
	a := d.amount()
	return &a, d.end()
}

// account is a user or group at a quota node.
type account struct {
	kind hemera.QuotaKind
	id   uint32
}

// accountKey is the key of an account in a set (tabAccount), or of its limits at a directory (tabLimit).
func accountKey(table byte, of uint64, a account) []byte {
	return binary.BigEndian.AppendUint32(append(idKey(table, hemera.FileID(of)), byte(a.kind)), a.id)
}

// accountOf reads what accountKey wrote; of a damaged key nothing.
func accountOf(k []byte) account {
	if len(k) != 15 {
		return account{}
	}
	return account{hemera.QuotaKind(k[10]), binary.BigEndian.Uint32(k[11:])}
}

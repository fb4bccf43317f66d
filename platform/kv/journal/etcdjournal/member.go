package etcdjournal

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// MemberOptions has the settings of an etcd member in this process.
type MemberOptions struct {
	Name string // of this member, one of Peers
	Dir  string // of its data and its log; made if it is not there
	// Peers has the URL at which the other members reach each member, by name. A member listens at its own. They begin with https, or with http at
	// addresses of the loopback.
	Peers map[string]string
	TLS   PeerTLS
	// Cluster is a word that differs between clusters, so that members of two never talk to each other.
	Cluster string
	// Heartbeat and Election are the times of Raft; 0 is 50 ms and 500 ms. All members have the same. An election takes one to two Election.
	Heartbeat, Election time.Duration
	// QuotaBytes bounds etcd's file; 0 is 2 GiB. Beyond it appends fail with NoSpace, until the journal is trimmed and [Member.Shrink] was called.
	QuotaBytes int64
	// CatchUpEntries is the number of entries that Raft keeps in memory, and up to 100 more, for members that are behind; 0 is 1000. An entry has up
	// to a MiB. A member that is further behind gets etcd's whole file, which is small if the journal is trimmed.
	CatchUpEntries uint64
	Logger         *slog.Logger // gets etcd's warnings and errors; nil: none
}

// PeerTLS has the files, in PEM, with which members prove themselves to each other. Each side must have a certificate of the authority, with the
// host of its URL in it. etcd reads the files again at each connection, so they can be renewed.
type PeerTLS struct{ CertFile, KeyFile, CAFile string }

// Limits of a member. The log on disk goes back to the last snapshot but one, and has at least walFiles files of 64 MB.
const (
	catchUpEntries  = 1000
	snapshotEntries = 2000
	walFiles        = 2
	requestBytes    = journal.EntryMax + 64<<10 // an append has its keys and its condition too
	quotaBytes      = 2 << 30
)

// Member is a running member.
type Member struct {
	etcd   *embed.Etcd
	client *clientv3.Client
	once   sync.Once // of Close
}

// Start starts the member that has its data in o.Dir, or a new one of a new cluster. It returns when the member runs; [Member.Ready] waits for
// a leader. Nothing but the members' own port is opened: this process talks to its member by calls, and has all the rights.
//
// If the member cannot write its log, etcd ends the process: a member that goes on without its log could lose what a majority has acknowledged.
func Start(o MemberOptions) (*Member, error) {
	const op = "etcdjournal.Start"
	config, err := o.config()
	if err != nil {
		return nil, errs.As(err, errs.Invalid, op, o.Name)
	}
	e, err := embed.StartEtcd(config)
	if err != nil {
		return nil, errs.New(errs.Unavailable, op, o.Dir, err.Error()).
			WithRemedy("check the directory and the address of this member, and that no other process uses them")
	}
	return &Member{etcd: e, client: v3client.New(e.Server)}, nil
}

// config returns etcd's settings.
func (o MemberOptions) config() (*embed.Config, error) {
	own, ok := o.Peers[o.Name]
	if !ok {
		return nil, fmt.Errorf("member %q has no address among %v", o.Name, o.Peers)
	}
	at, err := url.Parse(own)
	if err != nil {
		return nil, err
	}
	c := embed.NewConfig()
	switch {
	case at.Scheme == "https":
		c.PeerTLSInfo = transport.TLSInfo{CertFile: o.TLS.CertFile, KeyFile: o.TLS.KeyFile, TrustedCAFile: o.TLS.CAFile, ClientCertAuth: true}
		if o.TLS.CertFile == "" || o.TLS.KeyFile == "" || o.TLS.CAFile == "" {
			return nil, fmt.Errorf("%s needs a certificate, its key and the authority's certificate", own)
		}
	case !loopback(at):
		return nil, fmt.Errorf("%s is not on the loopback: members on several machines need https", own)
	}
	c.Name, c.Dir, c.WalDir = o.Name, o.Dir, filepath.Join(o.Dir, "wal")
	c.InitialClusterToken = o.Cluster
	var all []string
	for name, address := range o.Peers {
		all = append(all, name+"="+address)
	}
	slices.Sort(all)
	c.InitialCluster = strings.Join(all, ",")
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{*at}, []url.URL{*at}
	// Without addresses for clients no port is opened for them.
	c.ListenClientUrls, c.AdvertiseClientUrls = nil, nil
	c.TickMs = uint(cmp.Or(o.Heartbeat, 50*time.Millisecond).Milliseconds())
	c.ElectionMs = uint(cmp.Or(o.Election, 500*time.Millisecond).Milliseconds())
	c.SnapshotCount, c.SnapshotCatchUpEntries = snapshotEntries, cmp.Or(o.CatchUpEntries, catchUpEntries)
	c.MaxWalFiles, c.MaxSnapFiles = walFiles, 2
	c.MaxRequestBytes, c.QuotaBackendBytes = requestBytes, cmp.Or(o.QuotaBytes, quotaBytes)
	c.AutoCompactionMode = embed.CompactorModePeriodic // with its retention of 0: none; Trim compacts
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapLogger(o.Logger))
	return c, nil
}

// loopback reports whether a URL is one of this machine alone.
func loopback(at *url.URL) bool {
	ip, err := netip.ParseAddr(at.Hostname())
	return err == nil && ip.IsLoopback()
}

// Ready blocks until the member has a leader and has caught up with it. Unavailable if the member has ended.
func (m *Member) Ready(ctx context.Context) error {
	select {
	case <-m.etcd.Server.ReadyNotify():
		return nil
	case <-m.etcd.Server.StopNotify():
		return errs.New(errs.Unavailable, "etcdjournal.Ready", "", "the member of etcd has ended")
	case <-ctx.Done():
		return errs.Wrap(ctx.Err(), "etcdjournal.Ready", "")
	}
}

// Journal returns the journal below the prefix. It must not be used once the member is closed.
func (m *Member) Journal(o Options) *Journal { return New(m.client, m.client, o) }

// Leads reports whether this member leads, as far as it knows. A member that is cut off learns after an election timeout that it does not.
func (m *Member) Leads() bool { return m.etcd.Server.Leader() == m.etcd.Server.MemberID() }

// Shrink gives back the room in this member's file that trimmed entries had, and lets appends in again after NoSpace. It blocks while etcd
// writes a new file, and the member answers nothing meanwhile: shrink one after the other, the one that leads last. It fails with NoSpace if the file is
// as large as before.
func (m *Member) Shrink(ctx context.Context) error {
	const op = "etcdjournal.Shrink"
	if err := m.etcd.Server.Backend().Defrag(); err != nil { // the client of calls panics in Defragment (v3.7.3)
		return errs.As(err, errs.IO, op, "")
	}
	if size := m.etcd.Server.Backend().Size(); size >= m.etcd.Config().QuotaBackendBytes {
		return errs.New(errs.NoSpace, op, "", fmt.Sprintf("etcd's file still has %d bytes", size)).WithRemedy("trim the journal first")
	}
	_, err := m.client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	return errs.As(err, errs.Unavailable, op, "")
}

// Close ends the member. It blocks until etcd has stopped. A second call does nothing.
func (m *Member) Close() {
	m.once.Do(func() {
		_ = m.client.Close() // it says that its context ended, which this does
		m.etcd.Close()
	})
}

// Client returns the client that talks to the member by calls. The member closes it.
func (m *Member) Client() *clientv3.Client { return m.client }

package poll

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hemera/errs"
)

// Loop waits for the input of many connections with as few threads as there are processors, and
// runs what a connection does with its input on the thread that noticed it.
//
// Go's own poller has one thread wait at a time and hands what came to others, which costs a request
// that takes ten microseconds five more and leaves processors unused (docs/PERFORMANCE.md). Here
// every processor has a goroutine in epoll_wait, a poller; the kernel wakes one for each event. A poller that is
// about to wait for something else says so ([Socket.ReleasePoller]) and another takes its place; one that
// waits without having said so is noticed within two looks of the watch.
//
// A Loop is safe for concurrent use. It has no limit of its own: a connection costs it its file
// descriptor and some hundred bytes, and there are as many pollers as connections that are served slowly, and
// one for each processor.
type Loop struct {
	epoll, stop int   // descriptors; stop is an eventfd that is never read once it is written
	want        int32 // how many pollers should be on duty

	waiting atomic.Int32 // pollers in epoll_wait
	onDuty  atomic.Int32 // pollers that wait, or are expected back soon
	watched atomic.Bool  // the watch is set
	watch   *time.Timer

	lingering atomic.Int32 // transfers that wait on a thread
	lingerers int32        // how many may

	running sync.WaitGroup
	sockets table

	mu      sync.Mutex // guards pollers, idle and closed
	pollers map[*poller]struct{}
	idle    []*poller // those that are not wanted, the last to rest last; not in pollers
	idleMax int
	closed  bool
}

// idleMax is how many pollers that are not wanted are kept for the next time: a goroutine that is new grows
// its stack while it serves its first request, which costs as much as a quarter of that. All who waited for
// the same commit, and those are hundreds, come back together. One that rests costs 2 to 16 KiB; the
// collector takes back what it does not use.
const idleMax = 1024

// poller is one goroutine that waits for events.
type poller struct {
	again   chan struct{} // told when it is wanted again, closed with the loop
	turns   atomic.Uint64 // odd while it serves a connection
	away    atomic.Bool   // not on duty: it told, or the watch found out
	watched uint64        // turns when the watch last looked; the watch's
}

// watchEvery is how often pollers are looked after while none of them waits.
const watchEvery = time.Millisecond

// NewLoop starts a loop with a poller for every second of the processors Go's scheduler counts with. A poller
// keeps one while it waits in the kernel, and the others are for everybody else: a server counts with
// twice as many as there are.
func NewLoop() (*Loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, errs.Wrap(err, "poll.NewLoop", "epoll")
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, stop, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(stop)})
	}
	if err != nil {
		_ = unix.Close(epoll)
		return nil, errs.Wrap(err, "poll.NewLoop", "eventfd")
	}
	n := max(1, int32(runtime.GOMAXPROCS(0)/2))
	l := &Loop{epoll: epoll, stop: stop, want: n, lingerers: 16 * n, pollers: map[*poller]struct{}{}, idleMax: idleMax}
	l.watch = time.AfterFunc(time.Hour, l.checkPollers)
	l.watch.Stop()
	l.fillUp()
	return l, nil
}

// Close ends the pollers, once they have served what they are serving: a caller that must end in time, even if a
// request there has stalled, does not wait for it. Connections that were adopted must have been closed.
func (l *Loop) Close() {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	for _, p := range l.idle {
		close(p.again)
	}
	l.idle = nil
	l.mu.Unlock()
	if !first {
		return
	}
	l.watch.Stop()
	_, _ = unix.Write(l.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	l.running.Wait()
	_ = unix.Close(l.epoll)
	_ = unix.Close(l.stop)
}

// Wrapped is a connection around another one. Its owner counts it until it is closed.
type Wrapped interface {
	net.Conn
	// Unwrap returns the connection within. The caller calls release once, when that one is closed.
	Unwrap() (within net.Conn, release func())
}

// Adopt moves a TCP connection from Go's poller into this loop, and returns the [Socket] that takes its place. The caller
// must not use the given connection any more. A [Wrapped] TCP connection is unwrapped. Adopt returns any other connection
// as it is. If Adopt fails the connection is closed.
func (l *Loop) Adopt(conn net.Conn) (net.Conn, error) {
	raw, closed := conn, func() {}
	if c, ok := conn.(Wrapped); ok {
		raw, closed = c.Unwrap()
	}
	tcp, ok := raw.(*net.TCPConn)
	if !ok {
		return conn, nil
	}
	s, err := newSocket(l, tcp, closed)
	_ = tcp.Close()
	if err != nil {
		closed()
		return nil, errs.Wrap(err, "poll.Adopt", tcp.RemoteAddr().String())
	}
	return s, nil
}

// watchFor registers a socket.
// The table comes first: an event may arrive before EpollCtl has returned.
func (l *Loop) watchFor(s *Socket) error {
	l.sockets.set(s.fd, s)
	err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, s.fd, interest(s.fd, s.interest))
	if err != nil {
		l.sockets.set(s.fd, nil)
	}
	return err
}

// change has another set of events told from now on, and at once what of it is so already.
func (l *Loop) change(fd int, events uint32) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, fd, interest(fd, events))
}

// interest asks for edges. The end of the stream belongs to reading.
func interest(fd int, events uint32) *unix.EpollEvent {
	if events&unix.EPOLLIN != 0 {
		events |= unix.EPOLLRDHUP
	}
	return &unix.EpollEvent{Events: events | 1<<31, Fd: int32(fd)} // EPOLLET
}

// fillUp starts pollers until enough are on duty.
func (l *Loop) fillUp() {
	for n := l.onDuty.Load(); n < l.want; n = l.onDuty.Load() {
		if l.onDuty.CompareAndSwap(n, n+1) {
			l.start()
		}
	}
}

// start puts a poller on duty: one that sleeps, or a new one. A closed loop starts none.
func (l *Loop) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if last := len(l.idle) - 1; last >= 0 {
		p := l.idle[last]
		l.idle = l.idle[:last]
		l.pollers[p] = struct{}{}
		p.again <- struct{}{}
		return
	}
	p := &poller{again: make(chan struct{}, 1)}
	l.pollers[p] = struct{}{}
	l.running.Go(func() { l.run(p) })
}

// run waits for events and serves them until the loop is closed or has pollers enough.
func (l *Loop) run(p *poller) {
	defer l.retire(p)
	var events [1]unix.EpollEvent
	for {
		l.waiting.Add(1)
		n, err := unix.EpollWait(l.epoll, events[:], -1)
		if l.waiting.Add(-1) == 0 {
			l.ensureWaiter()
		}
		if err != nil || n == 0 {
			continue // interrupted
		}
		if int(events[0].Fd) == l.stop {
			return
		}
		s := l.sockets.get(int(events[0].Fd))
		if s == nil {
			continue // closed since
		}
		p.turns.Add(1)
		woke := s.event(events[0].Events, p)
		p.turns.Add(1)
		if !l.keep(p) && !l.park(p) {
			return
		}
		if woke {
			// The goroutine that was woken is next on this processor: let it run.
			runtime.Gosched()
		}
	}
}

// keep reports whether a poller that has served its event is still wanted.
// A poller that left its duty comes back to it if there are fewer than wanted.
func (l *Loop) keep(p *poller) bool {
	if !p.away.Load() {
		return true
	}
	for n := l.onDuty.Load(); n < l.want; n = l.onDuty.Load() {
		if l.onDuty.CompareAndSwap(n, n+1) {
			p.away.Store(false)
			return true
		}
	}
	return false
}

// park waits until the poller is wanted again. It is false when it will not be.
func (l *Loop) park(p *poller) bool {
	l.mu.Lock()
	room := len(l.idle) < l.idleMax && !l.closed
	if room {
		p.away.Store(false)
		delete(l.pollers, p)
		l.idle = append(l.idle, p)
	}
	l.mu.Unlock()
	if !room {
		return false
	}
	_, wanted := <-p.again
	return wanted
}

// retire forgets a poller whose goroutine ends.
func (l *Loop) retire(p *poller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pollers, p)
}

// release takes a poller off duty that is about to wait for something else.
func (l *Loop) release(p *poller) {
	if p.away.CompareAndSwap(false, true) {
		l.onDuty.Add(-1)
		if l.waiting.Load() == 0 {
			l.fillUp()
		}
	}
}

// ensureWaiter replaces pollers that are off duty, and has the others looked after.
func (l *Loop) ensureWaiter() {
	if l.onDuty.Load() < l.want {
		l.fillUp()
	}
	if !l.watched.Load() && l.watched.CompareAndSwap(false, true) {
		l.watch.Reset(watchEvery)
	}
}

// checkPollers takes pollers off duty that have been serving the same event since it last looked.
// It runs in the goroutine of the timer, every watchEvery until a poller waits again.
func (l *Loop) checkPollers() {
	if l.waiting.Load() > 0 {
		l.watched.Store(false)
		// The last may have left between the two, and have counted on this watch.
		if l.waiting.Load() > 0 || !l.watched.CompareAndSwap(false, true) {
			return
		}
	}
	l.mu.Lock()
	for p := range l.pollers {
		turns := p.turns.Load()
		if turns%2 == 1 && turns == p.watched && p.away.CompareAndSwap(false, true) {
			l.onDuty.Add(-1)
		}
		p.watched = turns
	}
	closed := l.closed
	l.mu.Unlock()
	l.fillUp()
	if !closed {
		l.watch.Reset(watchEvery)
	}
}

// table finds the socket of a file descriptor.
type table struct {
	mu   sync.Mutex // held while it changes
	list atomic.Pointer[[]atomic.Pointer[Socket]]
}

// get returns the socket of a descriptor, or nil. It takes no lock: each event calls it.
func (t *table) get(fd int) *Socket {
	if list := t.list.Load(); list != nil && fd < len(*list) {
		return (*list)[fd].Load()
	}
	return nil
}

// set stores the socket of a descriptor; nil removes it. The list only grows, to twice what is asked for.
func (t *table) set(fd int, s *Socket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.list.Load()
	if list == nil || fd >= len(*list) {
		longer := make([]atomic.Pointer[Socket], 2*fd+64)
		if list != nil {
			for i := range *list {
				longer[i].Store((*list)[i].Load())
			}
		}
		list = &longer
		t.list.Store(list)
	}
	(*list)[fd].Store(s)
}

package bench

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hemera"
	"hemera/rules/erasure"
)

// headRows are measured at a head that has one of the pieces, and at a node with plain files. The other pieces are in another
// process, behind TCP connections of the machine; its CPU is not counted. So the figures are those of a head with a network.
func headRows(layout string) []row {
	var rows []row
	for _, n := range []int{1, 4} {
		rows = append(rows,
			row{name: layout + headMark + "write", clients: n, bulk: true, part: share(n),
				run: func(r *run) (float64, error) { return r.bulkWrite(true, bulkStep, bulkFlight) }, clean: steps{(*run).removeNew}},
			row{name: layout + headMark + "read", clients: n, bulk: true, prepare: steps{(*run).openBig},
				run: func(r *run) (float64, error) { return r.bulkRead(true) }, clean: steps{(*run).closeBig}})
	}
	return rows
}

// headMark stands between the layout and the load in the names of rows at a head.
const headMark = ", at a head: "

// headShape is a cluster whose head has a disk for one piece of each file.
// With as many disks as pieces each file has a piece on each disk, whatever the manager chooses.
func headShape(l hemera.Layout) hemeraShape {
	return hemeraShape{nodes: 1, disks: 1, away: int(l.Pieces) - 1}
}

// Costs are seconds of CPU for a byte: what a head does more than a node with plain files, done by one thread that does nothing else.
type Costs struct {
	Send, Receive float64            // by a TCP connection of the machine, 512 KiB at a time
	Encode        map[string]float64 // of a file's bytes, by layout, with blocks of 1 MiB
}

// goal is what a row at a head may cost, in seconds of CPU for a byte: a plain file, the encoding, and the bytes sent on. For a
// read the bytes of the other pieces are received instead.
func (c Costs) goal(r Result) (float64, error) {
	name, load, _ := strings.Cut(r.Row, headMark)
	l, err := hemera.ParseLayout(name, 0)
	if err != nil {
		return 0, err
	}
	if load == "read" {
		return r.Peer.CPU + c.Receive*float64(l.Data-1)/float64(l.Data), nil
	}
	return r.Peer.CPU + c.Encode[name] + c.Send*float64(l.Pieces-1)/float64(l.Data), nil
}

// costs measures Costs, each as the median of the rounds.
// It moves and encodes as many bytes as a file has, so that it takes as long as a row.
func (o *Options) costs(layouts []string) (c Costs, err error) {
	var sends, receives []float64
	encodes := map[string][]float64{}
	for range o.Rounds {
		send, receive, err := tcpCosts(o.FileBytes)
		if err != nil {
			return c, err
		}
		sends, receives = append(sends, send), append(receives, receive)
		for _, name := range layouts {
			one, err := encodeCost(name, o.FileBytes)
			if err != nil {
				return c, err
			}
			encodes[name] = append(encodes[name], one)
		}
	}
	c = Costs{Send: median(sends), Receive: median(receives), Encode: map[string]float64{}}
	for name, all := range encodes {
		c.Encode[name] = median(all)
	}
	return c, nil
}

// threadTime is the CPU time of the calling thread.
// The caller has locked its goroutine to it.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// tcpCosts sends n bytes from one thread to another, and returns what a byte costs each of them. The kernel does part of what
// receiving takes in the thread that sends, as it does for servers on one machine.
func tcpCosts(n int64) (send, receive float64, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = l.Close() }()
	sent := make(chan error, 1) // with room, so that the sender ends also if nobody receives
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			send, err = moved(n, c.Write)
			_ = c.Close() // after an error the receiver must not wait
		}
		sent <- err
	}()
	c, err := l.Accept()
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = c.Close() }()
	if receive, err = moved(n, func(p []byte) (int, error) { return io.ReadFull(c, p) }); err != nil {
		return 0, 0, err
	}
	return send, receive, <-sent
}

// moved calls move until n bytes went through one buffer, and returns the CPU of this thread for each.
func moved(n int64, move func([]byte) (int, error)) (float64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buffer := make([]byte, 512<<10) // what a node sends at once
	before := threadTime()
	for left := n; left > 0; {
		k, err := move(buffer[:min(left, int64(len(buffer)))])
		if err != nil {
			return 0, err
		}
		left -= int64(k)
	}
	return (threadTime() - before).Seconds() / float64(n), nil
}

// encodeCost is of the code alone: nobody else has its blocks in a cache, and nothing is stored.
// It encodes rows of 1 MiB blocks with n bytes of data or a little more, and returns the CPU for each.
func encodeCost(name string, n int64) (float64, error) {
	l, err := hemera.ParseLayout(name, 0)
	if err != nil {
		return 0, err
	}
	code, err := erasure.ReedSolomon(int(l.Data), l.Parity())
	if err != nil {
		return 0, err
	}
	const block = 1 << 20
	blocks := make([][]byte, l.Pieces)
	for i := range blocks {
		blocks[i] = pattern(block) // touched, or the first row would pay for memory
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	row := int64(l.Data) * block
	rows := (n + row - 1) / row // at least one
	before := threadTime()
	for range rows {
		if err := code.Encode(blocks); err != nil {
			return 0, err
		}
	}
	return (threadTime() - before).Seconds() / float64(rows*row), nil
}

// headTable is the table of rows at a head, with their goals, and the costs that these are made of below it.
// It is empty if no such row was measured.
func headTable(rows []Result, c Costs) (string, error) {
	if len(rows) == 0 {
		return "", nil
	}
	text := "| load | clients | plain files | goal | measured | of the goal |\n|---|---|---|---|---|---|\n"
	for _, r := range rows {
		goal, err := c.goal(r)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("| %s | %d | %s | %.3f s/GB | %s | x%.2f |\n", r.Row, r.Clients, r.cpu(r.Peer), goal*1e9, r.cpu(r.Hemera), r.Hemera.CPU/goal)
	}
	return text + fmt.Sprintf("\nCPU of what a head does more, s/GB: send %.3f, receive %.3f, encode %v\n\n", c.Send*1e9, c.Receive*1e9, perGB(c.Encode)), nil
}

// perGB is a map of costs in s/GB, as text in the order of the layouts.
// Layouts that were not measured are left out.
func perGB(costs map[string]float64) string {
	var list []string
	for _, name := range codedLayouts() {
		if cost, ok := costs[name]; ok {
			list = append(list, fmt.Sprintf("%s %.3f", name, cost*1e9))
		}
	}
	return strings.Join(list, ", ")
}

package replkv_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/journal"
	"hemera/platform/kv/journal/etcdjournal"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/kv/replkv"
	"hemera/words/errs"
)

// managerEnv makes the test's program a manager: a member of etcd with a store. It has the member's options as JSON.
const managerEnv = "HEMERA_TEST_MANAGER"

func TestMain(m *testing.M) {
	if text := os.Getenv(managerEnv); text != "" {
		if err := serve(text); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// process is a manager in its own process, as the one that started it sees it.
type process struct {
	options etcdjournal.MemberOptions
	command *exec.Cmd
	in      io.WriteCloser
	out     chan string // its lines; closed at its end
}

// startProcess starts a manager.
func startProcess(t testing.TB, o etcdjournal.MemberOptions) *process {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{options: o, command: exec.Command(os.Args[0]), out: make(chan string, 1<<16)}
	p.command.Env = append(os.Environ(), managerEnv+"="+string(text))
	p.command.Stderr = os.Stderr
	if p.in, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.command.StdoutPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.out)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.out <- lines.Text()
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process without a chance to clean up.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// ask sends a command and returns the answer.
func (p *process) ask(t testing.TB, command string) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	select {
	case line, ok := <-p.out:
		if !ok || strings.HasPrefix(line, "failed") {
			t.Fatalf("%s: %s", command, line)
		}
		return line
	case <-time.After(time.Minute):
		t.Fatalf("%s: no answer", command)
		return ""
	}
}

// serve runs the manager's process, which obeys commands until its input ends.
func serve(text string) error {
	var o etcdjournal.MemberOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	ctx := context.Background()
	m, err := etcdjournal.Start(o)
	if err != nil {
		return err
	}
	if err := m.Ready(ctx); err != nil {
		return err
	}
	local, err := pebblekv.Open(filepath.Join(o.Dir, "db"), pebblekv.Options{Unsynced: true})
	if err != nil {
		return err
	}
	j, beside := m.Journal(etcdjournal.Options{}), m.Journal(etcdjournal.Options{Prefix: "beside/"})
	s, err := replkv.Open(ctx, local, j, replkv.Options{})
	if err != nil {
		return err
	}
	var w kv.Writer
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer := ""
		var words [3]string
		copy(words[:], strings.Fields(lines.Text()))
		switch words[0] {
		case "leads":
			answer = fmt.Sprint(m.Leads())
		case "create":
			err = errors.Join(j.Create(ctx, 0), beside.Create(ctx, 0))
		case "acquire":
			w, err = s.Acquire(ctx, o.Name)
		case "applied":
			answer = fmt.Sprint(s.Applied(), s.Stuck())
		case "load":
			var n int
			n, err = loads[words[1]].run(w, loadTime)
			answer = fmt.Sprint(n)
		case "journal":
			var n int
			n, err = loads[words[1]].appends(ctx, beside, loadTime)
			answer = fmt.Sprint(n)
		case "trim":
			err = errors.Join(s.Trim(ctx, 100), beside.Trim(ctx, 1<<62))
		case "digest":
			at, sum := s.Applied(), fnv.New64a()
			err = s.Scan(ctx, nil, nil, func(k, v []byte) bool {
				fmt.Fprintf(sum, "%q=%q\n", k, v)
				return true
			})
			answer = fmt.Sprint(at, sum.Sum64())
		case "auto":
			go auto(ctx, m, s, o.Name)
		}
		if err != nil {
			return err
		}
		fmt.Println("ok", answer)
	}
	return nil
}

// auto writes as long as the member leads. It prints when the first change of a term was acknowledged, and the number of each later one.
func auto(ctx context.Context, m *etcdjournal.Member, s *replkv.Store, name string) {
	for ; ; time.Sleep(2 * time.Millisecond) {
		if !m.Leads() {
			continue
		}
		w, err := s.Acquire(ctx, name)
		for first := true; err == nil; first = false {
			var ticket kv.Ticket
			if ticket, err = w.Enqueue(loads["one"].batch(0)); err == nil {
				err = ticket.Wait(ctx)
			}
			if err == nil && first {
				fmt.Println("first", time.Now().UnixNano(), ticket.Seq())
			} else if err == nil {
				fmt.Println("acknowledged", ticket.Seq())
			}
		}
	}
}

// loadTime is the time of one measurement.
const loadTime = time.Second / 2

// aLoad is the load of a benchmark: batches of values of 512 B, with a number of batches under way.
type aLoad struct{ values, under int }

var loads = map[string]aLoad{"one": {1, 1}, "batch": {128, 1}, "batches": {128, 2}, "large": {1024, 1}}

// batch returns the nth batch.
func (l aLoad) batch(n int) *kv.Batch {
	b := new(kv.Batch)
	for i := range l.values {
		value := make([]byte, 512)
		for k := range value {
			value[k] = byte(n*31 + i*7 + k*k) // not all the same, for the compression of tables
		}
		b.Put(fmt.Appendf(nil, "n%07d", (n*l.values+i)*7919%1000_003), value)
	}
	return b
}

// run writes batches for a time and returns their number.
func (l aLoad) run(w kv.Writer, during time.Duration) (int, error) {
	var under []kv.Ticket
	for n, end := 0, time.Now().Add(during); ; n++ {
		if len(under) == l.under || time.Now().After(end) {
			if len(under) == 0 {
				return n, nil
			}
			if err := under[0].Wait(context.Background()); err != nil {
				return n, err
			}
			under = under[1:]
		}
		if time.Now().After(end) {
			n--
			continue
		}
		t, err := w.Enqueue(l.batch(n))
		if err != nil {
			return n, err
		}
		under = append(under, t)
	}
}

// appends writes entries of the size of the batches to the journal alone.
func (l aLoad) appends(ctx context.Context, j journal.Journal, during time.Duration) (int, error) {
	epoch, last, err := j.Begin(ctx, "appends")
	if err != nil {
		return 0, err
	}
	batch := make([]byte, l.values*525)
	room := make(chan struct{}, l.under)
	var mu sync.Mutex
	var failed error
	n := 0
	for end := time.Now().Add(during); time.Now().Before(end); n++ {
		e := journal.Entry{Seq: last.Seq + 1, Epoch: epoch, Prev: last.Chain, Batch: batch}
		last = e.Position()
		room <- struct{}{}
		go func() {
			err := j.Append(ctx, e)
			for errors.Is(err, errs.Conflict) {
				err = j.Append(ctx, e)
			}
			mu.Lock()
			failed = errors.Join(failed, err)
			mu.Unlock()
			<-room
		}()
	}
	for range l.under {
		room <- struct{}{}
	}
	return n, failed
}

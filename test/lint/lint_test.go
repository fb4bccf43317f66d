package lint

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestTree(t *testing.T) {
	files, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files were found", len(files))
	}
	for _, b := range slices.Concat(Imports(module, files), Sizes(files), Interfaces(files), Docs(files), Comments(files), Words(files), Errors(files),
		English(files), Sentences(files), NamedFiles(files), Contracts(files), Turns(files), Goroutines(files), Contained(files), Addresses(files)) {
		t.Error(b)
	}
}

// source makes a file of a text, as if it were in the tree.
func source(t *testing.T, name, text string) *File {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return &File{
		Path: name, Package: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"),
		Lines: strings.Count(text, "\n"), Text: text, AST: parsed, Set: set,
	}
}

func TestLayersAreHeld(t *testing.T) {
	for _, test := range []struct {
		file, imports string
		allowed       bool
	}{
		{"rules/wire/a.go", "hemera/words/errs", true},
		{"rules/wire/a.go", "hemera/words/hemera", true},
		{"rules/wire/a.go", "hemera/rules/checksum", false},
		{"words/errs/a.go", "hemera/words/hemera", false},
		{"tape/label/a.go", "hemera/tape/session", false},
		{"tape/session/a.go", "hemera/tape/label", true},
		{"disk/a.go", "hemera/platform/vfs", true},
		{"disk/a.go", "hemera/node", false},
		{"transfer/a.go", "hemera/disk", true},
		{"disk/a.go", "hemera/transfer", false},
		{"doors/xrd/a.go", "hemera/manager", false},
		{"doors/admin/a.go", "hemera/namespace", false},
		{"doors/admin/a.go", "hemera/platform/auth", true},
		{"manager/a.go", "hemera/client/xrootd", false},
		{"cmd/hemera/a.go", "hemera/cmd/hemera/internal/output", true},
		{"cmd/hemera/a.go", "hemera/test/fixture", false},
		{"cmd/hemera/a_test.go", "hemera/test/fixture", true},
		{"disk/a_test.go", "hemera/test/conform", true},
		{"disk/a_test.go", "hemera/manager", true},
		{"disk/a_test.go", "hemera/novel", false},
		{"disk/a.go", "hemeralopia/thing", true},
		{"novel/a.go", "hemera/errs", false},
	} {
		f := source(t, test.file, "package p\nimport _ \""+test.imports+"\"\n")
		if bad := Imports("hemera", []*File{f}); (len(bad) == 0) != test.allowed {
			t.Errorf("%s imports %s: %v", test.file, test.imports, bad)
		}
	}
}

func TestRulesCanFail(t *testing.T) {
	long := strings.Repeat("\n", 100)
	for _, test := range []struct {
		name, text string
		rule       func([]*File) []string
		want       int
	}{
		{"a/a.go", "// Package a.\npackage a\nfunc f() {" + long + "}\n", Sizes, 1},
		{"a/a.go", "package a\n" + strings.Repeat(long, 10), Sizes, 1},
		{"cmd/x/main.go", "package main\n" + long, Sizes, 1},
		{"a/a.go", "package a\nfunc f(a, b, c, d, e, g int) {}\n", Sizes, 1},
		{"a/a.go", "package a\nfunc f(ctx context.Context, a, b, c, d, e int) {}\n", Sizes, 0},
		{"a/a.go", "package a\ntype I interface{A();B();C();D();E();F();G();H();J()}\n", Interfaces, 1},
		{"a/a.go", "package a\ntype I interface{A();B();C();D();E()}\ntype J interface{I;F();G();H()}\n", Interfaces, 0},
		{"a/a.go", "package a\ntype I interface{A();B();C();D();E()}\ntype J interface{I;F();G();H();K()}\n", Interfaces, 1},
		{"a/a.go", "// Package a.\npackage a\n" + strings.Repeat("var _ int // why\n", 1000), Comments, 1},
		{"a/a.go", "package a\nvar _ = errs.Error{Op: \"disk.Seal\"}\nvar _ = &errs.Error{Kind: k, Op: \"seal it\"}\n", Errors, 1},
		{"a/a.go", "package a\nvar _ = errs.New(k, \"disk.Seal\", s, c)\nvar _ = errs.Wrap(e, \"seal it\", s)\n", Errors, 1},
		{"a/a.go", "package a\nfunc f() { log.Warn(\"m\", \"error\", e); log.Warn(\"m\", \"err\", e) }\n", Errors, 1},
		{"a/a.go", "package a\n// Whoever comes begins anew.\nvar s = \"of which we are told that\"\n", English, 3},
		{"a/a.go", "package a\n// Who holds the lock? The caller that opened it.\nvar s = \"anew\"\n", English, 0},
		{"a/a.go", "package a\n// F is the number.\nfunc F() {}\n// g is what\n// it holds.\ntype g int\n// M\n// are all.\nfunc (g) M() {}\n", Sentences, 3},
		{"a/a.go", "package a\nconst (\n// Grace is how long it waits.\nGrace = 1 // X is when it ends\n)\n", Sentences, 2},
		{"a/a.go", "package a\n// F reports what is.\nfunc F() {}\n// G is the number.\ntype G int\n// The rest is what it says.\n// It is fine.\nfunc (G) M() {}\n", Sentences, 0},
		{"a/a.go", "package a\n// F is in gone.go and below/gone.go.\nfunc F() {}\n", NamedFiles, 2},
		{"a/a.go", "package a\n// F is in a.go, which is a/a.go.\nfunc F() {}\n", NamedFiles, 0},
		{"a/a.go", "package a\nfunc F() {}\ntype T int\nconst C = 1\n", Docs, 4},
		{"a/a.go", "// Package a.\npackage a\n// F.\nfunc F() {}\ntype t int\nfunc (t) M() {}\n// The.\nconst (\nC = 1\nD = 2\n)\n", Docs, 0},
		{"rules/wire/a/a.go", "package a\nfunc f() { go f() }\n", Goroutines, 1},
		{"rules/wire/a/a_test.go", "package a\nfunc TestF(t *testing.T) { g.Go(f); t.Parallel() }\n", Goroutines, 2},
		{"rules/wire/a/a_test.go", "package a\nfunc TestConcurrentUse(t *testing.T) { g.Go(f) }\n", Goroutines, 0},
		{"measure/report/a.go", "package report\nfunc f() { go f() }\n", Goroutines, 1},
		{"transfer/a/a.go", "package a\nfunc f() { go f() }\n", Goroutines, 0},
		{"transfer/a/a.go", "package a\nfunc f() { go f(); g.Go(f); time.AfterFunc(d, f) }\n", Contained, 3},
		{"transfer/a/a.go", "package a\nfunc f() { h.Panics.Go(&g, op, s, f); g.Go(panics.Func(op, s, f)); go func() { ended <- o.Panics.Do(op, s, f) }() }\n", Contained, 0},
		{"measure/a/a.go", "package a\nfunc f() { go f() }\n", Contained, 0},
		{"a/a.go", "package a\nvar s, u = host + \":\" + port, \"root://\" + to.Host + \":\" + strconv.Itoa(to.Port)\n", Addresses, 2},
		{"a/a.go", "package a\nvar s, u = fmt.Sprintf(\"%s:%d\", to.Host, to.Port), fmt.Errorf(\"root://%v:%s/\", ip, port)\n", Addresses, 2},
		{"a/a.go", "package a\nvar s, u = net.JoinHostPort(host, port), fmt.Sprintf(\"%s:%d\", file, line)\n", Addresses, 0},
		{"a/a.go", "package a\nvar s, u = sum.Kind + \":\" + u.Host, fmt.Sprintf(\"host %s: port %d\", host, port)\n", Addresses, 0},
		{"a/a.go", "package a\nfunc f(t T) { t.lock = make(chan struct{}, 1); t.lock <- struct{}{}; defer func() { <-t.lock }() }\n", Turns, 1},
		{"a/a.go", "package a\nvar t = T{lock: make(chan struct{}, 1)}\nfunc f() { t.lock <- struct{}{}; defer func() { <-t.lock }() }\n", Turns, 1},
		{"a/a.go", "package a\nvar t = T{wake: make(chan struct{}, 1), slots: make(chan struct{}, 8)}\nfunc f() { <-t.wake; defer func() { <-t.slots }() }\n", Turns, 0},
		{"a/util/a.go", "package util\n", Words, 1},
		{"a/a.go", "package a\nfunc init() {}\n", Words, 1},
		{"a/a.go", "package a\nvar s = \"/ho" + "me/someone/x\"\n", Words, 1},
		{"a/a.go", "package a\nvar s = \"/exp/home/x\"\n", Words, 0},
	} {
		if bad := test.rule([]*File{source(t, test.name, test.text)}); len(bad) != test.want {
			t.Errorf("%.60q: %v, want %d", test.text, bad, test.want)
		}
	}
}

// TestContractsAreMissed: the rule finds what an interface does not say, and takes what it says in any of the places.
func TestContractsAreMissed(t *testing.T) {
	const user = "package b\nimport \"hemera/a\"\nvar _ a.I\n"
	for _, test := range []struct {
		name, text string
		missing    []string // a part of each finding
	}{
		{"nothing", "type I interface{ Set(ctx context.Context) error }", []string{"on what it fails (a kind of errs, or an error and its condition); whether it blocks, waits or returns at once; what of the change is durable"}},
		{"all", "type I interface{\n// Set fails with NotFound. It blocks for the disk. The value is durable when it returns.\nSet() error\n}", nil},
		{"in the doc of the interface", "// I fails with IO. It waits for the device, and a change is durable at return.\ntype I interface{ Set() error; Remove() error }", nil},
		{"an error without a condition", "type I interface{\n// Get blocks for the disk. It may return an error.\nGet() error\n}", []string{"on what it fails"}},
		{"an error with one", "type I interface{\n// Get blocks for the disk. It returns an error if it is closed.\nGet() error\n}", nil},
		{"a reader changes nothing", "type I interface{\n// Get fails with NotFound.\nGet() error\n}", []string{"whether it blocks"}},
		{"without an error", "type I interface{\n// Get returns the value.\nGet(ctx context.Context)\n}", []string{"whether it blocks"}},
		{"from memory", "type I interface{ Get() int }", nil},
		{"behind a link", "type I interface{\n// Get is for all; see [T.Get].\nGet() error\n}\n// Get fails with NotFound. It does not wait.\nfunc (T) Get() {}\n", nil},
		{"a link to nothing", "type I interface{\n// Get is for all; see [T.Put].\nGet() error\n}\n", []string{"on what it fails"}},
		{"not used elsewhere", "type J interface{ Set() error }", nil},
		{"not exported", "type i interface{ Set() error }", nil},
	} {
		bad := Contracts([]*File{source(t, "a/a.go", "package a\n"+test.text+"\n"), source(t, "b/b.go", user)})
		if len(bad) != len(test.missing) {
			t.Errorf("%s: %q, want %q", test.name, bad, test.missing)
			continue
		}
		for i, b := range bad {
			if !strings.Contains(b, test.missing[i]) {
				t.Errorf("%s: %q, want %q", test.name, b, test.missing[i])
			}
		}
	}
}

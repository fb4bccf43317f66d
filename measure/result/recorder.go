package result

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hemera/words/errs"
)

// Progress reports the progress of a level. done and total are in the level's own steps; doing is a few words.
type Progress func(level string, done, total int, doing string)

// Recorder collects the results of one level. All methods are safe for concurrent use.
type Recorder struct {
	dir      string
	progress Progress

	mu    sync.Mutex
	level Level
}

// NewRecorder begins a level. Raw output goes to dir/raw. progress may be nil.
func NewRecorder(dir, level string, progress Progress) *Recorder {
	if progress == nil {
		progress = func(string, int, int, string) {}
	}
	return &Recorder{dir: dir, progress: progress, level: Level{Name: level, Began: time.Now(), Settings: map[string]string{}, Measures: []Measure{}}}
}

// Add adds samples to the measure with the same name and labels, or a new measure.
func (r *Recorder) Add(m Measure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.level.Measures {
		if have := &r.level.Measures[i]; have.Name == m.Name && maps.Equal(have.Labels, m.Labels) {
			have.Samples = append(have.Samples, m.Samples...)
			have.Series = append(have.Series, m.Series...)
			return
		}
	}
	m.Labels, m.Samples = maps.Clone(m.Labels), slices.Clone(m.Samples)
	r.level.Measures = append(r.level.Measures, m)
}

// Find returns a copy of the measure with the name and exactly the labels.
func (r *Recorder) Find(name string, labels Labels) (Measure, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.level.Measures {
		if m.Name == name && maps.Equal(m.Labels, labels) {
			m.Samples = slices.Clone(m.Samples)
			return m, true
		}
	}
	return Measure{}, false
}

// Figure adds a plot. It replaces an earlier one with the same ID.
func (r *Recorder) Figure(f Figure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.level.Figures = slices.DeleteFunc(r.level.Figures, func(o Figure) bool { return o.ID == f.ID })
	r.level.Figures = append(r.level.Figures, f)
}

// Iteration begins a repetition of the work under the conditions, and returns a function that ends it, with the bytes,
// and operations if they are counted. A failed iteration is not ended, and leaves nothing. A level calls it around the
// work alone, so that power and other courses can be aligned with it.
func (r *Recorder) Iteration(labels Labels) (end func(bytes, ops int64)) {
	began := time.Now()
	return func(bytes, ops int64) {
		r.Worked(Iteration{Labels: labels, Began: began, Ended: time.Now(), Bytes: bytes, Ops: ops})
	}
}

// Worked adds an iteration that has ended, for levels that learn its times afterwards.
func (r *Recorder) Worked(i Iteration) {
	i.Labels = maps.Clone(i.Labels)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.level.Iterations = append(r.level.Iterations, i)
}

// Set records a setting of the level, such as bytes, seconds or the path.
func (r *Recorder) Set(key, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.level.Settings[key] = value
}

// Tool records a program that makes load.
func (r *Recorder) Tool(name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := (Tool{name, version}); !slices.Contains(r.level.Tools, t) {
		r.level.Tools = append(r.level.Tools, t)
	}
}

// Skip records that a part was not measured, and the remedy.
func (r *Recorder) Skip(what, why, remedy string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.level.Skipped = append(r.level.Skipped, Skipped{what, why, remedy})
}

// Note adds a sentence for the reader of the report.
func (r *Recorder) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.level.Notes, s) {
		r.level.Notes = append(r.level.Notes, s)
	}
}

// Step reports the progress of the level.
func (r *Recorder) Step(done, total int, format string, args ...any) {
	r.progress(r.level.Name, done, total, fmt.Sprintf(format, args...))
}

// Raw creates a file for the raw output of a program, LEVEL-NAME below raw/. The caller closes it.
func (r *Recorder) Raw(name string) (io.WriteCloser, error) {
	dir := filepath.Join(r.dir, "raw")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, errs.Wrap(err, "result.Raw", dir)
	}
	f, err := os.Create(r.RawPath(name)) // #nosec G304 -- the directory is the user's own
	if err != nil {
		return nil, errs.Wrap(err, "result.Raw", name)
	}
	return f, nil
}

// RawPath returns the path of the raw output with a name.
func (r *Recorder) RawPath(name string) string {
	return filepath.Join(r.dir, "raw", r.level.Name+"-"+name)
}

// End ends the level and returns it.
func (r *Recorder) End() Level {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.level.Ended = time.Now()
	return r.level
}

// Path returns the path of the result in a run's directory.
func Path(dir string) string { return filepath.Join(dir, "result.json") }

// Write writes result.json in a directory, atomically.
func Write(dir string, run *Run) error {
	run.Schema = Schema
	data, err := json.MarshalIndent(run, "", " ")
	if err != nil {
		return errs.Wrap(err, "result.Write", dir)
	}
	next := Path(dir) + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o644); err != nil { // #nosec G306 -- a report is to be read
		return errs.Wrap(err, "result.Write", next)
	}
	return errs.Wrap(os.Rename(next, Path(dir)), "result.Write", dir)
}

// readMax bounds a result that is read: the largest have raw samples of thousands of disks.
const readMax = 256 << 20

// Read reads the result of a run from its directory or its file. It fails with Invalid if it is none, or of a later
// schema.
func Read(path string) (*Run, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = Path(path)
	}
	f, err := os.Open(path) // #nosec G304 -- the user names it
	if err != nil {
		return nil, errs.Wrap(err, "result.Read", path)
	}
	defer func() { _ = f.Close() }()
	return Decode(f, path)
}

// Decode reads result.json from r; name is for errors.
func Decode(r io.Reader, name string) (*Run, error) {
	var run Run
	if err := json.NewDecoder(io.LimitReader(r, readMax)).Decode(&run); err != nil {
		return nil, errs.New(errs.Invalid, "result.Read", name, fmt.Sprintf("it is no result of hemera bench: %v", err)).WithRemedy("name the directory that --out made")
	}
	if run.Schema < 1 || run.Schema > Schema {
		return nil, errs.New(errs.Invalid, "result.Read", name, fmt.Sprintf("its schema is %d; this program knows 1 to %d", run.Schema, Schema)).WithRemedy("use the version that wrote it, or a later one")
	}
	return &run, nil
}

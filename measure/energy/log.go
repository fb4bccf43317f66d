package energy

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"hemera/measure/energy/meter"
	"hemera/words/errs"
)

// planLog is the name of the plan among the raw files of a run, and rawPrefix the prefix of the level's files.
const (
	planLog   = "plan.json"
	rawPrefix = "energy-"
)

// planFile is a plan in a file; the readings are in separate files.
type planFile struct {
	Meters []loggedMeter `json:"meters"`
	Idle   Window        `json:"idle"`
	Assumptions
}

// loggedMeter is a meter and the file of its readings.
type loggedMeter struct {
	meter.About
	File string `json:"file"`
}

// WritePlan writes the plan without its readings, which the sampler has logged.
func (p *Plan) WritePlan(raw func(name string) (io.WriteCloser, error)) error {
	f := planFile{Idle: p.Idle, Assumptions: p.Assumptions}
	for _, c := range p.Courses {
		f.Meters = append(f.Meters, loggedMeter{c.About, rawPrefix + logName(c.Name)})
	}
	data, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return errs.Wrap(err, "energy.WritePlan", planLog)
	}
	w, err := raw(planLog)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	if cause := w.Close(); err == nil {
		err = cause
	}
	return errs.Wrap(err, "energy.WritePlan", planLog)
}

// ReadPlan reads the plan and the readings from the directory of a run. It fails with NotFound if the run measured no
// energy.
func ReadPlan(dir string) (*Plan, error) {
	raw := filepath.Join(dir, "raw")
	path := filepath.Join(raw, rawPrefix+planLog)
	data, err := os.ReadFile(path) // #nosec G304 -- the user names it
	// Most runs have no meter.
	if errs.KindOf(err) == errs.NotFound {
		return nil, errs.New(errs.NotFound, "energy.ReadPlan", dir, "the run measured no energy").WithRemedy("name the directory of a run of hemera bench energy, or its raw power by --meter csv:FILE")
	}
	if err != nil {
		return nil, errs.Wrap(err, "energy.ReadPlan", path)
	}
	var f planFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, errs.As(err, errs.Invalid, "energy.ReadPlan", path)
	}
	// Each meter has its own clock and file.
	var courses []Course
	for _, m := range f.Meters {
		// Only a file of this directory, whatever the plan says.
		points, err := readLog(filepath.Join(raw, filepath.Base(m.File)))
		if err != nil {
			return nil, err
		}
		courses = append(courses, NewCourse(m.About, points))
	}
	return NewPlan(courses, f.Idle, f.Assumptions), nil
}

// readLog reads the readings of one meter.
func readLog(path string) ([]meter.Point, error) {
	f, err := os.Open(path) // #nosec G304 -- a file of the run
	if err != nil {
		return nil, errs.Wrap(err, "energy.ReadPlan", path)
	}
	defer func() { _ = f.Close() }()
	got, err := meter.ParseRecording(f, path)
	return got.Points, err
}

// WriteCourses writes the readings of all meters, in the form of the sampler's logs.
func (p *Plan) WriteCourses(raw func(name string) (io.WriteCloser, error)) error {
	for _, c := range p.Courses {
		if err := c.write(raw); err != nil {
			return err
		}
	}
	return nil
}

// write writes the log of one meter.
func (c Course) write(raw func(name string) (io.WriteCloser, error)) error {
	w, err := raw(logName(c.Name))
	if err != nil {
		return err
	}
	// The sampler writes each reading at once; here all are known.
	buffer := bufio.NewWriter(w)
	err = meter.WriteHead(buffer, c.About)
	for _, p := range c.points {
		if err == nil {
			err = meter.WritePoint(buffer, p)
		}
	}
	if err == nil {
		err = buffer.Flush()
	}
	if cause := w.Close(); err == nil {
		err = cause
	}
	return errs.Wrap(err, "energy.WriteCourses", c.Name)
}

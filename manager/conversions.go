package manager

import (
	"context"
	"time"

	"hemera/cluster"
	"hemera/maint"
	"hemera/maint/requests"
	"hemera/namespace"
	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// conversions implements adminapi.ConvertAdmin.
type conversions struct {
	tree     namespace.Parts
	cluster  *cluster.Cluster
	engine   *maint.Engine
	requests *requests.Store
	now      func() time.Time
}

// Convert implements adminapi.ConvertAdmin.
func (cv *conversions) Convert(ctx context.Context, who string, r adminapi.ConversionRequest) (c adminapi.Conversion, err error) {
	if err := lifecycle.CheckForm(r.Form); err != nil {
		return c, errs.Wrap(err, "manager.Convert", r.Path)
	}
	if _, ok := cv.cluster.View().Space(r.Form.Space); r.Form.Space != "" && !ok {
		return c, errs.New(errs.NotFound, "manager.Convert", "space "+string(r.Form.Space), "there is no such space").WithRemedy("see `hemera space ls`")
	}
	if err := cv.cluster.Marks.AwaitCurrent(ctx); err != nil {
		return c, err
	}
	// As the system: admins may convert what they cannot see as users.
	e, err := cv.tree.Stat(ctx, hemera.SystemIdentity(), r.Path)
	if err != nil {
		return c, err
	}
	if e.IsDir() && !r.Recursive {
		return c, errs.New(errs.IsDirectory, "manager.Convert", r.Path, "it is a directory").WithRemedy("add -r to convert all files below it")
	}
	// By id, so that a tree that is renamed is still the one that was meant.
	c = adminapi.Conversion{ConversionRequest: r, Root: e.ID, Who: who, Asked: cv.now().UTC().Round(0)}
	if c, err = cv.requests.AddConversion(ctx, c); err == nil {
		cv.engine.Wake()
	}
	return c, err
}

// Conversions implements adminapi.ConvertAdmin.
func (cv *conversions) Conversions(context.Context) ([]adminapi.ConversionStatus, error) {
	return cv.engine.ConversionJobs(), nil
}

// StopConversion implements adminapi.ConvertAdmin.
func (cv *conversions) StopConversion(ctx context.Context, id uint64) error {
	return cv.engine.StopConversion(ctx, id)
}

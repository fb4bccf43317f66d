package manager

import (
	"context"
	"errors"
	"fmt"
	gopath "path"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/maint/exposed"
	"hemera/rules/access"
	"hemera/rules/condition"
	"hemera/rules/layout"
	"hemera/rules/quota"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Why implements adminapi.StatusAdmin.
func (rep *reporter) Why(ctx context.Context, who hemera.Identity, kind, ref string) (out adminapi.Explanation, err error) {
	defer rep.ops.begin("Why").end(&err)
	switch kind {
	case adminapi.WhyFile:
		return rep.whyFile(ctx, who, ref)
	case adminapi.WhyDisk:
		// Ids of disks and nodes have 32 bits.
		id, err := strconv.ParseUint(ref, 10, 32)
		if err != nil {
			return out, errs.New(errs.Invalid, "manager.Why", ref, "a disk is named by its number").WithRemedy("see `hemera fs ls`")
		}
		return rep.whyDisk(ctx, hemera.DiskID(id))
	case adminapi.WhyNode, adminapi.WhyNetwork:
		id, err := strconv.ParseUint(ref, 10, 32)
		if err != nil {
			return out, errs.New(errs.Invalid, "manager.Why", ref, "a node is named by its number").WithRemedy("see `hemera node ls`")
		}
		// The same subject from two sides: the node with all that is its, or its network alone.
		if kind == adminapi.WhyNetwork {
			return rep.whyNetwork(hemera.NodeID(id))
		}
		return rep.whyNode(ctx, hemera.NodeID(id))
	case adminapi.WhyJobs:
		return rep.whyJobs(ctx)
	}
	return out, errs.New(errs.Invalid, "manager.Why", kind, "is nothing that can be explained").WithRemedy("kinds are file, disk, node, network and jobs")
}

// whyFile explains a file that who may read: where its pieces can be read, what it lacks, who holds it.
func (rep *reporter) whyFile(ctx context.Context, who hemera.Identity, ref string) (out adminapi.Explanation, err error) {
	e, path, err := find(ctx, rep.tree, who, ref)
	// A path that does not exist is the name of a file that a client wants to write. An id that does not exist is not.
	if errors.Is(err, errs.NotFound) && gopath.IsAbs(ref) {
		return rep.whyNew(ctx, who, ref)
	}
	if err != nil {
		return out, err
	}
	// The right to list has the same bit.
	if d := access.Decide(who, access.Of(e), access.Read); !d.Allowed {
		return out, errs.New(errs.Denied, "manager.Why", path, d.Rule).WithRemedy("ask its owner, or an admin")
	}
	view := rep.cluster.View()
	out = adminapi.Explanation{Subject: path, State: rep.judge.status(ctx, view, e)}
	if e.IsDir() {
		out.State = "a directory"
		rep.addPolicy(ctx, who, &out, path)
		return out, nil
	}
	broken := brokenList(rep.engine.Broken).set()
	for _, p := range e.Pieces {
		// One reason for each piece, also the good ones: the reader sees how many are left.
		r := whyPiece(view, p)
		if rep.engine.FoundBad(e, p) {
			r.Text = "was found bad, and waits to be repaired from the other pieces, or is being; its other pages " + r.Text
		}
		if broken.has(e, p) {
			r.Text = "is known to be bad, and no good piece was left to repair it from; its other pages " + r.Text
			r.Remedy = "hemera file verify " + path + " reads it again; save what can be read, restore the file from elsewhere, or remove it"
			if len(e.Tape) > 0 {
				r.Remedy = "it comes back from tape by itself as soon as the tape can be read"
			}
		}
		out.Reasons = append(out.Reasons, r)
	}
	if empty := layout.Empty(e.Layout, e.Size); len(empty) > 0 && len(e.Pieces) > 0 {
		out.Reasons = append(out.Reasons, emptyPieces(empty))
	}
	// Its pieces are not missing: they were removed as tape has the content.
	if !e.Evicted() {
		out.Reasons = append(out.Reasons, rep.engine.Explain(e)...)
		out.Reasons = append(out.Reasons, exposed.Explain(view, e)...)
	}
	if err := rep.addTape(ctx, &out, e, path); err != nil {
		return out, err
	}
	out.Reasons = append(out.Reasons, rep.engine.ExplainForm(ctx, who, e, path)...)
	out.Reasons = append(out.Reasons, rep.engine.ExplainRules(ctx, e, path)...)
	if len(e.Pieces) < layout.Count(e.Layout, e.Size) && !e.Evicted() {
		rep.addTooFew(view, &out, e)
	}
	rep.addHolder(who, &out, view, name{e.Parent, e.Name})
	// It asks all nodes, and takes as long as usesPatience if one does not answer.
	rep.addOpen(ctx, who, &out, func(f hemera.OpenFile) bool { return f.File == e.ID })
	rep.addQuota(ctx, who, &out, path)
	return out, nil
}

// emptyPieces says that nothing is missing where a small file of a coded layout has no bytes.
func emptyPieces(indexes []uint8) adminapi.Reason {
	texts := make([]string, len(indexes))
	for i, index := range indexes {
		texts[i] = strconv.Itoa(int(index))
	}
	pieces := "piece "
	if len(indexes) > 1 {
		pieces = "pieces "
	}
	return adminapi.Reason{About: "empty", Text: pieces + strings.Join(texts, ", ") + ": the file is too small to have bytes there, so nothing is stored, and nothing is missing"}
}

// addTape says where on tape a file is, and what its requests wait for.
func (rep *reporter) addTape(ctx context.Context, out *adminapi.Explanation, e hemera.Entry, path string) error {
	if e.ArchiveID() == 0 && len(e.Tape) == 0 {
		return nil
	}
	lines, err := rep.tier.Reports.ExplainTape(ctx, path)
	for _, line := range lines {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "tape", Text: line})
	}
	return err
}

// diskState returns the setting of a disk by its admin and its state, in words. The last health that its node reported says nothing while it cannot
// be read.
func diskState(n hemera.NodeInfo, d hemera.Disk) string {
	if !d.Readable() {
		return string(d.Config) + ", cannot be read: it " + d.Unreadable(n)
	}
	return string(d.Config) + ", " + string(d.Health)
}

// content says what files have on a disk.
func content(pieces, bytes int64) string {
	switch pieces {
	case 0:
		return "no file has a piece on it"
	case 1:
		return fmt.Sprintf("files have 1 piece on it, of %d bytes", bytes)
	}
	return fmt.Sprintf("files have %d pieces on it, of %d bytes", pieces, bytes)
}

// addTooFew says when a file asks for more than its space can ever give.
func (rep *reporter) addTooFew(v *hemera.View, out *adminapi.Explanation, e hemera.Entry) {
	have := 0
	for _, d := range v.Disks {
		if d.Space == e.Space {
			have++
		}
	}
	if all := layout.Count(e.Layout, e.Size); have < all {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "layout",
			Text:   fmt.Sprintf("it asks for %d pieces and space %s has %d disks", all, e.Space, have),
			Remedy: "add disks to the space; or write the file again with fewer copies asked for"})
	}
}

// named reports whether who is told the name of a user: an admin of all, a user of itself.
func named(who, user hemera.Identity) bool {
	return who.Admin || who.UID == user.UID && who.Name == user.Name
}

// addHolder says who writes to the name.
func (rep *reporter) addHolder(who hemera.Identity, out *adminapi.Explanation, v *hemera.View, n name) bool {
	holder, disks, expires, ok := rep.pending.holder(n)
	if !ok {
		return false
	}
	text := "is being written by another user"
	if named(who, holder) {
		text = fmt.Sprintf("is being written by %s (uid %d)", holder.Name, holder.UID)
		if holder.Host != "" {
			text += " from " + holder.Host
		}
	}
	if len(disks) > 0 {
		text += fmt.Sprintf(", to disks %v", disks)
	}
	// The first disk is the head's. The added 0 is no disk, for a write without any.
	if d, found := v.Disk(append(disks, 0)[0]); found {
		if node, _ := v.Node(d.Node); node.Status != hemera.NodeOnline {
			text += "; its head node " + node.Addr + " is offline"
		}
	}
	out.Reasons = append(out.Reasons, adminapi.Reason{About: "lock", Text: text,
		Remedy: "wait for its close; without one the name is free by itself at " + expires.UTC().Format("15:04:05 MST") + " at the latest"})
	return true
}

// openShown bounds the open files that an explanation names.
const openShown = 8

// addOpen names who has files open at nodes.
func (rep *reporter) addOpen(ctx context.Context, who hemera.Identity, out *adminapi.Explanation, about func(hemera.OpenFile) bool) {
	// An explanation without open files is better than none, so the error is dropped.
	open, err := rep.observer.OpenFiles(ctx)
	if err != nil {
		return
	}
	matching := 0
	for _, f := range open.Files {
		if !about(f) {
			continue
		}
		// Counted all the same, for the last line.
		if matching++; matching > openShown {
			continue
		}
		verb := "reads"
		if f.Write {
			verb = "writes"
		}
		text := fmt.Sprintf("another user %s it", verb) // by a path that may be of before a rename
		if named(who, f.Who) {
			from := ""
			if f.Who.Host != "" { // a file that the manager's own process opened has none
				from = " from " + f.Who.Host
			}
			text = fmt.Sprintf("%s%s %s %s", f.Who.Name, from, verb, f.Path)
		}
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "open", Text: fmt.Sprintf("%s at node %d: %d bytes so far, %.1f MB/s", text, f.Node, f.Bytes, f.Rate/1e6)})
	}
	if matching > openShown {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "open", Text: fmt.Sprintf("and %d more", matching-openShown)})
	}
	for _, id := range open.Silent {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "open", Text: "node " + id.String() + " did not say in time which files are open there: it is busy, or hangs"})
	}
}

// addQuota names the limits that are used up for a path, a user's own and those of projects only. Without quotas, or if they cannot
// be read, it adds nothing.
func (rep *reporter) addQuota(ctx context.Context, who hemera.Identity, out *adminapi.Explanation, path string) {
	rows, err := rep.tree.Quotas(ctx, hemera.SystemIdentity(), path)
	if err != nil {
		return
	}
	rows = slices.DeleteFunc(rows, func(r hemera.QuotaRow) bool { return !who.Admin && !quota.Bounds(r.QuotaKey, who) })
	// The rules of the status decide when a quota is used up, so that both commands say the same.
	for _, c := range condition.List(condition.Snapshot{Quotas: rows}) {
		if c.Code == condition.QuotaExceeded {
			out.Reasons = append(out.Reasons, adminapi.Reason{About: "quota", Text: c.Text, Remedy: c.Remedy})
		}
	}
}

// whyNew explains what a new file of that name would meet.
func (rep *reporter) whyNew(ctx context.Context, who hemera.Identity, path string) (out adminapi.Explanation, err error) {
	// It reserves no id: an explanation changes nothing.
	prep, err := rep.tree.PrepareBelow(ctx, who, gopath.Dir(path))
	if err != nil {
		return out, err
	}
	out = adminapi.Explanation{Subject: path, State: "there is no such file", Missing: true}
	if rep.addHolder(who, &out, rep.cluster.View(), name{prep.Parent.ID, gopath.Base(path)}) {
		out.State, out.Missing = "it is being written; it can be seen when it is closed", false
	}
	rep.addOpen(ctx, who, &out, func(f hemera.OpenFile) bool { return f.Path == path })
	rep.addPolicy(ctx, who, &out, gopath.Dir(path))
	rep.addQuota(ctx, who, &out, gopath.Dir(path))
	return out, nil
}

// addPolicy says what a new file of who gets below a directory, and whether it can.
func (rep *reporter) addPolicy(ctx context.Context, who hemera.Identity, out *adminapi.Explanation, dir string) {
	// For an admin the answer is that of the system itself: it is about the directory, and not about the admin.
	if who.Admin {
		who = hemera.SystemIdentity()
	}
	prep, err := rep.tree.PrepareBelow(ctx, who, dir)
	if err != nil {
		return
	}
	if d := access.Decide(who, access.Of(prep.Parent), access.CreateIn); !d.Allowed {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: adminapi.AboutNewFiles, Text: "are refused: " + d.Rule, Remedy: "ask the owner of " + dir + ", or an admin"})
		return
	}
	view := rep.cluster.View()
	policy, err := decide(view, &prep, &hemera.Capability{Who: who}, hemera.Wish{})
	if err != nil {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: adminapi.AboutNewFiles, Text: "are refused: " + errs.Reason(err, ""), Remedy: errs.RemedyOf(err)})
		return
	}
	all, writable := 0, 0
	for _, d := range view.Disks {
		if d.Space == policy.Space {
			all++
			if d.Writable() {
				writable++
			}
		}
	}
	r := adminapi.Reason{About: adminapi.AboutNewFiles, Text: fmt.Sprintf("get layout %s in space %s, which has %d disks, %d that can be written", policy.Layout, policy.Space, all, writable)}
	// Files are written all the same, with fewer pieces, if policy.minpieces allows.
	if writable < int(policy.Layout.Pieces) {
		r.Remedy = "add disks, or ask for fewer pieces with sys.forced.nstripes or sys.forced.layout: hemera attr set sys.forced.layout=replica:2 " + dir
	}
	out.Reasons = append(out.Reasons, r)
	// With all disks well, as the status judges spaces; ok is false if there are too few of them.
	if loss, ok := lossOf(wellView(view), hemera.Space{Name: policy.Space, Policy: policy}); ok {
		if r, warns := exposed.ExplainNew(loss); warns {
			out.Reasons = append(out.Reasons, r)
		}
	}
	if d := quota.Decide(rep.pending.claims.With(prep.Quota), quota.Want{QuotaAmount: hemera.QuotaAmount{Files: 1}, Open: true}); !d.Allowed {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "quota", Text: d.Whose + ": " + d.Why, Remedy: d.Remedy})
	}
}

// whyDisk explains a disk: its state, what is done about it, and what holds that up.
func (rep *reporter) whyDisk(ctx context.Context, id hemera.DiskID) (out adminapi.Explanation, err error) {
	view := rep.cluster.View()
	out.Subject = "disk " + id.String()
	d, ok := view.Disk(id)
	was, removed := view.RemovedDisk(id)
	switch {
	// A removed disk has no view and no node to ask; what the cluster remembers of it is all there is.
	case removed:
		out.State = "removed; it was " + was.Where()
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "record", Text: "it is remembered because files have pieces on it",
			Remedy: "add it again if it is still there: hemera fs add " + was.Addr + " " + was.Path})
	case !ok:
		return out, errs.New(errs.NotFound, "manager.Why", out.Subject, "there is no such disk").WithRemedy("see `hemera fs ls`")
	default:
		n, _ := view.Node(d.Node)
		out.Subject += ", " + d.Path + " on " + n.Addr
		out.State = diskState(n, d)
	}
	if err := rep.addConditions(ctx, &out, "disk "+id.String()); err != nil {
		return out, err
	}
	pieces, bytes, err := rep.tree.DiskUsage(ctx, id)
	if err != nil {
		return out, errs.Wrap(err, "manager.Why", out.Subject)
	}
	out.Reasons = append(out.Reasons, adminapi.Reason{About: "content", Text: content(pieces, bytes)})
	busy, err := rep.addJob(ctx, &out, id)
	if err != nil {
		return out, err
	}
	// The cause that holds pieces is looked for only where something is to move them.
	if busy {
		if err := rep.addHolds(ctx, &out, id); err != nil {
			return out, err
		}
	}
	if ok {
		if n := rep.pending.load(id); n > 0 {
			out.Reasons = append(out.Reasons, adminapi.Reason{About: "writes", Text: fmt.Sprintf("%d writes under way will end there", n)})
		}
		rep.addOpen(ctx, hemera.SystemIdentity(), &out, func(f hemera.OpenFile) bool { return slices.Contains(f.Disks, id) })
	}
	return out, nil
}

// addConditions takes over what the status says of a subject.
func (rep *reporter) addConditions(ctx context.Context, out *adminapi.Explanation, subject string) error {
	s, err := rep.snapshot(ctx)
	if err != nil {
		return err
	}
	for _, c := range condition.List(s) {
		// A stalled job is told by addJob, with its numbers.
		if c.Subject == subject && c.Code != condition.JobStalled {
			out.Reasons = append(out.Reasons, adminapi.Reason{About: c.Code, Text: c.Text, Remedy: c.Remedy})
		}
	}
	return nil
}

// addJob tells of the drain or repair of a disk that is not done.
func (rep *reporter) addJob(ctx context.Context, out *adminapi.Explanation, id hemera.DiskID) (busy bool, err error) {
	jobs, err := rep.engine.Jobs(ctx)
	if err != nil {
		return false, err
	}
	view := rep.cluster.View()
	for _, j := range jobs {
		if d, _ := view.Disk(id); j.Space != "" && j.Space == d.Space && !j.Over() {
			r := whyJob(j)
			r.About = "balance of its space"
			out.Reasons = append(out.Reasons, r)
			continue
		}
		if j.Disk == id && !j.Over() {
			out.Reasons = append(out.Reasons, whyJob(j))
			busy = true
		}
	}
	return busy, nil
}

// whyJob says how far a job is and what it waits for.
func whyJob(j adminapi.JobStatus) adminapi.Reason {
	r := adminapi.Reason{About: string(j.Kind), Text: fmt.Sprintf("%s: %d files and %d bytes done, %d files and %d bytes left, %.1f MB/s", j.State,
		j.FilesDone, j.BytesDone, j.FilesLeft, j.BytesLeft, j.Rate/1e6)}
	if j.Remaining > 0 {
		r.Text += ", about " + j.Remaining.Round(time.Second).String() + " to go"
	}
	if j.Failed > 0 {
		r.Text += fmt.Sprintf("; %d failed and are tried again", j.Failed)
	}
	if j.Why != "" {
		r.Text += "; " + j.Why
	}
	return r
}

// addHolds says why pieces are still on a disk that is emptied.
func (rep *reporter) addHolds(ctx context.Context, out *adminapi.Explanation, id hemera.DiskID) error {
	holds, err := rep.engine.Holds(ctx, id)
	if err != nil {
		return err
	}
	for _, h := range holds {
		example := "fxid:" + h.Example.Hex()
		if _, path, err := rep.tree.Resolve(ctx, h.Example); err == nil {
			example = path
		}
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "files", Text: fmt.Sprintf("%d of the first ones, such as %s: %s", h.Files, example, h.Text), Remedy: h.Remedy})
	}
	return nil
}

// whyNode explains a node: its conditions, those of its network included, the disks that are not in full use, its load, and who has
// files open there. It asks the node for the last of these, and takes as long as usesPatience if that does not answer.
func (rep *reporter) whyNode(ctx context.Context, id hemera.NodeID) (out adminapi.Explanation, err error) {
	view := rep.cluster.View()
	n, ok := view.Node(id)
	if !ok {
		return out, errs.New(errs.NotFound, "manager.Why", "node "+id.String(), "there is no such node").WithRemedy("see `hemera node ls`")
	}
	out = adminapi.Explanation{Subject: "node " + id.String() + ", " + n.Addr, State: string(n.Status)}
	if !n.Enabled {
		out.State += ", switched off"
	}
	if err := rep.addConditions(ctx, &out, "node "+id.String()); err != nil {
		return out, err
	}
	for _, d := range view.Disks {
		if d.Node == id && (!d.Readable() || d.Config != hemera.ConfigRW || d.Health != hemera.HealthOK) {
			out.Reasons = append(out.Reasons, adminapi.Reason{About: "disk " + d.ID.String(), Text: d.Path + " is " + diskState(n, d), Remedy: "hemera why disk " + d.ID.String()})
		}
	}
	if n.Status == hemera.NodeOnline {
		out.Reasons = append(out.Reasons, adminapi.Reason{About: "load", Text: fmt.Sprintf("load %.2f, %d threads, %d bytes of memory, up since %s",
			n.Stats.Load1, n.Stats.Threads, n.Stats.RSS, n.Stats.Started.UTC().Format("2006-01-02 15:04 MST"))})
		rep.addOpen(ctx, hemera.SystemIdentity(), &out, func(f hemera.OpenFile) bool { return f.Node == id })
	}
	return out, nil
}

// whyJobs explains all jobs that are not done. The explanation of its disk tells what holds up a drain or repair, which
// the remedy names.
func (rep *reporter) whyJobs(ctx context.Context) (out adminapi.Explanation, err error) {
	jobs, err := rep.engine.Jobs(ctx)
	if err != nil {
		return out, err
	}
	out = adminapi.Explanation{Subject: "jobs", State: "nothing is being drained, repaired, balanced or converted"}
	for _, j := range jobs {
		if j.Over() {
			continue
		}
		r := whyJob(j)
		r.About = j.Title()
		switch {
		case j.Disk != 0:
			r.Remedy = "hemera why disk " + j.Disk.String()
		case j.Kind == adminapi.JobConvert:
			r.Remedy = "hemera convert ls shows the request, hemera convert stop ends it"
		case j.Kind == adminapi.JobRepair:
			r.Remedy = "hemera find / --stripediff names them, hemera why PATH explains one"
		}
		out.Reasons = append(out.Reasons, r)
	}
	if n := len(out.Reasons); n > 0 {
		out.State = fmt.Sprintf("%d under way", n)
	}
	return out, nil
}

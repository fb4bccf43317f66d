package daemon

import (
	"os"

	"golang.org/x/sys/unix"

	"hemera/errs"
)

// hold makes a directory and takes it for this process until the file is closed or the process ends,
// however it ends. Two processes that are the same node would take each other's lease for ever.
// Unavailable while another has the directory.
func hold(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &errs.Error{Kind: errs.KindOf(err), Op: "make the state directory", Subject: dir, Cause: err,
			Remedy: "name a directory that this user can make and write: --data, or the argument of hemera up"}
	}
	return lock(dir, "open the state directory", "stop that process, or name another directory: --data, or the argument of hemera up")
}

// private makes a directory whose content nobody else may read, whatever the one it is in allows: in the
// store are the keys that capabilities are signed with.
func private(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(dir, 0o700)
		}
	}
	if err == nil {
		return nil
	}
	return &errs.Error{Kind: errs.KindOf(err), Op: "keep others out of", Subject: dir, Cause: err, Remedy: "let it belong to the user that this process runs as"}
}

// lock takes a directory as hold does; remedy is for who finds it taken.
func lock(dir, op, remedy string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, &errs.Error{Kind: errs.KindOf(err), Op: op, Subject: dir, Cause: err, Remedy: "let the user that this process runs as read and write it"}
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case nil, unix.ENOLCK, unix.ENOTSUP, unix.ENOSYS: // a filesystem that cannot lock keeps nobody from starting
		return f, nil
	default:
		_ = f.Close()
		return nil, errs.New(errs.Unavailable, op, dir, "another process of Hemera has it").WithRemedy(remedy)
	}
}

package statedir

import (
	"os"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// LockDir makes a state directory, if it is missing, and locks it for this process until the caller closes the file or
// the process ends. It fails with Unavailable while another process has the directory: two processes as the same node
// would take each other's lease for ever.
func LockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &errs.Error{Kind: errs.KindOf(err), Op: "statedir.LockDir", Subject: dir, Cause: err,
			Remedy: "name a directory that this user can make and write: --data, or the argument of hemera up"}
	}
	return Lock(dir, "stop that process, or name another directory: --data, or the argument of hemera up")
}

// Lock locks an existing directory, like LockDir. remedy says what a person can do while another process has it.
//
// If the filesystem cannot lock (some network filesystems), Lock succeeds without a lock. The lock belongs to the open
// file (flock(2)), so it ends with the process, also after a kill.
func Lock(dir, remedy string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, &errs.Error{Kind: errs.KindOf(err), Op: "statedir.Lock", Subject: dir, Cause: err,
			Remedy: "let the user that this process runs as read and write it"}
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case nil, unix.ENOLCK, unix.ENOTSUP, unix.ENOSYS:
		return f, nil
	default:
		_ = f.Close()
		return nil, errs.New(errs.Unavailable, "statedir.Lock", dir, "another process of Hemera has it").WithRemedy(remedy)
	}
}

// Private makes a directory, if it is missing, that only its owner may read, whatever the directory above allows. It
// corrects the mode at each start, because a copy by hand may have opened it.
func Private(dir string) error {
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
	return &errs.Error{Kind: errs.KindOf(err), Op: "statedir.Private", Subject: dir, Cause: err,
		Remedy: "let it belong to the user that this process runs as"}
}

// Package cluster has the commands that look at the whole cluster: its health (status), explanations (why), sessions
// and open files (who, open), the comparison of namespace and disks (fsck), quotas, settings and keys.
package cluster

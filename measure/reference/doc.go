// Package reference has published measurements as results, so that a report can show them beside a site's own.
//
// Each set is a result.Run with Source and without times. Its measures have the names, units and labels of the levels, so
// that plots and comparisons find them. Unpublished values are left out: a maximum whose number of clients is not printed
// has no label clients, and a report draws it from side to side.
//
// # Sets
//
//	eos-arm                        EOS on Kunpeng 920, IHEP, CHEP 2021
//	cern-ns-vm, -100, -1000        CERN's ns benchmark, 2024
//	cern-bulk                      CERN's bulk reads and erasure-coded writes, 2023
//	odroid-orangefs, odroid-cephfs four ARM nodes with hard disks, ENERGY 2022
//	x86-ceph                       its x86 cluster
//	net-aarch64                    iperf3 on an aarch64 server with 100 Gb/s, 2024
//	ssd-readahead                  an SSD over the read-ahead, EOS and CTA community
//
// A test computes the published shares of the peak from the published rates of disks and network, with the code that does
// it for real runs. Capacity per watt is kept as printed, because we do not have the capacity
// of the x86 cluster.
//
// It is a package of its own, because its figures are measurements of others, with their sources.
package reference

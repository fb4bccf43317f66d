package translate

import (
	"reflect"
	"testing"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

func TestOpenRequest(t *testing.T) {
	const async = wire.OpenAsync
	for _, c := range []struct {
		options uint16
		opaque  wire.Opaque
		want    hemera.OpenRequest
	}{
		{wire.OpenRead, "", hemera.OpenRequest{Access: hemera.AccessRead}},
		{0, "", hemera.OpenRequest{Access: hemera.AccessRead}},
		{wire.OpenRead | wire.OpenUpdate, "", hemera.OpenRequest{Access: hemera.AccessRead}},
		{wire.OpenUpdate, "", hemera.OpenRequest{Access: hemera.AccessUpdate}},
		{wire.OpenWriteTo, "", hemera.OpenRequest{Access: hemera.AccessUpdate}},
		{wire.OpenNew, "", hemera.OpenRequest{Access: hemera.AccessCreate, Exclusive: true}},
		{wire.OpenDelete, "", hemera.OpenRequest{Access: hemera.AccessCreate}},
		{wire.OpenNew | wire.OpenDelete | wire.OpenUpdate, "", hemera.OpenRequest{Access: hemera.AccessCreate, Exclusive: true}},
		{wire.OpenDelete | async, "", hemera.OpenRequest{Access: hemera.AccessCreate, Parents: true}},
		{wire.OpenDelete | wire.OpenMkpath, "", hemera.OpenRequest{Access: hemera.AccessCreate, Parents: true}},
		{wire.OpenUpdate | async | wire.OpenForce, "", hemera.OpenRequest{Access: hemera.AccessUpdate, Force: true}},
		{wire.OpenDelete, "oss.asize=42&hem.layout=replica&hem.replicas=3&hem.checksum=md5&hem.space=ssd", hemera.OpenRequest{
			Access: hemera.AccessCreate, Size: 42, Wish: hemera.Wish{Space: "ssd", Layout: "replica", Pieces: 3, Checksum: "md5"}}},
		{wire.OpenDelete, "oss.asize=-1&eos.layout.type=plain&eos.layout.nstripes=x&eos.layout.checksum=adler&eos.space=hdd", hemera.OpenRequest{
			Access: hemera.AccessCreate, Wish: hemera.Wish{Space: "hdd", Layout: "plain", Pieces: -1, Checksum: "adler"}}},
		{wire.OpenDelete, "hem.layout=rs:4+2&hem.blocksize=4M", hemera.OpenRequest{
			Access: hemera.AccessCreate, Wish: hemera.Wish{Layout: "rs:4+2", BlockSize: "4M"}}},
		{wire.OpenDelete, "eos.layout.type=raid6&eos.layout.nstripes=12&eos.layout.blocksize=1M", hemera.OpenRequest{
			Access: hemera.AccessCreate, Wish: hemera.Wish{Layout: "raid6", Pieces: 12, BlockSize: "1M"}}},
		{wire.OpenDelete, "hem.replicas=3", hemera.OpenRequest{Access: hemera.AccessCreate, Wish: hemera.Wish{Layout: "replica", Pieces: 3}}},
		{wire.OpenDelete, "eos.layout.nstripes=3", hemera.OpenRequest{Access: hemera.AccessCreate, Wish: hemera.Wish{Pieces: 3}}},
		{wire.OpenDelete, "hem.replica=3&hem.x=1", hemera.OpenRequest{Access: hemera.AccessCreate, Wish: hemera.Wish{Unknown: "hem.replica"}}},
		{wire.OpenDelete, "hem.new2=1&hem.node=7&tried=a", hemera.OpenRequest{Access: hemera.AccessCreate}}, // from a newer node
		{wire.OpenDelete, "hem.where=1&eos.foo=1&oss.cgroup=x", hemera.OpenRequest{Access: hemera.AccessCreate}},
	} {
		c.want.Path, c.want.Mode = "/f", hemera.ModeUnset
		got := OpenRequest("/f", c.opaque, wire.Open{Options: c.options})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("options %x %q: %+v, want %+v", c.options, c.opaque, got, c.want)
		}
	}
}

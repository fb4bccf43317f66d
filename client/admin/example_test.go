package admin_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"hemera/client/admin"
	admindoor "hemera/doors/admin"
	"hemera/test/fixture"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A program lists the disks that are not active and drains one of them. Errors have the server's kind and its remedy.
func ExampleDial() {
	cluster := fixture.NewCluster() // in place of a manager
	manager := httptest.NewServer(admindoor.NewHandler(admindoor.Services{Cluster: cluster},
		func(*http.Request) (hemera.Identity, error) { return hemera.Identity{Name: "root", Admin: true}, nil }))
	defer manager.Close()

	ctx := context.Background()
	client, err := admin.Dial("root://" + manager.Listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	view, err := client.Cluster.View(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range view.Disks {
		if d.Health == hemera.HealthOK {
			continue
		}
		fmt.Println(d.ID, d.Path, d.Health)
		if err := client.Cluster.SetDisk(ctx, d.ID, "configstatus", "drain"); err != nil {
			log.Fatal(err)
		}
	}
	err = client.Cluster.SetDisk(ctx, 99, "configstatus", "drain")
	fmt.Println(err)
	fmt.Println(errs.RemedyOf(err))
	// Output:
	// 3 /data03 failing
	// fs set disk 99: there is no such disk
	// see hemera fs ls for the disks there are
}

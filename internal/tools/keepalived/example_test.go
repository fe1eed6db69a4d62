package keepalived_test

import (
	"fmt"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// oneFile is a file system of one file.
type oneFile string

func (f oneFile) Read(string) ([]byte, error) { return []byte(f), nil }

func (oneFile) Glob(string) ([]string, error) { return nil, nil }

// What the file says, what keepalived goes on with, and where the two differ.
func ExampleRead() {
	const text = `vrrp_instance apiserver {
    interface eth0
    virtual_router_id 51
    priority 300
    virtual_ipaddress {
        10.0.0.100
    }
}
`
	cfg, err := keepalived.Read("keepalived.conf", "", oneFile(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	i := cfg.Instances[0]
	fmt.Println(i.Name, i.VRID, i.Priority, i.AdvertInterval)
	for _, f := range cfg.Findings {
		fmt.Printf("%s:%d: %s %s: %s\n", f.File, f.Line, f.Severity, f.Code, f.Text)
	}
	// Output:
	// apiserver 51 100 1s
	// keepalived.conf:4: error value: priority "300", want 1 to 255: keepalived takes 100
}

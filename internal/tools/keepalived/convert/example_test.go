package convert_test

import (
	"fmt"

	"github.com/keepvip/keepvip/internal/tools/keepalived/convert"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// oneFile is a file system of one file.
type oneFile string

func (f oneFile) Read(string) ([]byte, error) { return []byte(f), nil }

func (oneFile) Glob(string) ([]string, error) { return nil, nil }

// A text becomes a configuration, and findings about what keepvip does in another way.
func ExampleConvert() {
	const text = `vrrp_instance apiserver {
    interface eth0
    virtual_router_id 51
    priority 101
    virtual_ipaddress {
        10.0.0.100
    }
    debug 2
}
`
	doc, err := syntax.Read("keepalived.conf", "", oneFile(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := convert.Convert(doc, convert.Options{})
	fmt.Printf("%s", r.Text)
	for _, f := range r.Findings {
		fmt.Println(f.File, f.Line, f.Severity, f.Code)
	}
	// Output:
	// # Converted from keepalived.conf. Behind each line is the line that it comes from.
	// apiVersion: keepvip/v1
	// kind: Config
	// vips:
	// - name: apiserver  # keepalived.conf:1 (vrrp_instance apiserver)
	//   addresses:  # keepalived.conf:5
	//   - 10.0.0.100  # keepalived.conf:6
	//   interface: eth0  # keepalived.conf:2
	//   priority: 101  # keepalived.conf:4
	//   vrrp:
	//     id: 51  # keepalived.conf:3
	//     version: 2  # keepalived's default
	//     advertisementInterval: 1s  # keepalived's default
	//   announce:
	//     refresh: 0s  # keepalived's default: never again after these; leave the line out for keepvip's, each minute
	//     delay: 5s  # keepalived's default
	//   check: none  # nothing is tracked
	// keepalived.conf 8 note ignored
}

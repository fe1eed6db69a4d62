package convert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const commented = `# Edge balancers
#########
global_defs {
 router_id LB1 # shown nowhere
}
! the public address
vrrp_instance VI_1 {
 interface eth0 # bond later
 virtual_router_id 5
 authentication {
  auth_type PASS
  #auth_pass oldSecret
  auth_pass 11#22
 }
 virtual_ipaddress {
  10.0.0.1
  # the spare: "quoted"
  10.0.0.2
 }
 # the end
}
`

// A person adopts the result, so what a person has written into the file is in it: at its line, or at the end. A password that was commented
// out is not.
func TestConvertKeepsComments(t *testing.T) {
	r := converted(t, commented, Options{})
	text := string(r.Text)
	for _, want := range []string{
		"# Edge balancers\napiVersion", "# the public address\n- name: vi-1", "interface: eth0  # k.conf:8: bond later\n",
		"  # the spare: \"quoted\"\n  - 10.0.0.2", "# k.conf:4: shown nowhere\n", "# k.conf:20: the end\n",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "oldSecret")
	assert.NotContains(t, text, "22")
	assert.NotContains(t, text, "####")
	_, err := load(r)
	require.NoError(t, err)
	assert.Nil(t, converted(t, commented, Options{InMemory: true}).Text)
}

func groupOf(n int, more string) string {
	text := "vrrp_script chk {\n script /usr/bin/true\n}\nvrrp_sync_group G {\n group {\n"
	for i := range n {
		text += fmt.Sprintf("  I%d\n", i)
	}
	text += " }\n track_script {\n  chk\n }\n}\n"
	for i := range n {
		text += fmt.Sprintf("vrrp_instance I%d {\n state MASTER\n interface eth%d\n virtual_router_id 5\n priority 150\n %s\n virtual_ipaddress {\n  10.0.%d.1/24\n }\n}\n", i, i, more, i)
	}
	return text
}

// What a group tracks is checked once, unless somebody is told of each of its instances: keepalived tells all of them FAULT.
func TestConvertChecksAGroupOnce(t *testing.T) {
	assert.Equal(t, 1, strings.Count(string(converted(t, groupOf(3, ""), Options{}).Text), "kind: exec"))
	assert.Equal(t, 3, strings.Count(string(converted(t, groupOf(3, "notify /n"), Options{}).Text), "kind: exec"))
	cfg, err := load(converted(t, groupOf(3, ""), Options{InMemory: true}))
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(values(cfg), "kind: exec"))
	raised := strings.Replace(groupOf(3, ""), " script /", " weight 5\n script /", 1)
	assert.Equal(t, 3, strings.Count(string(converted(t, raised, Options{}).Text), "kind: exec"), "the least of the group's priorities counts")
	assert.Equal(t, 1, strings.Count(string(converted(t, groupOf(3, ""), Options{}).Text), "never again after these"), "keepalived's default is explained once")
}

func TestFoldedSaysEachKindOnce(t *testing.T) {
	r := converted(t, groupOf(9, ""), Options{})
	var states, lengths []string
	for _, f := range r.Folded() {
		if strings.HasPrefix(f.Text, "state MASTER") {
			states = append(states, f.Text)
		}
		if strings.Contains(f.Text, "binds the address as /32") {
			lengths = append(lengths, f.Text)
		}
	}
	require.Len(t, states, 1)
	assert.Contains(t, states[0], "(9 times, also at ")
	assert.Contains(t, states[0], " and 3 more)")
	assert.Len(t, lengths, 1)
	assert.Greater(t, len(r.Findings), len(r.Folded()))

	two := strings.ReplaceAll(groupOf(2, ""), "virtual_router_id 5", "use_ipvlan\n virtual_router_id 5")
	faults := 0
	for _, f := range converted(t, two, Options{}).Folded() {
		if strings.HasPrefix(f.Text, "use_ipvlan") {
			faults++
		}
	}
	assert.Equal(t, 2, faults, "each error has to be seen to")
}

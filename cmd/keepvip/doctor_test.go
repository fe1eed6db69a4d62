package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/internal/tools/keepalived/lint"
)

func sampleFacts() doctor.Facts {
	source, vip := netip.MustParseAddr("10.0.0.12"), netip.MustParseAddr("10.0.0.100")
	v := config.VIP{Name: "apiserver", Addresses: []netip.Prefix{netip.PrefixFrom(vip, 32)}}
	return doctor.Facts{VIPs: []config.VIP{v}, Wires: []doctor.Wire{{
		Interface: "eth0", IPv4: true,
		Adverts: []doctor.Advert{
			{Source: source, Version: 3, VRID: 51, Priority: 100, Interval: 100 * time.Millisecond, Addresses: []netip.Addr{vip}},
			{Source: netip.MustParseAddr("10.0.0.11"), Own: true},
		},
		Hellos: []doctor.Hello{
			{Source: source, Group: vip, Node: "n2", Software: "1.0.0", VRID: 51, Interval: 100 * time.Millisecond, Hears: []uint64{5}, Misses: []uint64{5}},
			{Source: netip.MustParseAddr("10.0.0.11"), Own: true, Group: vip, Session: 5},
		},
	}}}
}

func sampleDoctor() doctorDoc {
	doc := doctorDoc{
		Heard: heard(sampleFacts()), Members: membersHeard(sampleFacts()), Unknown: []string{},
		Findings: []doctor.Finding{{
			Code: code.VRRPInDropped, Name: "vrrp-in-dropped", Severity: doctor.Error, VIP: "apiserver", Peer: "10.0.0.12", What: "VRRP is dropped", Remedy: "Let it in.",
		}},
	}
	doc.Count = doctor.Tally(doc.Findings)
	return doc
}

func TestDoctorTextHasALineForEachSenderAndFinding(t *testing.T) {
	assert.Equal(t, "heard: 10.0.0.12 on eth0 (n2, keepvip 1.0.0): VRRP version 3, VRID 51, priority 100, every 100ms, 10.0.0.100\n"+
		"member: n2 10.0.0.12 on eth0, keepvip 1.0.0, VRID 51, every 100ms, its clock +0.000 s, hears the messages of this node and not its advertisements\n"+
		"error: KV451 vrrp-in-dropped: apiserver: VRRP is dropped; Let it in.\n", doctorText(sampleDoctor()))
	assert.Equal(t, "nothing is wrong\n", doctorText(doctorDoc{}))
	assert.Equal(t, "not known: nobody was heard\nnothing was found that is wrong, as far as can be known\n", doctorText(doctorDoc{Unknown: []string{"nobody was heard"}}))
}

func TestDoctorExitsByTheWorstSeverity(t *testing.T) {
	tests := []struct {
		count doctor.Count
		want  int
	}{
		{doctor.Count{}, exitOK},
		{doctor.Count{Notes: 3}, exitOK},
		{doctor.Count{Warnings: 1, Notes: 1}, 1},
		{doctor.Count{Errors: 1, Warnings: 1}, 2},
	}
	for _, tt := range tests {
		err := verdictOf(lint.Count(tt.count))
		if tt.want == exitOK {
			assert.NoError(t, err)
			continue
		}
		var coded codedError
		assert.ErrorAs(t, err, &coded)
		assert.Equal(t, tt.want, coded.code)
	}
}

func TestDoctorRefusesToListenForever(t *testing.T) {
	for _, listen := range []string{"0s", "-1s", "1s", "1499ms", "2m"} {
		rc, out, errs := keepvip(t, "doctor", "--listen", listen, "--vip", "10.0.0.100")
		assert.Equal(t, exitUsage, rc)
		assert.Empty(t, out)
		assert.Contains(t, errs, "--listen")
	}
}

// What is not heard in time is a finding about nobody.
func TestDoctorListensForLongerThanAnAdvertisementIsAway(t *testing.T) {
	every := func(interval time.Duration) []config.VIP {
		return []config.VIP{{Election: config.ElectionVRRP, VRRP: config.VRRP{AdvertisementInterval: interval}}, {Election: config.ElectionRaft}}
	}
	for _, tt := range []struct {
		asked, interval time.Duration
		given           bool
		want            time.Duration // 0: refused
	}{
		{listenFor, 100 * time.Millisecond, false, listenFor},
		{listenFor, 10 * time.Second, false, 20 * time.Second},
		{listenFor, 255 * time.Second, false, mostListening},
		{2 * time.Second, 100 * time.Millisecond, true, 2 * time.Second},
		{2 * time.Second, 10 * time.Second, true, 0},
		{2500 * time.Millisecond, 2 * time.Second, true, 2500 * time.Millisecond},
		{2 * time.Second, 1900 * time.Millisecond, true, 0},
		{mostListening, 255 * time.Second, true, mostListening},
	} {
		got, err := listening(tt.asked, tt.given, every(tt.interval))
		assert.Equal(t, tt.want, got, tt)
		assert.Equal(t, tt.want == 0, err != nil, tt)
	}
}

func TestDoctorRefusesAFileOfKubeadmThatIsNotThere(t *testing.T) {
	rc, out, errs := keepvip(t, "doctor", "--vip", "10.0.0.100", "--check", "none", "--kubeadm-config", t.TempDir()+"/none.yaml")
	assert.Equal(t, exitUsage, rc)
	assert.Empty(t, out)
	assert.Contains(t, errs, "none.yaml: no such file or directory")
}

func TestDoctorRefusesPeersOfAFamilyWithoutAnElection(t *testing.T) {
	rc, out, errs := keepvip(t, "doctor", "--peers", "fd77::12", "--vip", "10.0.0.100", "--check", "none")
	assert.Equal(t, exitUsage, rc)
	assert.Empty(t, out)
	assert.Contains(t, errs, "--peers: fd77::12, want an address of the family of a virtual address")
}

func TestDoctorRefusesPeersThatAreNoNodes(t *testing.T) {
	for _, peers := range []string{"n1", "fe80::1", "224.0.0.18", "0.0.0.0", "10.0.0.11,"} {
		rc, out, errs := keepvip(t, "doctor", "--peers", peers, "--vip", "10.0.0.100")
		assert.Equal(t, exitUsage, rc, peers)
		assert.Empty(t, out)
		assert.Contains(t, errs, "want the own address of a node", peers)
	}
}

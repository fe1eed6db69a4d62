package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestStatusSaysHowADeadHolderIsFound(t *testing.T) {
	member := func(last byte, change func(*election.Member)) election.Member {
		m := election.Member{Address: netip.AddrFrom4([4]byte{10, 77, 0, last}), Version: "1", State: election.Backup}
		change(&m)
		return m
	}
	self := member(11, func(m *election.Member) { m.Self = true })
	held := member(12, func(m *election.Member) { m.Node, m.Lifeline = "n2", true })
	bare := member(13, func(*election.Member) {})
	gone := member(14, func(m *election.Member) { m.State, m.Was = election.Silent, "backup" })
	plain := member(15, func(m *election.Member) { m.Version = "" })
	for name, tt := range map[string]struct {
		give instance.Status
		want string
	}{
		"by its advertisements, and no lines": {instance.Status{Members: []election.Member{self, bare}}, ""},
		"all lines":                           {instance.Status{Members: []election.Member{self, held, gone, plain}}, "  lifelines of n2 10.77.0.12\n"},
		"a line is missing": {
			instance.Status{Members: []election.Member{self, held, bare}},
			"  lifelines of n2 10.77.0.12; none of 10.77.0.13, whose end would be heard by their silence alone [KV364]\n",
		},
		"fast": {instance.Status{Detector: &election.Detector{Wait: 0.0104}}, "  detector  fast: a beat of the holder may be 10ms late\n"},
		"fast, and plain": {
			instance.Status{Detector: &election.Detector{Wait: 0.01, Plain: "no third member", Code: code.DetectorPlain}},
			"  detector  plain, though fast is set: no third member [KV366]\n",
		},
	} {
		var b strings.Builder
		writeDetector(&b, tt.give)
		assert.Equal(t, tt.want, b.String(), name)
	}
}

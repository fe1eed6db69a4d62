package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestStatusSaysWhoCouldTakeOver(t *testing.T) {
	for want, give := range map[string]instance.Takers{
		"takeover  2 of 3 nodes could take over":                                                                    {Count: 2, Nodes: 3},
		"NO TAKER  0 of 3 nodes could take over [KV307]":                                                            {Nodes: 3},
		"takeover  no other node is known that could take over":                                                     {Nodes: 1},
		"NO TAKER  0 of 3 nodes could take over: a majority needs it [KV307]":                                       {Nodes: 3, Reason: "a majority needs it"},
		"takeover  0 of 2 nodes could take over; of 1 that speak VRRP alone nothing is known while they are Backup": {Nodes: 2, Unknown: 1},
	} {
		assert.Equal(t, want, takersText(give))
	}
}

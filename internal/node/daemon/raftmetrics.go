package daemon

import (
	"github.com/prometheus/client_golang/prometheus"
)

// raftCollector turns the state of the election by raft into metrics; there are none where nothing is elected by raft.
type raftCollector struct{ node *raftNode }

var _ prometheus.Collector = raftCollector{}

// Describe implements prometheus.Collector.
func (c raftCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c raftCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.node.status()
	if s == nil {
		return
	}
	gauge := func(name, help string, v float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, v)
	}
	quorum := 0.0
	if s.Majority {
		quorum = 1
	}
	gauge("keepvip_raft_quorum", "1 while a leader is known, or could be elected by the voters that are heard.", quorum)
	gauge("keepvip_raft_voters", "Members that have a vote.", float64(s.Voters))
	gauge("keepvip_raft_voters_heard", "Voters that are heard, this node included.", float64(s.VotersHeard))
	gauge("keepvip_raft_term", "The newest term of the election that this node knows.", float64(s.Term))
	if s.Leader.IsValid() {
		leader := prometheus.NewDesc("keepvip_raft_leader", "1 for the leader, by its address and its name; absent while none is known.", []string{"leader", "node"}, nil)
		ch <- prometheus.MustNewConstMetric(leader, prometheus.GaugeValue, 1, s.Leader.String(), s.LeaderNode)
	}
}

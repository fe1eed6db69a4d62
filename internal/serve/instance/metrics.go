package instance

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

// collector turns the status of all instances into Prometheus metrics when it is scraped, so that
// nothing is counted twice and an instance that is gone leaves no series behind.
type collector struct {
	set *Set
}

var _ prometheus.Collector = (*collector)(nil)

// NewCollector makes a collector for s.
func NewCollector(s *Set) *collector { return &collector{set: s} }

var (
	descState      = desc("keepvip_state", "1 for the state that this node is in: initialize, backup or active.", "state")
	descSince      = desc("keepvip_state_since_seconds", "Unix time at which the state was entered.")
	descHolder     = desc("keepvip_holder", "1 for the address of the node that is heard as the Active.", "holder")
	descEligible   = desc("keepvip_eligible", "1 when this node would be a good holder.")
	descCandidate  = desc("keepvip_candidate", "1 when this node may hold the address.")
	descPriority   = desc("keepvip_priority", "Priority that this node advertises, or would.")
	descMembers    = desc("keepvip_members", "Nodes of the group that are known, this one included, by state: initialize, backup, active, or silent.", "state")
	descTakers     = desc("keepvip_takers", "Nodes that could take the address over if its holder died now: heard, fit, and not the holder.")
	descSplit      = desc("keepvip_split", "Members that hold the address as far as they say, while none of their advertisements arrives here.")
	descExternal   = desc("keepvip_external", "1 while the address is external: somebody else answers for it. Of what is about elections and fences there is nothing then.")
	descInfo       = desc("keepvip_vip_info", "1 for each virtual address, with its interface and its VRID; with Raft the VRID is empty.", "address", "interface", "vrid")
	descSilenced   = desc("keepvip_silenced", "1 while this node is elected and its lease is over, so that the kernel keeps it from answering.")
	descLease      = desc("keepvip_lease_seconds", "How long the kernel lets a holder answer after it was heard last.")
	descRepairs    = desc("keepvip_fence_repairs_total", "Times the fence was put back that somebody else had changed.")
	descRenewals   = desc("keepvip_fence_renewals_total", "Renewals of the lease by transaction; none where each advertisement that leaves renews it.")
	descUnrenewed  = desc("keepvip_fence_renewal_errors_total", "Renewals of the lease by transaction that the kernel refused.")
	descLapses     = desc("keepvip_fence_lapses_total", "Times the lease was over in the kernel while the holder advertised: another nftables table drops what it sends.")
	descFenced     = desc("keepvip_fenced", "1 when the kernel would silence the address if keepvip died.")
	descLocal      = desc("keepvip_local", "1 where nobody is elected: each fit node serves, and several nodes are active.")
	descRoutes     = desc("keepvip_routes", "Routes to the addresses that this node's kernel had when it was asked last; 0 while this node does not serve.")
	descRoutePuts  = desc("keepvip_route_puts_total", "Times the routes were put, also while they were there.")
	descLeased     = desc("keepvip_dhcp_leased", "1 while a DHCP server keeps the address for the holder, 0 while it does not; absent on other nodes, and without the option.", "address")
	descRoutesLost = desc("keepvip_routes_lost_total", "Times a route was gone that somebody else had removed, and was put back.")
	descConflicts  = desc("keepvip_conflicts", "Hosts outside the election that claim an address.")
	descHealthy    = desc("keepvip_check_healthy", "1 when the health check passes; absent until its first result.", "check")
	descProbes     = desc("keepvip_check_probes_total", "Health probes made.", "check")
	descUnasked    = desc("keepvip_check_unasked_total", "Health probes that this host lacked descriptors, memory, processes or ports for; they change no verdict.", "check")
	descFailures   = desc("keepvip_check_failures_total", "Health probes that failed.", "check")
	descFlips      = desc("keepvip_check_changes_total", "Times the health check changed its mind, the first result included.", "check")
	descFalls      = desc("keepvip_check_falls", "Times the health check became unhealthy lately: while above 1 it is damped.", "check")
	descWeight     = desc("keepvip_check_weight", "What the health check moves the priority by; 0 for a condition.", "check")
	descLatency    = desc("keepvip_check_last_probe_duration_seconds", "How long the last health probe took.", "check")
	descProbed     = desc("keepvip_check_last_probe_timestamp_seconds", "Unix time at which the last health probe ended.", "check")
	descExpires    = desc("keepvip_check_certificate_expiry_timestamp_seconds", "Unix time at which the certificate expires that the checked service showed last; absent where it showed none.", "check")
	descSent       = desc("keepvip_adverts_sent_total", "VRRP advertisements sent.")
	descSendErrors = desc("keepvip_advert_send_errors_total", "VRRP advertisements that the kernel refused to send.")
	descReceived   = desc("keepvip_adverts_received_total", "VRRP advertisements taken into account.")
	descRejected   = desc("keepvip_adverts_rejected_total", "VRRP advertisements not taken into account.", "reason")
	descAcute      = desc("keepvip_adverts_rejected_acute", "Senders whose advertisements were refused in the last minute for a reason that an operator has to act on.")
	descLateness   = desc("keepvip_lateness_seconds", "The most by which a timer was served late in the last one to two minutes.")
	descChanges    = desc("keepvip_transitions_total", "Changes of state, by the name of their cause: docs/troubleshooting.md has them.", "reason")
	descTakeovers  = desc("keepvip_takeovers_total", "Times this node became Active in the present term.")
	descRivals     = desc("keepvip_rivals_total", "Advertisements of a rival heard while Active.")
	descRefused    = desc("keepvip_member_messages_rejected_total", "Messages of the members' protocol not taken into account.", "reason")
	descGranted    = desc("keepvip_granted_total", "Takeovers that another node has granted, in the present term.")
	descPassedOn   = desc("keepvip_passed_on_total", "Times this node has passed the address on, in the present term.")
	descAnnounced  = desc("keepvip_announcements_total", "Rounds of gratuitous ARP and unsolicited neighbour advertisements.")
	descNotSent    = desc("keepvip_announcement_errors_total", "Rounds of announcements that could not be sent.")
	descRestored   = desc("keepvip_addresses_restored_total", "Times an address was put back that somebody else had removed.")
)

// Of what is spread, by the port that clients connect to, such as 6443/tcp.
var (
	descSlots       = desc("keepvip_spread_slots", "Slots that a member has; each slot gets as many new connections as any other.", "port", "member")
	descSpreadOver  = desc("keepvip_spread_members", "Members that connections are spread over, by condition: fit, keeps or dead.", "port", "condition")
	descConnections = desc("keepvip_spread_connections", "Connections of clients that a member serves, as it has counted them last.", "member")
	descLeftOut     = desc("keepvip_spread_left_out", "Members that get no connections, because there are more than a table has room for.")
	descEnding      = desc("keepvip_spread_ending", "Ports that are not spread any more, whose connections go on.")
	descFollowers   = desc("keepvip_spread_followers", "Followers that this node tells who the members are; each of them asks up to three members.")
	descChance      = desc("keepvip_spread_second_chance", "1 when a connection outlives that its slot gets another member.")
	descSpreading   = desc("keepvip_spread_working", "1 while connections are spread as they should be; absent where none are to be spread.")
)

func collectSpread(ch chan<- prometheus.Metric, s Status) {
	if s.Spread == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{s.Name}, labels...)...)
	}
	gauge(descSpreading, truth(s.Spread.Problem == ""))
	if s.Spread.Via != SpreadMasquerade {
		gauge(descChance, truth(s.Spread.SecondChance))
	}
	gauge(descLeftOut, float64(len(s.Spread.LeftOut)))
	gauge(descEnding, float64(s.Spread.ending()))
	gauge(descFollowers, float64(len(s.Spread.Followers)))
	for _, m := range s.Spread.Members {
		gauge(descConnections, float64(m.Connections), m.Address.String())
	}
	for _, t := range s.Spread.Tables {
		if !t.Ends.IsZero() {
			continue
		}
		for _, p := range t.Ports {
			port, in := p.Label(), map[string]int{}
			for _, share := range t.Shares {
				gauge(descSlots, float64(share.Slots), port, share.Address.String())
				in[share.Condition]++
			}
			for _, condition := range []string{"fit", "keeps", "dead"} {
				gauge(descSpreadOver, float64(in[condition]), port, condition)
			}
		}
	}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"vip"}, labels...), nil)
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.set.Status() {
		collectMode(ch, s)
		collectChecks(ch, s)
		if s.Observed == ObservedExternal {
			continue
		}
		collectState(ch, s)
		collectCounters(ch, s)
		collectSpread(ch, s)
		collectRoutes(ch, s)
		for _, l := range s.Leases {
			ch <- prometheus.MustNewConstMetric(descLeased, prometheus.GaugeValue, truth(l.Problem == "" && !l.Renewed.IsZero()), s.Name, l.Address.String())
		}
	}
}

func collectRoutes(ch chan<- prometheus.Metric, s Status) {
	if s.Local {
		ch <- prometheus.MustNewConstMetric(descLocal, prometheus.GaugeValue, 1, s.Name)
	}
	if r := s.Route; r != nil {
		ch <- prometheus.MustNewConstMetric(descRoutes, prometheus.GaugeValue, float64(r.Present), s.Name)
		ch <- prometheus.MustNewConstMetric(descRoutePuts, prometheus.CounterValue, float64(r.Puts), s.Name)
		ch <- prometheus.MustNewConstMetric(descRoutesLost, prometheus.CounterValue, float64(r.Lost), s.Name)
	}
}

// collectMode is what there is of every instance, besides its checks.
func collectMode(ch chan<- prometheus.Metric, s Status) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{s.Name}, labels...)...)
	}
	gauge(descExternal, truth(s.Mode == config.ModeExternal))
	gauge(descEligible, truth(s.Eligible))
	vrid := ""
	if s.VRID != 0 {
		vrid = strconv.Itoa(int(s.VRID))
	}
	for _, a := range s.Addresses {
		gauge(descInfo, 1, a.Addr().String(), s.Interface, vrid)
	}
}

func collectChecks(ch chan<- prometheus.Metric, s Status) {
	metric := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, check string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, s.Name, check)
	}
	for _, k := range s.Checks {
		if k.State != health.Unknown {
			metric(descHealthy, prometheus.GaugeValue, truth(k.State == health.Healthy), k.Name)
		}
		metric(descFalls, prometheus.GaugeValue, float64(k.Falls), k.Name)
		metric(descWeight, prometheus.GaugeValue, float64(k.Weight), k.Name)
		if !k.LastProbe.IsZero() {
			metric(descLatency, prometheus.GaugeValue, k.Latency, k.Name)
			metric(descProbed, prometheus.GaugeValue, float64(k.LastProbe.UnixNano())/1e9, k.Name)
		}
		if !k.Expires.IsZero() {
			metric(descExpires, prometheus.GaugeValue, float64(k.Expires.Unix()), k.Name)
		}
		metric(descProbes, prometheus.CounterValue, float64(k.Probes), k.Name)
		metric(descUnasked, prometheus.CounterValue, float64(k.Unasked), k.Name)
		metric(descFailures, prometheus.CounterValue, float64(k.Failures), k.Name)
		metric(descFlips, prometheus.CounterValue, float64(k.Changes), k.Name)
	}
}

func collectState(ch chan<- prometheus.Metric, s Status) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{s.Name}, labels...)...)
	}
	for _, state := range []string{"initialize", "backup", "active"} {
		gauge(descState, truth(s.State == state), state)
	}
	gauge(descSilenced, truth(s.Silent))
	gauge(descLease, s.lease.Seconds())
	gauge(descSince, float64(s.Since.UnixNano())/1e9)
	if s.Holder != "" {
		gauge(descHolder, 1, s.Holder)
	}
	gauge(descCandidate, truth(!s.NoCandidate))
	gauge(descPriority, float64(s.Priority))
	for _, state := range []election.State{election.Initialize, election.Backup, election.Active, election.Silent} {
		gauge(descMembers, float64(s.membersIn(state)), state.String())
	}
	gauge(descTakers, float64(s.Takers.Count))
	gauge(descSplit, float64(len(s.Splits)))
	gauge(descAcute, float64(acute(s.Rejected)))
	gauge(descLateness, s.Lateness)
	gauge(descFenced, truth(s.Fence.Standing))
	gauge(descConflicts, float64(len(s.Conflicts)))
}

func collectCounters(ch chan<- prometheus.Metric, s Status) {
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), append([]string{s.Name}, labels...)...)
	}
	c := s.Counters
	counter(descSent, c.Sent)
	counter(descSendErrors, c.SendErrors)
	counter(descReceived, c.Received)
	for reason, n := range c.Rejected {
		counter(descRejected, n, reason)
	}
	counter(descRepairs, s.Fence.Repairs)
	counter(descRenewals, s.Fence.Renewals)
	counter(descUnrenewed, s.Fence.RenewalErrors)
	counter(descLapses, s.Fence.Lapses)
	for why, n := range s.changes {
		counter(descChanges, n, why)
	}
	counter(descTakeovers, c.Takeovers)
	counter(descRivals, c.Rivals)
	for reason, n := range c.MembersRejected {
		counter(descRefused, n, reason)
	}
	counter(descGranted, c.Granted)
	counter(descPassedOn, c.PassedOn)
	counter(descAnnounced, c.Announcements)
	counter(descNotSent, c.AnnouncementFails)
	counter(descRestored, c.Restored)
}

func (s *Status) membersIn(state election.State) (n int) {
	for _, m := range s.Members {
		if m.State == state {
			n++
		}
	}
	return n
}

func acute(list []election.Rejection) int {
	senders := map[netip.Addr]bool{}
	for _, r := range list {
		if r.Acute(time.Now()) {
			senders[r.Source] = true
		}
	}
	return len(senders)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

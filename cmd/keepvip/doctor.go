package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/internal/tools/doctor/gather"
	"github.com/keepvip/keepvip/internal/tools/keepalived/lint"
)

const (
	// listenFor is three HELLOs of each member, and any advertisement interval that is usual.
	listenFor = 3 * time.Second
	// leastListening is longer than a HELLO or an advertisement may be away, on a host that is not idle: a member says one a second.
	leastListening = 1500 * time.Millisecond
	// listenSlack is how late an advertisement may be on a host that is not idle.
	listenSlack = 300 * time.Millisecond
	// measureFor is how long members are sent echo requests where an entry has the detector that goes by them.
	measureFor = 10 * time.Second
	// mostListening is longer than the longest advertisement interval of version 3.
	mostListening = time.Minute
	// mostPeers is more than a cluster has control-plane nodes.
	mostPeers = 32
)

// doctorDoc is what doctor prints as JSON.
type doctorDoc struct {
	Findings []doctor.Finding `json:"findings"` // the worst first; never null
	Heard    []heardDoc       `json:"heard"`    // who advertises on the links of the addresses, this node left out; never null
	Members  []memberDoc      `json:"members"`  // the other keepvip nodes of the addresses; never null
	Unknown  []string         `json:"unknown"`  // what could not be told, a sentence each; never null
	doctor.Count
}

// memberDoc is what another keepvip node says of itself. Nobody has verified it.
type memberDoc struct {
	VIP        string     `json:"vip"`
	Interface  string     `json:"interface"`
	Source     netip.Addr `json:"source"`
	Node       string     `json:"node"`
	Keepvip    string     `json:"keepvip"` // its version
	VRID       uint8      `json:"vrid,omitempty"`
	Interval   float64    `json:"intervalSeconds,omitempty"`
	ClockAhead float64    `json:"clockAheadSeconds"`       // of this host's clock
	Hears      *bool      `json:"hearsMessages,omitempty"` // of the keepvip that runs here; absent without one
	Misses     *bool      `json:"missesAdverts,omitempty"` // as Hears: this node holds the address, and nothing of its VRRP arrives there
}

// heardDoc is one sender and virtual router that was heard. Nobody has verified it.
type heardDoc struct {
	Interface string       `json:"interface"`
	Source    netip.Addr   `json:"source"`
	Node      string       `json:"node,omitempty"`    // the name that it has as a member
	Keepvip   string       `json:"keepvip,omitempty"` // the version of its keepvip
	Version   uint8        `json:"version"`           // of VRRP
	VRID      uint8        `json:"vrid"`
	Priority  uint8        `json:"priority"`
	Interval  float64      `json:"intervalSeconds"`
	Addresses []netip.Addr `json:"addresses"`
}

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what on this host, its network or its cluster would not carry the address",
		Long: "Looks at this host, listens on its links, and says what is wrong or will be: each finding with a code, what was found and the\n" +
			"remedy. It is of use before the installation and after it, and works beside a keepvip that runs. It changes nothing:\n" +
			"what it sends is questions (ARP, neighbour discovery) for the addresses, that it joins VRRP's groups, echo requests to members, and\n" +
			"probes to --peers; and it connects to checked services (HTTPS) and to Raft's other voters, and sends them nothing.\n" +
			"docs/troubleshooting.md has all codes. Without a configuration it takes that of the keepvip at --socket.\n\n" +
			"Severities: with an error the address does not work here, or is on two nodes; with a warning it does until something else\n" +
			"happens; a note is worth knowing.\n\n" +
			"Exit codes: 0 notes at most, 1 warnings, 2 errors, or the command line or configuration is wrong.",
		Example: "  keepvip doctor\n" +
			"  keepvip doctor --vip 10.0.0.100\n" +
			"  keepvip doctor --config /etc/keepvip/keepvip.yaml\n" +
			"  keepvip doctor --config /etc/keepvip/keepvip.yaml --listen 30s --peers 10.0.0.11,10.0.0.12",
		Args: noArguments,
	}
	output := bindOutput(cmd)
	listen := cmd.Flags().Duration("listen", listenFor, "for how long to listen on the wire, longer where vrrp.advertisementInterval wants it")
	measure := cmd.Flags().Duration("echoes", measureFor, "for how long to measure whether network and host would carry vrrp.detector fast, by echo requests to the members that were heard; without this flag only where an entry has that; 0s: not at all")
	kubeadm := cmd.Flags().String("kubeadm-config", "", "a file with kubeadm's configuration, whose controlPlaneEndpoint is compared")
	peers := cmd.Flags().StringSlice("peers", nil, "the nodes' own addresses, on which doctor runs with --peers at the same time: they tell each other what they hear")
	flags := bindConfig(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *listen < leastListening || *listen > mostListening {
			return fmt.Errorf("--listen %v, want at least %v, as a member is heard once a second, and at most %v", *listen, leastListening, mostListening)
		}
		if *measure < 0 || *measure > mostListening {
			return fmt.Errorf("--echoes %v, want 0s to %v", *measure, mostListening)
		}
		among, err := nodeAddresses(*peers)
		if err != nil {
			return err
		}
		cfg, err := flags.loadOrAsk(cmd)
		if err != nil {
			return err
		}
		if err := elected(among, cfg.VIPs); err != nil {
			return err
		}
		long, err := listening(*listen, cmd.Flags().Changed("listen"), cfg.VIPs)
		if err != nil {
			return err
		}
		facts, err := gather.Gather(cmd.Context(), gather.Options{Config: cfg, Listen: long, Echoes: measuring(*measure, cmd.Flags().Changed("echoes"), cfg.VIPs), Kubeadm: *kubeadm, Peers: among})
		if err != nil {
			return err
		}
		doc := doctorDoc{
			Findings: append([]doctor.Finding{}, doctor.Judge(facts)...), Heard: heard(facts), Members: membersHeard(facts),
			Unknown: append([]string{}, doctor.Unknown(facts)...),
		}
		doc.Count = doctor.Tally(doc.Findings)
		err = output.print(cmd.OutOrStdout(), kindDoctor, doc, func() string { return doctorText(doc) })
		return cmp.Or(err, verdictOf(lint.Count(doc.Count)))
	}
	return cmd
}

// listening is for how long to listen: as long as was asked for, which is an error where that hears no advertisement, and otherwise for two of
// them, as far as mostListening goes.
func listening(asked time.Duration, given bool, vips []config.VIP) (time.Duration, error) {
	var longest time.Duration
	for _, v := range vips {
		if v.Election == config.ElectionVRRP {
			longest = max(longest, v.VRRP.AdvertisementInterval)
		}
	}
	least := min(longest+listenSlack, mostListening)
	switch {
	case !given:
		return max(asked, min(2*longest, mostListening)), nil
	case asked < least:
		return 0, fmt.Errorf("--listen %v, want at least %v: vrrp.advertisementInterval is %v, and nobody would be heard", asked, least, longest)
	}
	return asked, nil
}

// measuring is for how long members are sent echo requests: as long as was asked for, and otherwise where an entry goes by them.
func measuring(asked time.Duration, given bool, vips []config.VIP) time.Duration {
	fast := func(v config.VIP) bool {
		return v.Election == config.ElectionVRRP && v.VRRP.Detector == config.DetectorFast
	}
	if !given && !slices.ContainsFunc(vips, fast) {
		return 0
	}
	return asked
}

// nodeAddresses reads --peers.
func nodeAddresses(words []string) (out []netip.Addr, err error) {
	if len(words) > mostPeers {
		return nil, fmt.Errorf("--peers: %d addresses, want at most %d", len(words), mostPeers)
	}
	for _, word := range words {
		a, err := netip.ParseAddr(word)
		if err != nil || a.Zone() != "" || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
			return nil, fmt.Errorf("--peers: %q, want the own address of a node, as 10.0.0.11", word)
		}
		out = append(out, a.Unmap())
	}
	return out, nil
}

// elected refuses peers of a family in which no virtual address is elected: nothing would be sent to them.
func elected(peers []netip.Addr, vips []config.VIP) error {
	for _, a := range peers {
		if !slices.ContainsFunc(vips, func(v config.VIP) bool { return v.First().Is4() == a.Is4() }) {
			return fmt.Errorf("--peers: %s, want an address of the family of a virtual address: the first one of each entry is elected", a)
		}
	}
	return nil
}

// heard lists who advertises.
func heard(f doctor.Facts) []heardDoc {
	out := []heardDoc{}
	for _, w := range f.Wires {
		for _, a := range w.Adverts {
			if a.Own {
				continue
			}
			h := heardDoc{
				Interface: w.Interface, Source: a.Source, Version: a.Version, VRID: a.VRID, Priority: a.Priority,
				Interval: a.Interval.Seconds(), Addresses: append([]netip.Addr{}, a.Addresses...),
			}
			if i := slices.IndexFunc(w.Hellos, func(o doctor.Hello) bool { return o.Source == a.Source }); i >= 0 {
				h.Node, h.Keepvip = w.Hellos[i].Node, w.Hellos[i].Software
			}
			out = append(out, h)
		}
	}
	return out
}

// membersHeard lists the other nodes of each address.
func membersHeard(f doctor.Facts) []memberDoc {
	out := []memberDoc{}
	for _, v := range f.VIPs {
		group := v.First()
		for _, w := range f.Wires {
			own := slices.IndexFunc(w.Hellos, func(h doctor.Hello) bool { return h.Own && h.Group == group })
			for _, h := range w.Hellos {
				if h.Own || h.Group != group {
					continue
				}
				m := memberDoc{
					VIP: v.Name, Interface: w.Interface, Source: h.Source, Node: h.Node, Keepvip: h.Software, VRID: h.VRID,
					Interval: h.Interval.Seconds(), ClockAhead: h.Ahead.Seconds(),
				}
				if own >= 0 {
					hears, misses := slices.Contains(h.Hears, w.Hellos[own].Session), slices.Contains(h.Misses, w.Hellos[own].Session)
					m.Hears, m.Misses = &hears, &misses
				}
				out = append(out, m)
			}
		}
	}
	return out
}

// memberLine is a member as a person reads of it.
func memberLine(m memberDoc) string {
	line := fmt.Sprintf("member: %s %s on %s, keepvip %s", m.Node, m.Source, m.Interface, m.Keepvip)
	if m.VRID != 0 {
		line += fmt.Sprintf(", VRID %d, every %v", m.VRID, time.Duration(m.Interval*float64(time.Second)))
	}
	line += fmt.Sprintf(", its clock %+.3f s", m.ClockAhead)
	switch {
	case m.Hears == nil:
	case !*m.Hears:
		line += ", hears nothing of this node"
	case *m.Misses:
		line += ", hears the messages of this node and not its advertisements"
	default:
		line += ", hears this node"
	}
	return line
}

func doctorText(doc doctorDoc) string {
	var b strings.Builder
	for _, h := range doc.Heard {
		fmt.Fprintf(&b, "heard: %s on %s", h.Source, h.Interface)
		if h.Keepvip != "" {
			fmt.Fprintf(&b, " (%s, keepvip %s)", h.Node, h.Keepvip)
		}
		fmt.Fprintf(&b, ": VRRP version %d, VRID %d, priority %d, every %v, %s\n", h.Version, h.VRID, h.Priority,
			time.Duration(h.Interval*float64(time.Second)), printable.List(h.Addresses))
	}
	for _, m := range doc.Members {
		b.WriteString(memberLine(m) + "\n")
	}
	for _, f := range doc.Findings {
		name := ""
		if f.VIP != "" {
			name = f.VIP + ": "
		}
		fmt.Fprintf(&b, "%s: %s %s: %s%s; %s\n", f.Severity, f.Code, f.Name, name, f.What, f.Remedy)
	}
	for _, u := range doc.Unknown {
		b.WriteString("not known: " + u + "\n")
	}
	switch {
	case len(doc.Findings) > 0:
	case len(doc.Unknown) > 0:
		b.WriteString("nothing was found that is wrong, as far as can be known\n")
	default:
		b.WriteString("nothing is wrong\n")
	}
	return b.String()
}

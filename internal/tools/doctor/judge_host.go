package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// judgeHost looks at what this host can do at all.
func judgeHost(out *findings, f Facts) {
	if len(f.Missing) > 0 && f.Daemon == nil {
		out.add(Finding{Code: code.NoCapability, Severity: Error, What: "missing here: the capability " + strings.Join(f.Missing, " and ")})
	}
	switch n := f.Nftables; {
	case n == nil || len(f.Missing) > 0:
	case n.Netdev != nil:
		out.add(Finding{Code: code.NoNftables, Severity: Warning, What: "no nftables for network devices: " + n.Netdev.Error()})
	case n.Egress != nil:
		out.add(Finding{Code: code.NoEgress, Severity: Warning, What: "no egress hook of nftables: " + n.Egress.Error()})
	}
	if f.PortTaken {
		out.add(Finding{Code: code.PortTaken, Severity: Error, What: "the members' UDP port is taken, and no keepvip answers at the control socket: another program has the port, or a keepvip with another --socket"})
	}
	if f.Daemon == nil {
		return
	}
	for _, v := range f.VIPs {
		if why := f.Daemon.Silent[v.Name]; why != "" {
			out.add(Finding{Code: code.NotSent, Severity: Error, VIP: v.Name, What: "this node is the holder and does not answer: " + why})
		}
		if why := f.Daemon.Fenced[v.Name]; why != "" {
			out.add(Finding{Code: code.NoNftables, Severity: Warning, VIP: v.Name, What: "the fence is not in place: " + why})
		}
	}
}

// judgeLateness compares how late a thread was woken with what an election can carry.
func judgeLateness(out *findings, f Facts) {
	worst, over := time.Duration(0), ""
	if l := f.Lateness; l != nil {
		worst, over = l.Worst, fmt.Sprintf("in %v", l.Over.Round(time.Second/10))
	}
	if d := f.Daemon; d != nil && d.Lateness > worst {
		worst, over = d.Lateness, "in the keepvip that runs, in the last two minutes"
	}
	for _, v := range f.VIPs {
		interval := v.VRRP.AdvertisementInterval
		if v.Election != config.ElectionVRRP || interval <= 0 || worst < interval/2 {
			continue
		}
		n := Finding{
			Code: code.Late, Severity: Warning, VIP: v.Name,
			What: fmt.Sprintf("a thread was woken %v late %s; the advertisement interval is %v", worst.Round(time.Millisecond), over, interval),
			Remedy: fmt.Sprintf("take load off this host, or set --realtime; what was measured would carry --advertisement-interval %v on all nodes",
				carried(worst)),
		}
		if worst >= 2*interval {
			n.Severity = Error
		}
		out.add(n)
	}
}

// carried is the shortest interval in which a thread that is so late misses no advertisement, in steps of 50 ms.
func carried(late time.Duration) time.Duration {
	const step = 50 * time.Millisecond
	return max((2*late+step-1)/step*step, 2*step)
}

// cloud is a network in which an address does not move because a host says so.
type cloud struct {
	vendor, product string // what the firmware's vendor and product begin with, in lower case
	name            string
	remedy          string
}

// azureAsset is the asset tag of every machine in Azure. Hyper-V elsewhere has the same vendor and product, and learns from ARP as any switch.
const azureAsset = "7783-7084-3265-9085-8269-3286-77"

const notByARP = "the network learns nothing from ARP there: use the provider's load balancer, or a hook that moves the address by its interface"

// clouds are told apart by their firmware.
func clouds() []cloud {
	return []cloud{
		{"amazon", "", "Amazon EC2", notByARP},
		{"google", "", "Google Compute Engine", notByARP},
		{"azure", "", "Azure", notByARP},
		{"digitalocean", "", "DigitalOcean", notByARP},
		{"hetzner", "vserver", "Hetzner Cloud", notByARP},
		{"vultr", "", "Vultr", notByARP},
		{"scaleway", "", "Scaleway", notByARP},
		{"alibaba cloud", "", "Alibaba Cloud", notByARP},
		{"oraclecloud", "", "Oracle Cloud", notByARP},
		{"linode", "", "Akamai (Linode)", notByARP},
		{"akamai", "", "Akamai (Linode)", notByARP},
		{"upcloud", "", "UpCloud", notByARP},
		{"exoscale", "", "Exoscale", notByARP},
		{"openstack foundation", "", "OpenStack", "its ports let only their own addresses through: add the address to allowed-address-pairs of the port of each node"},
		{"", "openstack", "OpenStack", "its ports let only their own addresses through: add the address to allowed-address-pairs of the port of each node"},
	}
}

// judgeMachine names networks that filter MACs or addresses.
func judgeMachine(out *findings, f Facts) {
	vendor, product := strings.ToLower(f.Machine.Vendor), strings.ToLower(f.Machine.Product)
	switch {
	case strings.HasPrefix(strings.ToLower(f.Machine.Asset), "oraclecloud"):
		vendor = "oraclecloud"
	case f.Machine.Asset == azureAsset:
		vendor = "azure"
	}
	all := clouds()
	i := slices.IndexFunc(all, func(c cloud) bool {
		return strings.HasPrefix(vendor, c.vendor) && strings.HasPrefix(product, c.product)
	})
	if i < 0 {
		return
	}
	out.add(Finding{Code: code.FilteringCloud, Severity: Warning, What: "this machine runs on " + all[i].name, Remedy: all[i].remedy})
}

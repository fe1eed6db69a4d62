package config

import (
	"net/netip"
	"slices"
	"time"
)

const (
	vipsKey   = "vips"
	envPrefix = "KEEPVIP_"

	maxPath   = 4095
	maxSocket = 107 // sun_path of unix(7), less its NUL

	mostAnnouncements = 100 // of one burst
)

// table is every option there is, never changed. Nothing else in the project names a key, a flag or a default.
var table = slices.Concat(vipOptions(), virtualMACOptions(), hooksOnlyOptions(), routeOptions(), externalOptions(), conflictOptions(), dhcpOptions(), checkOptions(), spreadOptions(), backendCheckOptions(), processOptions(), raftOptions(), followOptions(), hostOptions(), metricsOptions(), healthOptions(), fifoOptions())

// keepalivedName is a name that programs know from a keepalived.conf.
func keepalivedName() kind[string] {
	return pattern("name", `^[^\s=:,"]{1,255}$`, "at most 255 characters without blanks, quotes, =, : and commas")
}

func vipOptions() []Option {
	return []Option{
		{
			Key: "vips[].name", Flag: "name", Default: "apiserver", Reload: recreate,
			Help:    "What status, metrics and logs call the virtual address; required when there are several",
			binding: one(pattern("name", `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, "lower-case letters, digits and inner dashes, at most 63"), func(t target) *string { return &t.vip.Name }),
		},
		{
			Key: "vips[].keepalivedName", Flag: "keepalived-name", Reload: live,
			Help:    "What hooks, the notify FIFO and the files in keepalivedFiles call the virtual address, such as VI_1; without it its name",
			binding: one(keepalivedName(), func(t target) *string { return &t.vip.KeepalivedName }),
		},
		{
			Key: "vips[].addresses", Flag: "vip", Reload: live,
			Help:    "The addresses that move together, each alone, or with the length of its subnet; an IPv4 address is bound as /32 in any case, and a subnet that no own address is in gets a route while the address is bound; the family of the first carries the election",
			binding: many(virtualAddress(), func(t target) *[]netip.Prefix { return &t.vip.Addresses }),
		},
		{
			Key: "vips[].interface", Flag: "interface", Reload: recreate,
			Help:    "The network interface; without it the one whose subnet contains the first address",
			binding: one(pattern("name", interfaceName, "the name of an interface, or an altname"), func(t target) *string { return &t.vip.Interface }),
		},
		{
			Key: "vips[].elsewhere", Flag: "elsewhere", Reload: recreate, set: true,
			Help:    "Addresses that are on another interface than the one that the election runs on, each as ADDRESS=INTERFACE; while one of these interfaces is down, this node holds none of the addresses",
			binding: many(addressLink(), func(t target) *[]Elsewhere { return &t.vip.Elsewhere }),
		},
		{
			Key: "vips[].labels", Flag: "label", Reload: live,
			Help:    "What the IPv4 addresses are labelled, in their order, such as eth0:1, for programs that look for that; without it the interface's name, as Linux does",
			binding: words(func(t target) *[]string { return &t.vip.Labels }),
		},
		{
			Key: "vips[].scope", Flag: "scope", Default: string(ScopeGlobal), Reload: live,
			Help:    "How far the IPv4 addresses are valid; one that is narrower than global is listed before the node's own, and programs may take it for that",
			binding: one(enum(ScopeGlobal, ScopeSite, ScopeLink, ScopeHost), func(t target) *Scope { return &t.vip.Scope }),
		},
		{
			Key: "vips[].group", Flag: "group", Reload: recreate,
			Help:    "The virtual addresses with the same group are always on the same node, as when they have different interfaces; if one of them cannot be held there, none is",
			binding: one(pattern("name", `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, "lower-case letters, digits and inner dashes, at most 63"), func(t target) *string { return &t.vip.Group }),
		},
		{
			Key: "vips[].keepalivedGroupName", Flag: "keepalived-group-name", Reload: live,
			Help:    "What hooks and the notify FIFO call the group, such as VG_1; without it its name",
			binding: one(keepalivedName(), func(t target) *string { return &t.vip.KeepalivedGroupName }),
		},
		{
			Key: "vips[].election", Flag: "election", Default: string(ElectionVRRP), Reload: recreate,
			Help:    "How the nodes agree on the one that holds the addresses: vrrp lives with one node; raft needs a majority of raft.peers, and has no two holders during a partition; with local nobody is elected: each fit node serves, and announces a route (docs/routes.md)",
			binding: one(enum(Elections()...), func(t target) *Election { return &t.vip.Election }),
		},
		{
			Key: "vips[].priority", Flag: "priority", Default: "100", Reload: live,
			Help:    "The fit node with the highest priority holds the addresses; equal on all nodes is fine (255 belongs to an address owner, RFC 9568 section 5.2.4)",
			binding: one(number[uint8](1, 254), func(t target) *uint8 { return &t.vip.Priority }),
		},
		{
			Key: "vips[].candidates", Flag: "candidate", Reload: live, set: true,
			Help:    "Own addresses of the nodes that may hold the addresses, the same list on all nodes. Every other node is a member that never advertises; with spread it serves its share. Without the list every node may hold the addresses",
			binding: many(address(), func(t target) *[]netip.Addr { return &t.vip.Candidates }),
		},
		{
			Key: "vips[].vrrp.id", Flag: "vrid", Reload: recreate,
			Help:    "The VRID; without it 1 + (the FNV-1a hash, 32 bits, of the first address's bytes) modulo 255; no other router on the link may use it",
			binding: one(number[uint8](1, 255), func(t target) *uint8 { return &t.vip.VRRP.ID }),
		},
		{
			Key: "vips[].vrrp.version", Flag: "vrrp-version", Default: "3", Reload: recreate,
			Help:    "The VRRP version; 2 knows only IPv4 and whole seconds",
			binding: one(number[uint8](2, 3), func(t target) *uint8 { return &t.vip.VRRP.Version }),
		},
		{
			Key: "vips[].vrrp.advertisementInterval", Flag: "advertisement-interval", Default: "100ms", Reload: live,
			Help:    "Advertisement_Interval; a dead holder is replaced after a little more than three of them",
			binding: one(duration(10*time.Millisecond, 40950*time.Millisecond, 10*time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.AdvertisementInterval }),
		},
		{
			Key: "vips[].vrrp.preempt", Flag: "preempt", Default: "true", Reload: live,
			Help:    "Preempt_Mode: a fit node takes over from one with lower priority, never from an equal",
			binding: one(boolean(), func(t target) *bool { return &t.vip.VRRP.Preempt }),
		},
		{
			Key: "vips[].vrrp.preemptDelay", Flag: "preempt-delay", Default: "0s", Reload: live,
			Help:    "How long a node waits before it preempts",
			binding: one(duration(0, 1000*time.Second, time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.PreemptDelay }),
		},
		{
			Key: "vips[].vrrp.downTimerAdverts", Flag: "down-timer-adverts", Default: "3", Reload: live,
			Help:    "After how many missed advertisements a holder counts as dead; the same on all nodes",
			binding: one(number(1, 100), func(t target) *int { return &t.vip.VRRP.DownTimerAdverts }),
		},
		{
			Key: "vips[].vrrp.startupDelay", Flag: "startup-delay", Default: "0s", Reload: live,
			Help:    "How long a node that starts only listens, before the time begins after which it takes over",
			binding: one(duration(0, 1000*time.Second, time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.StartupDelay }),
		},
		{
			Key: "vips[].vrrp.bootDelay", Flag: "boot-delay", Default: "0s", Reload: live,
			Help:    "How long after the boot of the host a node that starts only listens, for a network that is late; longer than startupDelay, or without effect",
			binding: one(duration(0, 1000*time.Second, time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.BootDelay }),
		},
		{
			Key: "vips[].vrrp.startupInterval", Flag: "startup-interval", Default: "0s", Reload: live,
			Help:    "The longest interval that another router may have when this node starts; set it while the interval is being made shorter by restarting node after node (a reload does not need it). Above ten times advertisementInterval it is also the longest one that a node believes when it hears it for the first time",
			binding: one(duration(0, 40950*time.Millisecond, 10*time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.StartupInterval }),
		},
		{
			Key: "vips[].vrrp.owner", Flag: "owner", Default: "false", Reload: live,
			Help:    "This node is the address owner: priority 255, Active immediately when it starts, above all others; on one node at most (RFC 9568 section 8.3.2)",
			binding: one(boolean(), func(t target) *bool { return &t.vip.VRRP.Owner }),
		},
		{
			Key: "vips[].vrrp.anyAddresses", Flag: "any-addresses", Default: "false", Reload: recreate,
			Help:    "Take every advertisement with this VRID for this cluster's, as RFC 9568 has it, also when it shares no address with the list here; without it such a one is another cluster's, and ignored",
			binding: one(boolean(), func(t target) *bool { return &t.vip.VRRP.AnyAddresses }),
		},
		{
			Key: "vips[].vrrp.excluded", Flag: "excluded", Reload: live, set: true,
			Help:    "Of the addresses those that advertisements leave out, the same on all nodes; they are held like the others. For routers that demand a list, as keepalived does, and for more addresses than an advertisement has room for",
			binding: many(address(), func(t target) *[]netip.Addr { return &t.vip.VRRP.Excluded }),
		},
		{
			Key: "vips[].vrrp.passwordFile", Flag: "password-file", Reload: live,
			Help:    "File with the password of VRRP version 2, at most 8 characters; it travels readable in every advertisement and is no security, only for routers that demand it",
			binding: one(path(maxPath), func(t target) *string { return &t.vip.VRRP.PasswordFile }),
		},
		{
			Key: "vips[].vrrp.peers", Flag: "peer", Reload: recreate, set: true,
			Help:    "The nodes' own addresses: advertisements go to each of them instead of the multicast group; the list may be the same on all nodes, in any order, and entries on one link may have different ones",
			binding: many(address(), func(t target) *[]netip.Addr { return &t.vip.VRRP.Peers }),
		},
		{
			Key: "vips[].vrrp.minTTL", Flag: "min-ttl", Default: "255", Reload: recreate,
			Help:    "The least time to live, or hop limit, of an advertisement, and of members' messages, from vrrp.peers. Below 255 hosts beyond the link can send one, too: use a key then",
			binding: one(number[uint8](1, 255), func(t target) *uint8 { return &t.vip.VRRP.MinTTL }),
		},
		{
			Key: "vips[].vrrp.multicastGroup", Flag: "multicast-group", Reload: recreate,
			Help:    "The multicast group that advertisements go to, the same on all nodes; without it 224.0.0.18 or ff02::12, as RFC 9568 has it",
			binding: one(multicastGroup(), func(t target) *netip.Addr { return &t.vip.VRRP.MulticastGroup }),
		},
		{
			Key: "vips[].vrrp.source", Flag: "source", Reload: recreate,
			Help:    "The node's own address that advertisements come from, where the interface has several; while it is not there the node is out of the election",
			binding: one(source(), func(t target) *netip.Addr { return &t.vip.VRRP.Source }),
		},
		{
			Key: "vips[].vrrp.checksum", Flag: "checksum", Default: string(ChecksumPseudoHeader), Reload: recreate,
			Help:    "What the checksum of a sent VRRPv3 advertisement over IPv4 covers; both forms are accepted",
			binding: one(enum(ChecksumPseudoHeader, ChecksumMessageOnly), func(t target) *Checksum { return &t.vip.VRRP.Checksum }),
		},
		{
			Key: "vips[].vrrp.detector", Flag: "detector", Default: string(detectorPlain), Reload: recreate,
			Help:    "How a backup finds out that the node of the holder is dead: plain, by three missed advertisements; fast, some 40 ms after it, by beats of the holder each 30 ms, by echo requests that its kernel leaves unanswered, and by another member that finds the same. The same on all nodes (docs/detector.md)",
			binding: one(enum(detectorPlain, DetectorFast), func(t target) *detector { return &t.vip.VRRP.Detector }),
		},
		{
			Key: "vips[].vrrp.detectorWitness", Flag: "detector-witness", Reload: recreate,
			Help:    "With detector fast and two nodes: a host on the link that answers echo requests, or gateway for the next hop of the node's default route there, which is looked up every five seconds. It shows a backup that its own link works, and not that the holder is dead",
			binding: one(witness(), func(t target) *Witness { return &t.vip.VRRP.DetectorWitness }),
		},
		{
			Key: "vips[].announce.refresh", Flag: "announce-refresh", Default: "1m0s", Reload: live,
			Help:    "How often the holder repeats its gratuitous ARP or neighbour advertisement after the first burst; 0s never",
			binding: one(duration(0, 24*time.Hour, time.Millisecond), func(t target) *time.Duration { return &t.vip.Announce.Refresh }),
		},
		{
			Key: "vips[].announce.refreshRepeat", Flag: "announce-refresh-repeat", Default: "1", Reload: live,
			Help:    "How many announcements the holder sends at each refresh, 20 ms apart",
			binding: one(number(1, mostAnnouncements), func(t target) *int { return &t.vip.Announce.RefreshRepeat }),
		},
		{
			Key: "vips[].announce.repeat", Flag: "announce-repeat", Default: "6", Reload: live,
			Help:    "How many announcements the first burst has: the first immediately, the sixth after 1.5 s",
			binding: one(number(1, mostAnnouncements), func(t target) *int { return &t.vip.Announce.Repeat }),
		},
		{
			Key: "vips[].announce.delay", Flag: "announce-delay", Default: "0s", Reload: live,
			Help:    "How long after the first burst has begun there is a second one, for a network that learns late; 0s none",
			binding: one(duration(0, time.Hour, time.Millisecond), func(t target) *time.Duration { return &t.vip.Announce.Delay }),
		},
	}
}

func checkOptions() []Option {
	return []Option{
		{
			Key: "vips[].check.url", Flag: "check", Default: "https://127.0.0.1:6443/readyz", Reload: live, shorthand: true,
			Help:    "What is probed: an http or https URL by GET, 200 is healthy; tcp://host:port by connecting; kubeadm, k3s, rke2 or k0s stand for the /readyz of the local apiserver, verified with that installation's CA; backends, the default where there are spread.backends, is good while one backend is; none for an address that follows no service",
			binding: one(simpleCheck(), func(t target) *string { return &t.vip.Check.URL }),
		},
		{
			Key: "vips[].check.ca", Flag: "check-ca", Reload: live,
			Help:    "File with the CA certificates that the probed server is verified against; without it the certificate is not verified",
			binding: one(path(maxPath), func(t target) *string { return &t.vip.Check.CA }),
		},
		{
			Key: "vips[].check.serverName", Flag: "check-server-name", Reload: live,
			Help:    "The name in the server's certificate; without it kubernetes, which every apiserver of kubeadm has",
			binding: one(pattern("name", `^[A-Za-z0-9]([-A-Za-z0-9.:]{0,251}[A-Za-z0-9])?$`, "a host name or an address"), func(t target) *string { return &t.vip.Check.ServerName }),
		},
		{
			Key: "vips[].check.interval", Flag: "check-interval", Default: "300ms", Reload: live,
			Help:    "The time from the start of one probe to the next, give or take a tenth; probes never overlap",
			binding: one(duration(10*time.Millisecond, 10*time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.vip.Check.Interval }),
		},
		{
			Key: "vips[].check.timeout", Flag: "check-timeout", Default: "600ms", Reload: live,
			Help:    "How long a probe may take in all",
			binding: one(duration(10*time.Millisecond, time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.vip.Check.Timeout }),
		},
		{
			Key: "vips[].check.rise", Flag: "check-rise", Default: "2", Reload: live,
			Help:    "Good probes in a row that make an unhealthy node healthy; right after the start one is enough",
			binding: one(number(1, 1000), func(t target) *int { return &t.vip.Check.Rise }),
		},
		{
			Key: "vips[].check.fall", Flag: "check-fall", Default: "3", Reload: live,
			Help:    "Bad probes in a row that make a healthy node unhealthy; a refused connection needs only one",
			binding: one(number(1, 1000), func(t target) *int { return &t.vip.Check.Fall }),
		},
		{
			Key: "vips[].check.whenAllUnhealthy", Flag: "when-all-unhealthy", Default: string(Hold), Reload: live,
			Help:    "What an unhealthy node does while no fitter one is heard: hold the addresses, or release them. With election local it is release where it is not set",
			binding: one(enum(Hold, Release), func(t target) *WhenAllUnhealthy { return &t.vip.Check.WhenAllUnhealthy }),
		},
	}
}

func processOptions() []Option {
	return []Option{
		{
			Key: "key.file", Flag: "key-file", Reload: live,
			Help:    "File with the shared key: 32 to 64 bytes in hex or base64, readable by its owner alone; with it every advertisement is signed, and needs a signature",
			binding: one(path(maxPath), func(t target) *string { return &t.config.Key.File }),
		},
		{
			Key: "key.id", Flag: "key-id", Default: "1", Reload: live,
			Help:    "The number of that key in advertisements, by which receivers find it",
			binding: one(number[uint8](0, 255), func(t target) *uint8 { return &t.config.Key.ID }),
		},
		{
			Key: "key.accept", Flag: "key-accept", Reload: live,
			Help:    "Further keys that are accepted but do not sign, each as ID=PATH: while the key is being changed",
			binding: many(keyRef(), func(t target) *[]KeyRef { return &t.config.Key.Accept }),
		},
		{
			Key: "key.mode", Flag: "key-mode", Default: string(KeyEnforce), Reload: live,
			Help:    "enforce: sign, and refuse what is not signed; permissive: sign, take everything, and say what enforce would refuse; receive-only: as permissive, without signing. Only enforce protects",
			binding: one(enum(KeyEnforce, KeyPermissive, KeyReceiveOnly), func(t target) *KeyMode { return &t.config.Key.Mode }),
		},
		{
			Key: "key.window", Flag: "key-window", Default: "10s", Reload: live,
			Help:    "How far the clock of a node may be from the clock here when it is first heard, and for how long after a node's death what was captured of it may count here",
			binding: one(duration(time.Second, time.Hour, time.Millisecond), func(t target) *time.Duration { return &t.config.Key.Window }),
		},
		{
			Key: "port", Flag: "port", Default: "9646", Reload: restart,
			Help:    "The UDP port on which the nodes tell each other how they are and pass the address on (docs/protocol.md), and the TCP port of their lifelines and of Raft; 0: plain VRRP alone",
			binding: one(number[uint16](0, 65535), func(t target) *uint16 { return &t.config.Port }),
		},
		{
			Key: "lifeline", Flag: "lifeline", Default: "true", Reload: restart,
			Help:    "Have a TCP connection to each other member, which the kernel closes when keepvip ends, however it ends: the address is silent then, and a member takes over within milliseconds. It is of no use with raft or with port 0",
			binding: one(boolean(), func(t target) *bool { return &t.config.Lifeline }),
		},
	}
}

func hostOptions() []Option {
	return []Option{
		{
			Key: "realtime", Flag: "realtime", Default: "false", Reload: restart,
			Help:    "Schedule keepvip before everything on the node that is not real-time (SCHED_RR), so that load does not make advertisements late; needs the capability SYS_NICE, and goes on without",
			binding: one(boolean(), func(t target) *bool { return &t.config.Realtime }),
		},
		{
			Key: "socket", Flag: "socket", Default: "/run/keepvip/keepvip.sock", Reload: restart,
			Help:    "The unix socket through which status and the other commands reach the daemon",
			binding: one(path(maxSocket), func(t target) *string { return &t.config.Socket }),
		},
		{
			Key: "stateDir", Flag: "state-dir", Default: "/var/lib/keepvip", Reload: restart,
			Help:    "The directory for what must survive a restart",
			binding: one(absolute(maxPath, "/var/lib/keepvip"), func(t target) *string { return &t.config.StateDir }),
		},
		{
			Key: "keepalivedFiles", Flag: "keepalived-files", Reload: live,
			Help:    "The directory for what keepalived 2.2.7 writes into /tmp on a signal, for exporters and probes that read it: keepalived.data on SIGUSR1, keepalived.stats on SIGUSR2, keepalived.json on SIGRTMIN+2 (36), and keepalived.stats with counters that then begin at 0 on SIGRTMAX-1 (63); without it these signals do nothing",
			binding: one(absolute(maxPath, "/tmp"), func(t target) *string { return &t.config.KeepalivedFiles }),
		},
		{
			Key: "checksAsRoot", Flag: "checks-as-root", Default: string(rootNever), Reload: live,
			Help: "Whether checks of kind exec may have user root, as a script of keepalived's: never; safe: where nobody but root can change the program, or replace it in one of its directories; any: as keepalived without enable_script_security. " +
				"A keepalived.conf that is run as it is has safe or any, by enable_script_security; never refuses such a check",
			binding: one(enum(rootNever, rootSafe, RootAny), func(t target) *checksAsRoot { return &t.config.ChecksAsRoot }),
		},
		{
			Key: "log.level", Flag: "log-level", Default: string(LogInfo), Reload: live,
			Help:    "The least severe log lines that are written",
			binding: one(enum(LogDebug, LogInfo, LogWarn, LogError), func(t target) *LogLevel { return &t.config.Log.Level }),
		},
		{
			Key: "log.format", Flag: "log-format", Default: string(logText), Reload: restart,
			Help:    "The shape of a log line",
			binding: one(enum(logText, LogJSON), func(t target) *logFormat { return &t.config.Log.Format }),
		},
	}
}

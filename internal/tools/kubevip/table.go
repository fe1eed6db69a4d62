package kubevip

// row is what is known of one setting of kube-vip.
type row struct {
	env      string // the variable, by which the others are known here
	flag     string // without dashes; "": none
	field    string // of the configuration file, in lower case; "": none
	isSwitch bool   // true or false
	needs    string // the switch without which it has no effect; "": none
	fate     fate
	why      string // "": convert.go sees to it
}

// What is said of many.
const (
	noLease     = "there is no lease to renew: a holder that misses three advertisements, one every 100ms, counts as dead (vrrp.advertisementInterval, vrrp.downTimerAdverts)"
	noObject    = "there is no Lease object: the nodes of a group know each other by the VRID, which comes from the address"
	noClient    = "keepvip is no client of the cluster: it asks the apiserver of its own node whether it is ready, and nothing else"
	noServices  = "keepvip serves no Services of type LoadBalancer: keep this manifest for them, with cp_enable false and without address, or let another program do it"
	noBalancer  = "the node that holds the address answers with its own apiserver; --spread direct has every healthy node serve its share"
	noBGP       = "keepvip speaks no BGP: have BIRD or FRR on the node do it, with these neighbours (docs/routes.md)"
	noRoutes    = "beside vip_arp no route is written: announce.by route has the holder announce one (docs/routes.md)"
	noWireguard = "keepvip has no Wireguard"
	noEtcd      = "keepvip's election needs no etcd"
	ownCheck    = "kube-vip looks at it with BGP and routing tables alone; keepvip always checks the apiserver of its node (check)"
	onlyNames   = "the address is given as such, and there is nothing to look up"
	longGone    = "a setting of early kube-vip"
)

// rowOf is the first row that fits, or nil.
func rowOf(fits func(*row) bool) *row {
	for i := range table {
		if fits(&table[i]) {
			return &table[i]
		}
	}
	return nil
}

// table has the settings of kube-vip v0.4 to v1.2, and what is left of those before.
var table = []row{
	// What keepvip is told, or what decides whether it can be: convert.go.
	{env: envAddress, flag: "address", field: "address"},
	{env: envVIP, flag: "vip", field: "vip"},
	{env: envSubnet, flag: "vipSubnet", field: "vipsubnet"},
	{env: envCIDR, flag: "cidr", field: "vipcidr"},
	{env: envInterface, flag: "interface", field: "interface"},
	{env: envPort, flag: "port", field: "port"},
	{env: envARP, flag: "arp", field: "enablearp", isSwitch: true},
	{env: envARPRate, field: "arpbroadcastrate"},
	{env: envBGP, flag: "bgp", field: "enablebgp", isSwitch: true},
	{env: envRoutes, flag: "table", field: "enableroutingtable", isSwitch: true},
	{env: envWireguard, flag: "wireguard", field: "enablewireguard", isSwitch: true},
	{env: envControlPlane, flag: "controlplane", field: "enablecontrolplane", isSwitch: true},
	{env: envServices, flag: "services", field: "enableservices", isSwitch: true},
	{env: envBalancer, flag: "enableLoadBalancer", field: "enableloadbalancer", isSwitch: true},
	{env: envBalancerPort, flag: "lbPort", field: "loadbalancerport", needs: envBalancer},
	{env: envDDNS, flag: "ddns", field: "ddns", isSwitch: true},
	{env: envMetrics, flag: "prometheusHTTPServer", field: "prometheushttpserver"},
	{env: envFile, flag: "config-file", field: "configfile"},

	// The election.
	{env: "vip_leaderelection", flag: "leaderElection", field: "enableleaderelection", isSwitch: true, fate: Changed, why: "the nodes elect among themselves, with VRRP and without the apiserver"},
	{env: "leaderElectionType", flag: "leaderElectionType", field: "leaderelectiontype", fate: Changed, why: "the nodes elect among themselves, with VRRP and without etcd"},
	{env: "vip_leaseduration", flag: "leaseDuration", field: "leaseduration", fate: Changed, why: noLease},
	{env: "vip_renewdeadline", flag: "leaseRenewDuration", field: "renewdeadline", fate: Changed, why: noLease},
	{env: "vip_retryperiod", flag: "leaseRetry", field: "retryperiod", fate: Changed, why: noLease},
	{env: "vip_leasename", flag: "leaseName", field: "leasename", fate: Unneeded, why: noObject},
	{env: "vip_leaseannotations", flag: "leaseAnnotations", field: "leaseannotations", fate: Lost, why: noObject},
	{env: "vip_nodename", flag: "nodeName", field: "nodename", fate: Unneeded, why: "a node of keepvip goes by the host's name"},
	{env: "vip_preserve_on_leadership_loss", isSwitch: true, fate: Lost, why: "a node that has lost the election always gives the address up: two would answer for it"},
	{env: "vip_loseleadership", flag: "loseLeadership", isSwitch: true, fate: Unneeded, why: "a holder without a carrier gives the address up by itself"},
	{env: "vip_loseleadership_timeout_seconds", flag: "loseLeadershiptTimeoutSeconds", needs: "vip_loseleadership", fate: Unneeded, why: "a holder without a carrier gives the address up by itself"},
	{env: "etcdCACert", flag: "etcdCACert", fate: Unneeded, why: noEtcd},
	{env: "etcdCert", flag: "etcdCert", fate: Unneeded, why: noEtcd},
	{env: "etcdKey", flag: "etcdKey", fate: Unneeded, why: noEtcd},
	{env: "etcdEndpoints", flag: "etcdEndpoints", field: "etcd", fate: Unneeded, why: noEtcd},

	// The cluster.
	{env: "cp_namespace", flag: "namespace", field: "namespace", fate: Unneeded, why: noClient},
	{env: "cp_detect", flag: "autodetectcp", field: "detectcontrolplane", isSwitch: true, fate: Unneeded, why: noClient},
	{env: "kubernetes_addr", field: "kubernetesaddr", fate: Unneeded, why: noClient},
	{env: "k8s_config_file", flag: "k8sConfigPath", field: "k8sconfigfile", fate: Unneeded, why: noClient},
	{env: "inCluster", flag: "inCluster", isSwitch: true, fate: Unneeded, why: noClient},
	{env: "KUBECONFIG", fate: Unneeded, why: noClient},
	{env: "KUBERNETES_SERVICE_HOST", fate: Unneeded, why: noClient},
	{env: "KUBERNETES_SERVICE_PORT", fate: Unneeded, why: noClient},
	{env: "enable_node_labeling", flag: "enableNodeLabeling", field: "enablenodelabeling", isSwitch: true, fate: Lost, why: "keepvip writes nothing into the cluster; `keepvip status` and the metrics say who holds the address"},
	{env: "annotation", flag: "annotations", field: "annotations", fate: Lost, why: noBGP},

	// Health and reports.
	{env: "control_plane_health_check_address", fate: Changed, why: ownCheck},
	{env: "control_plane_health_check_period_seconds", fate: Changed, why: ownCheck},
	{env: "control_plane_health_check_timeout_seconds", fate: Changed, why: ownCheck},
	{env: "control_plane_health_check_failure_threshold", fate: Changed, why: ownCheck},
	{env: "control_plane_health_check_ca_path", fate: Changed, why: ownCheck},
	{env: "health_check_port", flag: "healthCheckPort", field: "healthcheckport", fate: Changed, why: "/livez and /readyz are on the listener of the metrics"},
	{env: "vip_loglevel", flag: "log", field: "logging", fate: Changed, why: "the number means another level in another version of kube-vip: keepvip logs from info on (log.level)"},

	// The address and its link.
	{env: "vip_skipdad", isSwitch: true, fate: Unneeded, why: "keepvip always binds IPv6 addresses without duplicate address detection"},
	{env: "vip_interfaceloglobal", flag: "loInterfaceGlobalScope", field: "lointerfaceglobalscope", isSwitch: true, fate: Lost, why: "keepvip binds the address to a link on which other nodes hear it, never to lo"},
	{env: "vip_allow_interface_not_up", isSwitch: true, fate: Unneeded, why: "keepvip starts without the interface, says so, and waits for it"},
	{env: "dns_mode", flag: "dnsMode", field: "dnsmode", fate: Unneeded, why: onlyNames},
	{env: "dhcp_mode", flag: "dhcpMode", fate: Unneeded, why: onlyNames},
	{env: "dhcp_backoff_attempts", fate: Unneeded, why: onlyNames},

	// Services.
	{env: "svc_election", flag: "servicesElection", field: "enableserviceselection", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "svc_leasename", flag: "servicesLeaseName", field: "servicesleasename", needs: envServices, fate: Lost, why: noServices},
	{env: "svc_namespace", flag: "serviceNamespace", field: "servicenamespace", needs: envServices, fate: Lost, why: noServices},
	{env: "vip_servicesinterface", flag: "serviceInterface", field: "servicesinterface", needs: envServices, fate: Lost, why: noServices},
	{env: "lb_class_only", flag: "lbClassOnly", field: "loadbalancerclassonly", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "lb_class_name", flag: "lbClassName", field: "loadbalancerclassname", needs: envServices, fate: Lost, why: noServices},
	{env: "lb_class_legacy_handling", flag: "lbClassNameLegacyHandling", field: "loadbalancerclasslegacyhandling", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "per_service_election_on_demand", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "disable_service_updates", flag: "disableServiceUpdates", field: "disableserviceupdates", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "enable_endpoints", flag: "enableEndpoints", field: "enableendpoints", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "enable_endpointslices", flag: "enableEndpointSlices", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "enable_service_security", flag: "onlyAllowTrafficServicePorts", field: "enableservicesecurity", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "egress_podcidr", field: "egresspodcidr", needs: envServices, fate: Lost, why: noServices},
	{env: "egress_servicecidr", field: "egressservicecidr", needs: envServices, fate: Lost, why: noServices},
	{env: "egress_withnftables", field: "egresswithnftables", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "egress_enableinternalsnat", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "egress_clean", field: "egressclean", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "EGRESS_CLEAN", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "instance_name", needs: envServices, fate: Lost, why: noServices},
	{env: "iptables_backend", field: "iptablesbackend", needs: envServices, fate: Lost, why: noServices},
	{env: "mirror_dest_interface", flag: "mirrorDestInterface", field: "mirrordestinterface", needs: envServices, fate: Lost, why: noServices},
	{env: "enable_upnp", field: "enableupnp", isSwitch: true, needs: envServices, fate: Lost, why: noServices},
	{env: "vip_configmap", flag: "configMap", needs: envServices, fate: Lost, why: noServices},

	// The load balancer of the control plane.
	{env: "lb_fwdmethod", flag: "lbForwardingMethod", field: "loadbalancerforwardingmethod", needs: envBalancer, fate: Lost, why: noBalancer},
	{env: "lb_bindtovip", isSwitch: true, needs: envBalancer, fate: Lost, why: noBalancer},
	{env: "lb_name", needs: envBalancer, fate: Lost, why: noBalancer},
	{env: "lb_type", needs: envBalancer, fate: Lost, why: noBalancer},
	{env: "lb_backendport", needs: envBalancer, fate: Lost, why: noBalancer},
	{env: "lb_backends", needs: envBalancer, fate: Lost, why: noBalancer},
	{env: "loadBalancers", field: "loadbalancers", needs: envBalancer, fate: Lost, why: noBalancer},
	{env: "backend_health_check_interval", field: "backendhealthcheckinterval", needs: envBalancer, fate: Lost, why: noBalancer},

	// BGP.
	{env: "bgp_routerid", flag: "bgpRouterID", field: "bgpconfig", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_routerinterface", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_as", flag: "localAS", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_peers", flag: "bgppeers", field: "bgppeers", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_peeraddress", flag: "peerAddress", field: "bgppeerconfig", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_peeras", flag: "peerAS", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_peerpass", flag: "peerPass", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_multihop", flag: "multihop", isSwitch: true, needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_sourceif", flag: "sourceIF", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_sourceip", flag: "sourceIP", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_hold_time", flag: "bgpHoldTimer", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_keepalive_interval", flag: "bgpKeepAliveInterval", needs: envBGP, fate: Lost, why: noBGP},
	{env: "bgp_attach_ip_to_interface", isSwitch: true, needs: envBGP, fate: Lost, why: noBGP},
	{env: "mpbgp_nexthop", flag: "mpbgpNexthop", needs: envBGP, fate: Lost, why: noBGP},
	{env: "mpbgp_ipv4", flag: "mpbgpIPv4", needs: envBGP, fate: Lost, why: noBGP},
	{env: "mpbgp_ipv6", flag: "mpbgpIPv6", needs: envBGP, fate: Lost, why: noBGP},
	{env: "zebra_enable", flag: "zebra", isSwitch: true, needs: envBGP, fate: Lost, why: noBGP},
	{env: "zebra_url", flag: "zebraUrl", needs: envBGP, fate: Lost, why: noBGP},
	{env: "zebra_version", flag: "zebraVersion", needs: envBGP, fate: Lost, why: noBGP},
	{env: "zebra_software_name", flag: "zebraSoftwareName", needs: envBGP, fate: Lost, why: noBGP},

	// Routing tables.
	{env: envRouteTable, flag: "tableID", field: "routingtableid", needs: envRoutes, fate: Lost, why: noRoutes},
	{env: "vip_routingtabletype", flag: "tableType", field: "routingtabletype", needs: envRoutes, fate: Lost, why: noRoutes},
	{env: envRouteProtocol, flag: "routingProtocol", field: "routingprotocol", needs: envRoutes, fate: Lost, why: noRoutes},
	{env: "vip_cleanroutingtable", flag: "cleanRoutingTable", field: "cleanroutingtable", isSwitch: true, needs: envRoutes, fate: Unneeded, why: "routes go with the process, and what is left of a run before is removed at each start"},

	// What early versions read, or wrote into manifests.
	{env: "vip_singlenode", flag: "singleNode", field: "singlenode", isSwitch: true, fate: Lost, why: longGone},
	{env: "vip_startleader", flag: "startAsLeader", field: "startasleader", isSwitch: true, fate: Lost, why: longGone},
	{env: "vip_addpeerstolb", flag: "addPeersToLB", field: "addpeersasbackends", isSwitch: true, fate: Lost, why: longGone},
	{env: "vip_peers", fate: Lost, why: longGone},
	{env: "vip_localpeer", flag: "localPeer", field: "localpeer", fate: Lost, why: longGone},
	{env: "vip_remotepeers", flag: "remotePeers", field: "remotepeers", fate: Lost, why: longGone},
	{env: "vip_packet", flag: "packet", isSwitch: true, fate: Lost, why: longGone},
	{env: "vip_packetproject", flag: "packetProject", fate: Lost, why: longGone},
	{env: "debounce_time", flag: "debounceTime", fate: Unneeded, why: "kube-vip does not read it either"},
}

// The settings that convert.go sees to.
const (
	envAddress       = "address"
	envVIP           = "vip_address"
	envSubnet        = "vip_subnet"
	envCIDR          = "vip_cidr"
	envInterface     = "vip_interface"
	envPort          = "port"
	envARP           = "vip_arp"
	envARPRate       = "vip_arpRate"
	envBGP           = "bgp_enable"
	envRoutes        = "vip_routingtable"
	envRouteTable    = "vip_routingtableid"
	envRouteProtocol = "vip_routingprotocol"
	envWireguard     = "vip_wireguard"
	envControlPlane  = "cp_enable"
	envServices      = "svc_enable"
	envBalancer      = "lb_enable"
	envBalancerPort  = "lb_port"
	envDDNS          = "vip_ddns"
	envMetrics       = "prometheus_server"
	envFile          = "config_file"
)

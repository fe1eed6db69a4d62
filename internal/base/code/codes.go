package code

// KV1xx: why the role of a node, or the holder, has changed. Where a check, an operator, the wire or the host is the cause, its own code of
// another range is given instead.
const (
	Started        Code = "KV101"
	NobodyHeld     Code = "KV102"
	HolderSilent   Code = "KV103"
	Stopping       Code = "KV104"
	HolderResigned Code = "KV105"
	HigherPriority Code = "KV106"
	HigherAddress  Code = "KV107"
	HolderHeard    Code = "KV108"
	Handover       Code = "KV109"
	PassedOn       Code = "KV110"
	AddressOwner   Code = "KV111"
	Group          Code = "KV112"
	Reconfigured   Code = "KV113"
	Removed        Code = "KV114"
	External       Code = "KV115"
)

// KV2xx: what keeps this node from holding an address: its checks, an operator, its configuration; and how it takes part again.
const (
	// Checks.
	CheckRefused Code = "KV201"
	CheckStatus  Code = "KV202"
	CheckTimeout Code = "KV203"
	CheckCut     Code = "KV204"
	CheckTLS     Code = "KV205"
	CheckLeaving Code = "KV206"
	CheckFailed  Code = "KV207"
	CheckUnknown Code = "KV208"
	CheckWeight  Code = "KV209"

	// Why a fit node does not hold the address.
	LowerPriority Code = "KV210"
	EqualPriority Code = "KV211"
	PreemptOff    Code = "KV212"

	// An operator, and the configuration.
	Held          Code = "KV220"
	Drained       Code = "KV221"
	Witness       Code = "KV222"
	NoCandidate   Code = "KV223"
	NoCandidates  Code = "KV224"
	BindRefused   Code = "KV230"
	NotInElection Code = "KV232"

	// Seen in time, or in files.
	CheckFlaps          Code = "KV240"
	CertificateExpires  Code = "KV241"
	CertificateExpired  Code = "KV242"
	ClusterNetwork      Code = "KV243"
	VirtualMACInterface Code = "KV244"

	// A node takes part again.
	Resumed   Code = "KV250"
	Returned  Code = "KV251"
	NewMember Code = "KV252"

	// The kubelet beside a virtual address.
	KubeletAddress     Code = "KV253"
	KubeletCertificate Code = "KV254"

	// A lease that the holder keeps at a DHCP server.
	LeaseUnanswered Code = "KV255"
	LeaseRefused    Code = "KV256"
)

// KV3xx: what the wire shows, what clients would meet, and what others do to this node.
const (
	// Hosts outside the election, and members that are not heard.
	DuplicateAddress Code = "KV301"
	Split            Code = "KV302"
	Probing          Code = "KV303"
	ForeignVRID      Code = "KV304"
	Rival            Code = "KV305"
	MemberSilent     Code = "KV306"
	NoTaker          Code = "KV307"

	// Packets that are refused.
	WrongKey        Code = "KV310"
	KeyMissing      Code = "KV311"
	KeyUnexpected   Code = "KV312"
	Clocks          Code = "KV313"
	Replayed        Code = "KV314"
	AuthDiffers     Code = "KV315"
	VersionDiffers  Code = "KV316"
	IntervalDiffers Code = "KV317"
	ProtocolDiffers Code = "KV318"
	NotAPeer        Code = "KV319"
	Malformed       Code = "KV320"
	SocketUnread    Code = "KV321"

	// What arrives at a node, and how a holder answers.
	Deaf          Code = "KV340"
	Unanswered    Code = "KV341"
	RepliesLost   Code = "KV342"
	FamilyMissing Code = "KV343"
	HeldUnreached Code = "KV344"

	// Routes to the addresses, for routers.
	RouteLost           Code = "KV350"
	RouteOutlives       Code = "KV351"
	ServesFit           Code = "KV352"
	NoTranslation       Code = "KV353"
	StaysUnhealthy      Code = "KV354"
	NoRoutingDaemon     Code = "KV355"
	RouteNotTaken       Code = "KV356"
	RouteNotTold        Code = "KV357"
	RoutingDaemonSilent Code = "KV358"

	// What clients would meet, as seen from outside.
	NotReached       Code = "KV360"
	NotCovered       Code = "KV361"
	DrillAllRefused  Code = "KV362"
	ProcessEnded     Code = "KV363"
	NoLifeline       Code = "KV364"
	NodeGone         Code = "KV365"
	DetectorPlain    Code = "KV366"
	DetectorMeasured Code = "KV367"

	// Causes of a split, and of claims, that are in the configuration or on the host.
	BehindRouter  Code = "KV370"
	MemberClaims  Code = "KV371"
	PortOfAnother Code = "KV372"
	ForwardedLate Code = "KV373"
	AddressesVary Code = "KV374"

	// Listeners of this node.
	MetricsUnheard Code = "KV380"
	HealthUnheard  Code = "KV381"
	SocketUnheard  Code = "KV382"
	RaftUnheard    Code = "KV383"
	ListenerFull   Code = "KV384"
	FollowersFull  Code = "KV385"
	FollowersCount Code = "KV386"

	// What this host has too little of.
	NoDescriptors     Code = "KV390"
	NoHostDescriptors Code = "KV391"
	NoMemory          Code = "KV392"
	NoProcess         Code = "KV393"
	NoPort            Code = "KV394"
)

// KV4xx: this host: its link, addresses, fence and kernel, what it can do, and which packets pass between it and others.
const (
	// Its link, addresses, fence, and how late it is.
	LinkDown         Code = "KV401"
	InterfaceMissing Code = "KV402"
	NoOwnAddress     Code = "KV403"
	PlaceChanged     Code = "KV404"
	FenceLost        Code = "KV405"
	LeaseLapsed      Code = "KV406"
	NotSent          Code = "KV407"
	StoodStill       Code = "KV408"
	Late             Code = "KV409"
	FenceUncovered   Code = "KV411"

	// Where the address would be.
	NoSubnet       Code = "KV421"
	OwnAddress     Code = "KV422"
	BoundByOther   Code = "KV423"
	NetworkAddress Code = "KV424"
	SmallMTU       Code = "KV425"
	SecondLink     Code = "KV426"

	// What the kernel was told about it.
	ARPIgnore      Code = "KV431"
	ARPFilter      Code = "KV432"
	ProxyARP       Code = "KV433"
	StrictRPFilter Code = "KV434"
	NonlocalBind   Code = "KV435"
	NoIPv6         Code = "KV436"
	DADDisables    Code = "KV437"
	RouterAdverts  Code = "KV438"

	// What this host can do.
	NoCapability   Code = "KV441"
	NoNftables     Code = "KV442"
	NoEgress       Code = "KV443"
	FilteringCloud Code = "KV444"
	PortTaken      Code = "KV445"

	// Which packets pass, each way by itself, and what others have set otherwise.
	VRRPInDropped        Code = "KV451"
	MembersInDropped     Code = "KV452"
	MembersOutDropped    Code = "KV453"
	VRRPNotHeard         Code = "KV454"
	VRRPNotHeardThere    Code = "KV455"
	MembersNotHeard      Code = "KV456"
	MembersNotHeardThere Code = "KV457"
	PeerSilent           Code = "KV461"
	Alone                Code = "KV462"
	OtherVRID            Code = "KV463"
	OtherInterval        Code = "KV464"
	OtherAddresses       Code = "KV465"
	OtherSoftware        Code = "KV466"
	RaftDropped          Code = "KV467"
	RaftRefused          Code = "KV468"
	OtherMTU             Code = "KV469"
	NoDoctor             Code = "KV470"

	// What spreading the load over the members wants.
	NoSecondChance Code = "KV481"
	LargeReceive   Code = "KV482"
	SpreadModule   Code = "KV483"
	ConntrackFull  Code = "KV484"
	NotSpread      Code = "KV485"
	TooManyMembers Code = "KV486"
	NotForwarding  Code = "KV487"
	NotFollowed    Code = "KV488"
	NotListening   Code = "KV489"

	// What somebody keeps keepvip from, beside the election.
	FIFOUnwritten    Code = "KV490"
	HistoryUnwritten Code = "KV491"
	MembersUnheard   Code = "KV492"
)

// KV5xx: the election by Raft.
const (
	NoQuorum     Code = "KV501"
	NoLeader     Code = "KV502"
	MajorityLost Code = "KV503"
	Elected      Code = "KV504"
	LeaderKnown  Code = "KV505"
	Forming      Code = "KV506"
	NotAMember   Code = "KV507"
	LeaderOut    Code = "KV508"
	LeaderWaits  Code = "KV509"
)

// KV6xx: the files of the cluster and of kubeadm.
const (
	CertificateWithoutAddress   Code = "KV601"
	EndpointDiffers             Code = "KV602"
	CheckOnAddress              Code = "KV603"
	ControlPlaneEndpointDiffers Code = "KV604"
	IPVSStrictARP               Code = "KV605"
	ExternalUnanswered          Code = "KV606"
	ExternalStillHeld           Code = "KV607"
)

// KV7xx: failovers on purpose.
const (
	DrillHandover    Code = "KV701"
	DrillStop        Code = "KV702"
	DrillCheck       Code = "KV703"
	DrillRefused     Code = "KV704"
	DrillFailed      Code = "KV705"
	DrillTooLong     Code = "KV706"
	DrillInterrupted Code = "KV707"
	DrillStays       Code = "KV708"
)

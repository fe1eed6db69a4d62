package code

// KV37x: causes of a split, and of claims, that are in the configuration or on the host, and not on the way.
const BehindRouter Code = "KV370"

func wireCauses() []Entry {
	return []Entry{
		{
			BehindRouter, "behind-router", "Messages of a member are refused because they came through a router: their hop limit is less than vrrp.minTTL.",
			"Look at REJECTED in the status: it names the sender and its hop limit.",
			"Set vrrp.minTTL on all nodes to 255 less the number of routers between them, with a key. Or bring the nodes onto one link.",
		},
	}
}

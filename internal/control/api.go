package control

// The paths of the socket's API.
const (
	PathStatus   = "/v1/status"
	PathAnnounce = "/v1/announce"
	PathReload   = "/v1/reload"
	PathMember   = "/v1/member"
)

// Problem is the body of every answer that is not a success.
type Problem struct {
	Error string `json:"error"`
}

package spreadtables

import "errors"

// Connections is how many connections of clients to the ports that are spread this node has, by its connection tracking.
func (t *Tables) Connections() (int, error) {
	return 0, errors.New("spreadtables: connections are not counted yet")
}

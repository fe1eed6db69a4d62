package route

// connection is one to the kernel's routing tables, which is opened when it is needed first, and anew after an error.
type connection struct {
	open   func() (Routes, error)
	routes Routes // nil: it is not open
}

// with does something by the connection.
func (c *connection) with(do func(Routes) error) (err error) {
	if c.routes == nil {
		if c.routes, err = c.open(); err != nil {
			c.routes = nil
			return err
		}
	}
	if err = do(c.routes); err != nil {
		c.close()
	}
	return err
}

func (c *connection) close() {
	if c.routes != nil {
		c.routes.Close()
		c.routes = nil
	}
}

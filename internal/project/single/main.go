// Command single is a project with the spider that tegenaria new spider adds to a project.
package main

import "github.com/tegenaria/tegenaria/cli"

func main() {
	cli.Main(newExample())
}

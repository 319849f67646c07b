package cli

import (
	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/remedy"
)

// means are the words of the command for what messages advise beside settings. What has "" is for the code of a spider.
var means = map[remedy.Setting]string{
	remedy.DiskQueue: "--job DIR", remedy.Fresh: "--if-finished fresh", remedy.StartOver: "remove this one",
	remedy.Requeue: "the command jobs requeue", remedy.Repair: "the command jobs repair", remedy.TryParser: "the command parse",
	remedy.Overwrite: "overwrite it with -O", remedy.Timeout: "",
}

// speak makes the messages of the framework name what the command has: these flags of its own, and -s for other settings.
func (c *call) speak(flags map[remedy.Setting]string) {
	end := remedy.Speak(func(s remedy.Setting) string {
		if flag, ok := flags[s]; ok {
			return flag
		}
		if words, ok := means[s]; ok {
			return words
		}
		return "-s " + string(s)
	})
	if c.silent != nil {
		c.silent()
	}
	c.silent = end
}

// message is an error as the command prints it.
func (c *call) message(err error) string { return printable(errtext.Beside(err, "")) }

// printableHook makes what is logged unable to steer a terminal.
type printableHook struct{}

// Levels are all.
func (printableHook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire changes the message of a line.
func (printableHook) Fire(line *logrus.Entry) error {
	line.Message = printable(line.Message)
	return nil
}

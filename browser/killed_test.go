package browser_test

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/browser"
)

var victim = flag.String("victim", "", "the page that TestVictim asks for until it is killed")

// It is no test: TestKilledProgram starts it as a program of its own, and kills it.
func TestVictim(t *testing.T) {
	if *victim == "" {
		return
	}
	crawl(t, openBrowser(t, browser.Options{}), []string{*victim}, nil)
}

// It fails if a program that is killed leaves processes behind, even those that are in an endless loop, or a folder that the next
// one does not remove.
func TestKilledProgram(t *testing.T) {
	b := openBrowser(t, browser.Options{})
	dir := temporary(t)
	asked := make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/loops":
			io.WriteString(w, `<!doctype html><script>
				new Worker(URL.createObjectURL(new Blob(["for (;;);"])))
				fetch("/looping").then(() => { for (;;); })
			</script>`)
		case "/looping":
			asked <- true
		default:
			io.WriteString(w, "<!doctype html><ul><li>right</ul>")
		}
	}))
	t.Cleanup(server.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self, "-test.run=^TestVictim$", "-browser="+*program, "-victim="+server.URL+"/loops")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	folders, err := os.ReadDir(dir)
	if err != nil || len(folders) != 1 {
		t.Fatalf("the folders of a program: %v, %v", folders, err)
	}
	// While it lives others leave its folder alone.
	if pages, failed := crawl(t, b, []string{server.URL + "/first"}, nil); len(pages["/first"].texts) != 1 {
		t.Error("beside it:", failed)
	}
	if _, err := os.Stat(dir + "/" + folders[0].Name() + "/profile"); err != nil {
		t.Error("the folder of a living program:", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	until(t, "processes of a killed program are gone", func() bool { return len(processes(t, dir)) == 0 })
	if pages, failed := crawl(t, b, []string{server.URL + "/next"}, nil); len(pages["/next"].texts) != 1 {
		t.Error("after it:", failed)
	}
}

// until waits for a condition, for at most 10 seconds.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for !met() {
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Errorf("not after 10 s: %s", what)
			return
		}
	}
}

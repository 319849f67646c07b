package browser

import (
	"os"
	"path/filepath"
	"time"
)

// folderPrefix begins the names of all temporary folders.
const folderPrefix = "tegenaria-browser-"

// folder is the temporary folder of a Chromium. It is locked while its owner lives, and the system unlocks it when that process ends,
// whatever the cause. So a folder that is not locked belongs to nobody, and the next start removes it.
type folder struct {
	path string
	lock *os.File // the folder itself, opened
}

// newFolder makes a folder, and removes those whose owners were killed.
func newFolder() (*folder, error) {
	removeAbandoned()
	for {
		path, err := os.MkdirTemp("", folderPrefix)
		if err != nil {
			return nil, err
		}
		file, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lock(file, true) // where it cannot be locked, others cannot lock it either and leave it alone
		if _, err := os.Stat(path); err == nil {
			return &folder{path, file}, nil
		}
		file.Close() // another process has removed the folder before it was locked
	}
}

// remove removes the folder.
func (f *folder) remove() {
	removeAll(f.path)
	f.lock.Close()
}

// removeAbandoned removes the folders that nobody has locked.
func removeAbandoned() {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if lock(file, false) == nil {
			removeAll(path)
		}
		file.Close()
	}
}

// removeAll removes a folder, into which processes that are being killed may still write.
func removeAll(dir string) {
	until(func() bool { return os.RemoveAll(dir) == nil })
}

// until asks again and again, for removalTime, until something holds that processes which are being killed may prevent.
func until(holds func() bool) {
	pause := time.NewTicker(removalPause)
	defer pause.Stop()
	for deadline := time.Now().Add(removalTime); !holds() && time.Now().Before(deadline); {
		<-pause.C
	}
}

package media

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// header is what is known of a picture before it is decoded.
type header struct {
	mediaType   string
	size        image.Point // as it is stored
	orientation int         // EXIF orientation
	memory      int64       // that decoding takes, an estimate that is not too low
	still       bool        // there is no decoder for it, so that it stays as it is: an animated WebP
}

const (
	mostBlocks = 10_000 // of a file that are looked at for those that count
	mostScans  = 100    // of a JPEG, each of which goes over the whole picture; cjpeg of the Independent JPEG Group writes no more
)

var errManyBlocks = errors.New("there are too many blocks before its data")

// shown returns the size that a viewer shows.
func (h *header) shown() image.Point { return oriented(h.size, h.orientation) }

// readHeader reads the header of a picture. Its memory does not depend on what is in it.
func readHeader(file *io.SectionReader, mediaType string) (h header, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder panics: %v", p)
		}
	}()
	var config image.Config
	r := bufio.NewReader(io.NewSectionReader(file, 0, file.Size()))
	switch mediaType {
	case "image/jpeg":
		config, err = jpeg.DecodeConfig(r)
	case "image/png":
		config, err = png.DecodeConfig(r)
	case "image/gif":
		config, err = gif.DecodeConfig(r)
	default:
		config, err = webp.DecodeConfig(r)
	}
	if err != nil {
		return h, err
	}
	h = header{mediaType: mediaType, size: image.Pt(config.Width, config.Height), orientation: 1}
	pixels := int64(config.Width) * int64(config.Height)
	switch mediaType {
	case "image/jpeg":
		err = h.readJPEG(file, pixels)
	case "image/png":
		h.memory = pixels * pngBytes(config.ColorModel)
		err = h.readPNG(file, pixels)
	case "image/gif":
		h.memory = 2 * pixels // the frame that is kept, and another one
	default:
		h.memory = 8 * pixels
		h.readWebP(file)
	}
	return h, err
}

// pngBytes returns how many bytes a pixel takes.
func pngBytes(m color.Model) int64 {
	switch m {
	case color.GrayModel, color.RGBAModel, color.NRGBAModel:
		return 4 // gray may be transparent, too
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 1 // a palette
}

// readJPEG reads the markers before the first scan (ITU T.81, B.1), and counts the scans.
func (h *header) readJPEG(file *io.SectionReader, pixels int64) error {
	at := int64(2)
	var marker [4]byte
	for range mostBlocks {
		if _, err := file.ReadAt(marker[:], at); err != nil {
			return err
		}
		if marker[0] != 0xff {
			at++ // Go's decoder leaves out what is not a marker, too
			continue
		}
		kind := marker[1]
		if kind == 0xff || kind == 0 || kind == 1 || kind >= 0xd0 && kind <= 0xd8 {
			at++
			if kind != 0xff {
				at++
			}
			continue
		}
		length := int64(binary.BigEndian.Uint16(marker[2:]))
		switch {
		case kind == 0xe1:
			if block := readBlock(file, at+4, length-2); len(block) > 6 && string(block[:6]) == "Exif\x00\x00" && h.orientation == 1 {
				h.orientation = orientation(block[6:])
			}
		case kind >= 0xc0 && kind <= 0xc2:
			block := readBlock(file, at+4, length-2)
			if len(block) < 6 || len(block) < 6+3*int(block[5]) {
				return errors.New("its frame header is cut")
			}
			h.memory = jpegMemory(block, pixels, kind == 0xc2)
			if scans := countScans(io.NewSectionReader(file, at, file.Size()-at)); scans > mostScans {
				return &LimitError{What: "scans", Limit: mostScans}
			}
			return nil
		case kind == 0xda || kind == 0xd9:
			return errors.New("it has no frame header")
		}
		at += 2 + max(length, 2)
	}
	return errManyBlocks
}

// countScans returns how many scans a JPEG has from a marker on, as far as they are of interest.
func countScans(file io.Reader) (scans int) {
	r := bufio.NewReaderSize(file, 32<<10)
	for scans <= mostScans {
		if _, err := r.ReadSlice(0xff); errors.Is(err, bufio.ErrBufferFull) {
			continue
		} else if err != nil {
			break // the decoder finds that it is cut
		}
		kind, err := r.ReadByte()
		for err == nil && kind == 0xff {
			kind, err = r.ReadByte()
		}
		if err != nil || kind == 0xd9 { // the end of the picture
			break
		}
		if kind == 0 || kind >= 0xd0 && kind <= 0xd7 { // within a scan
			continue
		}
		var length [2]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			break
		}
		if _, err := r.Discard(max(int(binary.BigEndian.Uint16(length[:]))-2, 0)); err != nil {
			break
		}
		if kind == 0xda {
			scans++
		}
	}
	return scans
}

// jpegMemory returns what decoding a frame takes: its samples; its coefficients (int32) if it is progressive; and the pixels of a colour
// space that has to be converted.
func jpegMemory(frame []byte, pixels int64, progressive bool) int64 {
	count := int(frame[5])
	most, sum := int64(1), int64(0)
	for i := range count {
		factors := frame[6+3*i+1]
		samples := int64(factors>>4) * int64(factors&15)
		most, sum = max(most, samples), sum+samples
	}
	memory := pixels * sum / most
	if progressive {
		memory *= 5
	}
	if count == 4 || count == 3 && sum == 3*most {
		memory += 4 * pixels
	}
	return memory
}

// readPNG reads the chunks before the data (PNG §5.3): whether it is interlaced, and eXIf.
func (h *header) readPNG(file *io.SectionReader, pixels int64) error {
	at := int64(8)
	var chunk [8]byte
	for range mostBlocks {
		if _, err := file.ReadAt(chunk[:], at); err != nil {
			return err
		}
		length := int64(binary.BigEndian.Uint32(chunk[:]))
		switch string(chunk[4:]) {
		case "IHDR":
			if block := readBlock(file, at+8, length); len(block) > 12 && block[12] != 0 {
				h.memory *= 2
			}
		case "eXIf":
			h.orientation = orientation(readBlock(file, at+8, length))
		case "IDAT", "IEND":
			h.memory += 64 << 10
			return nil
		}
		at += 12 + length
	}
	return errManyBlocks
}

// readWebP reads the chunks of the extended format (RFC 9649 §2.7): whether it is animated, and EXIF.
func (h *header) readWebP(file *io.SectionReader) {
	at := int64(12)
	var chunk [8]byte
	for range mostBlocks {
		if _, err := file.ReadAt(chunk[:], at); err != nil {
			return
		}
		length := int64(binary.LittleEndian.Uint32(chunk[4:]))
		switch string(chunk[:4]) {
		case "VP8X":
			flags := readBlock(file, at+8, 1)
			h.still = len(flags) > 0 && flags[0]&0x02 != 0
		case "EXIF":
			block := readBlock(file, at+8, length)
			if len(block) > 6 && string(block[:6]) == "Exif\x00\x00" {
				block = block[6:]
			}
			h.orientation = orientation(block)
			return
		}
		at += 8 + length + length&1
	}
}

// readBlock returns the bytes of a block, or fewer if it is long or cut.
func readBlock(file *io.SectionReader, at, length int64) []byte {
	block := make([]byte, min(max(length, 0), mostEXIF))
	n, _ := file.ReadAt(block, at) // a cut block is as good as none
	return block[:n]
}

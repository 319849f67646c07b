package media

import (
	"encoding/binary"
	"image"
)

// The EXIF tag Orientation (TIFF 6.0, 274) has 1 to 8: where the first row and the first column of the picture are to
// be shown.
const (
	orientationTag = 274
	mostEXIF       = 64 << 10 // bytes of a block that are looked at
)

// orientation returns what an EXIF block says, or 1.
func orientation(block []byte) int {
	var order binary.ByteOrder
	switch {
	case len(block) < 8:
		return 1
	case string(block[:4]) == "II*\x00":
		order = binary.LittleEndian
	case string(block[:4]) == "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	at := int64(order.Uint32(block[4:]))
	if at+2 > int64(len(block)) {
		return 1
	}
	entries := block[at+2:]
	for range order.Uint16(block[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == orientationTag {
			if v := order.Uint16(entries[8:]); order.Uint16(entries[2:]) == 3 && v >= 1 && v <= 8 { // 3: SHORT
				return int(v)
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// oriented returns the size of a picture after its orientation is applied. It is its own reverse.
func oriented(size image.Point, orientation int) image.Point {
	if orientation >= 5 {
		return image.Pt(size.Y, size.X)
	}
	return size
}

// upright returns a picture as it is to be shown.
func upright(p *image.RGBA, orientation int) *image.RGBA {
	if orientation <= 1 {
		return p
	}
	w, h := p.Rect.Dx(), p.Rect.Dy()
	shown := image.NewRGBA(image.Rectangle{Max: oriented(image.Pt(w, h), orientation)})
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch orientation {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			copy(shown.Pix[shown.PixOffset(tx, ty):][:4], p.Pix[p.PixOffset(x, y):][:4])
		}
	}
	return shown
}

import { createHash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS = 16
const DEPTH = 8
const PALETTE = 3

/** A PNG of colour bands that are derived from a text. The same text gives the same picture. */
export function pngOf(text: string, width: number, height: number): Buffer {
  const seed = createHash('sha512').update(text).digest()
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([DEPTH, PALETTE, 0, 0, 0], 8)
  const rows = Buffer.alloc((width + 1) * height)
  const row = Buffer.alloc(width + 1)
  for (let x = 0; x < width; x++) row[x + 1] = Math.floor((x * COLOURS) / width)
  for (let y = 0; y < height; y++) row.copy(rows, y * (width + 1))
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', seed.subarray(0, COLOURS * 3)),
    chunk('IDAT', deflateSync(rows, { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const bytes = Buffer.alloc(body.length + 8)
  bytes.writeUInt32BE(data.length, 0)
  body.copy(bytes, 4)
  // The checksum of PNG (ISO 3309).
  bytes.writeUInt32BE(crc32(body), body.length + 4)
  return bytes
}

import { createHash } from 'node:crypto'

/** Units of a video's clocks, per second. */
const TIMESCALE = 1_000
const MACROBLOCK = 16
/** The level whose limits fit 4K at a frame per second (H.264, table A-1). */
const LEVEL = 51
const BASELINE = 66

/**
 * A film of one colour that is derived from a text: H.264 in MP4, a picture per second, in the requested size. The
 * first macroblock of a picture is raw samples, and all others repeat their neighbours, so a film is a few kilobytes.
 */
export function mp4Film(
  text: string,
  { width, height, seconds }: { width: number; height: number; seconds: number },
): Buffer {
  const [y = 0, cb = 0, cr = 0] = createHash('sha512').update(text).digest()
  const columns = Math.ceil(width / MACROBLOCK)
  const rows = Math.ceil(height / MACROBLOCK)
  const sets = { sps: sequenceSet(width, height), pps: pictureSet() }
  const picture = idrPicture(columns, rows, [y, cb, cr])
  const sample = Buffer.concat([uint32(picture.length), picture])
  const count = Math.max(1, Math.round(seconds))
  const head = box('ftyp', Buffer.from('isom'), uint32(512), Buffer.from('isomiso2avc1mp41'))
  const movieAt = (offset: number) =>
    movie({ width, height, seconds, count, sampleBytes: sample.length, offset, ...sets })
  // The offset of the data does not change the length of the box that names it.
  const offset = head.length + movieAt(0).length + 8
  return Buffer.concat([head, movieAt(offset), box('mdat', ...Array.from({ length: count }, () => sample))])
}

/** Bits in the order of H.264: fixed lengths, and Exp-Golomb codes (clause 9.1). */
function bits() {
  let text = ''
  const writer = {
    put(value: number, length: number) {
      text += value.toString(2).padStart(length, '0')
      return writer
    },
    ue(value: number) {
      const code = (value + 1).toString(2)
      text += '0'.repeat(code.length - 1) + code
      return writer
    },
    /** Fills the last byte with zeros. */
    align() {
      text += '0'.repeat((8 - (text.length % 8)) % 8)
      return writer
    },
    /** The bytes, after a stop bit where the unit ends here. */
    end() {
      text += '1'
      writer.align()
      return writer.bytes()
    },
    bytes: () => Buffer.from((text.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))),
  }
  return writer
}

/** A unit with the bytes that keep its content from looking like a start code (clause 7.4.1.1). */
function unit(type: number, content: Buffer): Buffer {
  const escaped: number[] = [type]
  let zeros = 0
  for (const byte of content) {
    if (zeros >= 2 && byte <= 3) {
      escaped.push(3)
      zeros = 0
    }
    escaped.push(byte)
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return Buffer.from(escaped)
}

/** The size of the pictures, with the surplus of the last macroblocks cut off (clause 7.3.2.1.1). */
function sequenceSet(width: number, height: number): Buffer {
  const columns = Math.ceil(width / MACROBLOCK)
  const rows = Math.ceil(height / MACROBLOCK)
  const right = (columns * MACROBLOCK - width) >> 1
  const bottom = (rows * MACROBLOCK - height) >> 1
  const set = bits().put(BASELINE, 8).put(0, 8).put(LEVEL, 8)
  // Set 0, frame numbers of four bits, order by decoding, no reference pictures.
  set.ue(0).ue(0).ue(2).ue(0).put(0, 1)
  set
    .ue(columns - 1)
    .ue(rows - 1)
    .put(1, 1)
    .put(1, 1)
  set.put(1, 1).ue(0).ue(right).ue(0).ue(bottom).put(0, 1)
  return unit(0x67, set.end())
}

/** Pictures of one slice group in CAVLC, whose slices switch the deblocking filter off (clause 7.3.2.2). */
function pictureSet(): Buffer {
  const set = bits().ue(0).ue(0).put(0, 1).put(0, 1).ue(0).ue(0).ue(0).put(0, 1).put(0, 2)
  return unit(0x68, set.ue(0).ue(0).ue(0).put(1, 1).put(0, 1).put(0, 1).end())
}

/** The type of a macroblock of raw samples, and of one that repeats its neighbours without a change (table 7-11). */
const RAW = 25
const REPEATED = 3
const RAW_LUMA = MACROBLOCK ** 2
const RAW_CHROMA = 64

function idrPicture(columns: number, rows: number, [y, cb, cr]: readonly [number, number, number]): Buffer {
  // First macroblock, all slices are I, set 0, frame 0, IDR 0, no flags, no change of the quantiser, no smoothing.
  const slice = bits().ue(0).ue(7).ue(0).put(0, 4).ue(0).put(0, 2).ue(0).ue(1)
  slice.ue(RAW).align()
  for (let at = 0; at < RAW_LUMA; at++) slice.put(y, 8)
  for (let at = 0; at < RAW_CHROMA; at++) slice.put(cb, 8)
  for (let at = 0; at < RAW_CHROMA; at++) slice.put(cr, 8)
  for (let row = 0; row < rows; row++) {
    for (let column = row === 0 ? 1 : 0; column < columns; column++) {
      // Prediction of the colour and change of the quantiser: none. Then a block without coefficients, whose code
      // depends on how many the neighbours have: raw samples count as sixteen (clause 9.2.1).
      slice.ue(REPEATED).ue(0).ue(0)
      const besideRaw = row + column === 1
      if (besideRaw) slice.put(0b000011, 6)
      else slice.put(1, 1)
    }
  }
  return unit(0x65, slice.end())
}

type Track = {
  readonly width: number
  readonly height: number
  readonly seconds: number
  readonly count: number
  readonly sampleBytes: number
  readonly offset: number
  readonly sps: Buffer
  readonly pps: Buffer
}

/** The description of a video with one track (ISO/IEC 14496-12). */
function movie(track: Track): Buffer {
  const { width, height, seconds } = track
  const duration = uint32(Math.round(seconds * TIMESCALE))
  const times = [uint32(0), uint32(0)]
  return box(
    'moov',
    box(
      'mvhd',
      uint32(0),
      ...times,
      uint32(TIMESCALE),
      duration,
      uint32(65_536),
      uint16(256),
      zeros(10),
      MATRIX,
      zeros(24),
      uint32(2),
    ),
    box(
      'trak',
      box(
        'tkhd',
        uint32(7),
        ...times,
        uint32(1),
        uint32(0),
        duration,
        zeros(16),
        MATRIX,
        uint32(width * 65_536),
        uint32(height * 65_536),
      ),
      box(
        'mdia',
        box('mdhd', uint32(0), ...times, uint32(TIMESCALE), duration, uint16(0x55c4), uint16(0)),
        box('hdlr', uint32(0), uint32(0), Buffer.from('vide'), zeros(13)),
        box(
          'minf',
          box('vmhd', uint32(1), zeros(8)),
          box('dinf', box('dref', uint32(0), uint32(1), box('url ', uint32(1)))),
          samples(track),
        ),
      ),
    ),
  )
}

function samples({ width, height, seconds, count, sampleBytes, offset, sps, pps }: Track): Buffer {
  const profile = sps.subarray(1, 4)
  const config = box(
    'avcC',
    Buffer.concat([Buffer.from([1]), profile, Buffer.from([0xff, 0xe1]), uint16(sps.length), sps]),
    Buffer.concat([Buffer.from([1]), uint16(pps.length), pps]),
  )
  const picture = [zeros(6), uint16(1), zeros(16), uint16(width), uint16(height), uint32(4_718_592), uint32(4_718_592)]
  const entry = box('avc1', ...picture, uint32(0), uint16(1), zeros(32), uint16(24), uint16(0xffff), config)
  const each = uint32(Math.round((seconds * TIMESCALE) / count))
  return box(
    'stbl',
    box('stsd', uint32(0), uint32(1), entry),
    box('stts', uint32(0), uint32(1), uint32(count), each),
    box('stsc', uint32(0), uint32(1), uint32(1), uint32(count), uint32(1)),
    box('stsz', uint32(0), uint32(sampleBytes), uint32(count)),
    box('stco', uint32(0), uint32(1), uint32(offset)),
  )
}

/** No rotation and no scaling. */
const MATRIX = Buffer.concat([65_536, 0, 0, 0, 65_536, 0, 0, 0, 0x4000_0000].map((value) => uint32(value)))

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([uint32(body.length + 8), Buffer.from(type, 'latin1'), body])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

function zeros(count: number): Buffer {
  return Buffer.alloc(count)
}

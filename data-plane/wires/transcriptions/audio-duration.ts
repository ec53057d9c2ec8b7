/** The duration of audio in milliseconds, as far as its bytes show it. */
export type AudioDuration = {
  /** The upper bound, for the hold. */
  readonly mostMs: number
  /** The duration by its header or frames, else a lower bound: the figure that counts when a provider gives none. */
  readonly leastMs: number
}

/** Speech is never compressed more than this: Opus at six kilobits a second. */
const LEAST_BYTES_A_SECOND = 750
/** Speech of an unknown format counts as compressed no less than this: samples of a compact disc. */
const MOST_BYTES_A_SECOND = 176_400
const SHORTEST_MS = 1_000
/** The last page of an Ogg file begins within this many bytes of its end. */
const OGG_TAIL_BYTES = 131_072
const OPUS_RATE = 48_000

/**
 * Reads the length of audio from its own bytes. Samples (WAV) and frames (MP3) are played as they are counted here, so
 * that their length is certain; the declarations of other formats may be wrong, and only bound the estimate.
 */
export function audioDuration(bytes: Buffer): AudioDuration {
  const packed = Math.max(SHORTEST_MS, Math.ceil((bytes.length / LEAST_BYTES_A_SECOND) * 1_000))
  const sure = wavMs(bytes) ?? mp3Ms(bytes)
  if (sure !== undefined) {
    const mostMs = Math.max(SHORTEST_MS, Math.ceil(Math.min(packed, sure.mostMs)))
    return { mostMs, leastMs: Math.max(1, Math.round(Math.min(mostMs, sure.leastMs))) }
  }
  const declared = flacMs(bytes) ?? oggMs(bytes) ?? (bytes.length / MOST_BYTES_A_SECOND) * 1_000
  return { mostMs: packed, leastMs: Math.max(1, Math.min(packed, Math.round(declared))) }
}

const PCM_TAGS: ReadonlySet<number> = new Set([1, 3])

/** Uncompressed samples in RIFF: their bytes over the bytes of a second. */
function wavMs(bytes: Buffer): AudioDuration | undefined {
  if (tagAt(bytes, 0) !== 'RIFF' || tagAt(bytes, 8) !== 'WAVE') return undefined
  let bytesASecond = 0
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4)
    if (tagAt(bytes, at) === 'fmt ' && at + 24 <= bytes.length) {
      if (!PCM_TAGS.has(bytes.readUInt16LE(at + 8))) return undefined
      const channels = bytes.readUInt16LE(at + 10)
      bytesASecond = bytes.readUInt32LE(at + 12) * channels * Math.ceil(bytes.readUInt16LE(at + 22) / 8)
    } else if (tagAt(bytes, at) === 'data') {
      if (bytesASecond === 0) return undefined
      // A stream of unknown length declares 0 or all ones.
      const left = bytes.length - at - 8
      const ms = ((size === 0 ? left : Math.min(size, left)) / bytesASecond) * 1_000
      return { mostMs: ms, leastMs: ms }
    }
    at += 8 + size + (size % 2)
  }
  return undefined
}

const MP3_RATES = [44_100, 48_000, 32_000]
/** Kilobits a second of layer III by the index of a frame header, for MPEG 1, and for MPEG 2 and 2.5. */
const MP3_KILOBITS = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const
const FEWEST_MP3_FRAMES = 2
/** Bytes that may follow the last frame without being audio. */
const TAG_BYTES = 512

/** Every frame of an MP3, each of which lasts its samples. */
function mp3Ms(bytes: Buffer): AudioDuration | undefined {
  let at = id3End(bytes)
  let ms = 0
  let frames = 0
  for (let frame = mp3Frame(bytes, at); frame !== undefined; frame = mp3Frame(bytes, at)) {
    frames++
    ms += frame.ms
    at += frame.bytes
  }
  if (frames < FEWEST_MP3_FRAMES) return undefined
  // Bytes after the last known frame may be audio at the highest compression.
  const rest = Math.max(0, bytes.length - at - TAG_BYTES)
  return { mostMs: ms + (rest / LEAST_BYTES_A_SECOND) * 1_000, leastMs: ms }
}

function id3End(bytes: Buffer): number {
  if (bytes.length < 10 || bytes.toString('latin1', 0, 3) !== 'ID3') return 0
  const size = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + ((bytes[at] ?? 0) & 0x7f), 0)
  return 10 + size
}

function mp3Frame(bytes: Buffer, at: number): { readonly ms: number; readonly bytes: number } | undefined {
  if (at + 4 > bytes.length) return undefined
  const head = bytes.readUInt32BE(at)
  const version = (head >>> 19) & 3
  const isLayerThree = ((head >>> 17) & 3) === 1
  if (head >>> 21 !== 0x7ff || !isLayerThree || version === 1) return undefined
  const isFirst = version === 3
  const kilobits = MP3_KILOBITS[isFirst ? 0 : 1][(head >>> 12) & 15]
  const base = MP3_RATES[(head >>> 10) & 3]
  if (!kilobits || base === undefined) return undefined
  const rate = base / (isFirst ? 1 : version === 2 ? 2 : 4)
  const samples = isFirst ? 1_152 : 576
  const size = Math.floor((samples * 125 * kilobits) / rate) + ((head >>> 9) & 1)
  return { ms: (samples / rate) * 1_000, bytes: size }
}

/** The sample count of a FLAC file's first block. */
function flacMs(bytes: Buffer): number | undefined {
  if (tagAt(bytes, 0) !== 'fLaC' || bytes.length < 26) return undefined
  const rate = bytes.readUIntBE(18, 3) >>> 4
  const samples = ((bytes[21] ?? 0) & 15) * 2 ** 32 + bytes.readUInt32BE(22)
  return rate === 0 || samples === 0 ? undefined : (samples / rate) * 1_000
}

/** The position of the last page of an Ogg stream, in samples. */
function oggMs(bytes: Buffer): number | undefined {
  if (tagAt(bytes, 0) !== 'OggS') return undefined
  const tail = bytes.subarray(-OGG_TAIL_BYTES)
  const at = tail.lastIndexOf('OggS', undefined, 'latin1')
  if (at < 0 || at + 14 > tail.length) return undefined
  const samples = Number(tail.readBigInt64LE(at + 6))
  const vorbis = bytes.subarray(0, 256).indexOf('\u0001vorbis', 0, 'latin1')
  const rate = vorbis < 0 || vorbis + 16 > bytes.length ? OPUS_RATE : bytes.readUInt32LE(vorbis + 12)
  return samples <= 0 || rate === 0 ? undefined : (samples / rate) * 1_000
}

function tagAt(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at, at + 4)
}

/** Samples per second of these sounds, each of 16 bits, in one channel. */
const SAMPLE_RATE = 8_000
const WAV_HEADER_BYTES = 44
const TONE_HERTZ = 440

/** A tone in WAV with an exact length in seconds. */
export function wavTone(seconds: number): Buffer {
  const samples = pcmTone(seconds)
  const head = Buffer.alloc(WAV_HEADER_BYTES)
  head.write('RIFF', 0)
  head.writeUInt32LE(samples.length + WAV_HEADER_BYTES - 8, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(SAMPLE_RATE, 24)
  head.writeUInt32LE(SAMPLE_RATE * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

export function pcmTone(seconds: number): Buffer {
  const samples = new Int16Array(Math.round(seconds * SAMPLE_RATE))
  for (let at = 0; at < samples.length; at += 1) {
    samples[at] = Math.round(8_000 * Math.sin((2 * Math.PI * TONE_HERTZ * at) / SAMPLE_RATE))
  }
  return Buffer.from(samples.buffer)
}

const MP3_FRAME_BYTES = 417
const MP3_FRAME_SECONDS = 1_152 / 44_100

/** Silence in MP3: frames of 128 kilobits per second. */
export function mp3Silence(seconds: number): Buffer {
  const frame = Buffer.alloc(MP3_FRAME_BYTES)
  frame.writeUInt32BE(0xff_fb_90_00, 0)
  return Buffer.concat(Array.from({ length: Math.max(2, Math.round(seconds / MP3_FRAME_SECONDS)) }, () => frame))
}

/** The length of a file in seconds: exact for WAV, estimated for other formats. */
export function secondsOf(bytes: Buffer): number {
  const isWav = bytes.toString('latin1', 0, 4) === 'RIFF'
  return isWav ? (bytes.length - WAV_HEADER_BYTES) / bytes.readUInt32LE(28) : bytes.length / 16_000
}

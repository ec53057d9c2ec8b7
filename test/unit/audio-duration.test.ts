import { describe, expect, it } from 'vitest'
import { audioDuration } from '#data-plane/wires/transcriptions/audio-duration.ts'
import { mp3Silence, pcmTone, wavTone } from '#dev/provider/media/sound.ts'

describe('the length of audio', () => {
  it('is counted from the samples', () => {
    expect(audioDuration(wavTone(7.5))).toEqual({ mostMs: 7_500, leastMs: 7_500 })
    expect(audioDuration(wavTone(0.01))).toEqual({ mostMs: 1_000, leastMs: 10 })
  })

  it('is counted from the samples when the header was written before the length was known', () => {
    const wav = wavTone(3)
    for (const size of [0, 0xffff_ffff]) {
      wav.writeUInt32LE(size, 40)
      expect(audioDuration(wav).mostMs).toBe(3_000)
    }
  })

  it('is not derived from the samples of a compressed format, or from a rate of zero', () => {
    const packed = wavTone(3)
    packed.writeUInt16LE(0x55, 20)
    const timeless = wavTone(3)
    timeless.writeUInt32LE(0, 24)
    for (const wav of [packed, timeless]) {
      expect(audioDuration(wav).mostMs).toBe(Math.ceil((wav.length / 750) * 1_000))
      expect(audioDuration(wav).leastMs).toBeLessThan(3_000)
    }
  })

  it('is never longer than the bytes allow, whatever the header says', () => {
    const slow = wavTone(3)
    slow.writeUInt32LE(1, 24)
    expect(audioDuration(slow).mostMs).toBe(Math.ceil((slow.length / 750) * 1_000))
  })

  it('is counted frame by frame for MP3, with a tag before the frames and without', () => {
    const frames = mp3Silence(10)
    const tag = Buffer.concat([
      Buffer.from('ID3\u0004\u0000\u0000\u0000\u0000\u0001\u0000', 'latin1'),
      Buffer.alloc(128),
    ])
    for (const file of [frames, Buffer.concat([tag, frames]), Buffer.concat([frames, Buffer.alloc(128, 'TAG')])]) {
      expect(audioDuration(file).leastMs / 1_000).toBeCloseTo(10, 1)
      expect(audioDuration(file).mostMs / 1_000).toBeCloseTo(10, 1)
    }
  })

  it('counts bytes after the frames at the highest compression, for the hold only', () => {
    const file = Buffer.concat([mp3Silence(1), Buffer.alloc(75_512)])
    expect(audioDuration(file).mostMs).toBeGreaterThan(100_000)
    expect(audioDuration(file).leastMs).toBeLessThan(1_100)
  })

  it('is read from the headers of FLAC and Ogg, for the estimate only', () => {
    const flac = Buffer.alloc(42_000)
    flac.write('fLaC')
    flac.writeUIntBE((44_100 << 4) + 0, 18, 3)
    flac.writeUInt32BE(44_100 * 4, 22)
    expect(audioDuration(flac)).toEqual({ mostMs: 56_000, leastMs: 4_000 })
    const ogg = Buffer.alloc(30_000)
    ogg.write('OggS')
    ogg.write('OggS', 29_000)
    ogg.writeBigInt64LE(48_000n * 5n, 29_006)
    expect(audioDuration(ogg)).toEqual({ mostMs: 40_000, leastMs: 5_000 })
  })

  it('is bounded for other formats by the highest and the lowest bit rate of audio', () => {
    expect(audioDuration(pcmTone(1))).toEqual({ mostMs: 21_334, leastMs: 91 })
    expect(audioDuration(Buffer.from('x'))).toEqual({ mostMs: 1_000, leastMs: 1 })
  })

  it('is found for truncated and hostile files in bounded time', () => {
    for (const file of [
      wavTone(1),
      mp3Silence(1),
      Buffer.from('RIFFxxxxWAVE'),
      Buffer.from('ID3'),
      Buffer.from('OggS'),
    ]) {
      for (let cut = 1; cut < Math.min(file.length, 600); cut++) {
        const { mostMs, leastMs } = audioDuration(file.subarray(0, cut))
        expect(leastMs).toBeGreaterThan(0)
        expect(leastMs).toBeLessThanOrEqual(mostMs)
      }
    }
  })
})

import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readRangeAnswer } from '#data-plane/http/byte-range.ts'
import { openArtifactFolder } from '#data-plane/store/artifact-folder.ts'
import type { ArtifactLimits } from '#data-plane/store/artifact-store.ts'
import { createArtifacts } from '#data-plane/store/artifacts.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR } from '#shared/clock.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'
import type { OpenedPlace } from '#test/support/books/artifact-store-suite.ts'
import { artifactId, artifactStoreSuite, picture } from '#test/support/books/artifact-store-suite.ts'

const log = createLogger('data-plane', 'silent')

async function openFolder() {
  const home = await mkdtemp(join(tmpdir(), 'artifacts-'))
  const dir = join(home, 'files')
  return {
    dir,
    open: async (node: string, limits: ArtifactLimits, clock: Time) =>
      openArtifactFolder({ dir, node, limits, clock, log }),
    left: async () => readdir(dir).catch(() => []),
    close: () => rm(home, { recursive: true }),
  }
}

let folder: Awaited<ReturnType<typeof openFolder>>

artifactStoreSuite(
  'a folder of media files',
  async () => {
    folder = await openFolder()
    return folder
  },
  (at) => {
    it('deletes at its start the files that a crash left, and no file that another process is writing', async () => {
      const { rid } = artifactId()
      const { dir } = folder
      await mkdir(dir)
      const names = [`.${rid}-0.a.0123.part`, `.${rid}-1.b.0123.part`, `.${rid}-2.b.4567.part`, `.${rid}-3.a.b.89.part`]
      for (const name of names) await writeFile(join(dir, name), 'half')
      await writeFile(join(dir, `${rid}-4`), 'not a media file')
      await writeFile(join(dir, 'notes.txt'), 'somebody else')
      await utimes(join(dir, names[1] ?? ''), 0, 0)
      await (await at.openStore('a')).close()
      expect(new Set(await folder.left())).toEqual(new Set([names[2], names[3], 'notes.txt']))
    })
    describe('whose links', () => linksSuite(at))
  },
)

describe('the range of a file that a request asks for', () => {
  const etag = '"t"'
  const wanted = (headers: Record<string, string>, bytes = 10, method = 'GET') =>
    readRangeAnswer(method, headers, etag, bytes)
  const part = (first: number, last: number) => ({ status: 206, part: { first, last } })

  it.each([
    ['bytes=0-3', part(0, 3)],
    ['bytes=5-', part(5, 9)],
    ['bytes=9-99', part(9, 9)],
    ['bytes=-4', part(6, 9)],
    ['bytes=-99', part(0, 9)],
    ['BYTES= 2-2 ', part(2, 2)],
    ['bytes=10-', { status: 416 }],
    ['bytes=-0', { status: 416 }],
    ['bytes=4-2', { status: 200 }],
    ['bytes=-', { status: 200 }],
    ['bytes=0-1,4-5', { status: 200 }],
    ['lines=0-1', { status: 200 }],
    ['bytes=1e1-', { status: 200 }],
    ['bytes=0-9999999999999999999', { status: 200 }],
  ])('%s', (range, expected) => {
    expect(wanted({ range })).toEqual(expected)
  })

  it('is empty for an empty file', () => {
    expect([wanted({ range: 'bytes=0-' }, 0), wanted({ range: 'bytes=-1' }, 0), wanted({}, 0)]).toEqual([
      { status: 416 },
      { status: 416 },
      { status: 200 },
    ])
  })

  it('is the whole file for HEAD and for an outdated tag, and 304 for the current tag in If-None-Match', () => {
    const range = 'bytes=0-3'
    expect(wanted({ range }, 10, 'HEAD')).toEqual({ status: 200 })
    expect(wanted({ range, 'if-range': '"old"' })).toEqual({ status: 200 })
    expect(wanted({ range, 'if-range': etag })).toEqual(part(0, 3))
    for (const list of [etag, '"a", W/"t"', '*']) {
      expect(wanted({ range, 'if-none-match': list })).toEqual({ status: 304 })
    }
    expect(wanted({ 'if-none-match': '"old"' })).toEqual({ status: 200 })
  })

  it('lies within the file for any requested range', () => {
    const range = fc.oneof(fc.string(), fc.stringMatching(/^bytes=\d{0,17}-\d{0,17}$/))
    fc.assert(
      fc.property(range, fc.nat(40), (asked, bytes) => {
        const answer = wanted({ range: asked }, bytes)
        if (answer.status !== 206) return
        const { first, last } = answer.part
        expect(first >= 0 && first <= last && last < bytes).toBe(true)
      }),
    )
  })
})

function linksSuite(at: OpenedPlace): void {
  const artifacts = async (secret = 'one') =>
    createArtifacts({
      store: await at.openStore(),
      secret: new Secret(secret),
      apiBaseUrl: 'https://api.example',
      linkMs: HOUR,
      clock: at.clock,
    })
  const membersOf = (url: string) => {
    const { searchParams } = new URL(url)
    return [searchParams.get('expires') ?? '', searchParams.get('signature') ?? ''] as const
  }

  it('open their own file until they expire', async () => {
    const ours = await artifacts()
    const id = artifactId(2)
    const { url, expiresAt } = await ours.keep(id, picture(10))
    const [expires, signature] = membersOf(url)
    expect(url.startsWith(`https://api.example/v1/media/artifacts/job_${id.rid}/2?`)).toBe(true)
    expect(expiresAt).toBe(Number(expires) * 1_000)
    expect(ours.isSigned(id, expires, signature)).toBe(true)
    expect(ours.isSigned({ ...id, index: 1 }, expires, signature)).toBe(false)
    expect(ours.isSigned(artifactId(2), expires, signature)).toBe(false)
    expect((await artifacts('two')).isSigned(id, expires, signature)).toBe(false)
    at.pass(HOUR)
    expect(ours.isSigned(id, expires, signature)).toBe(false)
  })

  it('open nothing once any character is changed', async () => {
    const ours = await artifacts()
    const id = artifactId()
    const { url } = await ours.keep(id, picture(10))
    const members = membersOf(url)
    const changed = fc.record({ at: fc.nat(), text: fc.string({ minLength: 0, maxLength: 2 }), isTime: fc.boolean() })
    fc.assert(
      fc.property(changed, ({ at, text, isTime }) => {
        const [expires, signature] = members
        const old = isTime ? expires : signature
        const place = at % old.length
        const given = old.slice(0, place) + text + old.slice(place + 1)
        const isSigned = isTime ? ours.isSigned(id, given, signature) : ours.isSigned(id, expires, given)
        expect(isSigned).toBe(given === old)
      }),
    )
  })
}

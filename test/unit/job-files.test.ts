import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keepDueFiles } from '#data-plane/pipeline/jobs/keep-due-files.ts'
import type { StoredJob } from '#data-plane/store/jobs.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR, MINUTE, SECOND, systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { FILE_LIMITS, openJobFiles, SELLER_KEY, startFileHost } from '#test/support/jobs/job-files.ts'
import { until } from '#test/support/run/until.ts'

const FILM = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom'), Buffer.alloc(900_000, 9)])
const ids = createIds(systemClock)
const rid = ids.requestId()
const id = { rid, index: 0 }

let home: string
let now: number
let host: Awaited<ReturnType<typeof startFileHost>>
let answer: (request: IncomingMessage, response: ServerResponse) => void
let opened: ReturnType<typeof openJobFiles>[]
const clock: Time = { ...systemClock, now: () => now }
const film = (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': FILM.length }).end(FILM)
}

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'job-files-'))
  now = Date.now()
  opened = []
  answer = film
  host = await startFileHost((request, response) => answer(request, response))
})
afterEach(async () => {
  for (const { files, artifacts } of opened) {
    await files.close()
    await artifacts.close()
  }
  await host.close()
  await rm(home, { recursive: true })
})

const dir = () => join(home, 'files')
const left = () => readdir(dir()).catch(() => [])

type Made = { readonly url: string; readonly access: 'lasting' | 'brief' | 'keyed' }

/** A finished job with these files. */
function jobWith(...made: readonly Made[]): StoredJob {
  const job = {
    rid,
    account: 'acc_1',
    wallet: null,
    provider: 'sample',
    apiFormat: 'openai',
    createdAt: now - HOUR,
    baseUrl: `http://${host.host}/v1`,
    credential: { id: 'crd_1', host: host.host },
  }
  const artifacts = made.map((each) => ({ contentType: 'video/mp4', ...each }))
  return {
    job,
    end: { event: '{}', state: 'succeeded', artifacts, error: null, endedAt: now },
    isBooked: true,
  } as never
}

function open(stored: StoredJob, fileHosts?: readonly string[]) {
  const one = openJobFiles({
    dir: dir(),
    clock,
    host: host.host,
    find: async () => stored,
    ...(fileHosts && { fileHosts }),
  })
  opened.push(one)
  return one
}

/** Takes one turn at the files of finished jobs. The job is the only one. */
function takeDue({ files }: ReturnType<typeof openJobFiles>, find: () => Promise<StoredJob>): void {
  const jobs = { find, takeFilesDue: async () => [rid] }
  const every = (_ms: number, turn: () => void) => {
    turn()
    return () => undefined
  }
  keepDueFiles({ jobs, files, clock: { every }, log: createLogger('data-plane', 'silent') })
}

/** The bytes of the first file, or the error of the download. */
async function arrived({ files }: ReturnType<typeof openJobFiles>) {
  try {
    const file = await (await files.find(id))?.arrive()
    if (file === undefined) return undefined
    // Comparing hundreds of thousands of bytes one by one takes seconds.
    return { ...file.facts, isWhole: (await buffer(file.stream())).equals(FILM) }
  } catch (error) {
    return error
  }
}
const brief = (path = '/f'): Made => ({ url: `http://${host.host}${path}`, access: 'brief' })

describe('the files of a job', () => {
  it('are shown by their own URL when they are permanent, unless the URL is unsafe for a buyer', async () => {
    const refused = [
      'http://files.example/a',
      'https://10.0.0.8/a',
      'https://db.internal/a',
      'https://localhost.localdomain.local/a',
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      `https://files.example/a?key=${SELLER_KEY}`,
    ]
    const stored = jobWith(...[...refused, 'https://files.example/a'].map((url): Made => ({ url, access: 'lasting' })))
    const { files } = open(stored)
    const shown = [{ index: refused.length, contentType: 'video/mp4', url: 'https://files.example/a' }]
    expect(files.show(stored, rid)).toEqual(shown)
    expect(await files.find({ rid, index: refused.length })).toBeUndefined()
    expect(host.asked).toEqual([])
  })

  it('that last at their provider are copied on demand, from hosts that may be dialled alone', async () => {
    const here: Made = { url: `http://${host.host}/f`, access: 'lasting' }
    const stored = jobWith(here, { url: 'https://files.example/a', access: 'lasting' })
    const one = open(stored)
    expect(one.files.show(stored, rid).map(({ url }) => url)).toEqual([here.url, 'https://files.example/a'])
    expect([host.asked, await left()]).toEqual([[], []])
    expect(await arrived(one)).toMatchObject({ owner: 'acc_1', contentType: 'video/mp4', isWhole: true })
    expect(host.asked).toEqual([{ url: '/f', authorization: undefined }])
    expect(await one.files.find({ rid, index: 1 })).toBeUndefined()
    // A day after the end, the market copies no more.
    now += 25 * HOUR
    expect(await one.files.find(id)).toBeUndefined()
  })

  it('are loaded from allowed hosts alone once the key is gone: another URL may contain the key', async () => {
    const keyed = { url: '/videos/v-1/content', access: 'keyed' } as const
    const known = jobWith({ url: 'https://files.example/a', access: 'lasting' }, keyed, brief())
    const stored = { ...known, job: { ...known.job, baseUrl: null, apiFormat: null, credential: null } }
    const one = open(stored)
    expect(one.files.show(stored, rid)).toMatchObject([{ index: 2 }])
    expect([await one.files.find(id), await one.files.find({ rid, index: 1 })]).toEqual([undefined, undefined])
  })

  it('that expire soon are copied once, for any number of polls, and get a new link at each poll', async () => {
    const stored = jobWith(brief())
    const one = open(stored)
    const [first] = one.files.show(stored, rid)
    const files = await Promise.all(Array.from({ length: 9 }, () => arrived(one)))
    for (const file of files) expect(file).toMatchObject({ owner: 'acc_1', contentType: 'video/mp4', isWhole: true })
    expect(host.asked).toEqual([{ url: '/f', authorization: undefined }])
    now += 5 * MINUTE
    const [second] = one.files.show(stored, rid)
    expect(new URL(first?.url ?? '').pathname).toBe(`/v1/media/artifacts/job_${rid}/0`)
    expect(second?.url).not.toBe(first?.url)
    const { searchParams: members } = new URL(second?.url ?? '')
    const [expires, signature] = [members.get('expires') ?? '', members.get('signature') ?? '']
    expect(one.artifacts.isSigned(id, expires, signature)).toBe(true)
    // A second process finds the copy.
    expect(await arrived(open(stored))).toMatchObject({ isWhole: true })
    expect(host.asked).toHaveLength(1)
    expect(one.files.figures()).toMatchObject({ running: 0, waiting: 0, copied: 1, failed: new Map() })
  })

  it('begin to be copied when they are first shown, and no poll waits for the copy', async () => {
    let send = () => {}
    answer = (request, response) => {
      send = () => film(request, response)
    }
    const stored = jobWith(brief())
    const one = open(stored)
    expect(one.files.show(stored, rid)).toHaveLength(1)
    await until('the host was asked', 5_000, () => host.asked.length === 1)
    expect(one.files.figures()).toMatchObject({ running: 1, copied: 0 })
    send()
    await until(
      'the copy is stored',
      5_000,
      async () => (await left()).length === 1 && one.files.figures().copied === 1,
    )
  })

  it("that need the provider's key are fetched with it, from the provider’s own host", async () => {
    const stored = jobWith({ url: '/videos/v_1/content', access: 'keyed' })
    expect(await arrived(open(stored))).toMatchObject({ isWhole: true })
    expect(host.asked).toEqual([{ url: '/v1/videos/v_1/content', authorization: `Bearer ${SELLER_KEY}` }])
  })

  it('are fetched from the hosts in the provider’s record; others keep their own URL', async () => {
    const other = await startFileHost(film)
    const stored = jobWith({ url: `http://${other.host}/f`, access: 'brief' })
    expect(open(stored).files.show(stored, rid)).toMatchObject([{ url: `http://${other.host}/f` }])
    expect(await open(stored).files.find(id)).toBeUndefined()
    expect(other.asked).toEqual([])
    expect(await arrived(open(stored, [other.host]))).toMatchObject({ isWhole: true })
    expect(other.asked).toEqual([{ url: '/f', authorization: undefined }])
    await other.close()
  })

  it.each<[string, string, typeof film]>([
    ['a page', 'no_media', (_, response) => response.writeHead(200, { 'content-length': 13 }).end('<html></html>')],
    ['a redirect', 'redirected', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['gone', 'missing', (_, response) => response.writeHead(404).end()],
    [
      'cut',
      'cut',
      (_, response) =>
        response
          .writeHead(200, { 'content-length': FILM.length })
          .write(FILM.subarray(0, 500_000), () => response.destroy()),
    ],
    [
      'without end',
      'too_large',
      (_, response) => {
        response.writeHead(200)
        const more = () => {
          while (response.write(FILM));
        }
        response.on('drain', more)
        more()
      },
    ],
  ])(
    'that are %s have a definite end, no partial file, and a pause before the next try',
    async (_what, reason, next) => {
      answer = next
      const stored = jobWith(brief())
      const one = open(stored)
      const ended = { code: 'upstream_error', status: 502, detail: { reason } }
      expect(await arrived(one)).toMatchObject(ended)
      expect([await left(), one.artifacts.figures().bytes]).toEqual([[], 0])
      // Neither a poll nor a download tries again before the pause ends.
      one.files.show(stored, rid)
      expect(await arrived(one)).toMatchObject(ended)
      expect(host.asked).toHaveLength(1)
      expect(one.files.figures().failed).toEqual(new Map([[reason, 1]]))
      now += 10 * MINUTE
      answer = film
      expect(await arrived(one)).toMatchObject({ isWhole: true })
    },
  )

  it('that broke off are tried again sooner, with longer pauses after each try', async () => {
    answer = (_, response) => response.destroy()
    const one = open(jobWith(brief()))
    const tries = async (ms: number) => {
      now += ms
      await arrived(one)
      return host.asked.length
    }
    const first = await tries(0)
    expect(await tries(4 * SECOND)).toBe(first)
    const second = await tries(1 * SECOND)
    expect(second).toBeGreaterThan(first)
    expect(await tries(9 * SECOND)).toBe(second)
    expect(await tries(1 * SECOND)).toBeGreaterThan(second)
  })

  it('are not stored above the quota of their owner, who gets an error', async () => {
    const stored = jobWith(brief())
    const one = open(stored)
    const pieces = [Buffer.alloc(1_500_000), Buffer.alloc(1_000_000)]
    for (const piece of pieces) {
      await one.artifacts.store(
        { rid: ids.requestId(), index: 0 },
        { owner: 'acc_1', contentType: 'image/png', pieces: [piece] },
      )
    }
    expect(await arrived(one)).toMatchObject({
      code: 'service_unavailable',
      detail: { limit_source: 'artifact_owner' },
    })
    expect(await left()).toHaveLength(2)
    expect(one.files.figures().failed).toEqual(new Map([['store', 1]]))
  })

  it('are available for the store’s retention after the end of the job, however late the copy was made', async () => {
    const stored = jobWith(brief())
    const one = open(stored)
    const end = now + FILE_LIMITS.keepMs
    now = end - MINUTE
    expect(await arrived(one)).toMatchObject({ expiresAt: end })
    now = end
    expect([await one.artifacts.open(id), await one.files.find(id), one.files.show(stored, rid)]).toEqual([
      undefined,
      undefined,
      [],
    ])
  })

  it('are copied when a worker has ended their job, also without a poll, and are deleted after their retention', async () => {
    const stored = jobWith(brief())
    const one = open(stored)
    takeDue(one, async () => stored)
    await until('the copy is stored', 5_000, () => one.files.figures().copied === 1)
    now += FILE_LIMITS.keepMs
    expect([await one.artifacts.open(id), await one.files.find(id), one.files.show(stored, rid)]).toEqual([
      undefined,
      undefined,
      [],
    ])
    expect(host.asked).toHaveLength(1)
  })

  it.each(['isWithheld', 'isDeleted'])('are not copied for a job that no buyer may see: %s', async (mark) => {
    const stored = { ...jobWith(brief()), [mark]: true }
    const one = open(stored)
    let looked = 0
    const find = async () => {
      looked += 1
      return stored
    }
    takeDue(one, find)
    await until('the worker looked at the job', 5_000, () => looked === 1)
    expect([await one.files.find(id), one.files.figures().running, host.asked]).toEqual([undefined, 0, []])
  })

  it('are not available before the end of the job is booked, and a failed job has none', async () => {
    const stored = jobWith(brief())
    const { end } = stored
    expect(await open({ ...stored, isBooked: false }).files.find(id)).toBeUndefined()
    const failed = { ...stored, end: end && { ...end, state: 'failed' as const } }
    expect([await open(failed).files.find(id), open(failed).files.show(failed, rid)]).toEqual([undefined, []])
    expect(await open(stored).files.find({ rid, index: 1 })).toBeUndefined()
  })

  it('leave nothing when the process closes during a copy, and the next process copies them whole', async () => {
    answer = (_, response) =>
      response.writeHead(200, { 'content-length': FILM.length }).write(FILM.subarray(0, 500_000))
    const stored = jobWith(brief())
    const one = open(stored)
    const waiting = arrived(one)
    await until('the copy is under way', 5_000, async () => (await left()).length === 1)
    await one.files.close()
    expect(await waiting).toMatchObject({ detail: { reason: 'cut' } })
    expect(await left()).toEqual([])
    answer = film
    expect(await arrived(open(stored))).toMatchObject({ isWhole: true })
  })

  it('are not partial after the process is killed during a copy, and the next process copies them whole', async () => {
    const stored = jobWith(brief())
    const script = fileURLToPath(new URL('./fixtures/dying-copy.ts', import.meta.url))
    const signal = await new Promise<unknown>((resolve) => {
      const words = ['--import', 'tsx', script, dir(), host.host, rid, JSON.stringify(stored)]
      execFile(process.execPath, words, (error) => resolve(error?.signal))
    })
    expect(signal).toBe('SIGKILL')
    const half = await left()
    expect([half.length, half[0]?.endsWith('.part')]).toEqual([1, true])
    const one = open(stored)
    expect(await arrived(one)).toMatchObject({ isWhole: true })
    expect(host.asked).toHaveLength(2)
    expect(await left()).toEqual([`${rid}-0`])
  })
})

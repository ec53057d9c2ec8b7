import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request as httpRequest } from 'node:http'
import { z } from 'zod'
import type { Seen } from '#test/support/outcomes/outcome-call.ts'
import type { Ended, Health, Words } from '#test/support/outcomes/outcome-words.ts'
import { EndedSchema, sectionText, wordsOf } from '#test/support/outcomes/outcome-words.ts'
import { BUSY_MS, until } from '#test/support/run/until.ts'
import { json, KEY, lending, network, provider } from './forwarded-market.ts'

/** Bookings may wait on a busy machine. */
const BOOKED_MS = 45_000

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A way in which a forwarded call can end. */
type ForwardedRow = {
  readonly end: string
  readonly answer: Answer
  /** The request: two pictures, whose answer is JSON, or the storage of a file, whose answer is passed on. */
  readonly asks: 'pictures' | 'file'
  /** The moment at which the buyer disconnects, if there is one. */
  readonly leaves?: 'on a cue' | 'with the first bytes'
}

const JSON_HEAD = { 'content-type': 'application/json' }
const FILM = Buffer.alloc(200_000, 'f')
const REST = Buffer.alloc(32_000_000, 'f')
const FILM_HEAD = { 'content-type': 'video/mp4', 'content-length': FILM.length }
const pictures = (count: number) => JSON.stringify({ data: Array.from({ length: count }, () => ({ url: 'x' })) })
const says =
  (status: number, body: string, head: Record<string, string> = JSON_HEAD): Answer =>
  (_request, response) =>
    response.writeHead(status, head).end(body)
/** Sends half of an answer, and breaks the connection once that half is out. */
const breaks =
  (head: Record<string, string | number>, half: Buffer | string): Answer =>
  (_request, response) => {
    response.writeHead(200, head)
    response.write(half, () => response.destroy())
  }

/**
 * Announces that the provider has come far enough for the buyer to disconnect (`cue`), and that the buyer has
 * disconnected (`left`).
 */
const moments = new EventEmitter()

const ROWS: readonly ForwardedRow[] = [
  { end: 'A whole answer that reports its usage', asks: 'pictures', answer: says(200, pictures(1)) },
  { end: 'A whole answer that reports more than the quote', asks: 'pictures', answer: says(200, pictures(9)) },
  { end: 'A whole answer that reports no usage', asks: 'pictures', answer: says(200, pictures(0)) },
  { end: 'A whole answer that cannot be read', asks: 'pictures', answer: says(200, 'no JSON') },
  { end: 'An empty answer with a success status', asks: 'file', answer: says(204, '') },
  {
    end: 'A long answer, passed on as it arrives',
    asks: 'file',
    answer: (_request, response) => response.writeHead(200, FILM_HEAD).end(FILM),
  },
  { end: 'The provider fails', asks: 'pictures', answer: says(500, '{}') },
  { end: 'The provider refuses the key', asks: 'pictures', answer: says(401, '{}') },
  { end: 'The provider’s rate limit is reached', asks: 'pictures', answer: says(429, '{}') },
  { end: 'The provider refuses the request', asks: 'pictures', answer: says(422, '{}') },
  { end: 'The provider redirects', asks: 'pictures', answer: says(302, '', { location: 'https://elsewhere.example' }) },
  {
    end: 'The provider breaks the connection before its answer',
    asks: 'pictures',
    answer: (request) => request.socket.destroy(),
  },
  {
    end: 'The provider breaks off in the middle of a held answer',
    asks: 'pictures',
    answer: breaks({ ...JSON_HEAD, 'content-length': 1_000 }, '{"data":['),
  },
  {
    end: 'The provider breaks off in the middle of a long answer',
    asks: 'file',
    answer: breaks(FILM_HEAD, FILM.subarray(0, 100_000)),
  },
  {
    end: 'The provider breaks the connection after the last byte',
    asks: 'file',
    answer: breaks(FILM_HEAD, FILM),
  },
  {
    end: 'The buyer leaves before the answer',
    asks: 'pictures',
    leaves: 'on a cue',
    answer: (request, response) => {
      moments.once('left', () => says(200, pictures(1))(request, response))
      moments.emit('cue')
    },
  },
  {
    end: 'The buyer disconnects in the middle of a held answer',
    asks: 'pictures',
    leaves: 'on a cue',
    answer: (_request, response) => {
      const [begin, end] = [pictures(1).slice(0, 9), pictures(1).slice(9)]
      response.writeHead(200, { ...JSON_HEAD, 'content-length': begin.length + end.length })
      moments.once('left', () => response.end(end))
      response.write(begin, () => moments.emit('cue'))
    },
  },
  {
    end: 'The buyer disconnects in the middle of a long answer',
    asks: 'file',
    leaves: 'with the first bytes',
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': FILM.length + REST.length })
      response.write(FILM)
      // The provider does not notice the disconnect and goes on. No buffer on the way holds so many bytes.
      moments.once('left', () => response.end(REST))
    },
  },
]
const LAST: ForwardedRow = { end: 'last', asks: 'pictures', answer: () => undefined }

/** Drives every row once, each on a key of its own. Returns the lines of the table. */
export async function driveForwarded(): Promise<readonly (Words & { readonly end: string })[]> {
  const seen: { readonly row: ForwardedRow; readonly sent: Seen; readonly heard: number }[] = []
  for (const row of ROWS) {
    const [offer = ''] = await lending.lend('provider-p1', [{ key: KEY }])
    provider.answers(row.answer)
    const sent = await send(row, offer)
    seen.push({ row, sent, heard: provider.heard.length })
  }
  // Health events travel in one queue, so waiting for the last one is enough.
  provider.answers(says(500, '{}'))
  const last = await send(LAST, '')
  json(200, {})
  await until('the last health event is stored', BOOKED_MS, async () => (await healthOf(last.rid)).length > 0)
  const lines: (Words & { readonly end: string })[] = []
  for (const { row, sent, heard } of seen) {
    const words = wordsOf(sent, await endedOf(sent.rid, row.end), await healthOf(sent.rid))
    if (heard !== 1) throw new Error(`${row.end}: the provider was asked ${heard} times`)
    lines.push({ end: row.end, ...words })
  }
  return lines
}

async function endedOf(rid: string, what: string): Promise<Ended> {
  let found: unknown
  await until(`it is booked: ${what}, ${rid}`, BOOKED_MS, async () => {
    const { rows } = await lending.database.query('select * from settlement where rid = $1', [rid])
    found = rows[0]
    return found !== undefined
  })
  return EndedSchema.parse(found)
}

async function healthOf(rid: string): Promise<readonly Health[]> {
  const { rows } = await lending.database.query(
    'select action, error_class from health_log where rid = $1 order by at, id',
    [rid],
  )
  return rows
}

const Refusal = z.object({ error: z.object({ code: z.string() }) })

/** Sends one call to its end, or until the buyer disconnects. */
function send({ asks, leaves }: ForwardedRow, offer: string): Promise<Seen> {
  let hasLeft = false
  const { api_base_url: base, buyer_key: key } = network.sandbox
  const isPicture = asks === 'pictures'
  const url = `${base}/resources/provider-p1/v1/${isPicture ? 'images' : 'uploads/film.mp4'}`
  const body = isPicture ? JSON.stringify({ model: 'canvas-1', prompt: 'a boat', n: 2 }) : 'a film'
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': isPicture ? 'application/json' : 'video/mp4',
    'content-length': Buffer.byteLength(body),
  }
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: isPicture ? 'POST' : 'PUT', headers, agent: false }, (answer) => {
      const pieces: Buffer[] = []
      const end = () => {
        const text = Buffer.concat(pieces).toString('latin1')
        const status = answer.statusCode ?? 0
        const code = status < 400 ? undefined : Refusal.parse(JSON.parse(text)).error.code
        const rid = String(answer.headers['x-request-id'])
        resolve(
          seenAs({ rid, status, code, hasContent: text !== '' || status === 204, isBroken: !answer.complete, hasLeft }),
        )
      }
      answer.on('data', (piece: Buffer) => {
        pieces.push(piece)
        if (leaves !== 'with the first bytes') return
        hasLeft = true
        sent.destroy()
        moments.emit('left')
      })
      answer.on('error', () => undefined)
      answer.on('close', end)
    })
    sent.on('error', (error) => {
      if (!hasLeft) reject(error)
    })
    const cue = leaves === 'on a cue' ? once(moments, 'cue', { signal: AbortSignal.timeout(BUSY_MS) }) : undefined
    sent.end(body)
    void cue?.then(async () => {
      hasLeft = true
      sent.destroy()
      await until('the market reads on without its buyer', BUSY_MS, hasDetached)
      moments.emit('left')
      resolve(
        seenAs({ rid: await ridAt(offer), status: 0, code: undefined, hasContent: false, isBroken: false, hasLeft }),
      )
    }, reject)
  })
}

/** True while the market reads an answer whose buyer has disconnected. */
async function hasDetached(): Promise<boolean> {
  const metrics = await (await fetch(`${network.sandbox.base_url}/metrics`)).text()
  return /^market_detached_streams\S* [1-9]/m.test(metrics)
}

/** The id of the one call on a lent key, which its buyer never received. */
async function ridAt(offer: string): Promise<string> {
  let rid = ''
  await until('the call without a buyer is booked', BOOKED_MS, async () => {
    const { rows } = await lending.database.query('select rid from settlement where offer = $1', [offer])
    rid = String(rows[0]?.rid ?? '')
    return rid !== ''
  })
  return rid
}

type SeenPart = Pick<Seen, 'rid' | 'status' | 'code' | 'hasContent' | 'isBroken' | 'hasLeft'>

function seenAs(part: SeenPart): Seen {
  return {
    ...part,
    finishReason: undefined,
    nativeFinishReason: undefined,
    streamError: undefined,
    costMicro: undefined,
    isHeld: true,
    adapted: undefined,
    otherCalls: 0,
  }
}

/** The page with those lines. */
export function forwardedPage(rows: Awaited<ReturnType<typeof driveForwarded>>): string {
  return HEAD + sectionText({ title: 'Calls on lent keys', rows })
}

const HEAD = `# When a forwarded call is charged

<!-- Generated by test/flows/forwarded-calls.test.ts: npm run generate -->

A forwarded call is sent once: the market repeats no request that a provider may have executed. An answer that breaks off at
the provider costs nothing, including its delivered part. A buyer who disconnects pays for the whole answer if it ends in
time. Calls of families end in the same ways, with 502 for every failure of the provider.
[api-selling.md](api-selling.md#calls-on-lent-keys-and-forwarded-families) describes the jobs of a queue. When a process is
killed during a call, the call costs nothing and is not sent again.
`

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { keepArtifact } from '#test/support/market/kept-artifact.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { OutcomeMarket } from '#test/support/outcomes/outcome-market.ts'
import { catalogItem, startOutcomeMarket } from '#test/support/outcomes/outcome-market.ts'
import { until } from '#test/support/run/until.ts'

const SECONDS = 6
/** A cent per second, at half price. */
const QUOTE = SECONDS * 5_000
const CHARGE = (SECONDS - 1) * 5_000
let market: OutcomeMarket
let key: string

beforeAll(async () => {
  market = await startOutcomeMarket(await sharedNetwork())
  const jobs = ['plain-job', 'late-job', 'long-job-endless'].map((model) => ({ model, acts: ['well'], isJob: true }))
  await market.sell([...jobs, { model: 'dripping', acts: ['drip'] }])
  key = await market.buyer(1)
})
afterAll(() => market.stop())

const Submitted = z.object({ id: z.string(), status: z.literal('queued'), job_token: z.string(), model: z.string() })
const Shown = z.object({
  id: z.string(),
  status: z.string(),
  artifacts: z.array(z.object({ index: z.number(), url: z.string(), content_type: z.string() })),
  usage: z.object({ seconds: z.number(), buyer_cost_micro: z.number() }).nullable(),
})

async function submit(model: string): Promise<z.infer<typeof Submitted>> {
  const answer = await fetch(`${market.url}/v1/video/generations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, prompt: 'A quiet sea.', seconds: SECONDS }),
  })
  expect(answer.status).toBe(202)
  return Submitted.parse(await answer.json())
}

async function ask(id: string, headers: Record<string, string> = { authorization: `Bearer ${key}` }, method = 'GET') {
  const answer = await fetch(`${market.url}/v1/video/generations/${id}`, { method, headers })
  return { status: answer.status, body: await answer.json() }
}

async function shown(id: string) {
  return Shown.parse((await ask(id)).body)
}

/** Sums of the ledger by kind of account, over both transactions of a job. */
async function moved(id: string): Promise<Record<string, number>> {
  const { rows } = await market.database.query<{ kind: string; amount: string }>(
    `select a.kind, sum(e.amount) as amount from ledger_entry e join account a on a.id = e.account
     where e.tx in (select $1::text union all select tx from ledger_key where key = 'end:' || $1::text) group by a.kind`,
    [id.slice('job_'.length)],
  )
  return Object.fromEntries(rows.map(({ kind, amount }) => [kind, Number(amount)]))
}

describe('a long job', () => {
  it('moves its whole quote to escrow at the submit, and out of it at its end, once [I6, I7]', async () => {
    const { id, model } = await submit('plain-job')
    expect(model).toBe('plain-job')
    await until('the quote is in escrow', 10_000, async () => (await moved(id))['job_escrow'] === QUOTE)
    expect(await moved(id)).toEqual({ buyer_credit: -QUOTE, job_escrow: QUOTE })
    expect(await shown(id)).toMatchObject({ status: 'running', artifacts: [], usage: null })

    // All callers see the same end. Of several ends, only one is recorded.
    const answers = await Promise.all(Array.from({ length: 8 }, () => shown(id)))
    for (const answer of answers.filter(({ status }) => status !== 'running')) {
      expect(answer).toMatchObject({ status: 'succeeded', usage: { seconds: SECONDS - 1, buyer_cost_micro: CHARGE } })
    }
    const last = await shown(id)
    expect(last.artifacts).toHaveLength(1)
    const fee = CHARGE / 20
    await until('the end is booked', 10_000, async () => (await moved(id))['job_escrow'] === 0)
    expect(await moved(id)).toEqual({
      buyer_credit: -CHARGE,
      job_escrow: 0,
      seller_available: CHARGE - fee,
      platform_fee: fee,
    })
    const conflicts = await market.database.query('select 1 from usage_conflict where rid like $1', [`${id.slice(4)}%`])
    expect(conflicts.rows).toEqual([])
  })

  it('is counted when a provider has accepted it', async () => {
    const count = async () => {
      const text = await (await fetch(`${market.url}/metrics`)).text()
      return Number(/^market_calls_total\{wire="video",outcome="succeeded",code=""\} (\d+)$/m.exec(text)?.[1] ?? 0)
    }
    const before = await count()
    await submit('plain-job')
    expect(await count()).toBe(before + 1)
  })

  it('shows its result only once its end is captured, also when the process that recorded the end died before', async () => {
    const { id } = await submit('late-job')
    const rid = id.slice('job_'.length)
    await until('the job is over', 5_000, async () => (await shown(id)).status === 'succeeded')
    // The state that a process leaves when it dies between the two steps: only the end is recorded.
    await market.redis.hdel(moneyKeys.job(rid), 'booked')
    expect((await shown(id)).artifacts).toHaveLength(1)
    expect(await market.redis.hget(moneyKeys.job(rid), 'booked')).toBe('1')
    await until('the job is booked once', 10_000, async () => (await moved(id))['job_escrow'] === 0)
    expect((await moved(id))['buyer_credit']).toBe(-CHARGE)
  })

  it('is visible to its buyer, and to the holder of its token [I21]', async () => {
    const { id, job_token: token } = await submit('long-job-endless')
    const stranger = await market.buyer(1)
    for (const headers of [{ authorization: `Bearer ${stranger}` }, { 'x-job-token': `${token.slice(0, -1)}_` }]) {
      expect(await ask(id, headers)).toMatchObject({ status: 404, body: { error: { code: 'job_not_found' } } })
    }
    expect((await ask(id, {})).status).toBe(401)
    expect((await ask('job_01ARZ3NDEKTSV4RRFFQ69G5FAV')).status).toBe(404)
    expect((await ask('nonsense')).status).toBe(404)
    expect(await ask(id, { 'x-job-token': token })).toMatchObject({ status: 200, body: { status: 'running' } })

    expect((await ask(id, { authorization: `Bearer ${stranger}` }, 'DELETE')).status).toBe(404)
    expect((await ask(id, undefined, 'DELETE')).body).toMatchObject({
      status: 'cancelled',
      usage: { buyer_cost_micro: 0 },
    })
    await until('the whole hold is back', 10_000, async () => (await moved(id))['buyer_credit'] === 0)
  })

  it('obeys the floor of its path, and its answers have the headers of inference', async () => {
    const path = '/v1/video/generations'
    const post = (floor: string, fields: object = {}) =>
      fetch(market.url + floor + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'plain-job', prompt: 'A quiet sea.', seconds: SECONDS, ...fields }),
      })
    const high = await post('/min90')
    expect([
      high.status,
      z.object({ error: z.object({ code: z.string() }) }).parse(await high.json()).error.code,
    ]).toEqual([503, 'minimum_discount_not_met'])
    const answer = await post('/min10', { watermark: true })
    expect(answer.status).toBe(202)
    const { id } = Submitted.parse(await answer.json())
    expect(answer.headers.get('x-mkt-adapted-params')).toBe('watermark')
    const HEADERS = ['x-request-id', 'x-mkt-served-by', 'x-mkt-provider-family', 'x-mkt-marketplace-status']
    const MORE = ['x-mkt-marketplace-attempts', 'x-mkt-routing-decision-ms', 'x-mkt-overhead-ms']
    const missing = ({ headers }: Response) => [...HEADERS, ...MORE].filter((name) => headers.get(name) === null)
    expect(missing(answer)).toEqual([])
    expect(answer.headers.get('x-ratelimit-limit')).not.toBeNull()
    const poll = () => fetch(`${market.url}/min10${path}/${id}`, { headers: { authorization: `Bearer ${key}` } })
    let last = await poll()
    await until('the job is over', 10_000, async () => {
      last = await poll()
      return Shown.parse(await last.clone().json()).usage !== null
    })
    expect(missing(last)).toEqual([])
    const cost = Shown.parse(await last.json()).usage?.buyer_cost_micro
    expect(last.headers.get('x-mkt-buyer-cost-micro')).toBe(String(cost))
  })

  it.each([
    [{ image_url: 'https://example.com/a.png' }, 'image_url'],
    [{ end_image_url: { url: 'https://example.com/a.png', role: 'end' } }, 'end_image_url'],
    [{ input_images: [`data:image/png;base64,iVBORw0KGgo${'A'.repeat(2_000_000)}`] }, 'input_images[0]'],
  ])('is refused when it cannot use its picture, and never made without it', async (source, param) => {
    const answer = await fetch(`${market.url}/v1/video/generations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'plain-job', prompt: 'A quiet sea.', ...source }),
    })
    const { error } = z.object({ error: z.object({ code: z.string(), param: z.string() }) }).parse(await answer.json())
    expect([answer.status, error]).toMatchObject([400, { code: 'model_capability_unsupported', param }])
  })

  it('is refused with its exact fault', async () => {
    const post = (body: object) =>
      fetch(`${market.url}/v1/video/generations`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      }).then(async (answer) => [
        answer.status,
        z.object({ error: z.object({ code: z.string() }) }).parse(await answer.json()).error.code,
      ])
    expect(await post({ model: 'plain-job' })).toEqual([400, 'invalid_request'])
    expect(await post({ model: 'plain-job', prompt: 'x', seconds: 0 })).toEqual([400, 'invalid_request'])
    expect(await post({ model: 'no-such-model', prompt: 'x' })).toEqual([400, 'unknown_model'])
    expect(await post({ model: 'gpt-5-mini', prompt: 'x' })).toEqual([404, 'no_sellers_for_model'])
  })
})

const Usage = z.object({
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number(), buyer_cost_micro: z.number() }),
})

/** The price of a call at half of this price per input token and ten times as much per output token. */
function due({ usage }: z.infer<typeof Usage>, microAToken: number): number {
  return Math.ceil((usage.prompt_tokens + 10 * usage.completion_tokens) * microAToken * 0.5)
}

function stream(withKey: string): Promise<Response> {
  return fetch(`${market.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${withKey}` },
    body: JSON.stringify({
      model: 'dripping',
      stream: true,
      max_tokens: 3,
      messages: [{ role: 'user', content: 'Count.' }],
    }),
  })
}

function lastUsage(text: string): z.infer<typeof Usage> {
  const line = text.split('\n').find((found) => found.includes('"buyer_cost_micro"'))
  return Usage.parse(JSON.parse((line ?? '').slice('data: '.length)))
}

describe('a media file', () => {
  const file = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251))
  const fetchFile = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(market.url + path, { method, headers })
  const keyed = () => ({ authorization: `Bearer ${key}` })
  /** Stores a file of a new job. The link of the market's site opens it here, too. */
  async function kept(contentType = 'image/png', bytes = file) {
    const { id, job_token: token } = await submit('long-job-endless')
    const place = { journal: 'journal-ends', job: id, index: 0 }
    const { url } = await keepArtifact(market.network, place, { contentType, pieces: [bytes] })
    const { pathname, search } = new URL(url)
    return { id, token, path: pathname, link: pathname + search }
  }

  it('is opened by its link, the key of its buyer and the token of its job, whole and in parts', async () => {
    const { token, path, link } = await kept()
    for (const answer of [
      await fetchFile(link),
      await fetchFile(path, keyed()),
      await fetchFile(path, { 'x-job-token': token }),
    ]) {
      expect(answer.status).toBe(200)
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'image/png',
        'content-length': '300000',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
        'cache-control': 'private',
        'accept-ranges': 'bytes',
        'access-control-allow-origin': '*',
        'x-request-id': expect.stringMatching(/^[0-9A-Z]{26}$/),
      })
      expect(Buffer.from(await answer.arrayBuffer()).equals(file)).toBe(true)
    }
    const head = await fetchFile(link, {}, 'HEAD')
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '300000', ''])
    const part = await fetchFile(link, { range: 'bytes=1000-1002' })
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 1000-1002/300000'])
    expect(Buffer.from(await part.arrayBuffer()).equals(file.subarray(1_000, 1_003))).toBe(true)
    const beyond = await fetchFile(link, { range: 'bytes=300000-' })
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */300000'])
    expect(await beyond.json()).toMatchObject({ error: { code: 'invalid_request' } })
    const etag = head.headers.get('etag') ?? ''
    const known = await fetchFile(link, { 'if-none-match': etag })
    expect([known.status, await known.text()]).toEqual([304, ''])
    const changed = await fetchFile(link, { range: 'bytes=0-1', 'if-range': '"old"' })
    expect([changed.status, (await changed.arrayBuffer()).byteLength]).toEqual([200, 300_000])
  })

  it('is not opened by an expired link, and still by its buyer’s key', async () => {
    const { id } = await submit('long-job-endless')
    const place = { journal: 'journal-ends', job: id, index: 0, linkMs: -1_000 }
    const { url } = await keepArtifact(market.network, place, { contentType: 'image/png', pieces: [file] })
    const { pathname, search } = new URL(url)
    const over = await fetchFile(pathname + search)
    expect([over.status, await over.json()]).toMatchObject([404, { error: { code: 'not_found' } }])
    expect((await fetchFile(pathname, keyed(), 'HEAD')).status).toBe(200)
  })

  it('is not displayed by a browser when its type is not a picture, film or sound', async () => {
    const { link } = await kept('text/html; charset=utf-8')
    const answer = await fetchFile(link)
    await answer.arrayBuffer()
    expect(answer.headers.get('content-type')).toBe('application/octet-stream')
    expect(answer.headers.get('content-disposition')).toBe('attachment')
  })

  it('belongs to its buyer, and no other caller learns whether it exists', async () => {
    const { id, token, path, link } = await kept()
    const stranger = { authorization: `Bearer ${await market.buyer(1)}` }
    const none = '/v1/media/artifacts/job_01ARZ3NDEKTSV4RRFFQ69G5FAV/0'
    const refused = await Promise.all([
      fetchFile(path, stranger),
      fetchFile(none, keyed()),
      fetchFile(path, { 'x-job-token': `${token.slice(0, -1)}_` }),
      fetchFile(`${link.slice(0, -1)}_`),
      fetchFile(link.replace(/expires=\d+/, 'expires=1')),
      fetchFile(link.replace(/expires=\d+/, 'expires=9999999999')),
      fetchFile(link.replace('/0?', '/1?')),
      fetchFile(`${path}?expires=9999999999`, keyed()),
      ...['-1', '1e9', '0x0', '00', '100', '..%2f'].map((index) =>
        fetchFile(`/v1/media/artifacts/${id}/${index}`, keyed()),
      ),
    ])
    for (const answer of refused) expect([answer.url, answer.status]).toEqual([answer.url, 404])
    const told = await Promise.all(
      refused.slice(0, 8).map(async (answer) => JSON.stringify((await answer.json()).error)),
    )
    expect(new Set(told.map((text) => text.replace(/"request_id":"\w+"/, ''))).size).toBe(1)
    expect((await fetchFile(path)).status).toBe(401)
    const unknown = await fetchFile(`${link}&size=1`)
    expect(await unknown.json()).toMatchObject({ error: { code: 'invalid_request', param: 'size' } })
  })

  it('is read no further once its buyer has disconnected', async () => {
    // More than the buffers of a connection hold.
    const { path, token } = await kept('video/mp4', Buffer.alloc(40_000_000))
    const open = async () => {
      const text = await (await fetch(`${market.url}/metrics`)).text()
      return Number(/^market_artifact_downloads_open (\d+)$/m.exec(text)?.[1])
    }
    const leaving = new AbortController()
    const answer = await fetch(market.url + path, { headers: { 'x-job-token': token }, signal: leaving.signal })
    expect([answer.status, await open()]).toEqual([200, 1])
    leaving.abort()
    await until('the download is over', 5_000, async () => (await open()) === 0)
  })
})

describe('a stream under way', () => {
  it('ends at the price and under the key of its start, whatever is published meanwhile [F42]', async () => {
    const created = await market.post('/v1/buyer/keys', key, { label: 'revoked in the midst' })
    const second = z.object({ id: z.string(), key: z.string() }).parse(created)
    await until('the key works', 5_000, async () => (await stream(second.key)).status === 200)
    const running = await stream(second.key)
    const { trpc_url: doors, management_key: operator, api_base_url: origin } = market.network.sandbox
    await market.post(`${doors}/catalog.import`, operator, { source: 'dearer', models: [catalogItem('dripping', 3)] })
    const revoked = await fetch(`${origin}/v1/buyer/keys/${second.id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${key}` },
    })
    expect(revoked.status).toBe(204)
    await until('the key is refused', 5_000, async () => (await stream(second.key)).status === 401)

    const usage = lastUsage(await running.text())
    expect(usage.usage.buyer_cost_micro).toBe(due(usage, 1))
    await until('the new price is charged', 10_000, async () => {
      const later = lastUsage(await (await stream(key)).text())
      return later.usage.buyer_cost_micro === due(later, 3)
    })
  })
})

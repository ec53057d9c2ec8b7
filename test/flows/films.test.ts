import { Redis } from 'ioredis'
import OpenAI, { toFile } from 'openai'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { pngOf } from '#dev/provider/media/png.ts'
import { secondsOf } from '#dev/provider/media/sound.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

/** A provider with a queue, and one with OpenAI's protocol. */
const QUEUE = 'sandbox/video-job'
const HOST = 'sandbox-e'
/** A member of the market, which the client's types do not know. */
const PINNED = { provider: HOST }
const OPENAI = 'sandbox/job'
const PICTURE = `data:image/png;base64,${pngOf('a door', 8, 8).toString('base64')}`
let network: Network

beforeAll(async () => {
  network = await sharedNetwork()
})
afterAll(() => network?.remove())

const keyed = () => ({ authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json' })

async function send(method: string, path: string, body?: object) {
  const init = { method, headers: keyed(), ...(body !== undefined && { body: JSON.stringify(body) }) }
  const answer = await fetch(network.sandbox.api_base_url + path, init)
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

const Job = z.object({
  id: z.string(),
  object: z.string(),
  status: z.string(),
  adapted_params: z.array(z.string()).optional(),
  artifacts: z.array(z.object({ index: z.number(), url: z.string(), content_type: z.string() })).optional(),
  usage: z.object({ seconds: z.number(), buyer_cost_micro: z.number() }).nullish(),
})

async function submit(path: string, body: object, provider: string | undefined = HOST) {
  const { status, body: answer } = await send('POST', path, { prompt: 'A boat on a lake.', provider, ...body })
  expect([status, status === 202 ? '' : answer]).toEqual([202, ''])
  return Job.parse(answer)
}

async function finished(path: string, id: string) {
  let job: z.infer<typeof Job> | undefined
  await until('the job is over', 15_000, async () => {
    job = Job.parse((await send('GET', `${path}/${id}`)).body)
    return job.status !== 'queued' && job.status !== 'running'
  })
  return job
}

const Refusal = z.object({ error: z.object({ code: z.string(), param: z.string().nullish() }) })

async function refusalOf(path: string, body: object) {
  const answer = await send('POST', path, { prompt: 'A boat on a lake.', ...body })
  const { code, param = null } = Refusal.parse(answer.body).error
  return [answer.status, code, param]
}

const Asked = z.object({
  requests: z.array(z.object({ method: z.string(), path: z.string(), body: z.unknown().optional() })),
})

/**
 * The body of the last submit that the provider with a queue received. It sells pictures, too, whose order book names
 * its address.
 */
async function lastSubmit() {
  const Book = z.object({ offers: z.array(z.object({ provider: z.string(), seller_base_url: z.url() })) })
  const book = Book.parse(await (await fetch(`${network.sandbox.api_base_url}/api/markets/flux-1-dev`)).json())
  const offer = book.offers.find(({ provider }) => provider === HOST)
  const url = new URL('/__sandbox/requests', offer?.seller_base_url)
  const { requests } = Asked.parse(await (await fetch(url)).json())
  return requests.findLast(({ method, path }) => method === 'POST' && /video/.test(path))?.body
}

describe('a film of a provider with a queue', () => {
  const path = '/v1/video/generations'

  it('is made in the requested length and size, and opens', async () => {
    const { id, object } = await submit(path, {
      model: QUEUE,
      duration: '6s',
      size: '320x240',
      seed: 7,
      watermark: true,
    })
    expect(object).toBe('video.generation')
    const job = await finished(path, id)
    expect(job).toMatchObject({ status: 'succeeded', adapted_params: ['watermark'], usage: { buyer_cost_micro: 0 } })
    const [file] = job?.artifacts ?? []
    expect(file?.content_type).toBe('video/mp4')
    const bytes = Buffer.from(await (await fetch(file?.url ?? '')).arrayBuffer())
    // The sides are in the header of the track, as 16.16 numbers.
    const at = bytes.indexOf('tkhd') + 4 + 76
    expect([bytes.readUInt32BE(at) >> 16, bytes.readUInt32BE(at + 4) >> 16]).toEqual([320, 240])
  })

  it('is explained before it is made: the price is that of its length, and a bad request is refused', async () => {
    const explain = (body: object) => send('POST', '/v1/route/explain', { path, body })
    const Explained = z.object({ would_serve: z.boolean(), offers: z.array(z.object({ estimate_micro: z.number() })) })
    const priceOf = async (seconds: number) => {
      const { body } = await explain({ model: 'sora-2', prompt: 'A boat on a lake.', seconds })
      return Explained.parse(body).offers[0]?.estimate_micro ?? expect.fail('no offer')
    }
    expect(await priceOf(8)).toBe(2 * (await priceOf(4)))
    expect((await explain({ model: QUEUE })).status).toBe(400)
  })

  it('begins with a picture, ends with one and follows others, all of them unchanged', async () => {
    const reference = 'https://example.com/style.png'
    const body = {
      image_url: PICTURE,
      end_image_url: { url: 'https://example.com/end.png' },
      input_images: [{ url: reference, role: 'reference' }],
    }
    await submit(path, { model: QUEUE, seconds: 4, aspect_ratio: '16:9', ...body })
    expect(await lastSubmit()).toMatchObject({
      prompt: 'A boat on a lake.',
      duration: '4',
      aspect_ratio: '16:9',
      image_url: PICTURE,
      end_image_url: 'https://example.com/end.png',
      reference_image_urls: [reference],
    })
    // The same in OpenRouter's members.
    const held = (url: string) => ({ type: 'image_url', image_url: { url } })
    await submit(path, {
      model: QUEUE,
      input_references: [held(reference)],
      frame_images: [{ ...held('https://example.com/end.png'), frame_type: 'last_frame' }],
    })
    expect(await lastSubmit()).toMatchObject({
      end_image_url: 'https://example.com/end.png',
      reference_image_urls: [reference],
    })
  })

  it('is cancelled and costs nothing', async () => {
    const { id } = await submit(path, { model: QUEUE })
    const cancelled = Job.parse((await send('DELETE', `${path}/${id}`)).body)
    expect([cancelled.status, cancelled.usage?.buyer_cost_micro]).toEqual(['cancelled', 0])
  })

  it('does not exist for a caller without a key, and neither does an unknown film', async () => {
    const { id } = await submit(path, { model: QUEUE })
    const unknown = `${id.slice(0, -6)}000000`
    const { api_base_url: base, buyer_key: key } = network.sandbox
    for (const authorization of [undefined, `Bearer ${key.slice(0, -4)}zzzz`, 'Bearer x']) {
      const headers = authorization === undefined ? {} : { authorization }
      for (const method of ['GET', 'DELETE']) {
        const told = [id, unknown, 'job_x'].map(async (each) => {
          const answer = await fetch(`${base}${path}/${each}`, { method, headers })
          const { error } = Refusal.parse(await answer.json())
          return [answer.status, error.code]
        })
        const [known, ...others] = await Promise.all(told)
        expect([known?.[0], ...others]).toEqual([401, known, known])
      }
    }
    expect((await send('GET', `${path}/${unknown}`)).status).toBe(404)
  })

  const REFUSED: [body: object, code: string, param: string, row: string][] = [
    [{ input_images: Array.from({ length: 9 }, () => PICTURE) }, 'too_many_input_images', 'input_images', ''],
    [{ image_url: 'http://example.com/a.png' }, 'invalid_image_input', 'image_url', ''],
    [{ image_url: 'iVBORw0KGgo=' }, 'invalid_image_input', 'image_url', ''],
    [{ image_url: 'data:image/png;base64,aGVsbG8=' }, 'invalid_image_input', 'image_url', ''],
    [{ image_url: [] }, 'invalid_image_input', 'image_url', ''],
    [{ end_image_url: [] }, 'invalid_image_input', 'end_image_url', ''],
    [{ input_images: [{ url: PICTURE, role: 'admin' }] }, 'invalid_image_input', 'input_images[0]', ''],
    [{ input_images: [{ role: 'start' }] }, 'invalid_image_input', 'input_images[0]', ''],
    [{ image_url: PICTURE, image: PICTURE }, 'invalid_image_input', 'image', ''],
    [{ input_reference: { file_id: 'file-1' } }, 'unresolvable_file_reference', 'input_reference', ''],
    [{ frame_images: [{ url: PICTURE, frame_type: 'middle' }] }, 'invalid_image_input', 'frame_images[0]', ''],
    [{ seconds: 61 }, 'invalid_request', 'seconds', ''],
    [{ seconds: 0 }, 'invalid_request', 'seconds', ''],
    [{ seconds: 4, duration: 5 }, 'invalid_request', 'duration', ''],
    [{ size: '0x0' }, 'invalid_request', 'size', ''],
    [{ size: '1024×1024' }, 'invalid_request', 'size', ''],
    [{ size: '-640x480' }, 'invalid_request', 'size', ''],
    [{ size: '100000x1' }, 'invalid_request', 'size', ''],
    [{ seconds: -4 }, 'invalid_request', 'seconds', ''],
    [{ resolution: '8K' }, 'invalid_request', 'resolution', ''],
    [{ size: '1280x720', resolution: '1080p' }, 'invalid_request', 'resolution', ''],
    [{ aspect_ratio: 'wide' }, 'invalid_request', 'aspect_ratio', ''],
    [{ n: 2 }, 'invalid_request', 'n', ''],
    [{ prompt: ' ' }, 'invalid_request', 'prompt', ''],
  ]
  it.each(REFUSED)('%# is refused before a provider is asked: $1 $2 $3', async (body, code, param) => {
    expect(await refusalOf(path, { model: QUEUE, ...body })).toEqual([400, code, param])
  })

  it('refuses a picture that its model cannot use', async () => {
    const body = { model: OPENAI, end_image_url: PICTURE }
    expect(await refusalOf(path, body)).toEqual([400, 'model_capability_unsupported', 'end_image_url'])
    // A resolution that was sent as a size is refused under that name.
    expect(await refusalOf(path, { model: 'sora-2', size: '1920x1080' })).toEqual([400, 'invalid_request', 'size'])
  })
})

describe('a film without polls of its buyer', () => {
  it('is made, copied before its provider drops it, and served whole, by range and by HEAD', async () => {
    const path = '/v1/video/generations'
    const { id } = await submit(path, { model: OPENAI, seconds: 4 }, 'sandbox-a')
    const db = new pg.Client(network.sandbox.database_url)
    await db.connect()
    const Place = z.object({ job: z.string(), host: z.url() })
    const loads = async () => {
      const { rows } = await db.query(
        'select provider_job as job, base_url as host from job join offer on offer.id = job.offer where rid = $1',
        [id.slice('job_'.length)],
      )
      const { data: place } = Place.safeParse(rows[0])
      if (place === undefined) return 0
      const { requests } = Asked.parse(await (await fetch(new URL('/__sandbox/requests', place.host))).json())
      return requests.filter(({ path: asked }) => asked === `/v1/videos/${place.job}/content`).length
    }
    await until('a data plane has loaded the film', 25_000, async () => {
      // A worker has to poll twice. It would wait for seconds.
      const hasten = 'update job set poll_at = now() where rid = $1 and asker is null'
      await db.query(hasten, [id.slice('job_'.length)])
      return (await loads()) > 0
    })
    const url = `${network.sandbox.api_base_url}/v1/media/artifacts/${id}/0`
    const load = (init: RequestInit = {}) => fetch(url, { ...init, headers: { ...keyed(), ...init.headers } })
    const whole = await load()
    const film = Buffer.from(await whole.arrayBuffer())
    expect([whole.status, whole.headers.get('content-type'), film.subarray(4, 8).toString()]).toEqual([
      200,
      'video/mp4',
      'ftyp',
    ])
    const part = await load({ headers: { range: 'bytes=4-7' } })
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      `bytes 4-7/${film.length}`,
      'ftyp',
    ])
    const beyond = await load({ headers: { range: `bytes=${film.length}-` } })
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${film.length}`])
    const head = await load({ method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, String(film.length), ''])
    // The video was fetched once, and the first poll finds it.
    expect((await send('GET', `${path}/${id}`)).body).toMatchObject({ status: 'succeeded', usage: { seconds: 3 } })
    expect(await loads()).toBe(1)
    await db.end()
  })
})

describe('music', () => {
  const path = '/v1/music/generations'

  it('is a job of its own kind, whose file is sound of the requested length', async () => {
    const { id, object } = await submit(path, { model: 'sandbox/music-job', lyrics: 'La la', seconds: 3 })
    expect(object).toBe('music.generation')
    const job = await finished(path, id)
    expect([job?.status, job?.artifacts?.[0]?.content_type]).toEqual(['succeeded', 'audio/wav'])
    const bytes = Buffer.from(await (await fetch(job?.artifacts?.[0]?.url ?? '')).arrayBuffer())
    expect(secondsOf(bytes)).toBe(3)
    expect((await send('GET', `/v1/video/generations/${id}`)).status).toBe(404)
  })

  it('has no sellers where no host runs it', async () => {
    expect(await refusalOf(path, { model: QUEUE })).toEqual([404, 'no_sellers_for_model', 'model'])
    const { body } = await send('POST', path, { model: QUEUE, prompt: 'A song.' })
    expect(body).toMatchObject({ error: { message: `${QUEUE} makes no music: it is a model for films.` } })
  })
})

describe('the official client', () => {
  it('makes a film from a picture, polls it and deletes it', async () => {
    const client = new OpenAI({
      baseURL: `${network.sandbox.api_base_url}/v1`,
      apiKey: network.sandbox.buyer_key,
      maxRetries: 0,
    })
    const picture = await toFile(pngOf('a lake', 16, 16), 'lake.png', { type: 'image/png' })
    const made = await client.videos.create({
      model: OPENAI,
      prompt: 'A boat.',
      seconds: '4',
      size: '1280x720',
      input_reference: picture,
    })
    expect(made).toMatchObject({ object: 'video', status: 'queued', seconds: '4', size: '1280x720', progress: 0 })
    let seen = made
    await until('the film is done', 15_000, async () => {
      seen = await client.videos.retrieve(made.id)
      return seen.status === 'completed'
    })
    expect(seen).toMatchObject({ progress: 100, prompt: null })
    expect(seen.error).toBeUndefined()
    expect(seen.completed_at).toBeGreaterThanOrEqual(seen.created_at)
    // An unavailable picture is refused: the video would be made, and charged, without it.
    const lost = client.videos.create({ model: OPENAI, prompt: 'A boat.', input_reference: { file_id: 'file-1' } })
    await expect(lost).rejects.toMatchObject({
      status: 400,
      code: 'unresolvable_file_reference',
      param: 'input_reference',
    })
    const endless = await client.videos.create({ model: 'sandbox/job-endless', prompt: 'A boat.' })
    // The provider of this job has no cancellation.
    await expect(client.videos.delete(endless.id)).rejects.toMatchObject({ status: 409, code: 'conflict' })
    const failing = await client.videos.create({ model: 'sandbox/job-failing', prompt: 'A boat.' })
    await expect(client.videos.delete(failing.id)).rejects.toMatchObject({ status: 409, code: 'conflict' })
    await until('the film that goes on has failed', 15_000, async () => {
      seen = await client.videos.retrieve(failing.id)
      return seen.status === 'failed'
    })
    expect(seen.error).toMatchObject({ code: 'upstream_error' })
    const stopped = await client.videos.create({ model: QUEUE, prompt: 'A boat.', ...PINNED })
    expect(await client.videos.delete(stopped.id)).toEqual({ id: stopped.id, object: 'video.deleted', deleted: true })
    await expect(client.videos.retrieve(stopped.id)).rejects.toMatchObject({ status: 404, code: 'job_not_found' })
  })

  it('lists films page by page, and deletes one with its file', async () => {
    const client = new OpenAI({
      baseURL: `${network.sandbox.api_base_url}/v1`,
      apiKey: network.sandbox.buyer_key,
      maxRetries: 0,
    })
    const made: string[] = []
    for (let count = 0; count < 3; count++)
      made.unshift((await client.videos.create({ model: OPENAI, prompt: 'A boat.' })).id)
    const [third = '', second = '', first = ''] = made
    const page = await client.videos.list({ limit: 2 })
    expect([page.data.map(({ id }) => id), page.has_more]).toEqual([[third, second], true])
    const seen: string[] = []
    for await (const { id } of client.videos.list({ limit: 2, after: second })) {
      seen.push(id)
      if (seen.length === 3) break
    }
    expect(seen[0]).toBe(first)
    const upwards = await client.videos.list({ order: 'asc', after: first })
    expect([upwards.data.map(({ id }) => id), upwards.has_more]).toEqual([[second, third], false])

    await until('the film is done', 15_000, async () => (await client.videos.retrieve(first)).status === 'completed')
    const { url } = await fetch(`${network.sandbox.api_base_url}/v1/videos/${first}/content`, { headers: keyed() })
    expect((await fetch(url)).status).toBe(200)
    expect((await client.videos.list({ order: 'asc', after: first })).data).toHaveLength(2)
    expect(await client.videos.delete(first)).toEqual({ id: first, object: 'video.deleted', deleted: true })
    expect((await fetch(url)).status).toBe(404)
    await expect(client.videos.retrieve(first)).rejects.toMatchObject({ status: 404 })
    await expect(client.videos.delete(first)).rejects.toMatchObject({ status: 404 })
    const left = (await client.videos.list({ limit: 100 })).data.map(({ id }) => id)
    expect([left.includes(first), left.includes(second)]).toEqual([false, true])
    const bill = await send('GET', `/v1/requests/${first.slice('job_'.length)}`)
    expect([bill.status, bill.body]).toMatchObject([200, { model: OPENAI, buyer_cost_micro: 0 }])
  })

  it.each(['limit=0', 'limit=101', 'limit=1.5', 'order=up', 'after=vid_1', 'limit=1&limit=2'])(
    'gets an exact error for a list of %s',
    async (query) => {
      expect((await send('GET', `/v1/videos?${query}`)).status).toBe(400)
    },
  )

  it('never sees a film as unknown whose record Redis has lost, and gets it back', async () => {
    const path = '/v1/video/generations'
    const { id } = await submit(path, { model: OPENAI, seconds: 4 }, 'sandbox-a')
    const made = await finished(path, id)
    const redis = new Redis(network.sandbox.redis_url)
    const key = moneyKeys.job(id.slice('job_'.length))
    const End = z.object({ event: z.string() })
    const { event } = End.parse(JSON.parse((await redis.hget(key, 'end')) ?? ''))
    // The result of the job is unknown: its provider states it again, and the bill is the booked one.
    await redis.multi().hdel(key, 'end').hset(key, 'lost', event).exec()
    const again = Job.parse((await send('GET', `${path}/${id}`)).body)
    expect([again.status, again.usage, again.artifacts?.length]).toEqual(['succeeded', made?.usage, 1])
    // A worker writes the records again within a second or two. On a busy machine it may be first.
    await until('every request meets the loss', 20_000, async () => {
      await redis.del(key, moneyKeys.jobsRestored)
      const answers = await Promise.all([
        send('GET', `${path}/${id}`),
        send('GET', '/v1/videos'),
        send('DELETE', `${path}/job_01ARZ3NDEKTSV4RRFFQ69G5FAV`),
      ])
      expect(answers[0]?.status).not.toBe(404)
      const refusals = answers.filter(({ status }) => status === 503)
      for (const { body, headers } of refusals) {
        const { code } = Refusal.parse(body).error
        expect([code, headers.get('retry-after')]).toEqual(['service_unavailable', '2'])
      }
      return refusals.length === answers.length
    })
    // The official client waits and retries by itself.
    const client = new OpenAI({
      baseURL: `${network.sandbox.api_base_url}/v1`,
      apiKey: network.sandbox.buyer_key,
      maxRetries: 9,
    })
    expect(await client.videos.retrieve(id)).toMatchObject({ status: 'completed' })
    expect((await client.videos.list({ limit: 100 })).data.map((film) => film.id)).toContain(id)
    expect((await send('GET', `${path}/job_01ARZ3NDEKTSV4RRFFQ69G5FAV`)).status).toBe(404)
    redis.disconnect()
  })

  it('sees why a film failed, in words that contain nothing of its provider', async () => {
    const path = '/v1/video/generations'
    const { id } = await submit(path, { model: 'sandbox/job-failing', provider: 'sandbox-a' })
    await finished(path, id)
    expect((await send('GET', `${path}/${id}`)).body).toMatchObject({
      status: 'failed',
      error: {
        code: 'upstream_error',
        message: 'The provider could not finish the job: The scene could not be drawn.',
      },
      usage: { buyer_cost_micro: 0 },
    })
  })
})

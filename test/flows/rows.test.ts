import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readConfig } from '#data-plane/config.ts'
import type { Row } from '#data-plane/http/row.ts'
import { METHODS } from '#data-plane/http/row.ts'
import type { DataPlane } from '#data-plane/plane.ts'
import { createDataPlane } from '#data-plane/plane.ts'
import { CONTROL_PREFIXES } from '#data-plane/routes.ts'
import { messagesEnvelope } from '#data-plane/wires/envelopes/messages.ts'
import { createLogger } from '#shared/logger.ts'
import { SURFACE_ROWS } from '#test/support/facts/surface-rows.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { ANY_LOOP_DELAY } from '#test/support/run/until.ts'

const SITE = 'site.example'
const API = 'api.site.example'

let network: Network
/** A plane whose site and API have hosts of their own. It has no control plane. */
let split: DataPlane
let url: URL

beforeAll(async () => {
  network = await sharedNetwork()
  const secrets = z
    .record(z.string(), z.string())
    .parse(JSON.parse(readFileSync(join(network.home, 'secrets.json'), 'utf8')))
  const config = readConfig({
    ...secrets,
    NODE_ENV: 'development',
    PORT: '0',
    HOST: '127.0.0.1',
    REDIS_URL: network.sandbox.redis_url,
    BASE_URL: `http://${SITE}`,
    API_BASE_URL: `http://${API}`,
    NODE_ID: 'rows',
    JOURNAL_DIR: join(network.home, 'journal-rows'),
    ALLOW_LOOPBACK_UPSTREAMS: '1',
    ...ANY_LOOP_DELAY,
    DRAIN_MS: '1000',
  })
  split = await createDataPlane(config, { log: createLogger('data-plane', 'silent') })
  url = new URL(await split.listen())
})

afterAll(async () => {
  await split?.close()
})

type Answer = {
  readonly status: number
  readonly allow: string | undefined
  readonly ids: number
  readonly text: string
}

function ask(method: string, path: string, host: string, at = url): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        hostname: at.hostname,
        port: at.port,
        method,
        path,
        headers: { host, 'content-type': 'application/json' },
      },
      (answer) => {
        const { allow, 'x-request-id': id, 'request-id': other } = answer.headers
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (part: string) => {
          text += part
        })
        const ids = [id, other].filter((each) => each !== undefined).length
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, allow, ids, text }))
      },
    )
    sent.on('error', reject)
    sent.end()
  })
}

/** The paths of a row, with and without a floor. */
function pathsOf({ path, floorBehind: behind }: Row): string[] {
  const asked = path.replace(/[:*]\w+/, 'thing')
  return behind === undefined ? [asked] : [asked, `${behind}/min5${asked.slice(behind.length)}`]
}

const PATHS = SURFACE_ROWS.flatMap((row) => pathsOf(row).map((path) => ({ path, row })))

/** All methods that the rows of a path accept. A path of its own may look like one of a row with a parameter. */
function methodsAt(path: string): string[] {
  const rows = PATHS.filter((each) => each.path === path || shapeOf(each).test(path)).map(({ row }) => row)
  const there = new Set<string>(rows.flatMap(({ methods }) => methods))
  return METHODS.filter((method) => there.has(method))
}

function shapeOf({ path }: { readonly path: string }): RegExp {
  return new RegExp(`^${path.replace(/\bthing\b/, '[^/]+').replace(/:\w+/g, '[^/]+')}$`)
}

describe('each path of the rows', () => {
  it('answers its methods, and others with 405, the list of methods and the error format of its row', async () => {
    for (const { path, row } of PATHS) {
      const host = row.host === 'base' ? SITE : API
      const allow = [...methodsAt(path), 'OPTIONS'].join(', ')
      for (const method of [...METHODS, 'PROPFIND']) {
        const answer = await ask(method, path, host)
        const isTaken = methodsAt(path).includes(method)
        const said = [method, path, answer.status === 405, answer.allow]
        expect(said).toEqual([method, path, !isTaken, isTaken ? undefined : allow])
        if (isTaken || method === 'HEAD') continue
        const isMessages = row.envelope === messagesEnvelope
        expect([path, 'type' in JSON.parse(answer.text), answer.ids]).toEqual([path, isMessages, isMessages ? 2 : 1])
      }
    }
  })

  it('is answered only on its own host, and on any host that is neither', async () => {
    for (const { path, row } of PATHS) {
      for (const method of METHODS) {
        for (const [host, own] of [
          [SITE, 'base'],
          [API, 'api'],
        ] as const) {
          if (row.host === own || row.host === 'both') continue
          const { status, allow } = await ask(method, path, host)
          expect([method, path, host, status, allow]).toEqual([method, path, host, 404, undefined])
        }
        const { status } = await ask(method, path, 'other.example')
        expect([method, path, status === 405]).toEqual([method, path, !methodsAt(path).includes(method)])
      }
    }
  })

  it.each([
    [API, '/api/inference/v1/chat/completions', 404],
    [API, '/.well-known/x402', 404],
    [SITE, '/v1/chat/completions', 404],
    [SITE, '/min5/v1/chat/completions', 404],
    [SITE, '/min999/v1/chat/completions', 404],
    [SITE, '/compat/v1/messages', 404],
    [SITE, '/api/markets', 404],
    [API, '/v1/chat/completions', 405],
    [API, '/min999/v1/chat/completions', 400],
    [SITE, '/api/inference/v1/chat/completions', 405],
    [SITE, '/health/live', 200],
    ['other.example', '/v1/models', 200],
  ])('GET %s%s is %i', async (host, path, status) => {
    expect((await ask('GET', path, host)).status).toBe(status)
  })
})

it('a path of the control plane is forwarded where there is one, and is 404 where there is none', async () => {
  for (const { prefix } of CONTROL_PREFIXES) {
    // The root leads a person to the docs.
    expect([prefix, (await ask('GET', prefix, API)).status]).toEqual([prefix, prefix === '/' ? 302 : 404])
  }
  const whole = new URL(network.sandbox.api_base_url)
  expect((await ask('GET', '/openapi.json', whole.host, whole)).status).toBe(200)
  // Of the paths below a look-up's prefix only one is a look-up.
  for (const path of ['/v1/requests', '/v1/requests?limit=5', '/v1/requests/?limit=5']) {
    const headers = { authorization: `Bearer ${network.sandbox.buyer_key}` }
    expect([path, Object.keys((await (await fetch(new URL(path, whole), { headers })).json()) as object)[0]]).toEqual([
      path,
      path.includes('/?') ? 'error' : 'requests',
    ])
  }
})

it('a path without a row is 404 in the error format of the rows beside it, whatever its body', async () => {
  const whole = new URL(network.sandbox.api_base_url)
  for (const [path, isMessages] of [
    ['/v1/nothing', false],
    ['/compat/nothing', true],
    ['/nothing', false],
  ] as const) {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(new URL(path, whole), { method: 'POST', headers, body: '{' })
    expect([path, answer.status, 'type' in (await answer.json())]).toEqual([path, 404, isMessages])
  }
})

it.each([
  ['/v1/v1/chat/completions', '/v1/chat/completions'],
  ['/chat/completions', '/v1/chat/completions'],
  ['//v1/chat/completions/', '/v1/chat/completions'],
  ['/api/v1/images/generations', '/v1/images/generations'],
  ['/v1/messages', '/compat/v1/messages'],
  ['/compat/v1/v1/messages', '/compat/v1/messages'],
  ['/compat/messages', '/compat/v1/messages'],
  ['/compat/v1/chat/completions', undefined],
  [`/v1/${'v1/'.repeat(100)}chat/completions`, undefined],
])('%s, as requested by a client with a wrong base URL, gets the name of the right path: %s', async (path, meant) => {
  const { status, text } = await ask('POST', path, 'other.example')
  const { error } = z.object({ error: z.object({ message: z.string() }) }).parse(JSON.parse(text))
  const usual = 'There is nothing here.'
  const hint = `This path does not exist. Did you mean ${meant}? Check the base URL of the client.`
  expect([status, error.message]).toEqual([404, meant === undefined ? usual : hint])
})

describe('a challenge', () => {
  it.each([
    [API, '/v1/chat/completions'],
    [API, '/min30/v1/chat/completions'],
    [API, '/min0/v1/responses'],
    [API, '/v1/embeddings'],
    [SITE, '/api/inference/v1/chat/completions'],
  ])('names the requested URL: %s%s', async (host, path) => {
    const { status, text } = await ask('POST', path, host)
    const { resource } = z.object({ resource: z.object({ url: z.string() }) }).parse(JSON.parse(text))
    expect([status, resource.url]).toEqual([402, `http://${host}${path}`])
  })
})

describe('the models of the messages wire', () => {
  it('need a buyer key, in either header, like all of /compat', async () => {
    const { api_base_url: origin, buyer_key: buyer, seller_key: seller } = network.sandbox
    for (const path of ['/compat/v1/models', '/compat/v1/models/claude-sonnet-4.5']) {
      const statusWith = async (headers: Record<string, string>) => {
        const answer = await fetch(origin + path, { headers })
        const text = await answer.text()
        return [answer.status, /"type":"(\w+_error)"/.exec(text)?.[1], answer.headers.get('cache-control')]
      }
      const refused = [401, 'authentication_error', null]
      expect(await statusWith({})).toEqual(refused)
      expect(await statusWith({ 'x-api-key': 'inf_nonsense' })).toEqual(refused)
      expect(await statusWith({ 'x-api-key': seller })).toEqual(refused)
      const kept = [200, undefined, 'private, max-age=60']
      expect(await statusWith({ 'x-api-key': buyer })).toEqual(kept)
      expect(await statusWith({ authorization: `Bearer ${buyer}` })).toEqual(kept)
    }
  })
})

import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Row } from '#data-plane/http/row.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { SURFACE_ROWS } from '#test/support/facts/surface-rows.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

const AT_ONCE = 8
/** Texts that some readers accept as a number. */
const NO_NUMBERS = ['0x10', '+5', ' 5', '05', '1e1', '5.0', '5 ', '٥']
/** Values that break stores, parsers and prototypes. */
const HOSTILE: readonly unknown[] = ['a\u0000b', '\ud800', '__proto__', ...NO_NUMBERS, {}, [], -1, 1e300, true]
const LONG = 'x'.repeat(1_000_000)

/** Valid bodies of the rows that take JSON. */
const BODIES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 },
  '/v1/completions': { model: 'sandbox/echo', prompt: 'hi', max_tokens: 5 },
  '/v1/responses': { model: 'sandbox/echo', input: 'hi', max_output_tokens: 5 },
  '/v1/embeddings': { model: 'text-embedding-3-small', input: 'hi' },
  '/v1/audio/speech': { model: 'tts-1', input: 'hi', voice: 'alloy' },
  '/compat/v1/messages': { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 },
  '/compat/v1/messages/count_tokens': { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] },
  '/v1/route/explain': {
    path: '/v1/chat/completions',
    body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] },
  },
}
const COUNTS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'n', 'seed', 'top_k', 'top_logprobs']
const NUMBERS = [...COUNTS, 'temperature', 'top_p', 'min_discount_pct', 'presence_penalty', 'dimensions', 'speed']
const TEXTS = ['model', 'user', 'session_id', 'provider', 'provider_url', 'stop', 'reasoning_effort', 'voice', 'input']
const OTHERS = ['allow_untrusted', 'providers_blocked', 'provider_order', 'metadata', 'stream', 'tools', 'tool_choice']
const HEADERS = ['x-mkt-max-cost-micro', 'x-min-discount', 'x-session-id']

let network: Network

beforeAll(async () => {
  network = await sharedNetwork()
})

type Sent = { readonly name: string; readonly status: number; readonly code: string | undefined }
const Refusal = z.object({ error: z.object({ code: z.string().nullish(), type: z.string().nullish() }) })

async function send(name: string, path: string, init: RequestInit = {}): Promise<Sent> {
  const { api_base_url: origin, buyer_key: key } = network.sandbox
  const answer = await fetch(origin + path, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
  })
  const text = await answer.text()
  const refusal = answer.ok ? undefined : Refusal.safeParse(JSON.parse(text)).data
  return { name, status: answer.status, code: refusal?.error.code ?? refusal?.error.type ?? undefined }
}

async function sendAll(calls: readonly (() => Promise<Sent>)[]): Promise<Sent[]> {
  const found: Sent[] = []
  await inParallel(calls, AT_ONCE, async (call) => void found.push(await call()))
  return found
}

const isFault = ({ status }: Sent) => status >= 500
const show = (value: unknown) => JSON.stringify(value).slice(0, 40)

describe('hostile values in calls', () => {
  it('cause no server error in any member of any body', async () => {
    const members = [...NUMBERS, ...TEXTS, ...OTHERS]
    const calls = Object.entries(BODIES).flatMap(([path, good]) =>
      members.flatMap((member) =>
        [...HOSTILE, ...(TEXTS.includes(member) ? [LONG] : [])].map((value) => () => {
          // An own member of that name, which an object literal would not make.
          const body = JSON.stringify({ ...good, [member]: value })
          return send(`${path} ${member}=${show(value)}`, path, { method: 'POST', body })
        }),
      ),
    )
    const sent = await sendAll(calls)
    expect(sent.length).toBeGreaterThan(3_000)
    expect(sent.filter(isFault)).toEqual([])
  })

  it('are not accepted as numbers', async () => {
    const own: Readonly<Record<string, readonly string[]>> = {
      '/v1/chat/completions': [
        'max_tokens',
        'max_completion_tokens',
        'n',
        'seed',
        'temperature',
        'top_p',
        'min_discount_pct',
      ],
      '/v1/completions': ['max_tokens', 'n', 'seed', 'temperature', 'min_discount_pct'],
      '/v1/responses': ['max_output_tokens', 'temperature', 'min_discount_pct'],
      '/v1/embeddings': ['dimensions', 'min_discount_pct'],
      '/v1/audio/speech': ['speed', 'min_discount_pct'],
      '/compat/v1/messages': ['max_tokens', 'temperature', 'top_k', 'min_discount_pct'],
    }
    const calls = Object.entries(own).flatMap(([path, members]) =>
      members.flatMap((member) =>
        [...NO_NUMBERS, '5'].map((value) => () => {
          const body = JSON.stringify({ ...BODIES[path], [member]: value })
          return send(`${path} ${member}=${show(value)}`, path, { method: 'POST', body })
        }),
      ),
    )
    expect((await sendAll(calls)).filter(({ status }) => status !== 400)).toEqual([])
  })

  it('are not accepted as numbers in a header either', async () => {
    const body = JSON.stringify(BODIES['/v1/chat/completions'])
    // Blanks around a value are not part of it (RFC 9110, section 5.5), and a header contains no other characters.
    const values = NO_NUMBERS.filter((value) => value.trim() === value && /^[\x21-\x7e]+$/.test(value))
    const calls = HEADERS.flatMap((name) =>
      [...values, '__proto__', 'x'.repeat(8_000)].map(
        (value) => () =>
          send(`${name}: ${show(value)}`, '/v1/chat/completions', { method: 'POST', body, headers: { [name]: value } }),
      ),
    )
    const sent = await sendAll(calls)
    expect(sent.filter(isFault)).toEqual([])
    const numeric = sent.filter(({ name }) => /max-cost|x-min-discount/.test(name))
    expect(numeric.filter(({ status }) => status !== 400)).toEqual([])
  })

  it('are refused in queries, or name nothing', async () => {
    const queried = SURFACE_ROWS.flatMap(({ path, serves }: Row) =>
      serves.kind === 'read' || serves.kind === 'lookup'
        ? [...serves.query, serves.ignoresOthers ? 'zz_ignored' : 'zz_unknown'].map((member) => ({
            path: path.replace(/[:*]\w+/, 'gpt-5-mini'),
            member,
          }))
        : [],
    )
    expect(queried.length).toBeGreaterThan(15)
    const values = [...NO_NUMBERS, 'a\u0000b', '__proto__', 'x'.repeat(6_000)]
    const calls = queried.flatMap(({ path, member }) =>
      values.map(
        (value) => () => send(`${path} ${member}=${show(value)}`, `${path}?${member}=${encodeURIComponent(value)}`),
      ),
    )
    const sent = await sendAll(calls)
    expect(sent.filter(isFault)).toEqual([])
    const mustRefuse = sent.filter(({ name }) => / (limit|after_id|before_id|zz_unknown)=/.test(name))
    expect(mustRefuse.filter(({ status }) => status !== 400)).toEqual([])
  })
})

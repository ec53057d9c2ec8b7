import type Anthropic from '@anthropic-ai/sdk'
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk'
import fc from 'fast-check'
import { OAuth2Client } from 'google-auth-library'
import { expect, it } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { MINUTE } from '#shared/clock.ts'
import { protocolOf } from '#shared/protocols/index.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { offerOf } from '#test/support/bytes/wire-bytes.ts'

const MODEL = 'claude-opus-4@20250514'
const PLACE = { projectId: 'project-1', region: 'europe-west1' }
const WHOLE = `projects/${PLACE.projectId}/locations/${PLACE.region}/publishers/anthropic/models/${MODEL}`
const TOKEN = 'ya29.a-token'
/** The version of the messages protocol that the market reads. The client would request one of its own. */
const VERSION = { 'anthropic-version': 'vertex-2023-10-16' }
const LIMIT = 10_000
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' }, days: { type: 'integer' } } }
const PNG = 'iVBORw0KGgo='

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((given) => given.trim() !== '')
const value = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
/** A key with this name would change the prototype of the objects that the comparison parses. */
const input = value.filter((given) => !JSON.stringify(given).includes('__proto__'))
const call = fc.record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), input, result: text })
/** A user's text, and the model's answer: text, calls with their results, or both. */
const exchange = fc.record({
  said: text,
  hasPicture: fc.boolean(),
  answered: fc.option(text, { nil: undefined }),
  calls: fc.array(call, { maxLength: 3 }),
})
const talk = fc.record({
  system: fc.option(text, { nil: undefined }),
  exchanges: fc.array(exchange, { maxLength: 3 }),
  question: text,
  hasTools: fc.boolean(),
  choice: fc.constantFrom('auto' as const, 'none' as const, 'required' as const, undefined),
  temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
  stops: fc.uniqueArray(text, { maxLength: 4 }),
  budget: fc.option(fc.integer({ min: 1_024, max: 9_999 }), { nil: undefined }),
  user: fc.option(fc.stringMatching(/^[a-z]{1,8}$/), { nil: undefined }),
  isStreamed: fc.boolean(),
})
type Talk = typeof talk extends fc.Arbitrary<infer Value> ? Value : never

const idOf = (at: number, place: number) => `call_${at}_${place}`

/** The conversation as a request of the chat wire. */
function asChat({ system, exchanges, question, ...rest }: Talk): object {
  const turns = exchanges.flatMap(({ said, hasPicture, answered, calls }, at) => [
    {
      role: 'user',
      content: [
        { type: 'text', text: said },
        ...(hasPicture ? [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }] : []),
      ],
    },
    ...(answered === undefined && calls.length === 0
      ? []
      : [
          {
            role: 'assistant',
            content: answered ?? null,
            ...(calls.length > 0 && {
              tool_calls: calls.map((given, place) => ({
                id: idOf(at, place),
                type: 'function',
                function: { name: given.name, arguments: JSON.stringify(given.input) },
              })),
            }),
          },
        ]),
    ...calls.map(({ result }, place) => ({ role: 'tool', tool_call_id: idOf(at, place), content: result })),
  ])
  return {
    model: MODEL,
    max_tokens: LIMIT,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...turns,
      { role: 'user', content: question },
    ],
    stream: rest.isStreamed,
    ...(rest.hasTools && {
      tools: [{ type: 'function', function: { name: 'weather', description: 'Weather.', parameters: SCHEMA } }],
      ...(rest.choice && { tool_choice: rest.choice }),
    }),
    temperature: rest.temperature,
    user: rest.user,
    ...(rest.stops.length > 0 && { stop: rest.stops }),
    ...(rest.budget !== undefined && { reasoning: { max_tokens: rest.budget } }),
  }
}

/**
 * The requested thoughts of a model. It cannot think before a forced call, nor between calls that were made without
 * thoughts.
 */
function thinkingIn({ budget, hasTools, choice, exchanges }: Talk): Anthropic.ThinkingConfigParam | undefined {
  const last = exchanges.findLast(({ answered, calls }) => answered !== undefined || calls.length > 0)
  const isForced = hasTools && choice === 'required'
  if (budget === undefined || isForced || (last?.calls.length ?? 0) > 0) return undefined
  return { type: 'enabled', budget_tokens: budget }
}

/** The same conversation written by a user of Anthropic's client for Vertex AI. */
function asClient(given: Talk): Anthropic.MessageCreateParams {
  const { system, exchanges, question, ...rest } = given
  const turns: { role: 'user' | 'assistant'; content: Anthropic.ContentBlockParam[] }[] = []
  const add = (role: 'user' | 'assistant', content: Anthropic.ContentBlockParam[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (content.length > 0) turns.push({ role, content })
  }
  for (const [at, { said, hasPicture, answered, calls }] of exchanges.entries()) {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: PNG }
    add('user', [{ type: 'text', text: said }, ...(hasPicture ? [{ type: 'image' as const, source }] : [])])
    add('assistant', [
      ...(answered === undefined ? [] : [{ type: 'text' as const, text: answered }]),
      ...calls.map((made, place) => ({
        type: 'tool_use' as const,
        id: idOf(at, place),
        name: made.name,
        input: made.input,
      })),
    ])
    add(
      'user',
      calls.map(({ result }, place) => ({
        type: 'tool_result' as const,
        tool_use_id: idOf(at, place),
        content: [{ type: 'text' as const, text: result }],
      })),
    )
  }
  add('user', [{ type: 'text', text: question }])
  const choices = { auto: { type: 'auto' }, none: { type: 'none' }, required: { type: 'any' } } as const
  const thinking = thinkingIn(given)
  return {
    model: MODEL,
    max_tokens: LIMIT,
    messages: turns,
    ...(system !== undefined && { system: [{ type: 'text', text: system }] }),
    ...(rest.hasTools && {
      tools: [{ name: 'weather', description: 'Weather.', input_schema: SCHEMA }],
      ...(rest.choice && { tool_choice: choices[rest.choice] }),
    }),
    ...(thinking === undefined ? rest.temperature !== undefined && { temperature: rest.temperature } : { thinking }),
    ...(rest.user !== undefined && { metadata: { user_id: rest.user } }),
    ...(rest.stops.length > 0 && { stop_sequences: rest.stops }),
    ...(rest.isStreamed && { stream: true }),
  }
}

type Sent = { readonly path: string; readonly body: unknown; readonly authorization: string | null }

/** The request that Anthropic's client for Vertex AI sends. */
async function sentByClient(params: Anthropic.MessageCreateParams): Promise<Sent> {
  let sent: Sent | undefined
  const record: typeof fetch = async (address, init) => {
    const { pathname: path, search } = new URL(String(address instanceof Request ? address.url : address))
    const authorization = new Headers(init?.headers).get('authorization')
    sent = { path: path + search, body: JSON.parse(String(init?.body)), authorization }
    return new Response('{}', { status: 400 })
  }
  const authClient = new OAuth2Client({ credentials: { access_token: TOKEN, expiry_date: Date.now() * 2 } })
  const at = { ...PLACE, defaultHeaders: VERSION, maxRetries: 0, timeout: MINUTE }
  const client = new AnthropicVertex({ ...at, authClient, fetch: record })
  await client.messages.create(params).catch(() => undefined)
  if (sent === undefined) throw new Error('no request was sent')
  return sent
}

/** The request that the market sends for a buyer's text of either wire. */
function sentByMarket(wire: typeof chat, ask: object, plan: ModelPlan): Sent {
  const { path, body } = wire.read(buildRaw(JSON.stringify(ask))).encode(plan)
  const headers: string[] = []
  protocolOf(plan.offer).authorize(headers, `Bearer ${TOKEN}`, { method: 'POST', host: 'h', path, body, at: 0 })
  return { path: `/v1${path}`, body: JSON.parse(body), authorization: headers[1] ?? null }
}

function planOf(): ModelPlan {
  const offer = offerOf({ apiFormat: 'vertexclaude', providerModel: WHOLE })
  const plan = buildPlan({ offer, maxOutputTokens: LIMIT })
  return { ...plan, target: { ...plan.target, model: { ...plan.target.model, features: [], parameters: [] } } }
}

it.each([
  ['chat', chat, asChat],
  ['messages', messages, asClient],
] as const)(
  'a conversation of %s is sent to a seller of Claude on Vertex AI like by Anthropic’s own client',
  async (_name, wire, ask) => {
    const plan = planOf()
    const property = fc.asyncProperty(talk, async (given) => {
      expect(sentByMarket(wire, ask(given), plan)).toEqual(await sentByClient(asClient(given)))
    })
    await fc.assert(property, { numRuns: 200 })
  },
)

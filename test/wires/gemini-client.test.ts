import type { Content, GenerateContentConfig, Part } from '@google/genai'
import { FunctionCallingConfigMode, GoogleGenAI, ServiceTier, ThinkingLevel } from '@google/genai'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'
import { geminiPlan } from '#test/support/bytes/gemini-plan.ts'
import { dataOf } from '#test/support/bytes/wire-bytes.ts'
import type { Talk } from '#test/support/facts/generated-talk.ts'
import { asChat, idOf, SCHEMA, signature, talk } from '#test/support/facts/generated-talk.ts'

const MODEL = 'gemini-3-flash-preview'
/** True for a text that is an object in JSON, which the model gets unchanged. */
function isObject(given: string): boolean {
  try {
    const parsed: unknown = JSON.parse(given)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  } catch {
    return false
  }
}

/** The same conversation written by a user of Google's own client. */
function asGoogle({ system, exchanges, question, ...rest }: Talk): {
  readonly contents: Content[]
  readonly config: GenerateContentConfig
} {
  const turns: { role: string; parts: Part[] }[] = []
  const add = (role: string, parts: Part[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else if (parts.length > 0) turns.push({ role, parts })
  }
  for (const [at, { said, picture, answered, calls }] of exchanges.entries()) {
    add('user', [{ text: said }, ...(picture ? [{ inlineData: { mimeType: 'image/png', data: picture } }] : [])])
    const made = calls.map((given, place) => ({
      functionCall: { id: idOf(at, place), name: given.name, args: given.input },
      ...(place === 0 && { thoughtSignature: signature(at) }),
    }))
    add('model', [...(answered === undefined ? [] : [{ text: answered }]), ...made])
    add(
      'user',
      calls.map(({ name, result }, place) => ({
        functionResponse: {
          id: idOf(at, place),
          name,
          response: typeof result !== 'string' ? result : isObject(result) ? JSON.parse(result) : { output: result },
        },
      })),
    )
  }
  add('user', [{ text: question }])
  const modes = {
    auto: FunctionCallingConfigMode.AUTO,
    none: FunctionCallingConfigMode.NONE,
    required: FunctionCallingConfigMode.ANY,
  }
  const levels = {
    minimal: ThinkingLevel.MINIMAL,
    low: ThinkingLevel.LOW,
    medium: ThinkingLevel.MEDIUM,
    high: ThinkingLevel.HIGH,
  }
  const { choice, effort } = rest
  const declared = { name: 'weather', description: 'Weather.', parametersJsonSchema: SCHEMA }
  const config: GenerateContentConfig = {
    maxOutputTokens: 10_000,
    ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
    ...(rest.hasTools && { tools: [{ functionDeclarations: [declared] }] }),
    ...(rest.hasTools &&
      choice !== undefined && { toolConfig: { functionCallingConfig: { mode: modes[choice as keyof typeof modes] } } }),
    ...(rest.temperature !== undefined && { temperature: rest.temperature }),
    ...(rest.topP !== undefined && { topP: rest.topP }),
    ...(rest.seed !== undefined && { seed: rest.seed }),
    ...(rest.stops.length > 0 && { stopSequences: rest.stops }),
    ...(rest.hasFormat && { responseMimeType: 'application/json', responseJsonSchema: SCHEMA }),
    ...(effort !== undefined && {
      thinkingConfig: { includeThoughts: true, thinkingLevel: levels[effort as keyof typeof levels] },
    }),
    ...(rest.isPriority && { serviceTier: ServiceTier.PRIORITY }),
  }
  return { contents: turns, config }
}

/** The request that Google's own client sends. */
async function sentByClient(
  given: Talk,
  vertexai: boolean,
): Promise<{ readonly path: string; readonly body: unknown }> {
  let sent: { path: string; body: unknown } | undefined
  const record: typeof fetch = async (address, init) => {
    const url = new URL(String(address instanceof Request ? address.url : address))
    sent = { path: url.pathname + url.search, body: JSON.parse(String(init?.body)) }
    return new Response('{"candidates":[]}', { headers: { 'content-type': 'application/json' } })
  }
  const client = new GoogleGenAI({
    apiKey: 'key',
    vertexai,
    httpOptions: { baseUrl: 'https://a.example', apiVersion: 'v1beta', fetch: record },
  })
  const request = { model: MODEL, ...asGoogle(given) }
  if (given.isStreamed) await client.models.generateContentStream(request)
  else await client.models.generateContent(request)
  if (sent === undefined) throw new Error('no request was sent')
  return sent
}

it.each([
  ['Gemini’s own protocol', 'gemini', ''],
  ['Gemini on Vertex AI', 'vertex', '/publishers/google'],
] as const)('a conversation is sent to a seller of %s like by Google’s own client', async (_what, apiFormat, at) => {
  const plan = geminiPlan(MODEL, { id: MODEL, features: ['reasoning', 'tools'] })
  const property = fc.asyncProperty(talk, async (talked) => {
    // Vertex AI reads the tier from a header, for which the client has no member.
    const given = { ...talked, isPriority: talked.isPriority && apiFormat === 'gemini' }
    const { path, body } = chat
      .read(buildRaw(JSON.stringify(asChat(MODEL, given))))
      .encode({ ...plan, offer: { ...plan.offer, apiFormat } })
    const client = await sentByClient(given, apiFormat === 'vertex')
    expect(`/v1beta${at}${path}`).toBe(client.path)
    expect(JSON.parse(body)).toEqual(client.body)
    expect(dataOf(client.body, 'contents')).toBeDefined()
  })
  await fc.assert(property, { numRuns: 200 })
})

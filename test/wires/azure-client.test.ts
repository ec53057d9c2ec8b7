import fc from 'fast-check'
import { AzureOpenAI } from 'openai'
import { expect, it } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { protocolOf } from '#shared/protocols/index.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { offerOf } from '#test/support/bytes/wire-bytes.ts'
import type { Talk } from '#test/support/facts/generated-talk.ts'
import { asChat, talk } from '#test/support/facts/generated-talk.ts'

const VERSION = '2025-01-01-preview'
const ENDPOINT = 'https://acme.openai.azure.com'
const KEY = 'key-of-the-resource'
const deploymentName = fc.stringMatching(/^[A-Za-z0-9][\w.-]{0,20}$/)

/** A plan for the seller of a deployment, whose model accepts every member. */
function planFor(deployment: string): ModelPlan {
  const offer = offerOf({
    apiFormat: 'azuredeployments',
    provider: 'azure',
    baseUrl: `${ENDPOINT}/openai`,
    providerModel: `${deployment}?api-version=${VERSION}`,
  })
  const model = buildModel({ parameters: [], inputModalities: ['text', 'image'], features: ['tools', 'reasoning'] })
  return buildPlan({ offer, target: buildTarget(model), maxOutputTokens: 10_000 })
}

type Sent = { readonly url: string; readonly key: unknown; readonly body: unknown }

/** The request that the official client of Azure sends for a chat. */
async function sentByClient(deployment: string, given: Talk): Promise<Sent> {
  let sent: Sent | undefined
  const record: typeof fetch = async (address, init) => {
    const headers = new Headers(init?.headers)
    expect(headers.has('authorization')).toBe(false)
    sent = { url: String(address), key: headers.get('api-key'), body: JSON.parse(String(init?.body)) }
    return new Response('{"choices":[]}', { headers: { 'content-type': 'application/json' } })
  }
  const client = new AzureOpenAI({ endpoint: ENDPOINT, apiKey: KEY, apiVersion: VERSION, deployment, fetch: record })
  const { stream, ...asked } = { ...asChat(deployment, given), ...streamMembers(given) }
  await client.chat.completions.create({ ...asked, stream } as never)
  if (sent === undefined) throw new Error('no request was sent')
  return sent
}

/** The members of a stream, which are absent from a call for a whole answer. */
function streamMembers({ isStreamed }: Talk) {
  return isStreamed
    ? { stream: true, stream_options: { include_usage: true } }
    : { stream: undefined, stream_options: undefined }
}

it('a conversation is sent to a deployment of Azure like by Azure’s own client', async () => {
  const property = fc.asyncProperty(talk, deploymentName, async (given, deployment) => {
    const plan = planFor(deployment)
    const { path, body } = chat.read(buildRaw(JSON.stringify(asChat('gpt-5-mini', given)))).encode(plan)
    const headers: string[] = []
    const request = { method: 'POST', host: 'acme.openai.azure.com', path, body, at: 0 }
    protocolOf(plan.offer).authorize(headers, KEY, request)
    const client = await sentByClient(deployment, given)
    expect(plan.offer.baseUrl + path).toBe(client.url)
    expect(headers).toEqual(['api-key', client.key])
    expect(JSON.parse(body)).toEqual(client.body)
  })
  await fc.assert(property, { numRuns: 200 })
})

it('the name of a deployment never leaves its place in an address', () => {
  const property = fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), (providerModel) => {
    const offer = offerOf({ apiFormat: 'azuredeployments', provider: 'azure', providerModel })
    const { path } = responses.read(buildRaw('{"model":"gpt-5-mini","input":"hi"}')).encode(buildPlan({ offer }))
    expect(path).toMatch(/^\/deployments\/[^/?#]+\/chat\/completions\?api-version=[\w.-]+$/)
  })
  fc.assert(property, { numRuns: 500 })
})

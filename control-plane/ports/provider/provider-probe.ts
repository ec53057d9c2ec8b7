import { isIP } from 'node:net'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { guardedLookup } from '#control-plane/ports/outbound/guarded-lookup.ts'
import { SECOND } from '#shared/clock.ts'
import { describeCause } from '#shared/errors.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import { isDialable } from '#shared/outbound-guard.ts'
import { jobPath, readProviderJob } from '#shared/provider-job.ts'
import type { AskedJob, JobProbe } from './job-probe.ts'
import type { ListedModels, ListModels, Probe, ProbeResult, ProbeTarget, ProviderPlace } from './probe.ts'

const CONNECT_TIMEOUT_MS = 2 * SECOND
const HEADERS_TIMEOUT_MS = 10 * SECOND
const TOTAL_TIMEOUT_MS = 20 * SECOND
/** A model list may be long, an answer to a one-token question is not; what is longer is not read on. */
const MAX_BODY_BYTES = 4 * 1_024 * 1_024
const MAX_HEADER_BYTES = 32 * 1_024
const MAX_SOCKETS = 8
/** Version of the messages protocol that its providers ask for. */
const MESSAGES_VERSION = '2023-06-01'

const ModelList = z.object({ data: z.array(z.object({ id: z.string() })).max(100_000) })

type ProviderProbe = {
  readonly probe: Probe
  readonly listModels: ListModels
  readonly askJob: JobProbe
  close(): Promise<void>
}

/** Questions to providers, on connections of their own; `close` ends them. */
export function createProviderProbe(policy: OutboundPolicy): ProviderProbe {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(policy) },
    connections: MAX_SOCKETS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: HEADERS_TIMEOUT_MS,
    maxResponseSize: MAX_BODY_BYTES,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
  return {
    probe: (target) => probeProvider(agent, policy, target),
    listModels: (place) => listModels(agent, policy, place),
    askJob: (job) => askJob(agent, policy, job).catch(() => undefined),
    close: () => agent.close(),
  }
}

/**
 * First the free question, whether the model stands in the provider's list; a list that refuses the key answers for it.
 * Where there is no list, or the model is not on it, one token is asked for.
 */
async function probeProvider(agent: Agent, policy: OutboundPolicy, target: ProbeTarget): Promise<ProbeResult> {
  const startedAt = performance.now()
  const accepted = (): ProbeResult => ({ isAccepted: true, latencyMs: Math.round(performance.now() - startedAt) })
  try {
    if (isLiteralRefused(target.baseUrl, policy)) return refused(null, 'the address may not be dialled')
    const signal = AbortSignal.timeout(TOTAL_TIMEOUT_MS)
    if (target.providerModel === null || target.asksModel !== true) {
      const { status, text } = await send(agent, signal, listOf(target))
      if (status === 401 || status === 403) return refused(status, 'the provider refused the key')
      if (target.providerModel === null) {
        return status < 500 ? accepted() : refused(status, 'the provider does not work')
      }
      if (status === 200 && namesIn(text)?.has(target.providerModel)) return accepted()
    }
    const asked = await send(agent, signal, {
      url: at(target, target.apiFormat === 'messages' ? '/messages' : '/chat/completions'),
      method: 'POST',
      headers: headersOf(target),
      body: JSON.stringify({
        model: target.providerModel,
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: 1,
      }),
    })
    if (asked.status === 200 && isJsonObject(asked.text)) return accepted()
    if (asked.status === 401 || asked.status === 403) return refused(asked.status, 'the provider refused the key')
    return refused(asked.status, 'the provider did not serve the model')
  } catch (error) {
    return unreachable(error)
  }
}

async function listModels(agent: Agent, policy: OutboundPolicy, place: ProviderPlace): Promise<ListedModels> {
  const startedAt = performance.now()
  try {
    if (isLiteralRefused(place.baseUrl, policy)) return refused(null, 'the address may not be dialled')
    const { status, text } = await send(agent, AbortSignal.timeout(TOTAL_TIMEOUT_MS), listOf(place))
    if (status === 401 || status === 403) return refused(status, 'the provider refused the key')
    const models = status === 200 ? namesIn(text) : undefined
    if (models === undefined) return refused(status, 'the provider gave no list of models')
    return { isAccepted: true, latencyMs: Math.round(performance.now() - startedAt), models }
  } catch (error) {
    return unreachable(error)
  }
}

async function askJob(agent: Agent, policy: OutboundPolicy, { wire, providerJob, place }: AskedJob) {
  if (isLiteralRefused(place.baseUrl, policy)) return undefined
  const question: Sent = { url: at(place, jobPath(wire, providerJob)), method: 'GET', headers: headersOf(place) }
  const { status, text } = await send(agent, AbortSignal.timeout(TOTAL_TIMEOUT_MS), question)
  return status === 200 ? readProviderJob(text) : undefined
}

type Refused = Extract<ProbeResult, { isAccepted: false }>

function refused(status: number | null, reason: string): Refused {
  return { isAccepted: false, status, reason }
}

function unreachable(error: unknown): Refused {
  const cause = describeCause(error)
  return refused(null, `the provider could not be reached (${cause?.code ?? cause?.name ?? 'error'})`)
}

/** The free question: what do you serve. */
function listOf(place: ProviderPlace): Sent {
  return { url: at(place, '/models'), method: 'GET', headers: headersOf(place) }
}

function at(target: ProviderPlace, path: string): string {
  return target.baseUrl.href.replace(/\/+$/, '') + path
}

/** Built from nothing: only what the provider needs. */
function headersOf(target: ProviderPlace): Record<string, string> {
  const common = { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'market-probe' }
  const key = target.apiKey.reveal()
  return target.apiFormat === 'messages'
    ? { ...common, 'x-api-key': key, 'anthropic-version': MESSAGES_VERSION }
    : { ...common, authorization: `Bearer ${key}` }
}

type Sent = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
}

/** Sends once. Redirects are answers like any other; the body is read to its limit. */
async function send(agent: Agent, signal: AbortSignal, sent: Sent): Promise<{ status: number; text: string }> {
  const { url, method, headers, body = null } = sent
  const answer = await request(url, { dispatcher: agent, signal, method, headers, body })
  return { status: answer.statusCode, text: await answer.body.text() }
}

function namesIn(text: string): Set<string> | undefined {
  const parsed = ModelList.safeParse(parseJson(text))
  return parsed.success ? new Set(parsed.data.data.map((entry) => entry.id)) : undefined
}

/** An answer with an `error` in it is none, whatever its status. */
function isJsonObject(text: string): boolean {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !('error' in value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Literal addresses never reach the lookup, so they are checked before. */
function isLiteralRefused(url: URL, policy: OutboundPolicy): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) !== 0 && !isDialable(host, policy)
}

import { isIP } from 'node:net'
import { Agent, request } from 'undici'
import { guardedLookup } from '#control-plane/ports/outbound/guarded-lookup.ts'
import type { Clock } from '#shared/clock.ts'
import { HOUR, SECOND } from '#shared/clock.ts'
import { describeCause } from '#shared/errors.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import { isDialable } from '#shared/outbound-guard.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { RefusalHeaders } from '#shared/protocols/answers/error-body.ts'
import { errorInText } from '#shared/protocols/answers/openai-answer.ts'
import type { RefusalCause } from '#shared/protocols/answers/refusal-causes.ts'
import { causeOf } from '#shared/protocols/answers/refusal-causes.ts'
import { accountOf } from '#shared/protocols/credential.ts'
import { jobCodecOf, otherProtocolSaid, protocolOf } from '#shared/protocols/index.ts'
import { askAboutJob } from '#shared/protocols/job-codec.ts'
import type { ModelListing } from '#shared/protocols/protocol.ts'
import type { ProviderRequest } from '#shared/protocols/provider-request.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { readRetryAfter } from '#shared/retry-after.ts'
import type { Usage } from '#shared/usage.ts'
import type { JobAnswer, JobProbe, ProbedJob } from './job-probe.ts'
import type { MakeToken } from './make-token.ts'
import { mediaProbeOf } from './media-probe.ts'
import type {
  AskLent,
  AskReport,
  KeyProbe,
  KeyProbeResult,
  KeyProbeTarget,
  LentQuestion,
  LentReply,
  ListedModels,
  ListModels,
  Probe,
  ProbeResult,
  ProbeTarget,
  ProviderPlace,
  ReportQuestion,
} from './probe.ts'
import { probedUsage } from './probed-usage.ts'

const CONNECT_TIMEOUT_MS = 2 * SECOND
const HEADERS_TIMEOUT_MS = 10 * SECOND
const TOTAL_TIMEOUT_MS = 20 * SECOND
/** A model list may be long, and an answer of one token is short. Nothing is read beyond this size. */
const MAX_BODY_BYTES = 4 * 1_024 * 1_024
const MAX_HEADER_BYTES = 32 * 1_024
const MAX_SOCKETS = 8
/** A poll of a job is short, and so is its answer. Jobs have sockets of their own, because there may be many. */
const JOB_TIMEOUT_MS = 10 * SECOND
const MAX_JOB_BODY_BYTES = 256 * 1_024
const MAX_JOB_SOCKETS = 32
const MAX_RETRY_AFTER_MS = HOUR
const NOTHING: Usage = {}

type ProviderProbe = {
  readonly probe: Probe
  readonly listModels: ListModels
  readonly askJob: JobProbe
  readonly probeKey: KeyProbe
  readonly askLent: AskLent
  readonly askReport: AskReport
  close(): Promise<void>
}

/** Probes providers over connections of its own. `close` ends them. */
export function createProviderProbe(
  policy: OutboundPolicy,
  clock: Clock,
  makeToken: MakeToken,
  jobTimeoutMs: number = JOB_TIMEOUT_MS,
): ProviderProbe {
  const open = (connections: number, maxResponseSize: number) =>
    new Agent({
      connect: { timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(policy) },
      connections,
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: HEADERS_TIMEOUT_MS,
      maxResponseSize,
      maxHeaderSize: MAX_HEADER_BYTES,
    })
  const agent = open(MAX_SOCKETS, MAX_BODY_BYTES)
  const jobAgent = open(MAX_JOB_SOCKETS, MAX_JOB_BODY_BYTES)
  return {
    probe: (target) => probeProvider({ agent, policy, clock, makeToken }, target),
    listModels: (place) => listModels({ agent, policy, clock }, place),
    probeKey: (target) => probeLentKey(agent, policy, target),
    askLent: (question) =>
      askLent({ agent: jobAgent, policy, clock, timeoutMs: jobTimeoutMs }, question).catch(() => undefined),
    askReport: (question) =>
      askLent({ agent, policy, clock, timeoutMs: TOTAL_TIMEOUT_MS }, question).catch(() => undefined),
    askJob: (job) => askJob({ agent: jobAgent, policy, clock, timeoutMs: jobTimeoutMs }, job).catch(() => silent(null)),
    close: async () => {
      await Promise.all([agent.close(), jobAgent.close()])
    },
  }
}

/**
 * Calls a text model itself by the cheapest request, if the target asks for it. Otherwise the free request comes first:
 * does the provider's list name the model? A list that refuses the key settles the result.
 */
type Parts = { readonly agent: Agent; readonly policy: OutboundPolicy; readonly clock: Clock }

async function probeProvider(
  parts: Parts & { readonly makeToken: MakeToken },
  target: ProbeTarget,
): Promise<ProbeResult> {
  const account = accountOf(target, target.apiKey.reveal())
  if (account === undefined) return probeCalled(parts, target)
  const answer = await parts.makeToken({ account, baseUrl: target.baseUrl })
  if (answer.isMade) return probeCalled(parts, { ...target, apiKey: answer.token })
  return { ...refusal(answer.status, answer.reason), isOfKey: true }
}

/** Probes with the text that requests carry. */
async function probeCalled(parts: Parts, target: ProbeTarget): Promise<ProbeResult> {
  const { providerModel } = target
  const { listing, probe } = protocolOf(target)
  const media = mediaProbeOf(target)
  const cheapest = media ?? probe
  // A free probe of media proves no more than a list that names the model.
  const isFree = media?.maxOutputTokens === null
  const asksModel = target.asksModel === 'any' || (target.asksModel === 'text' && !isFree)
  const startedAt = performance.now()
  const accepted = (usage: Usage) => {
    return { isAccepted: true as const, latencyMs: Math.round(performance.now() - startedAt), usage }
  }
  try {
    if (isLiteralRefused(target.baseUrl, parts.policy)) return refusal(null, 'the address is not allowed')
    const signal = AbortSignal.timeout(TOTAL_TIMEOUT_MS)
    if (providerModel === null || (listing !== undefined && !asksModel)) {
      if (listing === undefined) return refusal(null, NO_LIST)
      const { status, text } = await send(parts, signal, target, questionOf(listing))
      if (status === 401 || status === 403) return refusal(status, 'the provider refused the key')
      if (providerModel === null) {
        return status < 500 ? accepted(NOTHING) : refusal(status, 'the provider does not work')
      }
      if (status === 200 && listing.read(text)?.has(providerModel)) return { ...accepted(NOTHING), isListed: true }
    }
    const ask = (providerRequest: ProviderRequest) => exchange(parts, signal, target, providerRequest)
    const withTool = media === undefined && target.callsTools === true ? probe.withTool?.(providerModel) : undefined
    const tried = withTool && (await ask(withTool))
    const { question, reply } =
      tried && !isOfTool(target, tried.reply) ? tried : await ask(cheapest.request(providerModel))
    const isAnswer = cheapest.isAnswer(reply.status, reply.text)
    // Some providers answer 200 to everything.
    const isError = reply.status === 200 && errorInText(reply.text) !== undefined
    if (!isAnswer || isError) return refusedFor(target, reply)
    return accepted(probedUsage(target, cheapest, { ...reply, body: question.body }))
  } catch (error) {
    return unreachable(error)
  }
}

/** Sends a probe, and sends it again with the other name of its limit if the provider asks for that name. */
async function exchange(
  parts: Parts,
  signal: AbortSignal,
  target: ProbeTarget,
  providerRequest: ProviderRequest,
): Promise<{ readonly question: ProviderRequest; readonly reply: ProviderReply }> {
  const answer = await send(parts, signal, target, providerRequest)
  const question = withOtherLimit(providerRequest, answer)
  return question === undefined
    ? { question: providerRequest, reply: answer }
    : { question, reply: await send(parts, signal, target, question) }
}

/** True for a refusal that may concern the tool or the reasoning, which not every host of a model accepts. */
function isOfTool(target: ProbeTarget, { status, text }: ProviderReply): boolean {
  const isRefused = status === 400 || status === 404 || status === 422
  return isRefused && otherProtocolSaid(target, protocolOf(target).readError(text)) === undefined
}

/** Newer models of OpenAI refuse `max_tokens` and name the member that replaces it. */
function withOtherLimit(question: ProviderRequest, { status, text }: ProviderReply): ProviderRequest | undefined {
  const wantsOther = status === 400 && text.includes('max_completion_tokens')
  return wantsOther
    ? { ...question, body: question.body.replace('"max_tokens":', '"max_completion_tokens":') }
    : undefined
}

/** A refusal with its reason in our own words, when its cause lies with the seller. */
function refusedFor(target: ProbeTarget, { status, text, headers }: ProviderReply): ProbeResult {
  const body = protocolOf(target).readError(text, headers)
  // The probe holds no buyer's text that a provider could repeat.
  const cause = causeOf({ status, body, requestText: () => '' })
  const answer = refusal(status, REASONS[cause] ?? 'the provider did not serve the model')
  const speaks = otherProtocolSaid(target, body)
  if (speaks !== undefined) return { ...answer, speaks }
  if (cause === 'rate') return { ...answer, isRate: true }
  return OF_THE_KEY.has(cause) ? { ...answer, isOfKey: true } : answer
}

/** Causes that end every other call with the same key alike. */
const OF_THE_KEY: ReadonlySet<RefusalCause> = new Set(['key', 'account', 'quota', 'region'])

const REASONS: { readonly [Cause in RefusalCause]?: string } = {
  key: 'the provider refused the key',
  account: 'the provider account has no credit or is suspended',
  quota: 'the quota of the provider account is used up',
  region: 'the provider does not serve the region',
  access: 'the provider account has no access to the model',
  rate: 'the provider limits the rate of the key; try again later',
}

async function listModels(parts: Parts, place: ProviderPlace): Promise<ListedModels> {
  const startedAt = performance.now()
  try {
    if (isLiteralRefused(place.baseUrl, parts.policy)) return refusal(null, 'the address is not allowed')
    const { listing } = protocolOf(place)
    if (listing === undefined) return { ...refusal(null, NO_LIST), isUnlisted: true }
    const { status, text } = await send(parts, AbortSignal.timeout(TOTAL_TIMEOUT_MS), place, questionOf(listing))
    if (status === 401 || status === 403) return refusal(status, 'the provider refused the key')
    const models = status === 200 ? listing.read(text) : undefined
    if (models === undefined) return refusal(status, 'the provider gave no list of models')
    return { isAccepted: true, latencyMs: Math.round(performance.now() - startedAt), models }
  } catch (error) {
    return unreachable(error)
  }
}

type JobParts = Parts & { readonly timeoutMs: number }

async function askJob(
  { agent, policy, clock, timeoutMs }: JobParts,
  { kind, providerJob, place, isCancel = false }: ProbedJob,
): Promise<JobAnswer> {
  if (isLiteralRefused(place.baseUrl, policy)) return silent(null)
  const codec = jobCodecOf(place, kind)
  const request = isCancel && codec.cancel !== undefined ? codec.cancel(providerJob) : codec.question(providerJob)
  const signal = AbortSignal.timeout(timeoutMs)
  const reply: ProviderReply[] = []
  const job = await askAboutJob(codec, { providerJob, request }, async (providerRequest) => {
    const answer = await send({ agent, clock }, signal, place, providerRequest)
    reply.push(answer)
    return answer
  })
  if (job !== undefined) return { kind: 'reported', job }
  const [first] = reply
  // A missing result says nothing about its job.
  if (reply.length === 1 && (first?.status === 404 || first?.status === 410)) return { kind: 'unknown' }
  const { status = null, headers } = reply.at(-1) ?? {}
  return silent(status, readRetryAfter(headers?.['retry-after'], clock.now(), MAX_RETRY_AFTER_MS))
}

function silent(status: number | null, retryAfterMs?: number): JobAnswer {
  return { kind: 'silent', status, retryAfterMs }
}

async function probeLentKey(agent: Agent, policy: OutboundPolicy, target: KeyProbeTarget): Promise<KeyProbeResult> {
  const { url, header, prefix, apiKey, accepts } = target
  const startedAt = performance.now()
  try {
    if (isLiteralRefused(url, policy)) return refusal(null, 'the address is not allowed')
    const headers = ['accept', 'application/json', 'user-agent', 'market-probe', header, prefix + apiKey.reveal()]
    const signal = AbortSignal.timeout(TOTAL_TIMEOUT_MS)
    const answer = await request(url, { dispatcher: agent, signal, method: 'GET', headers })
    const text = await answer.body.text()
    const { statusCode } = answer
    if (accepts.includes(statusCode)) {
      return { isAccepted: true, latencyMs: Math.round(performance.now() - startedAt), answer: parseJson(text) }
    }
    const isKeyRefused = statusCode === 401 || statusCode === 403
    return refusal(statusCode, isKeyRefused ? 'the provider refused the key' : 'the provider did not accept the call')
  } catch (error) {
    return unreachable(error)
  }
}

async function askLent(
  { agent, policy, clock, timeoutMs }: JobParts,
  { url, method, header, prefix, apiKey, more = {} }: LentQuestion & Partial<ReportQuestion>,
): Promise<LentReply | undefined> {
  if (isLiteralRefused(url, policy)) return undefined
  const headers = ['accept', '*/*', 'user-agent', 'market-probe', header, prefix + apiKey.reveal()]
  headers.push(...Object.entries(more).flat())
  const options = { dispatcher: agent, signal: AbortSignal.timeout(timeoutMs), method, headers }
  const { statusCode: status, headers: given, body } = await request(url, options)
  const retryAfterMs = readRetryAfter(given['retry-after'], clock.now(), MAX_RETRY_AFTER_MS)
  return { status, headers: given, body: await textWithin(body), retryAfterMs }
}

/** The whole of a body. Undefined when it exceeds the agent's limit. */
async function textWithin(body: { text(): Promise<string> }): Promise<string | undefined> {
  try {
    return await body.text()
  } catch (error) {
    if (describeCause(error)?.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return undefined
    throw error
  }
}

type Refused = Extract<ProbeResult, { isAccepted: false }>

function refusal(status: number | null, reason: string): Refused {
  return { isAccepted: false, status, reason }
}

function unreachable(error: unknown): Refused {
  const cause = describeCause(error)
  return refusal(null, `the provider could not be reached (${cause?.code ?? cause?.name ?? 'error'})`)
}

const NO_LIST = 'the protocol has no list of models'

/** The request for a provider's list of models, which is free. */
function questionOf({ path }: ModelListing): ProviderRequest {
  return { ...JSON_REQUEST, method: 'GET', path, body: '' }
}

type ProviderReply = {
  readonly status: number
  readonly text: string
  readonly headers: RefusalHeaders
}

/** Sends one request. Redirects are not followed. The body is read up to its limit. */
async function send(
  { agent, clock }: Omit<Parts, 'policy'>,
  signal: AbortSignal,
  place: ProviderPlace,
  providerRequest: ProviderRequest,
): Promise<ProviderReply> {
  const { method = 'POST', path, contentType, accept, body } = providerRequest
  // The headers are built from nothing, so the provider gets only the necessary ones.
  const headers = ['accept', accept, 'content-type', contentType, 'user-agent', 'market-probe']
  const url = new URL(place.baseUrl.href.replace(/\/+$/, '') + path)
  const asking = { method, host: url.host, path: url.pathname + url.search, body, at: clock.now() }
  protocolOf(place).authorize(headers, place.apiKey.reveal(), asking)
  const options = { dispatcher: agent, signal, method, headers, body: method === 'POST' ? body : null }
  const answer = await request(url, options)
  return { status: answer.statusCode, text: await answer.body.text(), headers: answer.headers }
}

/** An IP address in place of a name never reaches the lookup, so it is checked here. */
function isLiteralRefused(url: URL, policy: OutboundPolicy): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) !== 0 && !isDialable(host, policy)
}

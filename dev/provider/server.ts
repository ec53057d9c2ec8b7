import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { keepIdleLonger } from '#shared/idle-connections.ts'
import { isRecord } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { AccountCall } from './accounts/account-call.ts'
import { serveAccounts } from './accounts/index.ts'
import type { Administered } from './administer.ts'
import { administer } from './administer.ts'
import { errorBody } from './answer.ts'
import { AZURE_ERRORS, azureChats, deployedModel, isFiltered, readAzurePlace } from './azure.ts'
import type { ConverseCall } from './bedrock-call.ts'
import { amazonType, readConverseCall, refusalOfKey } from './bedrock-call.ts'
import { answerFor, BEHAVIOURS, behaviourOf, SANDBOX_LAB } from './behaviours.ts'
import { readChatRequest } from './chat-request.ts'
import { complete } from './completion.ts'
import { converseOf } from './converse-events.ts'
import { chatOfConverse } from './converse-request.ts'
import { createBillBook, serveReports } from './cost-reports.ts'
import { emptyAnswer } from './empty-answer.ts'
import { falModelOf, isFalCall, serveFal } from './fal.ts'
import { isQueueCall, jobFile, serveQueue } from './fal-queue.ts'
import type { GeminiCall } from './gemini-call.ts'
import { readGeminiCall } from './gemini-call.ts'
import { geminiOf } from './gemini-events.ts'
import { geminiMedia } from './gemini-media.ts'
import type { SampleJobBook } from './jobs.ts'
import { createJobBook, isVideoPath, SANDBOX_FILM_ENTRIES, SANDBOX_JOB_ENTRIES, serveVideos } from './jobs.ts'
import { drawInChat, pictureOf } from './media/images.ts'
import { isMediaPath, serveMedia } from './media/index.ts'
import { readForm } from './media/transcriptions.ts'
import { messagesOf } from './messages-events.ts'
import { chatOfMessages } from './messages-request.ts'
import { serveSearch } from './messages-search.ts'
import type { PromptCache } from './prompt-cache.ts'
import { createPromptCache } from './prompt-cache.ts'
import { BAD_GOOGLE_KEY, isGoodGoogleKey, readGenerate, refusalOfCredential } from './read-generate.ts'
import { refuseForeign } from './refuse-foreign.ts'
import type { Reply } from './reply.ts'
import { replyOn } from './reply.ts'
import type { RequestLog } from './request-log.ts'
import { createRequestLog } from './request-log.ts'
import { responsesOf } from './responses-events.ts'
import { readResponses } from './responses-request.ts'
import { accountOf } from './sealed-thought.ts'
import { answerTexts, chatOfText, readTextsRequest } from './text-completions.ts'
import { createTokenDoor, serveToken } from './token-door.ts'
import { translatedReply } from './translated-reply.ts'
import type { PredictCall } from './vertex-call.ts'
import { messageOf, readPredictCall, refusalOfToken } from './vertex-call.ts'

const MAX_BODY_BYTES = 64 * 1_048_576
const GOOD_KEY = /^Bearer (?!sk-bad)\S+$/i
/** Names of models that only answer on responses, like some families of OpenAI. */
const RESPONSES_ONLY = /(?:^|\/)(?:o[13]-pro|gpt-5-codex)$/
/** Names of models that call tools while they think, on responses only. */
const TOOLS_ON_RESPONSES = /(?:^|\/)gpt-5\.6-terra$/
const ONLY_RESPONSES = 'This model is only supported in v1/responses and not in v1/chat/completions.'
/** The creation time of every listed model, in Unix seconds. */
const LISTED_CREATED = 1_750_000_000

export type SampleProviderOptions = {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** `owned_by` of its models. */
  readonly name: string
  /** Ids to list beside the sandbox models. */
  readonly models?: readonly string[]
  /** True for a name that it serves beside the sandbox models. Absent serves every name. */
  readonly hasModel?: (name: string) => boolean
  /** True where runs of provider-h are submitted without waiting for their end. */
  readonly isQueue?: boolean
  /** Awaited before a request for a model is answered. The request is in the log by then. */
  readonly untilMayAnswer?: (model: string) => Promise<void> | undefined
}

export type SampleProvider = {
  /** The server's base URL, `http://127.0.0.11:8501/v1`. */
  readonly url: string
  readonly requests: RequestLog
  /** Closes the port and every connection. */
  readonly close: () => Promise<void>
}

type Provider = Administered & {
  readonly options: SampleProviderOptions
  readonly cache: PromptCache
  readonly jobs: SampleJobBook
}

/** Starts a provider of OpenAI's protocol. Its answers are invented, and its sandbox models misbehave on purpose. */
export async function createSampleProvider(options: SampleProviderOptions): Promise<SampleProvider> {
  const provider: Provider = {
    options,
    log: createRequestLog(),
    cache: createPromptCache(),
    jobs: createJobBook(),
    chain: { url: undefined },
    acting: new Map(),
    bills: createBillBook(),
    tokens: createTokenDoor(),
  }
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    void serve(provider, request, response)
  })
  keepIdleLonger(server)
  server.listen(options.port, options.host, 4_096)
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  return {
    url: `http://${options.host}:${port}/v1`,
    requests: provider.log,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function serve(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = replyOn(response)
  try {
    const asked = (request.url ?? '/').split('?', 1)[0] ?? '/'
    const azure = readAzurePlace(request.url ?? '/')
    const path = azure?.path ?? asked
    const bytes = await readBody(request)
    if (bytes === undefined) return reply.json(413, errorBody('The body is too large.', 'invalid_request_error', null))
    const contentType = request.headers['content-type'] ?? ''
    const isForm = contentType.startsWith('multipart/')
    const body = isForm ? await readForm(contentType, bytes) : parseJson(bytes.toString('utf8'))
    if (path.startsWith('/__sandbox/')) return reply.json(...administer(provider, path, body))
    const method = request.method ?? 'GET'
    if (method === 'POST' && path === '/token') return serveToken(provider.tokens, bytes, reply)
    provider.log.add({ method, path, headers: request.headers, body, bodyBytes: bytes.length })
    if (serveAccounts(accountCall(provider, request, { method, path, body, bytes }), reply)) return
    if (serveReports(provider.bills, request, reply)) return
    const gemini = method === 'POST' ? readGeminiCall(path) : undefined
    const converse = method === 'POST' ? readConverseCall(path) : undefined
    const predict = method === 'POST' ? readPredictCall(path) : undefined
    const modelName = (gemini ?? converse ?? predict)?.model
    const model = modelName ?? (isFalCall(request.headers) ? falModelOf(path) : modelOf(body))
    await provider.options.untilMayAnswer?.(model)
    if (azure !== undefined) {
      const deployed = deployedModel(azure.deployment ?? model)
      return await serveAzure(provider, { path, body, model: deployed, headers: request.headers }, reply)
    }
    if (method === 'POST' && isForeign(provider, model))
      return refuseForeign(reply, model, { path, gemini: gemini ?? predict, converse })
    if (isListing(provider, request, model)) {
      return reply.json(200, gemini === undefined ? { id: 'probe', model, ...emptyAnswer(path) } : { candidates: [] })
    }
    if (converse !== undefined) {
      return await talk(provider, converse, { method, path, headers: request.headers, body, bytes }, reply)
    }
    if (gemini !== undefined) return await generate(provider, gemini, { headers: request.headers, body }, reply)
    if (predict !== undefined) return await answerPredict(provider, predict, { headers: request.headers, body }, reply)
    if (method === 'POST' && path === '/v1/messages') return await message(provider, body, request.headers, reply)
    if (method === 'GET' && sendFile(provider, path, reply)) return
    const origin = `http://${request.headers.host ?? ''}/v1`
    if (isFalCall(request.headers)) {
      const call = { method, path, headers: request.headers, body, model, origin }
      if (isQueueCall(call)) {
        if (await refusesJob(provider, { method, model }, reply)) return
        return serveQueue(provider.jobs, call, reply)
      }
      return await serveFal(
        { method, headers: request.headers, body, model: actedModel(provider, model), origin },
        reply,
      )
    }
    if (listsForGoogle(provider, request, reply)) return
    if (!GOOD_KEY.test(request.headers.authorization ?? `Bearer ${request.headers['x-api-key'] ?? ''}`)) {
      return reply.json(401, errorBody('Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key'))
    }
    if (method === 'GET' && path === '/v1/models') return reply.json(200, { object: 'list', data: models(provider) })
    if (method === 'POST' && isMediaPath(path)) {
      return await serveMedia({ path, body, model: actedModel(provider, modelOf(body)), origin }, reply)
    }
    if (method === 'POST' && path === '/v1/responses') return await respond(provider, body, request.headers, reply)
    if (method === 'POST' && path === '/v1/chat/completions') return await openAiChat(provider, model, body, reply)
    if (method === 'POST' && path === '/v1/completions') return await texts(provider, body, reply)
    if (isVideoPath(path) && (await refusesJob(provider, { method, model }, reply))) return
    if (serveVideos(provider.jobs, { method, path, body }, reply)) return
    reply.json(404, errorBody(`Invalid URL (${method} ${path})`, 'invalid_request_error', null))
  } catch (error) {
    if (reply.isGone()) return
    console.error('sample provider:', error instanceof Error ? error.message : error)
    reply.cut()
  }
}

/** Lists the models in Google's form, for a call with Google's header. True when the call is answered. */
function listsForGoogle(provider: Provider, { method, url = '', headers }: IncomingMessage, reply: Reply): boolean {
  const key = headers['x-goog-api-key']
  if (key === undefined || method !== 'GET' || !/^\/v1\/models(?:\?|$)/.test(url)) return false
  if (isGoodGoogleKey(key)) reply.json(200, { models: models(provider).map(({ id }) => ({ name: `models/${id}` })) })
  else reply.json(400, BAD_GOOGLE_KEY)
  return true
}

type AzureCall = {
  readonly path: string
  readonly body: unknown
  readonly model: string
  readonly headers: IncomingHttpHeaders
}

/**
 * Serves a resource of Azure: the same protocols with its key, its errors, and the additions of its content filter. The
 * deployment in an address counts, whatever model the body names.
 */
async function serveAzure(provider: Provider, { path, body, model, headers }: AzureCall, reply: Reply): Promise<void> {
  const key = headers['api-key']
  if (typeof key !== 'string' || !GOOD_KEY.test(`Bearer ${key}`)) return reply.json(401, AZURE_ERRORS.key)
  if (isForeign(provider, model)) return reply.json(404, AZURE_ERRORS.deployment)
  if (isFiltered(body)) return reply.json(400, AZURE_ERRORS.filter)
  const namedBody = isRecord(body) ? { ...body, model } : body
  if (isMediaPath(path)) {
    const origin = `http://${headers.host ?? ''}/v1`
    return serveMedia({ path, body: namedBody, model: actedModel(provider, model), origin }, reply)
  }
  if (path === '/v1/responses') return respond(provider, namedBody, { authorization: key }, reply)
  if (path === '/v1/completions') return texts(provider, namedBody, reply)
  if (path !== '/v1/chat/completions') return reply.json(404, AZURE_ERRORS.resource)
  if (RESPONSES_ONLY.test(model)) return reply.json(400, AZURE_ERRORS.operation)
  if (refusesTools(model, namedBody)) return reply.json(400, toolsRefused(model))
  await chat(provider, namedBody, translatedReply(reply, azureChats))
}

/** True for a chat with tools whose model thinks, which is the default. */
function refusesTools(model: string, body: unknown): boolean {
  if (!TOOLS_ON_RESPONSES.test(model) || !isRecord(body) || !Array.isArray(body['tools'])) return false
  return body['reasoning_effort'] !== 'none'
}

function toolsRefused(model: string): object {
  const words = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`
  const { error } = errorBody(words, 'invalid_request_error', null)
  return { error: { ...error, param: 'reasoning_effort' } }
}

type Received = { readonly method: string; readonly path: string; readonly body: unknown; readonly bytes: Buffer }

function accountCall({ jobs, options, chain }: Provider, request: IncomingMessage, call: Received): AccountCall {
  const { headers, url = '/' } = request
  const origin = `http://${headers.host ?? ''}/v1`
  const query = new URLSearchParams(url.split('?').slice(1).join('?'))
  const isQueue = options.isQueue === true
  return { ...call, headers, query, jobs, origin, isQueue, chainUrl: chain.url }
}

/** Serves the messages protocol, with its own key header and errors, by the same behaviours. */
async function message(
  provider: Provider,
  body: unknown,
  headers: IncomingHttpHeaders,
  reply: ReturnType<typeof replyOn>,
): Promise<void> {
  const refuse = (status: number, type: string, text: string) =>
    reply.json(status, { type: 'error', error: { type, message: text } })
  const key = headers['x-api-key']
  if (typeof key !== 'string' || !GOOD_KEY.test(`Bearer ${key}`)) {
    return refuse(401, 'authentication_error', 'invalid x-api-key')
  }
  if (headers['anthropic-version'] === undefined) {
    return refuse(400, 'invalid_request_error', 'anthropic-version: header is required')
  }
  await answerMessage(provider, body, reply)
}

/**
 * Serves Claude at Vertex AI by the same behaviours. Errors of authentication are Google's, and all others the
 * protocol's own.
 */
async function answerPredict(
  provider: Provider,
  call: PredictCall,
  { headers, body }: { readonly headers: IncomingHttpHeaders; readonly body: unknown },
  reply: Reply,
): Promise<void> {
  const refusal = refusalOfToken(headers)
  if (refusal !== undefined) return reply.json(401, refusal)
  await answerMessage(provider, messageOf(call, body), reply)
}

/** Responds to a request of the messages protocol, or refuses it with the reason. */
async function answerMessage(provider: Provider, body: unknown, reply: Reply): Promise<void> {
  const asChat = typeof body === 'string' ? body : chatOfMessages(body)
  if (typeof asChat === 'string') {
    return reply.json(400, { type: 'error', error: { type: 'invalid_request_error', message: asChat } })
  }
  const model = String(asChat['model'])
  // A behaviour that misreports usage does so from the first event on.
  const lies = /^sandbox\/usage-/.test(provider.acting.get(model)?.behaviour ?? model)
  const usage = lies ? undefined : openingUsage(asChat)
  const id = `msg_${LISTED_CREATED}`
  if (asChat['searches'] === true && usage !== undefined) {
    return serveSearch({ id, model, inputTokens: usage.input_tokens, isStreamed: asChat['stream'] === true }, reply)
  }
  await chat(provider, asChat, translatedReply(reply, messagesOf({ id, model, usage })))
}

/** Serves OpenAI's responses by the same behaviours. Thoughts are sealed for the account of the key. */
async function respond(
  provider: Provider,
  body: unknown,
  { authorization = '' }: IncomingHttpHeaders,
  reply: ReturnType<typeof replyOn>,
): Promise<void> {
  const account = accountOf(authorization)
  const read = readResponses(body, account)
  if (!('chat' in read)) {
    const { message, param, code } = read
    return reply.json(400, { error: { message, type: 'invalid_request_error', param, code } })
  }
  const { chat: asChat, echo, isSealing, customTools } = read
  const model = String(asChat['model'])
  const facts = { id: String(LISTED_CREATED), model, created: LISTED_CREATED, account, isSealing, echo, customTools }
  await chat(provider, asChat, translatedReply(reply, responsesOf(facts)))
}

/** Serves Converse by the same behaviours, for a key or a valid signature of AWS's own signer. */
async function talk(
  provider: Provider,
  call: ConverseCall,
  { body, bytes, ...received }: Received & { readonly headers: IncomingHttpHeaders },
  reply: Reply,
): Promise<void> {
  const refusal = await refusalOfKey(received, bytes)
  if (refusal !== undefined) {
    const { status, type, message: words } = refusal
    return reply.json(status, { message: words }, amazonType(type))
  }
  const asChat = chatOfConverse(body, call)
  if (typeof asChat === 'string') return reply.json(400, { message: asChat }, amazonType('ValidationException'))
  await chat(provider, asChat, translatedReply(reply, converseOf()))
}

/** Serves Gemini's own protocol by the same behaviours. */
async function generate(
  provider: Provider,
  call: GeminiCall,
  { headers, body }: { readonly headers: IncomingHttpHeaders; readonly body: unknown },
  reply: ReturnType<typeof replyOn>,
): Promise<void> {
  const refusal = refusalOfCredential(call, headers)
  if (refusal !== undefined) return reply.json(400, refusal)
  const media = geminiMedia(call, body)
  if (media !== undefined) return reply.json(...media)
  const read = readGenerate(call, headers, body)
  if ('refusal' in read) return reply.json(400, read.refusal)
  if (call.method === 'countTokens') {
    const request = readChatRequest(read.chat)
    const totalTokens = request && complete(request, { cachedTokens: 0, now: 0 }).usage.prompt_tokens
    return reply.json(200, { totalTokens })
  }
  if (read.tier !== undefined) reply.headersFirst({ 'x-gemini-service-tier': read.tier })
  await chat(provider, read.chat, translatedReply(reply, geminiOf(read.facts)))
}

/** The usage of the first event: the input, and one token of output. */
function openingUsage(asChat: object): { readonly input_tokens: number; readonly output_tokens: number } | undefined {
  const request = readChatRequest(asChat)
  if (!request) return undefined
  return { input_tokens: complete(request, { cachedTokens: 0, now: 0 }).usage.prompt_tokens, output_tokens: 1 }
}

/** Serves chats, except for models and calls that are served only on responses. */
async function openAiChat(provider: Provider, model: string, body: unknown, reply: Reply): Promise<void> {
  if (RESPONSES_ONLY.test(model)) return reply.json(404, errorBody(ONLY_RESPONSES, 'invalid_request_error', null))
  if (refusesTools(model, body)) return reply.json(400, toolsRefused(model))
  await chat(provider, body, reply)
}

async function chat(provider: Provider, body: unknown, reply: ReturnType<typeof replyOn>): Promise<void> {
  const request = readChatRequest(body)
  if (!request) {
    return reply.json(400, errorBody('The body is not a chat request.', 'invalid_request_error', null))
  }
  const picture = drawInChat(body)
  if (picture !== undefined && !provider.acting.has(request.model)) {
    if (!request.isStream) return reply.json(200, picture.whole)
    reply.openStream()
    for (const data of picture.events) await reply.event(data)
    return reply.end()
  }
  const facts = {
    cachedTokens: provider.cache.recall(request.model, request.prompt),
    now: Math.floor(Date.now() / 1_000),
  }
  const model = actedModel(provider, request.model)
  await answerFor(model)({
    request,
    completion: complete(request, facts),
    recompose: (changes) => complete(request, { ...facts, ...changes }),
    reply,
  })
}

/** Serves the older protocol. A misbehaving model acts as in a chat. */
async function texts(provider: Provider, body: unknown, reply: ReturnType<typeof replyOn>): Promise<void> {
  const request = readTextsRequest(body)
  if (!request) {
    return reply.json(400, errorBody('The body is not a completions request.', 'invalid_request_error', null))
  }
  const { model, prompt } = request
  const isPlain = !provider.acting.has(model) && (model === `${SANDBOX_LAB}/echo` || !behaviourOf(model))
  if (isPlain) return answerTexts(request, Math.floor(Date.now() / 1_000), reply)
  await chat(provider, chatOfText(request, typeof prompt === 'string' ? prompt : (prompt[0] ?? '')), reply)
}

/** True for a name that this provider does not serve. A request without a name is refused by its own reader. */
function isForeign({ options, acting }: Provider, model: string): boolean {
  if (model === '' || options.hasModel === undefined) return false
  return !model.startsWith(`${SANDBOX_LAB}/`) && !acting.has(model) && !options.hasModel(model)
}

/**
 * True for the probe of a market that lists a misbehaving model. The model must exist, so it answers normally, unless
 * the admin port has set the behaviour.
 */
function isListing({ acting }: Provider, { headers, method }: IncomingMessage, model: string): boolean {
  const isProbe = method === 'POST' && headers['user-agent'] === 'market-probe'
  return isProbe && !acting.has(model) && model !== `${SANDBOX_LAB}/echo` && behaviourOf(model) !== undefined
}

const Named = z.object({ model: z.string() })

function modelOf(body: unknown): string {
  return Named.safeParse(body).data?.model ?? ''
}

/** The latency in milliseconds of a submit whose model is set to answer late. */
const LATE_MS = 2_000

/** Lets a submit fail or wait, where the admin port says so. True when it is answered. */
async function refusesJob(
  provider: Provider,
  { method, model }: { readonly method: string; readonly model: string },
  reply: Reply,
): Promise<boolean> {
  if (method !== 'POST' || !provider.acting.has(model)) return false
  const behaviour = actedModel(provider, model)
  if (behaviour === `${SANDBOX_LAB}/server-error`) {
    reply.json(500, errorBody('The server had an error.', 'server_error', null))
    return true
  }
  if (behaviour === `${SANDBOX_LAB}/slow-first-token`) await pause(LATE_MS)
  return false
}

/** The model whose behaviour answers this call, after the admin port's settings. */
function actedModel({ acting }: Provider, model: string): string {
  const act = acting.get(model)
  if (!act) return model
  act.left -= 1
  if (act.left <= 0) acting.delete(model)
  return act.behaviour
}

/** Sends a picture or the file of a job. False for any other path. */
function sendFile({ jobs }: Provider, path: string, reply: ReturnType<typeof replyOn>): boolean {
  const picture = pictureOf(path)
  const file = picture === undefined ? jobFile(jobs, path) : { contentType: 'image/png', bytes: picture }
  if (file === undefined) return false
  reply.headers(200, { 'content-type': file.contentType, 'content-length': String(file.bytes.length) })
  reply.end(file.bytes)
  return true
}

function models({ options }: Provider): readonly { readonly id: string }[] {
  const jobs = [...SANDBOX_JOB_ENTRIES, ...SANDBOX_FILM_ENTRIES].map(({ id }) => id)
  const sandbox = [...Object.keys(BEHAVIOURS).map((name) => `${SANDBOX_LAB}/${name}`), ...jobs]
  return [...(options.models ?? []), ...sandbox].map((id) => ({
    id,
    object: 'model',
    created: LISTED_CREATED,
    owned_by: options.name,
  }))
}

/** Reads the body. Undefined when it is over the limit. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

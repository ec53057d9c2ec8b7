import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'
import { CommandFailure, exitOfStatus } from './failure.ts'

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type Call = {
  readonly method: HttpMethod
  readonly url: string
  readonly key?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** The longest wait for a whole answer, or for the head of a streamed one, in milliseconds. */
const ANSWER_MS = 120_000
const MAX_ANSWER_CHARS = 64_000_000
const MAX_LINE_CHARS = 4_000_000

/** Calls the service and answers its JSON. Null for an answer without a body. Throws a {@link CommandFailure}. */
export async function callJson(call: Call): Promise<unknown> {
  const answer = await send(call, AbortSignal.timeout(ANSWER_MS))
  const body = await readText(answer)
  if (!answer.ok) throw refusalOf(answer, body)
  if (body === '') return null
  try {
    return JSON.parse(body)
  } catch (cause) {
    throw new CommandFailure('failure', 'The answer of the market is not readable.', { cause })
  }
}

/** An answer as it came, whatever its status. */
export type RawAnswer = { readonly status: number; readonly headers: Headers; readonly body: string }

/** Calls the service and returns its answer, for statuses that are no failure. */
export async function callRaw(call: Call): Promise<RawAnswer> {
  const answer = await send(call, AbortSignal.timeout(ANSWER_MS))
  return { status: answer.status, headers: answer.headers, body: await readText(answer) }
}

/** The failure that an answer reports. */
export function failureOf({ status, headers, body }: RawAnswer): CommandFailure {
  return refusalOf(new Response(null, { status, headers }), body)
}

/** Calls the service and yields the lines of its answer. Throws a {@link CommandFailure}. */
export async function* callLines(call: Call): AsyncGenerator<string> {
  const answer = await send(call)
  if (!answer.ok) throw refusalOf(answer, await readText(answer))
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const chunk of answer.body ?? []) {
      rest += decoder.decode(chunk, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_LINE_CHARS) throw new CommandFailure('failure', 'The service sent a line without an end.')
      for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
    }
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause
    throw new CommandFailure('unavailable', 'The connection broke before the answer was complete.', {
      cause,
      ...idOf(answer),
    })
  }
  if (rest !== '') yield rest
}

async function send({ method, url, key, body, headers, signal }: Call, limit?: AbortSignal): Promise<Response> {
  const signals = [signal, limit].filter((one) => one !== undefined)
  try {
    return await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    })
  } catch (cause) {
    throw unreachable(new URL(url).origin, cause)
  }
}

/** The failure when nothing answers at an address. */
export function unreachable(origin: string, cause: unknown): CommandFailure {
  return new CommandFailure('unavailable', `${origin} cannot be reached.`, { cause })
}

async function readText(answer: Response): Promise<string> {
  const body = await answer.text()
  if (body.length > MAX_ANSWER_CHARS) throw new CommandFailure('failure', 'The answer is too long.')
  return body
}

const Envelope = z.object({
  error: z.object({
    code: z.union([z.string(), z.number()]).nullish(),
    type: z.string().nullish(),
    message: z.string().nullish(),
    param: z.string().nullish(),
  }),
  request_id: z.string().nullish(),
})

function refusalOf(answer: Response, body: string): CommandFailure {
  const parsed = Envelope.safeParse(parseJson(body))
  const { status } = answer
  const facts = { status, ...retryAfterOf(answer.headers), ...idOf(answer) }
  if (!parsed.success) return new CommandFailure(exitOfStatus(status), `The service answered ${status}.`, facts)
  const { code, type, message, param } = parsed.data.error
  const name = String(code ?? type ?? status)
  return new CommandFailure(exitOfStatus(status, name), message ?? `The service answered ${status}.`, {
    ...facts,
    code: name,
    ...(param == null ? {} : { param }),
    ...idOf(answer, parsed.data.request_id),
  })
}

/** The seconds that an answer's head asks to wait. */
export function retryAfterOf(headers: Headers): { retryAfter?: number } {
  const wait = Number(headers.get('retry-after') ?? 'none')
  return Number.isSafeInteger(wait) ? { retryAfter: wait } : {}
}

function idOf(answer: Response, inBody?: string | null): { requestId?: string } {
  const requestId = inBody ?? answer.headers.get('x-request-id') ?? undefined
  return requestId === undefined ? {} : { requestId }
}

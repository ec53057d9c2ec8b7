import type { Origins, PlacedOperation } from './document.ts'
import { escapeHtml } from './markup.ts'

/** The first example of an operation as a call. */
export type ExampleCall = {
  readonly method: string
  /** The path with its variables filled in, and the query. */
  readonly target: string
  /** The security scheme of the caller. Undefined for public operations. */
  readonly caller: string | undefined
  readonly needsIdempotencyKey: boolean
  /** A JSON body as text, no body, or a form. */
  readonly body: { readonly json: string } | 'none' | 'form'
}

export function exampleOf({ method, path, operation }: PlacedOperation): ExampleCall {
  const { parameters, requestBody, security } = operation
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
  const filled = parameters.reduce(
    (text, { name, example }) => (example === undefined ? text : text.replace(`{${name}}`, String(example))),
    path,
  )
  const content = requestBody?.content['application/json']
  const [example] = Object.values(content?.examples ?? {})
  return {
    method: method.toUpperCase(),
    target: `${filled}${query.length === 0 ? '' : `?${query.join('&')}`}`,
    caller: Object.keys(security[0] ?? {})[0],
    needsIdempotencyKey: parameters.some(({ name, required }) => name === 'Idempotency-Key' && required),
    body: bodyOf(requestBody !== undefined, content !== undefined, example?.value),
  }
}

function bodyOf(hasBody: boolean, isJson: boolean, example: unknown): ExampleCall['body'] {
  if (!hasBody || (isJson && example === undefined)) return 'none'
  return isJson ? { json: JSON.stringify(example) } : 'form'
}

const KEY_HEADERS: Readonly<Record<string, string>> = {
  buyerKey: 'Authorization: Bearer $BUYER_KEY',
  sellerKey: 'Authorization: Bearer $SELLER_KEY',
  managementKey: 'Authorization: Bearer $MANAGEMENT_KEY',
  session: 'Cookie: $SESSION',
}

/** Writes the call as a curl command. */
export function curlOf({ method, target, caller, needsIdempotencyKey, body }: ExampleCall, origins: Origins): string {
  const lines = [`curl -sS${method === 'GET' ? '' : ` -X ${method}`} '${origins.apiBaseUrl}${target}'`]
  if (caller !== undefined) lines.push(`-H "${KEY_HEADERS[caller] ?? ''}"`)
  if (needsIdempotencyKey) lines.push('-H "Idempotency-Key: $(uuidgen)"')
  if (body === 'form') lines.push('-F model=gpt-4o-transcribe -F file=@speech.wav')
  else if (body !== 'none') {
    lines.push(`-H 'Content-Type: application/json'`, `-d '${body.json.replaceAll("'", "'\\''")}'`)
  }
  return lines.join(' \\\n  ')
}

/**
 * The place for the script's console of the call, empty and hidden without the script. Forms have none. Calls with a
 * session have none, because a script may not send the cookie.
 */
export function renderTry({ method, target, caller, needsIdempotencyKey, body }: ExampleCall): string {
  if (body === 'form' || caller === 'session') return ''
  const facts = {
    method,
    target,
    ...(caller === undefined ? {} : { caller }),
    ...(needsIdempotencyKey ? { once: '' } : {}),
    ...(body === 'none' ? {} : { body: body.json }),
  }
  const data = Object.entries(facts).map(([name, value]) => ` data-${name}="${escapeHtml(value)}"`)
  return `<details class="try"${data.join('')} hidden><summary>Try it</summary></details>`
}

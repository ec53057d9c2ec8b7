import type { PlacedOperation } from './description.ts'

/** The first example of an operation as a call. */
export type ExampleCall = {
  readonly method: string
  /** The path with its variables filled in, and the query. */
  readonly target: string
  /** The security scheme of the caller. Undefined for a public operation. */
  readonly caller: string | undefined
  readonly needsIdempotencyKey: boolean
  /** A JSON body, no body, or a form. */
  readonly body: { readonly json: unknown } | 'none' | 'form'
}

/** The place of the market's address, which the server fills in. */
const API = '{api_base_url}'

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
  return isJson ? { json: example } : 'form'
}

/** Header, and the variable of the environment that it takes its secret from. */
const KEYS: Readonly<Record<string, readonly [header: string, before: string, variable: string]>> = {
  buyerKey: ['Authorization', 'Bearer ', 'MARKET_KEY'],
  sellerKey: ['Authorization', 'Bearer ', 'SELLER_KEY'],
  managementKey: ['Authorization', 'Bearer ', 'MANAGEMENT_KEY'],
  messagesKey: ['x-api-key', '', 'MARKET_KEY'],
  session: ['Cookie', '__Host-mkt_session=', 'SESSION'],
}

/** Writes the call in each language, as blocks of code that follow each other. A form is shown with curl alone. */
export function codeOf(call: ExampleCall): string {
  const blocks = [fenced('sh', curlOf(call))]
  if (call.body !== 'form') blocks.push(fenced('python', pythonOf(call)), fenced('ts', scriptOf(call)))
  return blocks.join('\n\n')
}

export function fenced(language: string, text: string): string {
  return `\`\`\`\`${language}\n${text}\n\`\`\`\``
}

function curlOf({ method, target, caller, needsIdempotencyKey, body }: ExampleCall): string {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} '${API}${target}'`]
  const key = KEYS[caller ?? '']
  if (key !== undefined) lines.push(`-H "${key[0]}: ${key[1]}$${key[2]}"`)
  if (needsIdempotencyKey) lines.push('-H "Idempotency-Key: $(uuidgen)"')
  if (body === 'form') lines.push('-F model=gpt-4o-transcribe', '-F file=@speech.wav')
  else if (body !== 'none') {
    lines.push(`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body.json).replaceAll("'", "'\\''")}'`)
  }
  return lines.join(' \\\n  ')
}

function pythonOf({ method, target, caller, needsIdempotencyKey, body }: ExampleCall): string {
  const key = KEYS[caller ?? '']
  const headers = [
    ...(key === undefined ? [] : [`"${key[0]}": ${pythonText(key)}`]),
    ...(needsIdempotencyKey ? ['"Idempotency-Key": str(uuid.uuid4())'] : []),
  ]
  const packages = [...(key === undefined ? [] : ['os']), ...(needsIdempotencyKey ? ['uuid'] : [])]
  const lines = [
    ...(packages.length === 0 ? [] : [`import ${packages.join(', ')}`]),
    'import requests',
    '',
    'answer = requests.request(',
    `    "${method}",`,
    `    "${API}${target}",`,
    ...(headers.length === 0 ? [] : [`    headers={${headers.join(', ')}},`]),
    ...(typeof body === 'string' ? [] : [`    json=${pythonLiteral(body.json, 1)},`]),
    ')',
    'print(answer.status_code, answer.text)',
  ]
  return lines.join('\n')
}

function pythonText([, before, variable]: readonly [string, string, string]): string {
  const secret = `os.environ["${variable}"]`
  return before === '' ? secret : `"${before}" + ${secret}`
}

/** Deeper values of a body are on one line. */
const INDENTED_DEPTH = 2

function pythonLiteral(value: unknown, depth: number): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((part) => pythonLiteral(part, depth + 1))
    : Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${pythonLiteral(part, depth + 1)}`)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (isList || depth > INDENTED_DEPTH || parts.length === 0) return `${open}${parts.join(', ')}${close}`
  const space = '    '.repeat(depth)
  return `${open}\n${parts.map((part) => `${space}    ${part},`).join('\n')}\n${space}${close}`
}

function scriptOf({ method, target, caller, needsIdempotencyKey, body }: ExampleCall): string {
  const key = KEYS[caller ?? '']
  const headers = [
    ...(key === undefined ? [] : [`'${key[0]}': \`${key[1]}\${process.env.${key[2]}}\``]),
    ...(needsIdempotencyKey ? [`'Idempotency-Key': crypto.randomUUID()`] : []),
    ...(typeof body === 'string' ? [] : [`'Content-Type': 'application/json'`]),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : ['  headers: {', ...headers.map((line) => `    ${line},`), '  },']),
    ...(typeof body === 'string' ? [] : [`  body: JSON.stringify(${indented(body.json)}),`]),
  ]
  const call =
    options.length === 0 ? `fetch('${API}${target}')` : `fetch('${API}${target}', {\n${options.join('\n')}\n})`
  return `const answer = await ${call}\nconsole.log(answer.status, await answer.text())`
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
}

/**
 * The facts of the call for the console of its page, as text. Undefined for a form, and for a session, whose cookie no
 * script may send.
 */
export function consoleOf({ method, target, caller, needsIdempotencyKey, body }: ExampleCall): string | undefined {
  if (body === 'form' || caller === 'session') return undefined
  const facts = {
    api: API,
    method,
    target,
    caller,
    needsIdempotencyKey,
    body: body === 'none' ? undefined : JSON.stringify(body.json, null, 2),
  }
  return JSON.stringify(facts)
}

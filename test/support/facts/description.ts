import { readFileSync } from 'node:fs'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { z } from 'zod'

/** The media types of a body in the committed OpenAPI document. */
const Content = z.record(
  z.string(),
  z.object({
    schema: z.record(z.string(), z.unknown()),
    examples: z.record(z.string(), z.object({ value: z.record(z.string(), z.unknown()) })).default({}),
  }),
)
const Answer = z.object({ headers: z.record(z.string(), z.unknown()).default({}), content: Content.default({}) })
const Operation = z.object({
  operationId: z.string(),
  description: z.string().default(''),
  security: z.array(z.record(z.string(), z.unknown())),
  parameters: z.array(
    z.object({
      name: z.string(),
      in: z.string(),
      description: z.string().default(''),
      required: z.boolean().optional(),
      schema: z.record(z.string(), z.unknown()),
      example: z.unknown().optional(),
    }),
  ),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(z.string(), z.union([z.object({ $ref: z.string() }), Answer])),
})
const Document = z.object({
  tags: z.array(z.object({ name: z.string(), description: z.string().default('') })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({
    schemas: z.record(z.string(), z.record(z.string(), z.unknown())),
    responses: z.record(z.string(), Answer),
  }),
})

export const DOCUMENT_TEXT = readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8')
export const DOCUMENT = Document.parse(JSON.parse(DOCUMENT_TEXT))

export type DescribedOperation = z.infer<typeof Operation> & { readonly method: string; readonly path: string }

export const OPERATIONS: readonly DescribedOperation[] = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
)

/** An answer without any change. */
export type LiveAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
const strict = { schemas: Object.fromEntries(Object.entries(DOCUMENT.components.schemas).map(closed)) }
/** Each part is prepared once, and not again for each answer that refers to it. */
ajv.addSchema({ components: strict }, 'parts')
const compiled = new Map<string, ValidateFunction>()

function closed([name, schema]: [string, unknown]): [string, unknown] {
  return [name, name === 'PaymentRequired' ? schema : close(schema)]
}

/** Closes every object of the schema that names its members, so that undescribed members are found. */
function close(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(close)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, close(part)]))
  return 'properties' in schema && !('additionalProperties' in schema)
    ? { ...parts, additionalProperties: false }
    : parts
}

function validatorOf(name: string, schema: unknown, isClosed: boolean): ValidateFunction {
  const known = compiled.get(name)
  if (known !== undefined) return known
  const made = ajv.compile(Object(toParts(isClosed ? close(schema) : schema)))
  compiled.set(name, made)
  return made
}

/** The schema with references to the prepared parts in place of those to its own document. */
function toParts(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toParts)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, part]) => [
      name,
      name === '$ref' && typeof part === 'string' ? `parts${part}` : toParts(part),
    ]),
  )
}

const PATTERNS = OPERATIONS.map((operation) => {
  const pattern = operation.path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')
  return { operation, pattern: new RegExp(`^${pattern}$`), literals: operation.path.replace(/\{\w+\}/g, '').length }
})

/** The operation of a request. Undefined when the document does not have it. */
export function operationOf(method: string, target: string): DescribedOperation | undefined {
  const [path = ''] = target.split('?', 1)
  const fitting = PATTERNS.filter(({ operation, pattern }) => operation.method === method && pattern.test(path))
  return fitting.sort((left, right) => right.literals - left.literals)[0]?.operation
}

/**
 * The differences between an answer and its description. Empty when there are none, or when the document does not have
 * the operation.
 */
export function problemsOf(method: string, target: string, answer: LiveAnswer): string[] {
  const operation = operationOf(method, target)
  // An answer without a route belongs to no operation: its path or method does not exist.
  if (operation === undefined || answer.status === 405) return []
  const where = `${method} ${operation.path} ${answer.status}`
  const described = operation.responses[String(answer.status)]
  if (described === undefined) return [`${where}: this status is not described: ${answer.text.slice(0, 200)}`]
  const isRefusal = '$ref' in described
  const response = isRefusal ? DOCUMENT.components.responses[described.$ref.split('/').at(-1) ?? ''] : described
  if (response === undefined) return [`${where}: the response is not there`]
  const missing = isRefusal || answer.headers.has('x-request-id') || !('x-request-id' in response.headers)
  return [...(missing ? [] : [`${where}: no x-request-id`]), ...bodyProblems(where, response, answer, isRefusal)]
}

type Response = z.infer<typeof Answer>

function bodyProblems(where: string, response: Response, { headers, text }: LiveAnswer, isRefusal: boolean): string[] {
  const types = Object.keys(response.content)
  const [type = ''] = (headers.get('content-type') ?? '').split(';', 1)
  if (types.length === 0) return text === '' ? [] : [`${where}: a body where none is described`]
  const family = `${type.split('/', 1)[0] ?? ''}/*`
  const content = response.content[type] ?? response.content[family]
  if (content === undefined) return [`${where}: ${type} is not described`]
  if (!type.endsWith('json')) return []
  const validate = validatorOf(`${where} ${type}`, content.schema, !isRefusal)
  const bodies = type.endsWith('ndjson') ? text.split('\n').filter((line) => line !== '') : [text]
  return bodies.flatMap((body) => {
    const value: unknown = JSON.parse(body)
    // A stream of lines that fails says so in its last line.
    if (type.endsWith('ndjson') && isFailure(value)) return []
    if (validate(value)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${where}: ${instancePath} ${message} ${JSON.stringify(params)}`,
    )
  })
}

const Failure = z.strictObject({ error: z.looseObject({ code: z.string(), message: z.string() }) })

function isFailure(value: unknown): boolean {
  return Failure.safeParse(value).success
}

/** The differences between a request's body and its description. */
export function bodyFaults(operation: DescribedOperation, body: unknown): string[] {
  const content = operation.requestBody?.content['application/json']
  if (content === undefined) return [`${operation.operationId} takes no JSON`]
  const validate = validatorOf(`${operation.operationId} body`, content.schema, true)
  return validate(body) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** Throws when an answer differs from its description. */
export function requireDescribed(method: string, target: string, answer: LiveAnswer): void {
  const problems = problemsOf(method, target, answer)
  if (problems.length > 0) throw new Error(`not as docs/openapi.json says:\n${problems.slice(0, 8).join('\n')}`)
}

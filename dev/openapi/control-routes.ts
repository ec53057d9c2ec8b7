import { z } from 'zod'
import { ROWS } from '#control-plane/api/rest/door.ts'
import type { RestRow } from '#control-plane/api/rest/route.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { isRecord } from '#shared/json-members.ts'
import { headersNamed, LIMIT_HEADERS, refusalsOf } from './answer-headers.ts'
import type { Components, Json } from './json-schema.ts'
import { describeSchema } from './json-schema.ts'
import { describedQuery, describeParameter } from './parameters.ts'

/** An operation of the document with its place. */
export type DocumentRoute = { readonly path: string; readonly method: string; readonly operation: Json }

const SECURITY: Readonly<Record<RestRow['access'], readonly Json[]>> = {
  public: [],
  buyer: [{ buyerKey: [] }, { session: [] }],
  'buyer-account': [{ buyerKey: [] }, { session: [] }],
  seller: [{ sellerKey: [] }, { session: [] }],
  session: [{ session: [] }],
  org: [{ managementKey: [] }, { session: [] }],
  operator: [{ managementKey: [] }],
}

/** The operations of REST. */
export function controlRoutes(components: Components): DocumentRoute[] {
  return ROWS.map((row) => {
    const path = row.path.replace(/:(\w+)/g, '{$1}')
    return { path, method: row.method.toLowerCase(), operation: operationOf(components, row) }
  })
}

function operationOf(components: Components, row: RestRow): Json {
  const { summary, about = '' } = row.words
  const variables = [...row.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
  const { fields, required } = fieldsOf(components, row.input, variables)
  const isRead = row.method === 'GET'
  const example = exampleOf(row, fields, variables)
  return {
    operationId: row.operation,
    tags: [row.tag],
    summary,
    description: about,
    security: SECURITY[row.access],
    parameters: [
      ...variables.map((name) => {
        const schema = { type: 'string' }
        return { name, in: 'path', required: true, description: describeParameter(row.path, name), schema }
      }),
      ...(isRead ? queryOf(row.path, fields, required, example) : []),
      ...(row.idempotency === 'none' ? [] : [keyParameter(row.idempotency === 'required')]),
      ...(ACTS_IN_WORKSPACES.has(row.access) ? [WORKSPACE] : []),
    ],
    ...(isRead || Object.keys(fields).length === 0 ? {} : { requestBody: bodyOf(fields, required, example) }),
    responses: { ...goodAnswer(components, row), ...refusals(row) },
  }
}

/** The accesses of rows that act on the accounts of the wallet or of a workspace. */
const ACTS_IN_WORKSPACES: ReadonlySet<RestRow['access']> = new Set(['buyer', 'buyer-account', 'seller'])

const WORKSPACE: Json = {
  name: 'X-Mkt-Workspace',
  in: 'header',
  required: false,
  description: 'With a session: the workspace to act in, instead of the accounts of the wallet.',
  schema: { type: 'string' },
}

/**
 * The example in the spelling of the wire, without the members in the path. Throws for a member that the row does not
 * accept.
 */
function exampleOf({ method, path, words }: RestRow, fields: Json, variables: readonly string[]): Json | undefined {
  if (words.example === undefined) return undefined
  const example = toSnakeBody(words.example)
  const members = Object.entries(isRecord(example) ? example : {}).filter(([name]) => !variables.includes(name))
  const strange = members.find(([name]) => !(name in fields))
  if (strange !== undefined) throw new Error(`${method} ${path} takes no ${strange[0]}`)
  return Object.fromEntries(members)
}

type Fields = { readonly fields: Json; readonly required: readonly string[] }

function fieldsOf(components: Components, input: RestRow['input'], variables: readonly string[]): Fields {
  const schema = describeSchema(components, input, { io: 'input', isSnake: true })
  const fields = isRecord(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : []
  return {
    fields: Object.fromEntries(Object.entries(fields).filter(([name]) => !variables.includes(name))),
    required: required.filter((name) => !variables.includes(name)),
  }
}

function queryOf(path: string, fields: Json, required: readonly string[], example: Json = {}): Json[] {
  return Object.entries(fields).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...describedQuery(path, name, schema),
    ...(name in example ? { example: example[name] } : {}),
  }))
}

function keyParameter(isRequired: boolean): Json {
  return {
    name: 'Idempotency-Key',
    in: 'header',
    required: isRequired,
    description: 'A repeat of the request with its key within 24 hours gets the stored answer.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: 'a-name-of-your-own-for-this-request',
  }
}

function bodyOf(properties: Json, required: readonly string[], example: Json | undefined): Json {
  const schema = { type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
  const examples = example === undefined ? {} : { examples: { whole: { value: example } } }
  return { required: required.length > 0, content: { 'application/json': { schema, ...examples } } }
}

function goodAnswer(components: Components, row: RestRow): Json {
  const { as } = row
  if (row.output instanceof z.ZodNever) return {}
  const names = ['x-request-id', ...(row.isPublic ? [] : LIMIT_HEADERS)]
  if (as === 'redirect') {
    return { 302: { description: 'A redirect to the file.', headers: headersNamed([...names, 'location']) } }
  }
  const headers = headersNamed(names)
  if (as === 'file') {
    const content = {
      'text/csv': { schema: { type: 'string' } },
      'application/x-ndjson': { schema: { type: 'object' } },
      'application/pdf': { schema: { type: 'string', format: 'binary' } },
    }
    return { [row.status]: { description: 'The file.', headers, content } }
  }
  if (row.output === undefined) return { [row.status]: { description: 'Done.', headers } }
  const schema = describeSchema(components, row.output, { io: 'output', isSnake: true })
  const content = as === 'lines' ? { 'application/x-ndjson': { schema } } : { 'application/json': { schema } }
  return { [row.status]: { description: as === 'lines' ? 'One JSON object a line.' : 'The answer.', headers, content } }
}

function refusals(row: RestRow): Json {
  const isRead = row.method === 'GET'
  return refusalsOf(row.envelope === 'v1' ? 'account' : row.envelope, [
    400,
    429,
    500,
    503,
    ...(row.access === 'public' ? [401] : [401, 403]),
    // A session may name a workspace that does not exist.
    ...(row.path.includes(':') || row.access !== 'public' ? [404] : []),
    ...(isRead ? [] : [413, 415]),
    ...(row.idempotency === 'none' ? [] : [409]),
    ...row.refusals,
  ])
}

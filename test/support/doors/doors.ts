import { readFileSync } from 'node:fs'
import type { GraphQLInputType, GraphQLOutputType } from 'graphql'
import {
  buildSchema,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { z } from 'zod'
import { ROWS } from '#control-plane/api/rest/door.ts'
import { appRouter } from '#control-plane/api/trpc/router.ts'
import { toSnakeBody, toSnakeName } from '#shared/field-names.ts'
import type { TestMarket } from './control-plane.ts'

export const SCHEMA = buildSchema(
  readFileSync(new URL('../../../control-plane/api/graphql/schema.graphql', import.meta.url), 'utf8'),
)

type Procedure = { readonly _def: { readonly type: string } }
const Procedures = z.record(
  z.string(),
  z.custom<Procedure>((value) => typeof value === 'function' && '_def' in value),
)

/** The procedures of tRPC by their paths. */
export const PROCEDURES: Readonly<Record<string, Procedure>> = Procedures.parse({ ...appRouter._def.procedures })

export type Input = Readonly<Record<string, unknown>>
export type Headers = Readonly<Record<string, string>>
/** The result at a door: an answer with names in snake_case, or the code of a refusal. */
export type Said = { readonly answer: unknown } | { readonly code: string }
/** An operation at one door. */
export type DoorCall = (input: Input, headers: Headers) => Promise<Said>

const Refusal = z.object({ error: z.object({ code: z.string() }) })

/** Calls an operation through its first REST row. Undefined when no row has it. A redirect is answered as its `url`. */
export function restCall({ url }: TestMarket, operation: string): DoorCall | undefined {
  const row = ROWS.find((each) => each.operation === operation)
  if (row === undefined) return undefined
  const { method } = row
  return async (input, headers) => {
    const named = [...row.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
    const path = row.path.replace(/:(\w+)/g, (_whole, name: string) => percentEncoded(input[name]))
    const fields = Object.entries(input).filter(([name]) => !named.includes(name))
    const query = fields.map(([name, value]) => `${toSnakeName(name)}=${percentEncoded(value)}`).join('&')
    const sent =
      method === 'GET'
        ? { headers }
        : {
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(toSnakeBody(Object.fromEntries(fields))),
          }
    const target = method === 'GET' ? `${path}?${query}` : path
    const answer = await fetch(url + target, { method, redirect: 'manual', ...sent })
    const text = await answer.text()
    if (answer.status >= 400) return { code: Refusal.parse(JSON.parse(text)).error.code }
    if (answer.status === 302) return { answer: { url: answer.headers.get('location') } }
    if (answer.headers.get('content-type')?.startsWith('application/x-ndjson')) {
      return {
        answer: text
          .trimEnd()
          .split('\n')
          .map((line): unknown => JSON.parse(line)),
      }
    }
    return { answer: text === '' ? undefined : JSON.parse(text) }
  }
}

/** A value in an address. A lone surrogate is sent as the three bytes that encode it outside UTF-8. */
function percentEncoded(value: unknown): string {
  const [first = '', ...others] = String(value).split('\ud800')
  return [first, ...others].map(encodeURIComponent).join('%ED%A0%80')
}

const Trpc = z.union([
  z.object({ result: z.object({ data: z.unknown() }) }),
  z.object({ error: z.object({ data: z.object({ errorCode: z.string() }) }) }),
])

const MAX_IN_ADDRESS = 8_000

/** Calls an operation through a tRPC procedure. Throws when the path has none. */
export function trpcCall({ url }: TestMarket, path: string): DoorCall {
  const procedure = PROCEDURES[path]
  if (procedure === undefined) throw new Error(`tRPC has no ${path}`)
  return async (input, headers) => {
    const body = JSON.stringify(input)
    // A long query does not fit into an address.
    const answer =
      procedure._def.type === 'query' && body.length < MAX_IN_ADDRESS
        ? await fetch(`${url}/trpc/${path}?input=${encodeURIComponent(body)}`, { headers })
        : await fetch(`${url}/trpc/${path}`, {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body,
          })
    const said = Trpc.parse(await answer.json())
    return 'error' in said ? { code: said.error.data.errorCode } : { answer: toSnakeBody(said.result.data) }
  }
}

const Graph = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z.array(z.object({ extensions: z.object({ code: z.string() }) })).optional(),
})

/** Number of items on a page of a connection when the input names none. No list of these tests is longer. */
const PAGE = 20

/**
 * Calls an operation through a root field of GraphQL, with every member of its type selected. Throws when there is no
 * such field.
 */
export function graphCall({ url }: TestMarket, name: string): DoorCall {
  const [kind, root] = name in queries() ? (['query', queries()] as const) : (['mutation', mutations()] as const)
  const field = root[name]
  if (field === undefined) throw new Error(`GraphQL has no ${name}`)
  const isConnection = getNamedType(field.type).name.endsWith('Connection')
  return async (input, headers) => {
    const given = field.args.flatMap((arg) => {
      const value = argumentOf(arg, input, isConnection)
      return value === undefined ? [] : [{ name: arg.name, type: arg.type.toString(), value }]
    })
    const declared = given.length === 0 ? '' : `(${given.map((arg) => `$${arg.name}: ${arg.type}`).join(', ')})`
    const passed = given.length === 0 ? '' : `(${given.map((arg) => `${arg.name}: $${arg.name}`).join(', ')})`
    const query = `${kind} ${declared} { ${name}${passed} ${selectionOf(field.type)} }`
    const variables = Object.fromEntries(given.map((arg) => [arg.name, arg.value]))
    const answer = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    })
    const said = Graph.parse(await answer.json())
    const code = said.errors?.[0]?.extensions.code
    return code === undefined ? { answer: withoutEdges(toSnakeBody(said.data?.[name])) } : { code }
  }
}

export const queries = () => SCHEMA.getQueryType()?.getFields() ?? {}
export const mutations = () => SCHEMA.getMutationType()?.getFields() ?? {}

type Argument = { readonly name: string; readonly type: GraphQLInputType }

/**
 * The value of an argument: the input with its name, the page, or those fields of the input object that the input has.
 */
function argumentOf({ name, type }: Argument, input: Input, isConnection: boolean): unknown {
  if (isConnection && name === 'first') return input['maxItems'] ?? input['limit'] ?? PAGE
  if (name in input) return input[name]
  const named = getNullableType(type)
  // A list belongs to a record. The argument is named after the kind of the record, and the input calls it `id`.
  if (!isInputObjectType(named)) return isNonNullType(type) ? input['id'] : undefined
  return Object.fromEntries(Object.entries(input).filter(([field]) => field in named.getFields()))
}

function selectionOf(type: GraphQLOutputType, within: readonly string[] = []): string {
  const named = getNamedType(type)
  if (!isObjectType(named)) return ''
  const parts = Object.values(named.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type)
    const isSame = isObjectType(inner) && (within.includes(inner.name) || field.args.length > 0)
    const takesPage = isListType(getNullableType(field.type)) && field.args.length > 0
    if (isSame || takesPage) return []
    return [`${field.name} ${selectionOf(field.type, [...within, named.name])}`]
  })
  return `{ ${parts.join(' ')} }`
}

const Connection = z.object({ edges: z.array(z.object({ node: z.unknown() })) })

/** Replaces each connection by the list of its nodes. */
function withoutEdges(value: unknown): unknown {
  const page = Connection.safeParse(value)
  return page.success ? page.data.edges.map(({ node }) => node) : value
}

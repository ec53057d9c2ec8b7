import { z } from 'zod'
import type { RestEnvelope } from '#control-plane/api/errors.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { Access, Operation } from '#control-plane/operation/operation.ts'
import type { ExportFile } from '#control-plane/ports/exports/exporter.ts'
import type { LimitState } from '#control-plane/ports/limits/limiter.ts'
import { AppError } from '#shared/errors.ts'
import { toCamelFields, toSnakeBody } from '#shared/field-names.ts'
import { isRecord } from '#shared/json-members.ts'
import { readDigits } from '#shared/texts.ts'

/** An authenticated REST request. */
export type RestRequest = {
  readonly actor: Actor
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly idempotencyKey: string | undefined
  /** The secret of the cookie that identifies a browser, for a row that needs one. */
  readonly browser: string | undefined
  /** The network address of the caller, as limits count it. */
  readonly peer: string
  onLimit(state: LimitState): void
}

/** The form of an answer: one JSON body, lines (NDJSON), a redirect, or a file. */
export type RestAnswer =
  | {
      readonly kind: 'json'
      readonly body: unknown
      /** The session cookie's new value. Null takes the cookie away. */
      readonly sessionToken?: string | null
    }
  | { readonly kind: 'lines'; readonly lines: AsyncIterable<unknown> }
  | { readonly kind: 'redirect'; readonly location: string }
  | ({ readonly kind: 'file' } & ExportFile)

/** A row of the REST surface. */
export type RestRow = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** The operation's name. */
  readonly operation: string
  readonly access: Access
  /** The operation's input in camelCase: the path's variables, with the query of a GET or the body of other methods. */
  readonly input: z.ZodType
  /** The body of a successful answer, or a line of it, in camelCase. Absent for an answer that is not JSON. */
  readonly output?: z.ZodType | undefined
  /** Whether an Idempotency-Key is required, accepted, or ignored. */
  readonly idempotency: 'none' | 'required' | 'accepted'
  readonly envelope: RestEnvelope
  /** The words of the reference. */
  readonly words: Words
  /** The chapter of the reference. */
  readonly tag: string
  /** Statuses of refusals that other rows of the same kind do not have. */
  readonly refusals: readonly number[]
  /** The form of a successful answer that is not one JSON body. */
  readonly as: 'lines' | 'redirect' | 'file' | undefined
  /** The status of a successful answer. 204 has no body. */
  readonly status: number
  /** True when the input has the secret of the browser's cookie, which no body can set. */
  readonly isOfBrowser: boolean
  /** True when the answer decides who is signed in. */
  readonly isSignIn: boolean
  /** True when callers from other machines get a 404. */
  readonly isLocal: boolean
  /** True for a public row. An invalid cookie is then ignored. */
  readonly isPublic: boolean
  readonly serve: (ctx: Ctx, request: RestRequest) => Promise<RestAnswer>
}

/** The words that describe an operation. The example is in camelCase. */
type Words = { readonly summary: string; readonly about?: string | undefined; readonly example?: object | undefined }

type Spec<A extends Access, Input extends z.ZodType, Output> = {
  readonly method: RestRow['method']
  readonly path: string
  readonly envelope: RestEnvelope
  readonly status?: number
  readonly operation: Operation<A, Input, Output>
  readonly tag: string
  readonly refusals?: readonly number[]
  readonly as?: 'redirect' | 'file'
  /** The words of a second row of an operation. */
  readonly words?: Partial<Words>
  /** The full input for the reference, when the operation itself parses a part of it later. */
  readonly input?: z.ZodType
  /** Query fields that are numbers. */
  readonly numbers?: readonly string[]
  /** The body field that is a list of objects with snake_case fields of their own. */
  readonly list?: string
  /** The body of a successful answer that differs from the output. */
  readonly body?: Written<Output>
  /** The lines of a successful answer that is a stream. */
  readonly lines?: WrittenLines<Output>
  /** The session cookie's new value. Null takes the cookie away. */
  readonly session?: (output: Output) => string | null
  /** True serves callers of this machine alone. */
  readonly isLocal?: true
  /** Makes the answer of an output that is a file or a link to one. */
  readonly answer?: (output: Output) => RestAnswer
}

/** A form of an output that only this door has, with its writer. Names are in camelCase. */
export type Written<Output> = { readonly schema: z.ZodType; readonly write: (output: Output) => unknown }
type WrittenLines<Output> = { readonly schema: z.ZodType; readonly read: (output: Output) => AsyncIterable<unknown> }

/** Pairs a schema with the function that writes its form. The compiler checks one against the other. */
export function writtenAs<Output, Body>(schema: z.ZodType<Body>, write: (output: Output) => Body): Written<Output> {
  return { schema, write }
}

/** Pairs the schema of a line with the function that finds the lines in an output. */
export function linesAs<Output, Line>(
  schema: z.ZodType<Line>,
  read: (output: Output) => AsyncIterable<Line>,
): WrittenLines<Output> {
  return { schema, read }
}

/**
 * A row that calls one operation. Its input is the query of a GET or the body of other methods, with the path's
 * variables.
 */
export function restRow<A extends Access, Input extends z.ZodType, Output>(spec: Spec<A, Input, Output>): RestRow {
  const { method, path, envelope, operation, status = 200 } = spec
  const { summary, about, example } = operation
  const isJson = spec.answer === undefined && status !== 204
  const body = bodyOf(operation.input)
  const flags = method === 'GET' ? flagsOf(operation.input) : NO_FLAGS
  return {
    method,
    path,
    operation: operation.name,
    access: operation.access,
    input: spec.input ?? body.input,
    output: isJson ? ((spec.lines ?? spec.body)?.schema ?? operation.output) : undefined,
    idempotency: operation.idempotency,
    envelope,
    words: { summary, about, example, ...spec.words },
    tag: spec.tag,
    refusals: spec.refusals ?? [],
    as: spec.lines === undefined ? spec.as : 'lines',
    status,
    isOfBrowser: body.isOfBrowser,
    isSignIn: spec.session !== undefined || body.isOfBrowser,
    isLocal: spec.isLocal === true,
    isPublic: operation.access === 'public',
    serve: async (ctx, request) => {
      const given = method === 'GET' ? readNumbers(request.query, spec.numbers ?? []) : (request.body ?? {})
      const fields = readFlags(toCamelFields(given), flags)
      const bound = body.isOfBrowser ? boundTo(request, fields) : {}
      const input = isRecord(fields)
        ? { ...fields, ...readList(fields, spec.list), ...request.params, ...bound }
        : fields
      const { idempotencyKey, peer, onLimit } = request
      const output = await invoke(ctx, request.actor, operation, input, { idempotencyKey, peer, onLimit })
      return answerOf(spec, output)
    },
  }
}

/** The input without the member `browser`, which the door fills with the secret of the browser's cookie. */
function bodyOf(input: z.ZodType): { readonly input: z.ZodType; readonly isOfBrowser: boolean } {
  const isOfBrowser = input instanceof z.ZodObject && 'browser' in input.shape
  return { input: isOfBrowser ? input.omit({ browser: true }) : input, isOfBrowser }
}

function answerOf<A extends Access, Input extends z.ZodType, Output>(
  { body, lines, session, answer }: Spec<A, Input, Output>,
  output: Output,
): RestAnswer {
  if (answer !== undefined) return answer(output)
  if (lines !== undefined) return { kind: 'lines', lines: lines.read(output) }
  const written = toSnakeBody(body === undefined ? output : body.write(output))
  return { kind: 'json', body: written, ...(session === undefined ? {} : { sessionToken: session(output) }) }
}

/** The member that the door adds. Throws `invalid_request` for a body that has it. */
function boundTo({ browser }: RestRequest, fields: unknown): { readonly browser: string | undefined } {
  if (!isRecord(fields) || !('browser' in fields)) return { browser }
  throw new AppError('invalid_request', { message: 'browser is not a field of this request.', param: 'browser' })
}

function readList(fields: object, name: string | undefined): Record<string, unknown> {
  const items: unknown = name === undefined ? undefined : Object.entries(fields).find(([key]) => key === name)?.[1]
  return name !== undefined && Array.isArray(items) ? { [name]: items.map(toCamelFields) } : {}
}

const NO_FLAGS: ReadonlySet<string> = new Set()

/** The members of an input that are true or false. A query writes them as words. */
function flagsOf(input: z.ZodType): ReadonlySet<string> {
  if (!(input instanceof z.ZodObject)) return NO_FLAGS
  const members: readonly (readonly [string, unknown])[] = Object.entries(input.shape)
  return new Set(members.filter(([, member]) => isFlag(member)).map(([name]) => name))
}

function isFlag(member: unknown): boolean {
  if (member instanceof z.ZodDefault || member instanceof z.ZodOptional) return isFlag(member.unwrap())
  return member instanceof z.ZodBoolean
}

/** The words true and false as booleans. The operation refuses any other text. */
function readFlags(fields: unknown, flags: ReadonlySet<string>): unknown {
  if (flags.size === 0 || !isRecord(fields)) return fields
  const read = (name: string, value: unknown) =>
    flags.has(name) && (value === 'true' || value === 'false') ? value === 'true' : value
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, read(name, value)]))
}

function readNumbers(query: RestRequest['query'], numbers: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, numbers.includes(name) ? readDigits(value) : value]),
  )
}

import type { InputFieldMap } from '@pothos/core'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { Access, Operation } from '#control-plane/operation/operation.ts'
import type { GraphQLContext } from './builder.ts'
import { builder } from './builder.ts'
import type { ArgumentGroup, InputChoice } from './inputs.ts'
import { argsOf } from './inputs.ts'
import type { ConnectionArgs, ConnectionPage } from './page.ts'
import { costOfPage, readPage, toEdges } from './page.ts'

type FieldChoice<Name extends string> = InputChoice<Name> & {
  /** Arguments that hold several members of the input. */
  readonly groups?: Readonly<Record<string, ArgumentGroup>>
}
type ChoiceFor<Input extends z.ZodType> = FieldChoice<keyof z.input<Input> & string>
/** Makes the answer from the output, such as a list from the object that holds it. */
type Write<Output, Answer> = (output: Output) => Answer | Promise<Answer>

type Field<Answer, Args = object> = {
  readonly description: string
  readonly args: InputFieldMap
  readonly resolve: (root: unknown, args: Args, context: GraphQLContext) => Promise<Answer>
}

/** Makes the arguments and the resolver of a field that runs an operation. */
export function fieldOf<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
  choice?: ChoiceFor<Input>,
): Field<Output>
export function fieldOf<A extends Access, Input extends z.ZodType, Output, Answer>(
  operation: Operation<A, Input, Output>,
  choice: ChoiceFor<Input>,
  write: Write<Output, Answer>,
): Field<Answer>
export function fieldOf<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
  choice: ChoiceFor<Input> = {},
  write: Write<Output, unknown> = (output) => output,
): Field<unknown> {
  const { args, read } = readerOf(operation.input, choice)
  const keyArg = builder.args((t) => ({ idempotencyKey: t.string() }))
  return {
    description: describe(operation),
    args: operation.idempotency === 'none' ? args : { ...args, ...keyArg },
    resolve: async (_root, givenArgs, { ctx, actor, options }) => {
      const key: unknown = Reflect.get(givenArgs, 'idempotencyKey')
      // The argument's key has precedence over the header's.
      const once = typeof key === 'string' ? { ...options, idempotencyKey: key } : options
      return write(await invoke(ctx, actor, operation, read(givenArgs), once))
    },
  }
}

type Connection<Item, Node> = Field<ReturnType<typeof toEdges<Item, Node>> | null, ConnectionArgs> & {
  readonly complexity: typeof costOfPage
}

/**
 * Makes the arguments, the cost and the resolver of a connection, null for a null page. `show` makes the nodes of the
 * items.
 */
export function pageOf<A extends Access, Input extends z.ZodType, Item>(
  operation: Operation<A, Input, ConnectionPage<Item>>,
  choice?: ChoiceFor<Input>,
): Connection<Item, Item>
export function pageOf<A extends Access, Input extends z.ZodType, Output, Item>(
  operation: Operation<A, Input, Output>,
  choice: ChoiceFor<Input>,
  write: Write<Output, ConnectionPage<Item> | null>,
): Connection<Item, Item>
export function pageOf<A extends Access, Input extends z.ZodType, Output, Item, Node>(
  operation: Operation<A, Input, Output>,
  choice: ChoiceFor<Input>,
  write: Write<Output, ConnectionPage<Item>>,
  show: (item: Item) => Node,
): Connection<Item, Node>
export function pageOf<A extends Access, Input extends z.ZodType, Item>(
  operation: Operation<A, Input, ConnectionPage<Item>>,
  choice: ChoiceFor<Input> = {},
  ...[write = (page) => page, show = (item) => item]: [
    Write<ConnectionPage<Item>, ConnectionPage<Item> | null>?,
    ((item: Item) => unknown)?,
  ]
): Connection<Item, unknown> {
  const { shape } = objectSchema(operation.input)
  const [size, token] = ['maxItems' in shape ? 'maxItems' : 'limit', 'nextToken' in shape ? 'nextToken' : 'cursor']
  const { args, read } = readerOf(operation.input, { ...choice, without: [...(choice.without ?? []), size, token] })
  return {
    description: describe(operation),
    args,
    complexity: costOfPage,
    resolve: async (_root, givenArgs, { ctx, actor, options }) => {
      const { maxItems, nextToken } = readPage(givenArgs)
      const input = { ...read(givenArgs), [size]: maxItems, [token]: nextToken }
      const page = await write(await invoke(ctx, actor, operation, input, options))
      return page === null ? null : toEdges(page, givenArgs, show)
    },
  }
}

function describe({ summary, about }: { readonly summary: string; readonly about?: string }): string {
  return about === undefined ? `${summary}.` : `${summary}. ${about}`
}

/** Members with the length of a list that is never split into pages. */
const WHOLE = ['limit', 'maxItems'] as const

type Reader = { readonly args: InputFieldMap; readonly read: (args: object) => object }

/**
 * Makes the arguments of an input, and the function that turns arguments into the input. The operation decides about
 * nulls. A member that must be a value or null becomes null when absent, because GraphQL has no argument that must be
 * given as null.
 */
function readerOf(input: z.ZodType, { groups = {}, ...choice }: FieldChoice<string>): Reader {
  const { shape } = objectSchema(input)
  const nulls = Object.keys(shape).flatMap((name) => (shape[name] instanceof z.ZodNullable ? [[name, null]] : []))
  const grouped = Object.values(groups).flatMap(({ members }) => [...members])
  const own = argsOf(objectSchema(input), {
    ...choice,
    ints: [...WHOLE, ...(choice.ints ?? [])],
    without: [...(choice.without ?? []), ...grouped],
  })
  const holders = builder.args((t) =>
    Object.fromEntries(
      Object.entries(groups).map(([name, { type, isOptional }]) => [name, t.field({ type, required: !isOptional })]),
    ),
  )
  const membersAt = ([name, value]: [string, unknown]): [string, unknown][] => {
    if (name in holders) return Object.entries(value ?? {})
    return name in own ? [[name, value]] : []
  }
  return {
    args: { ...own, ...holders },
    read: (args) => Object.fromEntries([...nulls, ...Object.entries(args).flatMap(membersAt)]),
  }
}

function objectSchema(schema: z.ZodType): z.ZodObject {
  if (schema instanceof z.ZodObject) return schema
  throw new TypeError('The input of an operation with a GraphQL field must be an object.')
}

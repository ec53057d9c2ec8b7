import type { InputFieldMap, InputRef } from '@pothos/core'
import type { z } from 'zod'
import { builder } from './builder.ts'
import type { Leaf, MemberChoice } from './members.ts'
import { membersOf } from './members.ts'

export type InputChoice<Name extends string = string> = MemberChoice<Name> & {
  /** Members that are an enum or an input object, or a list of these. */
  readonly types?: { readonly [Member in Name]?: InputRef }
  /** Members that the caller must give because the operation takes another member in their place. */
  readonly required?: readonly Name[]
  /** Values that the GraphQL schema shows for absent members. */
  readonly defaults?: { readonly [Member in Name]?: unknown }
}

/** An argument that holds several members of an operation's input. */
export type ArgumentGroup = {
  readonly type: InputRef
  readonly isOptional: boolean
  readonly members: readonly string[]
}

type Shown = {
  readonly description?: string
  /** True when the argument may be absent. */
  readonly isOptional?: boolean
}

/** Makes an input object from the members of an input. The `id` of the changed record is a separate argument. */
export function inputOf<Input extends object>(
  name: string,
  schema: z.ZodObject & z.ZodType<unknown, Input>,
  { description, isOptional = false, without = [], ...choice }: InputChoice<keyof Input & string> & Shown = {},
): ArgumentGroup {
  const own: readonly InputField[] = inputFields(schema, { ...choice, without: [...without, 'id'] })
  const type = builder.inputType(name, {
    ...(description === undefined ? {} : { description }),
    fields: (t) => Object.fromEntries(own.map(([member, options]) => [member, t.field(options)])),
  })
  return { type, isOptional, members: Object.keys(schema.shape).filter((member) => member !== 'id') }
}

/** Makes the arguments of a field from the members of an input. */
export function argsOf(schema: z.ZodObject, choice: InputChoice): InputFieldMap {
  const own = inputFields(schema, choice)
  return builder.args((t) => Object.fromEntries(own.map(([member, options]) => [member, t.field(options)])))
}

type InputType = Leaf | InputRef
type InputField = readonly [
  name: string,
  options: {
    readonly type: InputType | [InputType]
    readonly required: boolean
    readonly defaultValue?: unknown
  },
]

function inputFields(schema: z.ZodObject, choice: InputChoice): readonly InputField[] {
  const typeOf = new Map<string, InputRef | undefined>(Object.entries(choice.types ?? {}))
  const defaults = new Map<string, unknown>(Object.entries(choice.defaults ?? {}))
  return membersOf(schema, choice).flatMap((member): readonly InputField[] => {
    const { name, leaf, isList, isOptional } = member
    const type = typeOf.get(name) ?? leaf
    if (type === undefined) return []
    const hasDefault = defaults.has(name)
    const required = !isOptional || hasDefault || choice.required?.includes(name) === true
    const defaultValue = hasDefault ? { defaultValue: defaults.get(name) } : {}
    return [[name, { type: isList ? [type] : type, required, ...defaultValue }]]
  })
}

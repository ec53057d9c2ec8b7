import type { OutputRef } from '@pothos/core'
import { z } from 'zod'
import { toCamelName } from '#shared/field-names.ts'
import { builder } from './builder.ts'
import type { Leaf, MemberChoice, SchemaMember } from './members.ts'
import { membersOf } from './members.ts'

type FieldsOf<Parent extends object> = PothosSchemaTypes.ObjectFieldBuilder<
  (typeof builder)['$inferSchemaTypes'],
  Parent
>
type Field<Parent extends object> = ReturnType<FieldsOf<Parent>['field']>
type NameOf<Parent> = keyof Parent & string

/** The type of a member. A text names an enum, or an object type without choices, which the member's schema makes. */
type TypeFor<Value> = string | OutputRef<Value extends readonly (infer Item)[] ? Item : Value>
/** The cost of a list: the cost of the field, and the number of items that count. */
type Cost = { readonly field?: number; readonly multiplier?: number }

type FieldChoice<Parent extends object> = MemberChoice<NameOf<Parent>> & {
  /** Members that are an enum, an object, or a list of these. An object without a type is not shown. */
  readonly types?: { readonly [Name in NameOf<Parent>]?: TypeFor<NonNullable<Parent[Name]>> }
  readonly costs?: { readonly [Name in NameOf<Parent>]?: Cost }
  readonly descriptions?: { readonly [Name in NameOf<Parent>]?: string }
}

type ObjectChoice<Parent extends object> = FieldChoice<Parent> & {
  readonly description?: string
  /** The side that may read the type. Every caller may read a type without a side. */
  readonly authScopes?: { readonly buyer: true } | { readonly seller: true } | { readonly operator: true }
  /** Fields that the schema does not have. */
  readonly fields?: (t: FieldsOf<Parent>) => Record<string, Field<Parent>>
}

/** Makes an object type from an operation's output, or from a part of the output. */
export function objectOf<Parent extends object>(
  name: string,
  schema: z.ZodObject & z.ZodType<Parent>,
  { description, authScopes, fields, ...choice }: ObjectChoice<Parent> = {},
) {
  const own = fieldsOf(schema, choice)
  return builder.objectRef<Parent>(name).implement({
    ...(description === undefined ? {} : { description }),
    ...(authScopes === undefined ? {} : { authScopes }),
    fields: (t) => ({ ...own(t), ...fields?.(t) }),
  })
}

/** Returns a function that makes the fields of an object type from the members of a schema, with names in camelCase. */
export function fieldsOf<Parent extends object>(
  schema: z.ZodObject & z.ZodType<Parent>,
  { types = {}, costs = {}, descriptions = {}, ...choice }: FieldChoice<Parent> = {},
): (t: FieldsOf<Parent>) => Record<string, Field<Parent>> {
  const typeOf = new Map<string, string | OutputRef | undefined>(Object.entries(types))
  const costOf = new Map<string, Cost>(Object.entries(costs))
  const descriptionOf = new Map<string, string>(Object.entries(descriptions))
  const members = membersOf(schema, choice).flatMap((member) => {
    const type = typeFor(member, typeOf.get(member.name))
    return type === undefined ? [] : [{ ...member, type }]
  })
  return (t) =>
    Object.fromEntries(
      members.map(({ name, schema: { _zod }, type, isList, isNullable }) => {
        const isLarge = _zod.def.type === 'bigint'
        const [complexity, description] = [costOf.get(name), descriptionOf.get(name)]
        const options = {
          nullable: isNullable,
          // The schema describes the value under the name, so no parser is needed.
          resolve: (parent: object) => (isLarge ? digitsOf(Reflect.get(parent, name)) : Reflect.get(parent, name)),
          ...(complexity === undefined ? {} : { complexity }),
          ...(description === undefined ? {} : { description }),
        }
        return [toCamelName(name), isList ? t.field({ ...options, type: [type] }) : t.field({ ...options, type })]
      }),
    )
}

function typeFor({ schema, leaf }: SchemaMember, chosen: string | OutputRef | undefined): Leaf | OutputRef | undefined {
  if (typeof chosen !== 'string') return chosen ?? leaf
  if (schema instanceof z.ZodEnum) return builder.enumType(chosen, { values: schema.options.map(String) })
  if (schema instanceof z.ZodObject) return objectOf(chosen, schema)
  throw new TypeError(`${chosen} is the type of neither an enum nor an object.`)
}

/** A bigint as plain digits. */
function digitsOf(value: unknown): string | null {
  return value == null ? null : String(value)
}

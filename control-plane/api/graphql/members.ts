import { z } from 'zod'
import type { builder } from './builder.ts'

type FieldsOf<Parent extends object> = PothosSchemaTypes.ObjectFieldBuilder<
  (typeof builder)['$inferSchemaTypes'],
  Parent
>
type Field<Parent extends object> = ReturnType<FieldsOf<Parent>['field']>
type Leaf = 'ID' | 'String' | 'Int' | 'Float' | 'Boolean'

/** Says how GraphQL shows those members of an output whose schemas do not decide it. */
type Choice<Name> = {
  /** Texts that name a record. `id` and names that end with `Id` need not be listed. */
  readonly ids?: readonly Name[]
  /** Whole numbers below 2^31. Every other number is a Float. */
  readonly ints?: readonly Name[]
  /** Members that GraphQL does not show, or that the type declares itself. */
  readonly without?: readonly Name[]
}

/**
 * Makes the fields of an object type from the texts, numbers, flags and lists of texts of an operation's output. The
 * type declares members of other kinds itself.
 */
export function membersOf<Parent extends object>(
  t: FieldsOf<Parent>,
  schema: z.ZodObject & z.ZodType<Parent>,
  { ids = [], ints = [], without = [] }: Choice<keyof Parent & string> = {},
): Record<string, Field<Parent>> {
  const [named, whole, left] = [new Set<string>(ids), new Set<string>(ints), new Set<string>(without)]
  const fields = Object.entries(schema.shape).flatMap(([name, member]): [string, Field<Parent>][] => {
    const { inner, nullable } = unwrap(member)
    const isList = inner instanceof z.ZodArray
    const kind = kindOf(isList ? unwrap(inner.element).inner : inner)
    if (kind === undefined || left.has(name)) return []
    const type = leafOf(kind, { isId: named.has(name) || /(?:^i|I)d$/.test(name), isWhole: whole.has(name) })
    // The schema describes the value under the name, so it needs no other reading.
    const resolve = (parent: object) => Reflect.get(parent, name)
    return [[name, isList ? t.field({ type: [type], nullable, resolve }) : t.field({ type, nullable, resolve })]]
  })
  return Object.fromEntries(fields)
}

type Kind = 'text' | 'number' | 'flag'

function leafOf(kind: Kind, { isId, isWhole }: { readonly isId: boolean; readonly isWhole: boolean }): Leaf {
  if (kind === 'text') return isId ? 'ID' : 'String'
  if (kind === 'number') return isWhole ? 'Int' : 'Float'
  return 'Boolean'
}

function unwrap(schema: z.core.$ZodType): { readonly inner: z.core.$ZodType; readonly nullable: boolean } {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return { inner: unwrap(schema.unwrap()).inner, nullable: true }
  }
  return schema instanceof z.ZodReadonly ? unwrap(schema.unwrap()) : { inner: schema, nullable: false }
}

function kindOf(schema: z.core.$ZodType): Kind | undefined {
  switch (schema._zod.def.type) {
    case 'string':
    case 'enum':
    case 'template_literal':
      return 'text'
    case 'number':
      return 'number'
    case 'boolean':
      return 'flag'
    default:
      return undefined
  }
}

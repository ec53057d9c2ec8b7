import { z } from 'zod'

export type Leaf = 'ID' | 'String' | 'Int' | 'Float' | 'Boolean'

/** The GraphQL types of those members whose schema does not decide them. */
export type MemberChoice<Name extends string = string> = {
  /** Texts that name a record. `id` and names that end with `Id` need not be listed. */
  readonly ids?: readonly Name[]
  /** Whole numbers below 2^31. Every other number is a Float. */
  readonly ints?: readonly Name[]
  /** Members that are a String although their schema or name says otherwise. */
  readonly texts?: readonly Name[]
  /** Members that GraphQL omits, or that the type declares itself. */
  readonly without?: readonly Name[]
}

/** A member of an operation's input or output. */
export type SchemaMember = {
  readonly name: string
  /** The schema of the value, or of an item of the list. */
  readonly schema: z.core.$ZodType
  readonly isList: boolean
  /** True for a member of an output that may be null or missing. */
  readonly isNullable: boolean
  /** True for a member that an input may omit. */
  readonly isOptional: boolean
  /** Undefined for an object, and for a value without a GraphQL scalar. */
  readonly leaf: Leaf | undefined
}

/** The members of an object schema in their order. */
export function membersOf(schema: z.ZodObject, choice: MemberChoice = {}): readonly SchemaMember[] {
  const excluded = new Set(choice.without)
  return Object.entries(schema.shape).flatMap(([name, member]) => {
    if (excluded.has(name)) return []
    const found = lookInside(member)
    return [{ ...found, name, leaf: leafOf(name, found.schema, choice) }]
  })
}

type MemberShape = Omit<SchemaMember, 'name' | 'leaf'>

function lookInside(schema: z.core.$ZodType): MemberShape {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return { ...lookInside(schema.unwrap()), isNullable: true, isOptional: true }
  }
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return { ...lookInside(schema.unwrap()), isOptional: true }
  }
  if (schema instanceof z.ZodReadonly) return lookInside(schema.unwrap())
  if (schema instanceof z.ZodPipe) return lookInside(schema.in instanceof z.ZodTransform ? schema.out : schema.in)
  if (schema instanceof z.ZodArray) return { ...lookInside(schema.element), isList: true }
  // A number that may be sent as a text is a number here.
  const [first] = schema instanceof z.ZodUnion ? schema.options : []
  return first === undefined ? { schema, isList: false, isNullable: false, isOptional: false } : lookInside(first)
}

function leafOf(name: string, schema: z.core.$ZodType, choice: MemberChoice): Leaf | undefined {
  const isIn = (names: readonly string[] | undefined) => names?.includes(name) === true
  if (isIn(choice.texts)) return 'String'
  switch (kindOf(schema)) {
    case 'string':
      return isIn(choice.ids) || /(?:^i|I|_i)d$/.test(name) ? 'ID' : 'String'
    case 'bigint':
      return 'String'
    case 'number':
      return isIn(choice.ints) ? 'Int' : 'Float'
    case 'boolean':
      return 'Boolean'
    default:
      return undefined
  }
}

/** The kind of a value in the words of `typeof`. */
function kindOf(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodLiteral) return typeof schema.value
  if (schema instanceof z.ZodEnum || schema instanceof z.ZodTemplateLiteral) return 'string'
  return schema._zod.def.type
}

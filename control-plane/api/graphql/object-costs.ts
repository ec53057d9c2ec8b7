import type { GraphQLField, GraphQLSchema } from 'graphql'
import { getNamedType, getNullableType, isLeafType, isListType, isObjectType } from 'graphql'
import { z } from 'zod'

/** Makes numbers and texts free. A query costs the objects that it may return, whatever it selects of them. */
export function chargeObjectsOnly(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue
    for (const field of Object.values(type.getFields())) {
      const complexity = costOf(field)
      if (complexity !== undefined) field.extensions = { ...field.extensions, complexity }
    }
  }
  return schema
}

const Cost = z.object({ field: z.number().default(1), multiplier: z.number().default(0) })
type Cost = z.output<typeof Cost>
const isCount = (cost: unknown): cost is (...asked: unknown[]) => unknown => typeof cost === 'function'

function costOf(field: GraphQLField<unknown, unknown>): number | Cost | ((...asked: unknown[]) => Cost) | undefined {
  if (isLeafType(getNamedType(field.type))) return 0
  // The items of a connection are counted as its edges. The items of a plain list are counted here.
  if (!isListType(getNullableType(field.type))) return undefined
  const cost = field.extensions['complexity']
  if (isCount(cost)) return (...asked) => withItems(Cost.parse(cost(...asked)))
  const found = Cost.safeParse(cost)
  return found.success ? withItems(found.data) : undefined
}

function withItems({ field, multiplier }: Cost): Cost {
  return { field: field + multiplier, multiplier }
}

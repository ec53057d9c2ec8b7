import type { GraphQLSchema } from 'graphql'
import { getNamedType, isLeafType, isObjectType } from 'graphql'

/** Makes fields of numbers and texts free: what a query costs are the objects that may come, whatever of them is asked for. */
export function chargeObjectsOnly(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue
    for (const field of Object.values(type.getFields())) {
      if (!isLeafType(getNamedType(field.type))) continue
      field.extensions = { ...field.extensions, complexity: 0 }
    }
  }
  return schema
}

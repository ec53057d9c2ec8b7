import type { GraphQLSchema } from 'graphql'
import { getNullableType } from 'graphql'

/**
 * Makes the fields of the query type nullable. A screen is one query: a part that fails is null with its error beside
 * it, and the other parts stay.
 */
export function makeRootsNullable(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getQueryType()?.getFields() ?? {})) field.type = getNullableType(field.type)
  return schema
}

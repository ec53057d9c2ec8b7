import type { GraphQLSchema } from 'graphql'
import { getNullableType } from 'graphql'

/**
 * Makes the fields of the query type nullable: a screen is one query, and what fails of it is null with its error beside
 * it, while the rest stands.
 */
export function letPartsFail(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getQueryType()?.getFields() ?? {})) field.type = getNullableType(field.type)
  return schema
}

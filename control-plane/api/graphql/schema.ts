import { builder } from './builder.ts'
import './keys.ts'
import './offers.ts'
import './own-providers.ts'
import './sign-in.ts'
import './viewer.ts'

builder.queryType({})
builder.mutationType({})

/** The GraphQL schema: each part adds its own fields. */
export const schema = builder.toSchema()

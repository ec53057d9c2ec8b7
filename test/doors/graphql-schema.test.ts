import { lexicographicSortSchema, printSchema } from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '#control-plane/api/graphql/schema.ts'

it('the committed schema is the served one (run with -u to write it)', async () => {
  const text = `${printSchema(lexicographicSortSchema(schema))}\n`
  await expect(text).toMatchFileSnapshot('../../control-plane/api/graphql/schema.graphql')
})

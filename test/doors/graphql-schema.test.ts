import { lexicographicSortSchema, printSchema } from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '#control-plane/api/graphql/schema.ts'

it('the committed schema is the one that is served (run with -u to write it)', async () => {
  const text = `${printSchema(lexicographicSortSchema(schema))}\n`
  await expect(text).toMatchFileSnapshot('../../control-plane/api/graphql/schema.graphql')
})

import { readFileSync } from 'node:fs'
import type { SelectionSetNode } from 'graphql'
import { buildSchema, Kind, print, TypeInfo, validate, visit, visitWithTypeInfo } from 'graphql'
import { expect, it } from 'vitest'
import { readPageQueries } from '#bundle/page-queries.mjs'

const SCHEMA = new URL('../../control-plane/api/graphql/schema.graphql', import.meta.url)
/** The most lines that two selections of one type may have in common. A fragment holds more. */
const MOST_SHARED_LINES = 8

const schema = buildSchema(readFileSync(SCHEMA, 'utf8'))
const queries = await readPageQueries()

type Selection = { readonly type: string; readonly place: string; readonly lines: ReadonlyMap<string, number> }

/** Every selection of the page below the roots. A fragment counts once. */
function selections(): readonly Selection[] {
  const seen = new Map<SelectionSetNode, Selection>()
  for (const [file, document] of queries) {
    const types = new TypeInfo(schema)
    const enter = (node: SelectionSetNode) => {
      const { name: type } = types.getParentType() ?? { name: '' }
      if (type === 'Query' || type === 'Mutation') return
      const lines = node.selections.map((each) => [print(each), print(each).split('\n').length] as const)
      seen.set(node, { type, place: `${file}: ${print(node).slice(0, 80)}`, lines: new Map(lines) })
    }
    visit(document, visitWithTypeInfo(types, { [Kind.SELECTION_SET]: { enter } }))
  }
  return [...seen.values()]
}

it.each([...queries])('%s asks for what the schema has', (_file, document) => {
  expect(validate(schema, document)).toEqual([])
})

it('selections that two queries share are fragments', () => {
  const all = selections()
  const repeated = all.flatMap((one, at) =>
    all.slice(at + 1).flatMap((other) => {
      if (other.type !== one.type) return []
      const shared = [...one.lines].filter(([text]) => other.lines.has(text))
      const lines = shared.reduce((sum, [, count]) => sum + count, 0)
      return lines > MOST_SHARED_LINES ? [{ lines, one: one.place, other: other.place }] : []
    }),
  )
  expect(repeated).toEqual([])
})

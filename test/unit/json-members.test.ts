import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isRecord, MAX_JSON_DEPTH, readJsonObject, scanElements, scanMembers } from '#shared/json-members.ts'

/** The members as JSON.parse would return them, from the spans. */
function members(text: string): Record<string, unknown> {
  const found = scanMembers(text) ?? []
  return Object.fromEntries(found.map(({ key, start, end }) => [key, JSON.parse(text.slice(start, end))]))
}

describe('the scanner of JSON members', () => {
  it('finds each value of the top object, whatever its strings contain', () => {
    const text = ' { "a" : [1, {"b": 2}] , "c\\u0064": "x\\\\\\"},{" ,"e":{"a":[]},"f":-1.5e3 } '
    expect(members(text)).toEqual({ a: [1, { b: 2 }], cd: 'x\\"},{', e: { a: [] }, f: -1500 })
  })

  it('agrees with JSON.parse on any object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
          const parsed: unknown = JSON.parse(text)
          expect(members(text)).toEqual(parsed)
        }
      }),
    )
  })

  it('finds the members of every object in a list, and none for entries that are no objects', () => {
    const element = fc.oneof(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
      fc.array(fc.jsonValue({ maxDepth: 2 })),
      fc.constantFrom(1, 'a,b', null),
    )
    fc.assert(
      fc.property(fc.array(element, { minLength: 1 }), (list) => {
        for (const text of [JSON.stringify(list), JSON.stringify(list, null, 2)]) {
          const parsed: unknown[] = JSON.parse(text)
          const found = (scanElements(text) ?? []).map((each) =>
            Object.fromEntries(each.map(({ key, start, end }) => [key, JSON.parse(text.slice(start, end))])),
          )
          expect(found).toEqual(parsed.map((value) => (isRecord(value) ? value : {})))
        }
      }),
    )
    expect(scanElements(`[{"a":${'['.repeat(MAX_JSON_DEPTH)}`)).toBeUndefined()
  })

  it('returns both duplicates, so that the last can win', () => {
    const text = '{"a":1,"a":2}'
    expect(scanMembers(text)?.map(({ start, end }) => text.slice(start, end))).toEqual(['1', '2'])
  })

  it('refuses deep nesting without reading it', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect(scanMembers(`{"a":${nested(MAX_JSON_DEPTH - 1)}}`)).toBeDefined()
    expect(scanMembers(`{"a":${nested(MAX_JSON_DEPTH)}}`)).toBeUndefined()
    expect(scanMembers('['.repeat(100_000))).toBeUndefined()
    expect(scanMembers('{"a":"no end')).toBeUndefined()
  })

  it('reads objects only', () => {
    expect(readJsonObject('{"a":1}')).toEqual({ a: 1 })
    for (const text of ['[1]', '1', '{"a":}', 'null', '']) expect(readJsonObject(text)).toBeUndefined()
  })
})

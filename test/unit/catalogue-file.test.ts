import { describe, expect, it } from 'vitest'
import { MAX_FILE_CHARS, partsOfFile } from '#control-plane/dashboard/operator/catalogue/catalogue-file.ts'

const row = (id: string, more: object = {}) => ({ id, name: id, ...more })

describe('a catalogue on the page', () => {
  it.each([
    ['a list', [row('a'), row('b')]],
    ['data', { data: [row('a'), row('b')] }],
    ['models', { models: [row('a'), row('b')] }],
  ])('is read in the shape of %s', (_name, body) => {
    expect(partsOfFile(JSON.stringify(body))).toEqual([{ from: 0, models: [row('a'), row('b')] }])
  })

  it('keeps the fields that an import reads, with short descriptions, and rows that are no object', () => {
    const text = JSON.stringify([row('a', { per_request_limits: 1, description: 'x'.repeat(3_000) }), 'b'])
    expect(partsOfFile(text)).toEqual([{ from: 0, models: [row('a', { description: 'x'.repeat(2_000) }), 'b'] }])
  })

  it('is sent in parts that the market takes, which know their place in the list', () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => row(`model-${at}`, { aliases: ['y'.repeat(2_000)] }))
    const parts = partsOfFile(JSON.stringify(rows))
    expect(parts.length).toBeGreaterThan(2)
    expect(parts.flatMap(({ models }) => models)).toEqual(rows)
    expect(Math.max(...parts.map(({ models }) => JSON.stringify(models).length))).toBeLessThan(750_000)
    for (const { from, models } of parts) expect(models[0]).toMatchObject({ id: `model-${from}` })
  })

  it.each([
    ['{"data": [', /^This is not JSON: /],
    ['{"data": []}', /^There is no list of models/],
    ['{"rows": [1]}', /^There is no list of models/],
    ['3', /^There is no list of models/],
    [`"${'z'.repeat(MAX_FILE_CHARS)}"`, /longer than 8 MB/],
  ])('is refused in words', (text, words) => {
    expect(() => partsOfFile(text)).toThrow(words)
  })
})

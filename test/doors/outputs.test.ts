import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { OfferViewSchema } from '#control-plane/services/offers/view.ts'
import { linesOf } from '#control-plane/services/view-fields.ts'
import { holdToOutputs, outputFault, readOutputs } from '#test/support/facts/outputs.ts'

const QUIET = {
  operation: <Result>(_name: string, work: () => Promise<Result>) => work(),
  posting: async () => expect.fail('nothing is posted'),
  turn: async () => undefined,
  rebuilt: () => undefined,
  delivered: () => undefined,
  document: () => undefined,
}

/** Every test market checks every answer against these schemas and reports differences at its end. */
describe('the output of an operation', () => {
  it('is known for every operation of the services', async () => {
    const outputs = await readOutputs()
    expect(outputs.size).toBeGreaterThan(140)
    expect(outputs.get('offer.get')).toBe(OfferViewSchema)
  })

  it('refuses a member that the schema lacks, at any depth, and a missing one', () => {
    const schema = z.object({ items: z.array(z.object({ id: z.string() })).readonly() })
    expect(outputFault(schema, { items: [{ id: 'a' }] })).toBeUndefined()
    expect(outputFault(schema, { items: [{ id: 'a', more: 1 }] })).toContain('beyond its schema')
    expect(outputFault(schema, { items: [], more: 1 })).toContain('beyond its schema')
    expect(outputFault(schema, { items: [{}] })).toContain('items[0].id')
  })

  it('is checked for each line of a stream', async () => {
    const faults: string[] = []
    const outputs = new Map([['some.stream', linesOf(z.object({ id: z.string() }))]])
    const held = holdToOutputs(QUIET, outputs, faults)
    const lines = await held.operation('some.stream', async () => {
      return (async function* made() {
        yield { id: 'a' }
        yield { id: 'b', more: 1 }
      })()
    })
    const read: unknown[] = []
    for await (const line of lines) read.push(line)
    expect(read).toEqual([{ id: 'a' }, { id: 'b', more: 1 }])
    expect(faults).toEqual(['some.stream, a line: beyond its schema: {"id":"b","more":1}'])
  })
})

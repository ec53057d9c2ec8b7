import { describe, expect, it } from 'vitest'
import type { RowPage } from '#control-plane/services/exports/read-ahead.ts'
import { readAhead } from '#control-plane/services/exports/read-ahead.ts'

const ALL = Array.from({ length: 10 }, (_, at) => ({ rid: `R${at}` }))

function source(failsAfter = ALL.length) {
  const asked: RowPage[] = []
  const read = async (page: RowPage) => {
    asked.push(page)
    if (asked.length > failsAfter) throw new Error('away')
    const from = ALL.findIndex(({ rid }) => rid > page.after)
    return from === -1 ? [] : ALL.slice(from, from + page.limit)
  }
  return { asked, read }
}

async function sizesOf(batches: AsyncIterable<readonly unknown[]>): Promise<number[]> {
  const sizes: number[] = []
  for await (const batch of batches) sizes.push(batch.length)
  return sizes
}

describe('rows with a read-ahead', () => {
  it('arrive once each, in batches, up to the limit', async () => {
    expect(await sizesOf(readAhead(source().read, { batch: 4, limit: 100 }))).toEqual([4, 4, 2])
    expect(await sizesOf(readAhead(source().read, { batch: 5, limit: 100 }))).toEqual([5, 5])
    expect(await sizesOf(readAhead(source().read, { batch: 4, limit: 6 }))).toEqual([4, 2])
    expect(await sizesOf(readAhead(source().read, { batch: 4, limit: 4 }))).toEqual([4])
  })

  it('are fetched while the batch before is in use, and no further', async () => {
    const { asked, read } = source()
    for await (const batch of readAhead(read, { batch: 3, limit: 100 })) {
      if (batch[0]?.rid === 'R0') expect(asked.map(({ after }) => after)).toEqual(['', 'R2'])
    }
    expect(asked.map(({ after }) => after)).toEqual(['', 'R2', 'R5', 'R8'])
  })

  it('fail in the reader, and nowhere when the reader has stopped', async () => {
    await expect(sizesOf(readAhead(source(1).read, { batch: 3, limit: 100 }))).rejects.toThrow('away')
    for await (const batch of readAhead(source(1).read, { batch: 3, limit: 100 })) {
      expect(batch).toHaveLength(3)
      break
    }
  })
})

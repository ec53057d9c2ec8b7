import { describe, expect, it } from 'vitest'
import type { EventBatch } from '#control-plane/services/booking/ingest.ts'
import { createPostingLane } from '#control-plane/workers/posting-lane.ts'

/** A lane whose postings end when the test says so. */
function lane(maxEvents = 10) {
  const posted: { batch: EventBatch; end: (error?: Error) => void }[] = []
  const post = createPostingLane({
    maxEvents,
    maxAtOnce: 1,
    post: (batch) =>
      new Promise<void>((resolve, reject) => {
        posted.push({ batch, end: (error) => (error === undefined ? resolve() : reject(error)) })
      }),
  })
  const give = (source: string, ...events: string[]) => post({ events, source })
  return { posted, give }
}
const settled = async () => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve()
}

describe('the posting lane', () => {
  it('posts a lone event at once, and waiting events together', async () => {
    const { posted, give } = lane()
    const all = [give('n1', 'a'), give('n1', 'b', 'c'), give('n1', 'd')]
    expect(posted.map(({ batch }) => batch.events)).toEqual([['a']])
    posted[0]?.end()
    await all[0]
    await settled()
    expect(posted[1]?.batch).toEqual({ events: ['b', 'c', 'd'], source: 'n1' })
    posted[1]?.end()
    await Promise.all(all)
  })

  it('keeps sources apart, keeps the limit of a posting, and never starves a large batch', async () => {
    const { posted, give } = lane(3)
    const all = [
      give('n1', 'a'),
      give('n1', 'b', 'c'),
      give('n1', 'd', 'e'),
      give('n2', 'f'),
      give('n2', '1', '2', '3', '4'),
    ]
    for (let turn = 0; turn < all.length; turn++) {
      posted[turn]?.end()
      await settled()
    }
    await Promise.all(all)
    expect(posted.map(({ batch }) => batch.events.join(''))).toEqual(['a', 'bc', 'de', 'f', '1234'])
  })

  it('fails for all events of a posting, and continues', async () => {
    const { posted, give } = lane()
    const first = give('n1', 'a')
    const others = Promise.allSettled([give('n1', 'b'), give('n1', 'c')])
    posted[0]?.end()
    await first
    await settled()
    posted[1]?.end(new Error('away'))
    expect((await others).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = give('n1', 'd')
    posted[2]?.end()
    await next
  })
})

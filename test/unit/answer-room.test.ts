import { beforeEach, describe, expect, it } from 'vitest'
import type { AnswerRoom, ComingAnswer } from '#data-plane/pipeline/answer-room.ts'
import { createAnswerRoom } from '#data-plane/pipeline/answer-room.ts'

const SMALL = 262_144
const LIMIT = 1_000_000
/** The largest answer of a provider. */
const ONE_ANSWER = 67_108_864

type Coming = ComingAnswer & { readonly told: string[] }

function coming(): Coming {
  const told: string[] = []
  const flow = { pause: () => void told.push('pause'), resume: () => void told.push('resume') }
  return { heldBytes: 0, isShown: false, isWaiting: false, hasWaited: false, flow, told }
}

/** A reply whose buyer reads only when the test says so, or has disconnected. */
function reply(isGone = false) {
  const listeners: (() => void)[] = []
  return {
    isGone: () => isGone,
    onClosed: (listener: () => void) => void listeners.push(listener),
    close: () => listeners.forEach((listener) => void listener()),
  }
}

let room: AnswerRoom
beforeEach(() => {
  room = createAnswerRoom(LIMIT)
})
const bytes = () => room.figures().bytes

describe('the memory for provider answers', () => {
  it('counts nothing for a small answer, and a large answer until the buyer has read it', () => {
    const [answer, to] = [coming(), reply()]
    room.add(answer, SMALL, false)
    expect(bytes()).toBe(0)
    room.add(answer, 1, false)
    room.add(answer, 10, false)
    expect(bytes()).toBe(SMALL + 11)
    room.end(answer, to)
    expect(bytes()).toBe(SMALL + 11)
    to.close()
    expect(bytes()).toBe(0)
  })

  it("frees small answers, failed answers and answers of disconnected buyers when the provider's part ends", () => {
    for (const to of [undefined, reply(true)]) {
      const answer = coming()
      room.add(answer, LIMIT, false)
      room.end(answer, to)
      expect(bytes()).toBe(0)
    }
    const small = coming()
    room.add(small, SMALL, false)
    const to = reply()
    room.end(small, to)
    to.close()
    expect(bytes()).toBe(0)
  })

  it('counts the bytes of a stream that are not sent yet', () => {
    const stream = coming()
    room.add(stream, LIMIT, true)
    expect([bytes(), stream.told]).toEqual([LIMIT, []])
    room.add(stream, 100, false)
    expect(bytes()).toBe(0)
    for (let each = 0; each < 100; each++) room.add(stream, SMALL, true)
    expect([bytes(), stream.told]).toEqual([0, []])
  })

  it('while full, lets only the first answer continue, and then the others in turn', async () => {
    const [first, second, third] = [coming(), coming(), coming()]
    room.add(first, LIMIT, false)
    for (const late of [second, third]) room.add(late, SMALL + 1, false)
    expect([first.told, second.told, third.told]).toEqual([[], ['pause'], ['pause']])
    expect(room.figures().waiting).toBe(2)
    expect([first.hasWaited, second.hasWaited]).toEqual([false, true])
    const to = reply()
    room.end(first, to)
    // The end of the first answer resumes nothing at once.
    expect(second.told).toEqual(['pause'])
    await Promise.resolve()
    // The second answer is now first. It may continue although a slow buyer fills the memory.
    expect([second.told, third.told]).toEqual([['pause', 'resume'], ['pause']])
    to.close()
    await Promise.resolve()
    expect(third.told).toEqual(['pause', 'resume'])
    expect(room.figures().waiting).toBe(0)
  })

  it('never holds more than its bound and one answer, however slowly the buyers read', () => {
    const readers: ReturnType<typeof reply>[] = []
    for (let each = 0; each < 20; each++) {
      const [answer, to] = [coming(), reply()]
      while (answer.heldBytes < ONE_ANSWER / 2 && !answer.isWaiting) room.add(answer, 65_536, false)
      if (answer.isWaiting) room.end(answer, undefined)
      else {
        readers.push(to)
        room.end(answer, to)
      }
      expect(bytes()).toBeLessThan(LIMIT + ONE_ANSWER + 65_536)
    }
    expect(readers.length).toBe(2)
    for (const to of readers) to.close()
    expect(bytes()).toBe(0)
  })

  it('refuses new calls while it is full, sends a Retry-After, and counts the refusals', () => {
    const answer = coming()
    room.add(answer, LIMIT - 1, false)
    room.admit()
    room.add(answer, 1, false)
    expect(() => room.admit()).toThrow(
      expect.objectContaining({
        code: 'overloaded',
        retryAfterSeconds: 2,
        detail: expect.objectContaining({ limit_source: 'answers' }),
      }),
    )
    expect(room.figures().refused).toBe(1)
    room.end(answer, undefined)
    room.admit()
  })

  it('forgets an answer that ends while it waits', () => {
    const [first, second] = [coming(), coming()]
    room.add(first, LIMIT, false)
    room.add(second, SMALL + 1, false)
    room.add(second, 1, false)
    room.end(second, undefined)
    expect(room.figures()).toMatchObject({ bytes: LIMIT, waiting: 0 })
    expect(second.isWaiting).toBe(false)
    room.end(first, undefined)
    expect([bytes(), second.told]).toEqual([0, ['pause']])
  })
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Service } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { untilDayLasts } from '#test/support/run/until-day-lasts.ts'
import { createSemantics } from './redis/memory-scripts.ts'
import { compareList, stepLists } from './redis/script-lists.ts'

const LISTS = 300

let folder: string
let server: Service
let redis: Redis

beforeAll(async () => {
  await untilDayLasts()
  folder = await mkdtemp(join(tmpdir(), 'scripts-'))
  server = await startRedis({ dataDir: join(folder, 'redis'), appendOnly: false })
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('the money scripts in memory', () => {
  it(`return the answers and leave the state of the Lua texts, in ${LISTS} random lists`, async () => {
    const semantics = createSemantics()
    const same = fc.asyncProperty(stepLists, (steps) => compareList(redis, semantics, steps))
    await fc.assert(same, { numRuns: LISTS, seed: 20_261_121 })
  })

  it('differ from the Lua texts when one script has a mistake', async () => {
    const semantics = createSemantics(new Set(['ack_without_version']))
    const same = fc.asyncProperty(stepLists, (steps) => compareList(redis, semantics, steps))
    const { failed } = await fc.check(same, { numRuns: LISTS, seed: 20_261_121, endOnFailure: true })
    expect(failed).toBe(true)
  })
})

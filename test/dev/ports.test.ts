import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { choosePlaces } from '#dev/network/ports.ts'
import { claimAddress, claimPort, FALLBACK_RANGE, namedPorts } from '#dev/services/ports.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import type { Rival } from '#test/support/run/rival.ts'
import { startRival } from '#test/support/run/rival.ts'

const folder = mkdtempSync(join(tmpdir(), 'market-ports-'))
const rivals: Rival[] = []
afterEach(async () => {
  for (const rival of rivals.splice(0)) await rival.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function takePort(port = 0): Promise<number> {
  const rival = await startRival('127.0.0.1', port)
  rivals.push(rival)
  return rival.port
}

describe('a port', () => {
  it.each([
    ['32768\t60999\n', { first: 10_000, last: 32_767 }],
    ['9000 40000', { first: 40_001, last: 65_535 }],
    ['1024 65535', FALLBACK_RANGE],
    ['', FALLBACK_RANGE],
  ])('is never one that the kernel assigns by itself: of %j', (kernelRange, range) => {
    expect(namedPorts(kernelRange)).toEqual(range)
  })

  it('is claimed by one of many simultaneous claimers', async () => {
    const claims = await Promise.all(Array.from({ length: 100 }, () => claimPort()))
    expect(new Set(claims.map(({ port }) => port)).size).toBe(100)
    const { first, last } = namedPorts()
    for (const { port } of claims) expect(port >= first && port <= last).toBe(true)
    for (const { release } of claims) release()
  })

  it('is not claimed where a program listens', async () => {
    expect(await claimAddress({ host: '127.0.0.1', port: await takePort() })).toBeUndefined()
  })

  it('belongs to the process that claimed it until that process ends', async () => {
    const { port, release } = await claimPort()
    const ask = async () => {
      const child = spawn(process.execPath, ['--import', 'tsx', 'test/dev/fixtures/claims.ts', `${port}`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [said] = await once(child.stdout, 'data')
      return { said: String(said).trim(), child }
    }
    const second = await ask()
    expect(second.said).toBe('refused')
    second.child.kill('SIGKILL')
    release()
    const third = await ask()
    expect(third.said).toBe('claimed')
    expect(await claimAddress({ host: '127.0.0.1', port })).toBeUndefined()
    const ended = once(third.child, 'exit')
    third.child.kill('SIGKILL')
    await ended
    const again = await claimAddress({ host: '127.0.0.1', port })
    expect(again?.port).toBe(port)
    again?.release()
  })
})

describe('a service whose port is taken between its choice and its use', () => {
  const takenFirst = async () => {
    const claim = await claimPort()
    const asked: number[] = []
    const port = async () => {
      asked.push(asked.length === 0 ? await takePort() : claim.port)
      return asked.at(-1) ?? 0
    }
    return { claim, asked, port }
  }

  it.each([
    ['Redis', startRedis],
    ['PostgreSQL', startPostgres],
  ])('%s chooses another one', async (name, start) => {
    const { claim, asked, port } = await takenFirst()
    const service = await start({ dataDir: join(folder, name), port })
    expect(asked).toHaveLength(2)
    expect(new URL(service.url).port).toBe(`${claim.port}`)
    await service.stop()
    claim.release()
  })
})

describe('an address of a network', () => {
  const choose = (first: number) => choosePlaces({ first, providers: [], file: join(folder, `${first}.json`) })

  it('stays while it is free, and moves when it is taken', async () => {
    const places = await choose(0)
    const { port } = places.worker.address()
    expect(await places.worker.secure()).toBe(false)
    expect(places.worker.address().port).toBe(port)
    await takePort(port)
    expect(await places.worker.secure()).toBe(true)
    expect(places.worker.address().port).not.toBe(port)
    places.release()
  })

  it('moves when its child found another program there, which may be gone by then', async () => {
    const places = await choose(0)
    const { port } = places.worker.address()
    places.worker.leave()
    expect(await places.worker.secure()).toBe(true)
    expect(places.worker.address().port).not.toBe(port)
    expect(await places.worker.secure()).toBe(false)
    places.release()
  })

  it('is refused and not moved where the user named the port', async () => {
    const { port, release } = await claimPort()
    release()
    const places = await choose(port)
    expect(places.dataPlane.address().port).toBe(port)
    await takePort(port)
    await expect(places.dataPlane.secure()).rejects.toMatchObject({
      code: 'conflict',
      message: `port ${port} is taken: set PORT to a free one`,
    })
    places.release()
    await expect(choose(port)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('belongs to one network when two search at the same time', async () => {
    const networks = await Promise.all([choose(0), choose(0), choose(0)])
    const ports = networks.flatMap(({ dataPlane, controlPlane, worker, postgres, redis }) =>
      [dataPlane, controlPlane, worker, postgres, redis].map((place) => place.address().port),
    )
    expect(new Set(ports).size).toBe(15)
    for (const network of networks) network.release()
  })
})

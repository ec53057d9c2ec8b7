import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { findTracer } from './harness/tracer.ts'

const run = promisify(execFile)
const CHILD = ['--import', 'tsx', join(import.meta.dirname, 'fixtures', 'journal-on-disk.ts')]
/** A single thread does all file operations, so that the k-th call of the process is the k-th call of a thread. */
const ENVIRONMENT = { ...process.env, UV_THREADPOOL_SIZE: '1' }
const COUNT = 30
const all = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
const Seen = z.object({ found: z.array(z.number()), refusals: z.number() })

const tracer = await findTracer()
/** The arguments that give a process its own mounts: as root, or as a user who may be root in a user namespace. */
const UNSHARE = [['-m'], ['-m', '-r']].find(
  (flags) => spawnSync('unshare', [...flags, 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', '/mnt']).status === 0,
)

let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'journal-disk-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe(`[F06] the kernel refuses${tracer.words ? '' : ` (skipped: ${tracer.why})`}`, () => {
  const cases = [
    { call: 'fdatasync', when: 2 },
    { call: 'fdatasync', when: 5 },
    { call: 'pwrite64', when: 7 },
  ]
  it.skipIf(tracer.words === undefined).each(cases)(
    '$call number $when with EIO: no synced record is lost',
    async ({ call, when }) => {
      const trace = join(root, 'trace')
      const inject = ['-e', `inject=${call}:error=EIO:when=${when}`]
      const watch = ['-f', '-qq', '-y', '-e', 'trace=fdatasync,pwrite64', ...inject, '-o', trace]
      const [command = '', ...args] = [...(tracer.words ?? []), ...watch, process.execPath, ...CHILD, root, `${COUNT}`]
      const { stdout } = await run(command, args, { env: ENVIRONMENT })
      const { found, refusals } = Seen.parse(JSON.parse(stdout))
      expect(found).toEqual(all(COUNT))
      expect(refusals).toBeGreaterThan(0)
      const calls = (await readFile(trace, 'utf8')).split('\n')
      const failed = calls.findIndex((line) => line.includes('(INJECTED)'))
      const file = /<([^>]*\.seg)>/.exec(calls[failed] ?? '')?.[1]
      expect(file).toMatch(/\.seg$/)
      expect(calls.slice(failed + 1).filter((line) => line.includes(`<${file}>`))).toEqual([])
    },
  )
})

describe(`a full disk${UNSHARE ? '' : ' (skipped: no mount of our own is permitted here)'}`, () => {
  it.skipIf(UNSHARE === undefined)('stops new work, and keeps every capture once there is space again', async () => {
    const script =
      'mount -t tmpfs -o size=1300k tmpfs "$1" && head -c 1000k /dev/zero > "$1/ballast" && shift && exec "$@"'
    const child = [process.execPath, ...CHILD, root, '300']
    const { stdout } = await run('unshare', [...(UNSHARE ?? []), 'sh', '-c', script, 'sh', root, ...child], {
      env: ENVIRONMENT,
    })
    const { found, refusals } = Seen.parse(JSON.parse(stdout))
    expect(found).toEqual(all(300))
    expect(refusals).toBeGreaterThan(0)
  })
})

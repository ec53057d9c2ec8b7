import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { countServed } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import { findTracer } from '#test/faults/harness/tracer.ts'
import { foldersOf } from './clocks.ts'
import { endOf } from './deaths.ts'

const RECOVERED_WITHIN_MS = 15_000
/** A segment has a head of 16 bytes and then records without gaps. */
const HEAD_BYTES = 16
const RECORD_HEAD_BYTES = 17

/** Runs the data plane under a tracer that makes one kind of system call fail. */
function wrapperOf(tracer: readonly string[], { call, error, when }: DiskFault, logFile: string): readonly string[] {
  const inject = `inject=${call}:error=${error}:when=${when}`
  return [...tracer, '-D', '-f', '--seccomp-bpf', '-qq', '-y', '-e', `trace=${call}`, '-e', inject, '-o', logFile]
}

/** Lists system calls on a file after a failed one, from the tracer's log. There must be none. */
function usesAfterFailure(logFile: string): { failures: number; later: string[] } {
  const failed = new Set<string>()
  const later: string[] = []
  for (const line of readFileSync(logFile, 'utf8').split('\n')) {
    const path = /<([^>]+\.seg)>/.exec(line)?.[1]
    if (path === undefined) continue
    if (line.includes('(INJECTED)')) failed.add(path)
    else if (failed.has(path)) later.push(line)
  }
  return { failures: failed.size, later }
}

type DiskFault = { readonly call: string; readonly error: string; readonly when: string }

/** The disk fails now and then. Paid calls must be refused until a new segment exists, and no record may be lost. */
async function failDisk(stage: Stage, fault: DiskFault): Promise<void> {
  const { call, error } = fault
  const { world } = stage
  const [node] = world.dataPlanes
  const tracer = await findTracer()
  if (tracer.words === undefined) return stage.skip(tracer.why)
  const logFile = join(world.folder, `trace-${error}.txt`)
  await node.kill()
  await node.start({ wrapper: wrapperOf(tracer.words, fault, logFile) })
  await world.untilPaid()
  const load = stage.load({ clients: 8, nodes: [0], pauseMs: 2 })
  const end = performance.now() + RECOVERED_WITHIN_MS
  const hasFailed = () => existsSync(logFile) && readFileSync(logFile, 'utf8').includes('(INJECTED)')
  while (!hasFailed() && performance.now() < end) await pause(50)
  await pause(2_500)
  const at = performance.now()
  await load.untilServed(50)
  stage.figure('served again after (ms)', performance.now() - at)
  const seen = await load.stop()
  const { failures, later } = usesAfterFailure(logFile)
  const refused = seen.filter((one) => one.status === 503)
  stage.figure('failed descriptors', failures)
  stage.figure('refused', refused.length)
  stage.require(failures > 0, 'no call was made to fail')
  stage.require(call !== 'fdatasync' || later.length === 0, `a failed descriptor was used again: ${later[0]}`)
  const strange = seen.filter((one) => !one.isComplete && one.status !== 503)
  stage.require(strange.length === 0, `${strange.length} calls saw ${strange[0]?.status}`)
  await node.kill()
  await node.start()
}

/** The disk fails for good. The process must give up after it has brought its captures to Redis. */
async function loseDisk(stage: Stage): Promise<void> {
  const { world } = stage
  const [node] = world.dataPlanes
  const tracer = await findTracer()
  if (tracer.words === undefined) return stage.skip(tracer.why)
  await node.kill()
  const logFile = join(world.folder, 'trace-for-good.txt')
  const fault = { call: 'fdatasync', error: 'EIO', when: '3+' }
  await node.start({ wrapper: wrapperOf(tracer.words, fault, logFile), mustEnd: true })
  await world.untilPaid()
  const load = stage.load({ clients: 8, pauseMs: 5 })
  const began = performance.now()
  const code = await endOf(node)
  stage.figure('gave up after (ms)', performance.now() - began)
  stage.require(code !== 0 && code !== 137 && code !== -1, `ended with ${code}`)
  const served = load.seen.filter((one) => one.node === 1)
  stage.require(countServed(served) > 0, 'the other node does not serve')
  await load.stop()
  await node.start()
}

/** The place where each record of a segment begins, and where the last one ends. */
function boundariesOf(bytes: Buffer): number[] {
  const found: number[] = []
  let at = HEAD_BYTES
  while (at + RECORD_HEAD_BYTES <= bytes.length) {
    const length = bytes.readUInt32LE(at)
    if (length === 0 || at + RECORD_HEAD_BYTES + length > bytes.length) break
    found.push(at)
    at += RECORD_HEAD_BYTES + length
  }
  return [...found, at]
}

/** Damages the journal of a dead process and checks whether the next process starts. */
async function tearJournal(stage: Stage): Promise<void> {
  const { world } = stage
  const node = world.dataPlanes[0]
  const other = world.dataPlanes[1]
  // A living data plane would take the journal over before it can be damaged.
  await other.end()
  const load = stage.load({ clients: 8, nodes: [0] })
  await load.untilServed(200)
  await node.kill()
  await load.stop()
  const [folder] = foldersOf(world, 'node-0').filter((name) => !name.includes('.of-'))
  if (folder === undefined) throw new Error('there is no journal')
  const left = join(world.journalDir, folder)
  const kept = join(world.folder, 'kept')
  cpSync(left, kept, { recursive: true })
  const restore = () => {
    for (const name of readdirSync(world.journalDir)) {
      if (name.startsWith(folder)) rmSync(join(world.journalDir, name), { recursive: true })
    }
    cpSync(kept, left, { recursive: true })
  }
  const segment = join(
    left,
    readdirSync(left)
      .filter((name) => name.endsWith('.seg'))
      .sort()[0] ?? '',
  )
  const whole = readFileSync(segment)
  const bounds = boundariesOf(whole)
  const end = bounds.at(-1) ?? 0
  const third = bounds.at(-4) ?? HEAD_BYTES
  const cuts = Array.from({ length: 4 }, (_, index) => third + 1 + Math.floor(((end - third - 1) * index) / 4))
  for (const cut of cuts) {
    restore()
    truncateSync(segment, cut)
    stage.require(await starts(stage), `does not start with a journal cut at ${cut} of ${end}`)
    await node.kill()
  }
  const middle = bounds[Math.floor(bounds.length / 2)] ?? HEAD_BYTES
  const early = bounds[Math.floor(bounds.length / 4)] ?? HEAD_BYTES
  restore()
  writeFileSync(segment, flipAt(whole, early))
  stage.require(await starts(stage), 'does not start with damage in its last segment, which death may have put there')
  await node.kill()
  restore()
  // The same records are now in two segments. No death can leave the older one half written.
  const second = Buffer.from(whole.subarray(0, HEAD_BYTES))
  second.writeBigUInt64LE(2n, HEAD_BYTES - 8)
  writeFileSync(segment, flipAt(whole.subarray(0, middle), early))
  writeFileSync(join(left, '00000002.seg'), Buffer.concat([second, whole.subarray(middle)]), { mode: 0o600 })
  stage.require(!(await starts(stage)), 'starts with damage in an older segment, and was not told to')
  await node.kill()
  stage.require(await starts(stage, { JOURNAL_ACCEPT_DAMAGE: '1' }), 'does not start when it was told to')
  await node.kill()
  restore()
  await node.start()
  await other.start()
  stage.figure('cuts', cuts.length)
}

function flipAt(bytes: Buffer, at: number): Buffer {
  const flipped = Buffer.from(bytes)
  const byte = at + RECORD_HEAD_BYTES + 5
  flipped[byte] = (flipped[byte] ?? 0) ^ 0xff
  return flipped
}

/** True when node 0 starts. A node that refuses its journal ends by itself. */
async function starts({ world }: Stage, environment = {}): Promise<boolean> {
  const [node] = world.dataPlanes
  await node.start({ environment, isHasty: true, mustEnd: true })
  return Promise.race([
    node.untilReady(RECOVERED_WITHIN_MS).then(
      () => true,
      () => false,
    ),
    node.ended().then(() => false),
  ])
}

export const JOURNAL_ROWS: readonly Row[] = [
  {
    number: 'F06a',
    title: 'the disk answers EIO to a sync of the journal',
    run: (stage) => failDisk(stage, { call: 'fdatasync', error: 'EIO', when: '3' }),
  },
  {
    number: 'F06b',
    title: 'the disk is full for a write of the journal',
    run: (stage) => failDisk(stage, { call: 'pwrite64', error: 'ENOSPC', when: '12' }),
  },
  { number: 'F06c', title: 'the disk of the journal fails for good', run: loseDisk },
  { number: 'F08', title: 'the journal of a dead process is torn', world: {}, run: tearJournal },
]

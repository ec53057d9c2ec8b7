import { setTimeout as pause } from 'node:timers/promises'
import type { CallSeen, CallShape } from '#test/faults/harness/client.ts'
import { createClient } from '#test/faults/harness/client.ts'
import { lasting, WHOLE } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { World } from '#test/faults/harness/world.ts'

/** Limits of a call, in milliseconds, that are short enough for a row. */
const SHORT_LIMITS = { firstByteMs: 2_000, idleMs: 3_000, totalMs: 12_000, drainMs: 5_000, unseenDrainMs: 5_000 }
const MOST_GROWTH_BYTES = 100 * 1_048_576
const MOST_ATTEMPTS_A_CALL = 1.2
const MAX_DRAINS = 64

/** The answer that a buyer may see when the only provider behaves so: a refusal, a whole answer, or a broken stream. */
type Sight = 'refused' | 'served' | 'cut' | 'any'

const SIGHTS: Readonly<Record<string, Sight>> = {
  'cut-before-content': 'refused',
  'rate-limited': 'refused',
  overloaded: 'refused',
  'server-error': 'refused',
  unauthorized: 'refused',
  'payment-required': 'refused',
  'no-credit': 'refused',
  'no-credit-in-200': 'refused',
  'wrong-key-in-array': 'refused',
  'quota-used-up': 'refused',
  'error-in-200': 'refused',
  'html-in-200': 'refused',
  'no-content': 'refused',
  redirect: 'refused',
  hang: 'refused',
  'gzip-bomb': 'refused',
  'deep-json': 'any',
  'cut-mid-stream': 'cut',
  silence: 'cut',
  'malformed-sse': 'any',
  empty: 'any',
  'usage-missing': 'served',
  'usage-zero': 'served',
  'usage-absurd': 'served',
  'usage-every-chunk': 'served',
  'thoughts-only': 'served',
  'stopped-at-once': 'served',
  'split-utf8': 'served',
  'crlf-injection': 'served',
  'early-hints': 'any',
  'huge-id': 'any',
  'length-lie': 'any',
  'big-line': 'any',
  endless: 'any',
  'slow-first-token': 'any',
}

function sightOf({ isComplete, status }: CallSeen): Sight {
  if (isComplete) return 'served'
  return status === 200 ? 'cut' : 'refused'
}

/** Tests each way in which a provider can misbehave, alone and with a working provider behind it. */
async function misbehave(stage: Stage): Promise<void> {
  const { world } = stage
  const names = Object.keys(SIGHTS)
  await world.market.model(...names.map((name) => `alone-${name}`), ...names.map((name) => `backed-${name}`))
  for (const name of names) {
    const faulty = { providerModel: `sandbox/${name}`, seller: 'a', discount: 50 } as const
    await world.market.offer({ model: `alone-${name}`, ...faulty })
    await world.market.offer({ model: `backed-${name}`, ...faulty })
    await world.market.offer({ model: `backed-${name}`, providerModel: 'gpt-5-mini', seller: 'b', discount: 10 })
  }
  // Calls that need one attempt add to the budget of further attempts.
  const load = stage.load({ clients: 4, pauseMs: 10 })
  // The heap of a new process grows until its first full load, so that load comes before the measurement.
  const warming = stage.load({ clients: 16, calls: 3_000 })
  await warming.done
  const memory = world.dataPlanes.map((program) => program.memoryBytes())
  await Promise.all(names.map((name) => tryOne(stage, name)))
  await wireFaults(stage)
  await load.stop()
  const grown = Math.max(...world.dataPlanes.map((program, at) => program.memoryBytes() - (memory[at] ?? 0)))
  stage.figure('behaviours', names.length)
  stage.figure('grown by (MB)', grown / 1_048_576)
  stage.require(grown < MOST_GROWTH_BYTES, `memory grew by ${Math.round(grown / 1_048_576)} MB`)
}

async function tryOne(stage: Stage, name: string): Promise<void> {
  const { world } = stage
  const client = createClient(world.origin, name)
  const [buyer] = world.buyers
  if (buyer === undefined) return
  const stream = (model: string): CallShape => ({ model, isStreamed: true, maxTokens: 12 })
  const alone = await client.call(0, buyer, stream(`alone-${name}`))
  const whole = await client.call(1, buyer, { ...stream(`alone-${name}`), isStreamed: false })
  const backed = await client.call(0, buyer, stream(`backed-${name}`))
  client.close()
  stage.saw(alone, whole, backed)
  const expected = SIGHTS[name] ?? 'any'
  stage.require(
    expected === 'any' || sightOf(alone) === expected,
    `${name}: a stream was ${sightOf(alone)} (${alone.status} ${alone.errorCode}), not ${expected}`,
  )
  // The buyer had received nothing, so another provider answers.
  const isHidden = expected === 'refused' && name !== 'hang'
  stage.require(
    !isHidden || backed.isComplete,
    `${name}: no other provider took over (${backed.status} ${backed.text})`,
  )
}

async function wireFaults(stage: Stage): Promise<void> {
  const { world } = stage
  const { sellerA } = world.relays
  const [buyer] = world.buyers
  const client = createClient(world.origin, 'wire')
  if (buyer === undefined) return
  for (const fault of [{ refuses: true }, { isHalfOpen: true }, { drops: 'answers' as const }]) {
    sellerA.fault(fault)
    sellerA.cut()
    const seen = await client.call(0, buyer, { ...WHOLE, isStreamed: true })
    stage.saw(seen)
    stage.require(seen.isComplete, `${JSON.stringify(fault)}: no other provider took over (${seen.status})`)
  }
  sellerA.pass()
  const running = client.call(0, buyer, lasting(4))
  await pause(2_000)
  sellerA.reset()
  world.relays.sellerB.reset()
  const cut = await running
  stage.saw(cut)
  stage.require(sightOf(cut) === 'cut', `a reset in mid-stream was ${sightOf(cut)}`)
  client.close()
}

/** Half of all attempts fail at random at both providers. Attempts must not multiply. */
async function storm(stage: Stage, forMs: number): Promise<void> {
  const { world } = stage
  await world.market.model('storm')
  await world.market.offer({ model: 'storm', providerModel: 'gpt-4o', seller: 'a', discount: 40 })
  await world.market.offer({ model: 'storm', providerModel: 'gpt-4o', seller: 'b', discount: 30 })
  const shape: CallShape = { model: 'storm', isStreamed: false, maxTokens: 8 }
  const load = stage.load({ clients: 24, shapes: [shape] })
  await load.untilServed(100)
  const before = await countAttempts(world)
  const from = load.seen.length
  const end = performance.now() + forMs
  while (performance.now() < end) {
    await Promise.all([0, 1].map((index) => behave(world, index, Math.random() < 0.5 ? 'server-error' : null)))
    await pause(5)
  }
  const calls = load.seen.length - from
  const attempts = (await countAttempts(world)) - before
  await Promise.all([0, 1].map((index) => behave(world, index, null)))
  await load.stop()
  stage.figure('attempts a call', (attempts / calls).toFixed(2))
  stage.require(attempts <= calls * MOST_ATTEMPTS_A_CALL + 64, `${attempts} attempts for ${calls} calls`)
}

async function behave(world: World, index: number, behaviour: string | null): Promise<void> {
  const body = JSON.stringify({ model: 'gpt-4o', behaviour })
  await fetch(`${world.providerOrigin(index)}/__sandbox/behave`, { method: 'POST', body })
}

async function countAttempts(world: World): Promise<number> {
  let asked = 0
  for (const index of [0, 1]) {
    const text = await (await fetch(`${world.providerOrigin(index)}/__sandbox/count`)).text()
    asked += Number(/"count":(\d+)/.exec(text)?.[1])
  }
  return asked
}

/** Buyers disconnect at every point of a call, and then hundreds at once. */
async function leave(stage: Stage): Promise<void> {
  const { world } = stage
  const client = createClient(world.origin, 'leaving')
  const leaving = [0, 2, 5, 20, 60].map((leavesAfterMs) => ({ ...WHOLE, isStreamed: true, leavesAfterMs }))
  const slow = [300, 1_300, 2_300, 3_100].map((leavesAfterMs) => ({ ...lasting(3), leavesAfterMs }))
  for (const buyer of world.buyers) {
    stage.saw(...(await Promise.all([...leaving, ...slow].map((shape, at) => client.call(at % 2, buyer, shape)))))
  }
  let most = 0
  const over = new AbortController()
  const watching = (async () => {
    while (!over.signal.aborted) {
      for (const index of [0, 1]) most = Math.max(most, await readGauge(world, index, 'market_detached_streams'))
      await pause(50)
    }
  })()
  const crowd = Array.from({ length: stage.isQuick ? 100 : 500 }, (_, at) => {
    const buyer = world.buyers[at % world.buyers.length] ?? world.buyers[0]
    return buyer && client.call(at % 2, buyer, { ...lasting(60), leavesAfterMs: 2_500 })
  })
  stage.saw(...(await Promise.all(crowd)).filter((call) => call !== undefined))
  client.close()
  const leftAt = performance.now()
  for (const index of [0, 1]) {
    while ((await readGauge(world, index, 'market_open_calls')) > 0 && performance.now() - leftAt < 60_000)
      await pause(100)
  }
  over.abort()
  await watching
  stage.figure('most streams without a buyer in a process', most)
  stage.figure('all over after (ms)', performance.now() - leftAt)
  stage.require(most <= MAX_DRAINS, `${most} streams were read without a buyer`)
  stage.require(performance.now() - leftAt < 40_000, 'streams without a buyer were read for too long')
}

async function readGauge(world: World, index: number, name: string): Promise<number> {
  const text = await (await fetch(`${world.origin(index)}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1])
}

export const UPSTREAM_ROWS: readonly Row[] = [
  {
    number: 'F30',
    title: 'every way in which a provider can misbehave',
    world: { control: { limits: SHORT_LIMITS } },
    run: misbehave,
  },
  { number: 'F32', title: 'half of all attempts fail', run: (stage) => storm(stage, stage.isQuick ? 3_000 : 15_000) },
  {
    number: 'F33',
    title: 'buyers leave at every point, then hundreds at once',
    run: leave,
  },
]

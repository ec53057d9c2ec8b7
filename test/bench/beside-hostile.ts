import { spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { driveOpenLoop } from './load.ts'
import type { BenchMarket } from './market.ts'
import { OTHER_CORE } from './market.ts'
import { middle } from './middle.ts'

/** Calls per second of the other buyers. */
const RATE = 200
const ROUNDS = 5
/** Milliseconds until the hostile process has written its first body. */
const BEGIN_MS = 1_500

type Row = { readonly what: string; readonly figure: string; readonly beside: string }
type Beside = {
  readonly market: BenchMarket
  readonly body: string
  readonly seconds: number
  /** The key of the hostile buyer, with the default rate of a key. */
  readonly hostileKey: string
}

/** Measures the calls of other buyers with and without one connection that sends hostile bodies, in turns. */
export async function measureBesideHostile({ market, body, seconds, hostileKey }: Beside): Promise<Row> {
  const url = `${market.network.sandbox.api_base_url}/v1/chat/completions`
  const load = { url, key: market.buyerKey, body, rate: RATE, seconds: Math.ceil(seconds / ROUNDS) }
  const script = ['--import', 'tsx', 'test/bench/hostile.ts', '--url', url, '--key', hostileKey]
  const alone: number[] = []
  const beside: number[] = []
  driveOpenLoop(load)
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(driveOpenLoop(load).p99)
    const hostile = spawn('taskset', ['-c', String(OTHER_CORE), process.execPath, ...script], { stdio: 'ignore' })
    await wait(BEGIN_MS)
    beside.push(driveOpenLoop(load).p99)
    hostile.kill()
  }
  const share = middle(beside) / middle(alone)
  const all = (times: readonly number[]) => times.map((time) => time.toFixed(1)).join(', ')
  return {
    what: 'p99 of others beside one hostile connection',
    figure: `${middle(beside).toFixed(1)} ms, ${share.toFixed(2)} of alone`,
    beside: `rounds ${all(beside)}; alone ${all(alone)}`,
  }
}

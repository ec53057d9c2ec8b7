import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { z } from 'zod'
import { OTHER_CORE } from './market.ts'

/** A closed loop: as many calls as so many connections can make. */
export type Load = {
  readonly url: string
  readonly body: string
  readonly key?: string
  readonly connections: number
  readonly seconds: number
}

/** Calls that were answered with 200 in a second, and how many were not. */
export type LoadResult = { readonly perSecond: number; readonly refused: number }

/** Drives the load with wrk where it is installed, else with autocannon. */
export async function drive(load: Load): Promise<LoadResult> {
  return spawnSync('wrk', ['--version']).error ? driveByAutocannon(load) : driveByWrk(load)
}

function driveByWrk(load: Load): LoadResult {
  const script = join(tmpdir(), `bench-${process.pid}.lua`)
  const authorization = load.key ? `wrk.headers["Authorization"]="Bearer ${load.key}"` : ''
  writeFileSync(
    script,
    `wrk.method="POST"\nwrk.body=[==[${load.body}]==]\nwrk.headers["Content-Type"]="application/json"\n${authorization}\n`,
    { mode: 0o600 },
  )
  const args = [
    '-c',
    String(OTHER_CORE),
    'wrk',
    '-t1',
    `-c${load.connections}`,
    `-d${load.seconds}s`,
    '-s',
    script,
    load.url,
  ]
  const output = spawnSync('taskset', args, { encoding: 'utf8' }).stdout
  rmSync(script)
  const total = Number(/(\d+) requests in/.exec(output)?.[1] ?? 0)
  const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0)
  const seconds = Number(/requests in ([\d.]+)s/.exec(output)?.[1] ?? load.seconds)
  return { perSecond: (total - refused) / seconds, refused }
}

async function driveByAutocannon(load: Load): Promise<LoadResult> {
  const result = await autocannon({
    url: load.url,
    method: 'POST',
    body: load.body,
    connections: load.connections,
    duration: load.seconds,
    headers: { 'content-type': 'application/json', ...(load.key ? { authorization: `Bearer ${load.key}` } : {}) },
  })
  return { perSecond: result['2xx'] / result.duration, refused: result.non2xx }
}

const OpenLoop = z.object({ count: z.number(), errors: z.number(), p50: z.number(), p99: z.number(), max: z.number() })
export type OpenLoopResult = z.infer<typeof OpenLoop>

/** Sends at a fixed rate and answers the latencies in milliseconds. */
export function driveOpenLoop(load: {
  url: string
  body: string
  key?: string
  rate: number
  seconds: number
}): OpenLoopResult {
  const args = ['--url', load.url, '--rate', String(load.rate), '--seconds', String(load.seconds), '--body', load.body]
  if (load.key) args.push('--key', load.key)
  const node = [process.execPath, '--import', 'tsx', 'test/bench/open-loop.ts', ...args]
  const { stdout } = spawnSync('taskset', ['-c', String(OTHER_CORE), ...node], { encoding: 'utf8' })
  return OpenLoop.parse(JSON.parse(stdout))
}

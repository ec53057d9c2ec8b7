import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { z } from 'zod'
import type { ToolSearch } from '#dev/services/find-tool.ts'
import { findTool } from '#dev/services/find-tool.ts'
import { WRK } from '#dev/services/tools.ts'
import { OTHER_CORE } from './market.ts'

/** A closed loop: each connection makes one call after the other, as fast as it can. */
export type Load = {
  readonly url: string
  readonly body: string
  readonly key?: string
  readonly connections: number
  readonly seconds: number
}

/** Calls per second with status 200, calls with another status, and calls without an answer. */
export type LoadResult = { readonly perSecond: number; readonly refused: number; readonly unanswered: number }

/**
 * A program that drives a load. Figures of two drivers cannot be compared, because they leave different shares of a
 * core.
 */
export type Driver = {
  readonly name: string
  /** The source of the driver, or the reason why it is not the preferred one. */
  readonly beside: string
  readonly drive: (load: Load) => Promise<LoadResult>
}

/** Finds wrk, of the system or a private copy of it. On machines without Debian's packages it is autocannon. */
export async function findDriver(search: ToolSearch = {}): Promise<Driver> {
  try {
    const { words, command } = await findTool(WRK, search)
    return { name: 'wrk', beside: command, drive: async (load) => driveByWrk(words, load) }
  } catch (error) {
    return { name: 'autocannon', beside: error instanceof Error ? error.message : '', drive: driveByAutocannon }
  }
}

function driveByWrk(wrk: readonly string[], load: Load): LoadResult {
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
    ...wrk,
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
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)?.slice(1) ?? []
  const unanswered = broken.reduce((sum, count) => sum + Number(count), 0)
  return { perSecond: (total - refused) / seconds, refused, unanswered }
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
  return { perSecond: result['2xx'] / result.duration, refused: result.non2xx, unanswered: result.errors }
}

const OpenLoop = z.object({ count: z.number(), errors: z.number(), p50: z.number(), p99: z.number(), max: z.number() })
export type OpenLoopResult = z.infer<typeof OpenLoop>

/** Sends at a fixed rate. Returns the latencies in milliseconds. */
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

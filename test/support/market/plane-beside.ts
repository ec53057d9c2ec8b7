import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ANY_LOOP_DELAY, until } from '#test/support/run/until.ts'
import type { Network } from './network.ts'

const READY_MS = 20_000

/**
 * Starts a data plane of a test's own beside those of a running market. `script` creates it and prints its address. The
 * plane's journal has the name `name`.
 */
export async function startPlaneBeside(
  network: Network,
  script: string,
  name: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const secrets = JSON.parse(readFileSync(join(network.home, 'secrets.json'), 'utf8'))
  const child = spawn(process.execPath, ['--import', 'tsx', script], {
    env: {
      ...process.env,
      ...z.record(z.string(), z.string()).parse(secrets),
      NODE_ENV: 'development',
      PORT: '0',
      HOST: '127.0.0.1',
      NODE_ID: name,
      ALLOW_LOOPBACK_UPSTREAMS: '1',
      ...ANY_LOOP_DELAY,
      BASE_URL: 'http://127.0.0.1',
      API_BASE_URL: 'http://127.0.0.1',
      DRAIN_MS: '1000',
      REDIS_URL: network.sandbox.redis_url,
      JOURNAL_DIR: join(network.home, `journal-${name}`),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  const url = String(line).trim()
  await until('the plane is ready', READY_MS, async () => (await fetch(`${url}/health/ready`)).ok)
  return { child, url }
}

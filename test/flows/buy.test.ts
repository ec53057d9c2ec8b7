import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Network } from '#test/support/network.ts'
import { startNetwork } from '#test/support/network.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SCRIPTS = [...readFileSync(join(ROOT, 'docs/buy.md'), 'utf8').matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)]
const RUN_MS = 60_000

let network: Network
/** Inside the tree, so that the packages are found, and unknown to git. */
let folder: string

beforeAll(async () => {
  network = await startNetwork()
  const cache = join(ROOT, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  folder = await mkdtemp(join(cache, 'buy-'))
  await symlink(network.home, join(folder, '.market'))
}, 120_000)

afterAll(async () => {
  await network?.remove()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}, 60_000)

async function runScript(name: string): Promise<string> {
  const text = SCRIPTS.find(([, title]) => title === name)?.[2]
  if (text === undefined) return expect.fail(`docs/buy.md has no ${name}`)
  await writeFile(join(folder, name), text)
  const options = { cwd: folder, timeout: RUN_MS, env: { PATH: process.env['PATH'] } }
  return (await promisify(execFile)(process.execPath, [name], options)).stdout
}

describe('the scripts of docs/buy.md', () => {
  it(
    'go from a fresh wallet to a bounded key, a paid call and its records',
    async () => {
      const printed = await runScript('buy.mjs')
      expect(printed).toMatch(/^main key inf_\w{8}$/m)
      const paid = Number(/^paid (\d+) micro-USD$/m.exec(printed)?.[1])
      expect(paid).toBeGreaterThan(0)
      expect(printed).toMatch(/403 .*"code":"model_not_allowed"/)
      expect(printed).toMatch(/PATCH .*403 .*"code":"forbidden"/)
      expect(printed.match(/^limit 0\.25 used today 0\.0+\d+$/gm)).toHaveLength(2)
      expect(printed).toContain(`statement ${-paid} 5000000 leaves ${5_000_000 - paid}`)
      expect(printed).toContain(`balance ${5_000_000 - paid} saved`)
      expect(printed).toMatch(/^1 line of usage$/m)
    },
    RUN_MS,
  )

  it(
    'hear of alerts that are genuine',
    async () => {
      expect(await runScript('alerts.mjs')).toMatch(/^heard webhook\.test\ndelivered 204\n$/)
    },
    RUN_MS,
  )
})

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ScriptFolder } from '#test/support/script-folder.ts'
import { openScriptFolder, RUN_MS } from '#test/support/script-folder.ts'

const SCRIPTS = [...readFileSync('docs/buy.md', 'utf8').matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)]

let scripts: ScriptFolder

beforeAll(async () => {
  scripts = await openScriptFolder()
}, 120_000)

afterAll(() => scripts?.remove(), 60_000)

async function runScript(name: string): Promise<string> {
  const text = SCRIPTS.find(([, title]) => title === name)?.[2]
  if (text === undefined) return expect.fail(`docs/buy.md has no ${name}`)
  await scripts.write(name, text)
  return scripts.run(process.execPath, [name])
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

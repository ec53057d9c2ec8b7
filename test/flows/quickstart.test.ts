import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { ScriptFolder } from '#test/support/market/script-folder.ts'
import { openScriptFolder } from '#test/support/market/script-folder.ts'

const PAGES = ['quickstart.md', 'agents.md'].map((name) => readFileSync(`docs/${name}`, 'utf8'))
const EXAMPLES = readdirSync('docs/examples').filter((name) => /\.(?:sh|py|ts)$/.test(name))
const PRINTS: Readonly<Record<string, RegExp>> = {
  'first-call.sh': /"buyer_cost_micro":[1-9]/,
  'first-call.ts': /^\S.*\ncost: [1-9]\d* micro-USD\n$/s,
  'stream.ts': /^\S.*\n$/s,
  'ai-sdk.ts': /^\S.* [1-9]\d*\n$/s,
}
/** The Python examples: each with the package that it needs and its expected output. */
const PYTHON: Readonly<Record<string, { needs: string; printed: RegExp }>> = {
  'first-call.py': { needs: 'openai', printed: /^\S.*\ncost: [1-9]\d* micro-USD\n$/s },
  'stream.py': { needs: 'openai', printed: /^\S.*\n$/s },
  'langchain.py': { needs: 'langchain_openai', printed: /^\S.*\n$/s },
}
const COMPILES = 'import sys; [compile(open(name).read(), name, "exec") for name in sys.argv[1:]]'

/** Whether Python is on this machine and runs the code without an error. */
function runsPython(code: string, ...args: readonly string[]): boolean {
  return spawnSync('python3', ['-c', code, ...args]).status === 0
}

let scripts: ScriptFolder

beforeAll(async () => {
  scripts = await openScriptFolder(await sharedNetwork())
})

afterAll(() => scripts?.remove())

describe('the examples of the quick starts', () => {
  it('are the blocks of the pages, character by character', () => {
    const blocks = PAGES.flatMap((page) => [...page.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, text]) => text))
    const missing = EXAMPLES.filter((name) => !blocks.includes(readFileSync(`docs/examples/${name}`, 'utf8')))
    expect(missing).toEqual([])
  })

  it.each(Object.entries(PRINTS))('%s runs', async (name, printed) => {
    const { api_base_url: url, buyer_key: key } = scripts.network.sandbox
    const file = resolve('docs/examples', name)
    const [program, args] = name.endsWith('.sh')
      ? (['bash', ['-euo', 'pipefail', file]] as const)
      : ([process.execPath, ['--import', 'tsx', file]] as const)
    expect(await scripts.run(program, args, { MARKET_URL: url, MARKET_KEY: key })).toMatch(printed)
  })

  it.skipIf(!runsPython(''))('are valid Python', () => {
    const names = EXAMPLES.filter((name) => name.endsWith('.py'))
    expect(new Set(names)).toEqual(new Set(Object.keys(PYTHON)))
    const broken = names.filter((name) => !runsPython(COMPILES, resolve('docs/examples', name)))
    expect(broken).toEqual([])
  })

  for (const [name, { needs, printed }] of Object.entries(PYTHON)) {
    it.skipIf(!runsPython(`import ${needs}`))(`${name} runs where ${needs} is installed`, async () => {
      const { api_base_url: url, buyer_key: key } = scripts.network.sandbox
      const environment = { MARKET_URL: url, MARKET_KEY: key }
      expect(await scripts.run('python3', [resolve('docs/examples', name)], environment)).toMatch(printed)
    })
  }

  it('give a configuration that opencode and Codex read', () => {
    const [, agents = ''] = PAGES
    const [, file = ''] = /^```json\n([\s\S]*?)^```$/m.exec(agents) ?? []
    expect(JSON.parse(file)).toMatchObject({
      provider: { market: { options: { baseURL: '{env:MARKET_URL}/v1', apiKey: '{env:MARKET_KEY}' } } },
      model: 'market/gpt-5-mini',
    })
    expect(agents).toContain('wire_api = "responses"')
  })
})

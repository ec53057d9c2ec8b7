import { readFileSync } from 'node:fs'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sharedNetwork } from '#test/support/market/network.ts'
import type { ScriptFolder } from '#test/support/market/script-folder.ts'
import { openScriptFolder } from '#test/support/market/script-folder.ts'

const PAGE = readFileSync('docs/snippets.md', 'utf8')

let scripts: ScriptFolder

beforeAll(async () => {
  scripts = await openScriptFolder(await sharedNetwork())
})

afterAll(() => scripts?.remove())

type Snippet = { readonly title: string; readonly language: string; readonly text: string }

/** All code blocks of the page, each with the headings above it. */
function snippetsOf(page: string): Snippet[] {
  const found: Snippet[] = []
  let [chapter, section]: [string, string] = ['', '']
  for (const [, head, title, language, text] of page.matchAll(/^(##+) (.*)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (head === '##') [chapter, section] = [title ?? '', '']
    else if (head !== undefined) section = title ?? ''
    else {
      const words = [chapter, section].filter((word) => word !== '').join(': ')
      found.push({ title: words === '' ? 'the variables' : words, language: language ?? '', text: text ?? '' })
    }
  }
  return found
}

/** The expected output of each snippet. */
const PRINTS: Readonly<Record<string, RegExp>> = {
  'the variables': /^calls go to http/,
  'curl: A chat': /"finish_reason":"stop".*"buyer_cost_micro":[1-9]/,
  'curl: A stream': /"usage":\{.*\n\ndata: \[DONE\]\n\n$/,
  'curl: A tool': /"finish_reason":"tool_calls"|"tool_calls":\[\{/,
  'curl: A message': /"type":"message".*"stop_reason":"end_turn".*"buyer_cost_micro":[1-9]/,
  'curl: A response': /"object":"response".*"status":"completed"/,
  'curl: Embeddings': /"object":"list".*"buyer_cost_micro":\d/,
  'curl: Audio, out and in': /^\{"text":".+"usage":/,
  'curl: Audio in events': /"speech\.audio\.delta"[\s\S]*"speech\.audio\.done".*"buyer_cost_micro":[1-9]/,
  'curl: Where a call may go': /x-mkt-provider-family: sandbox-b\r\n[\s\S]*"buyer_cost_micro":[1-9]/i,
  'curl: Why a call goes where it goes': /"offers":\[\{/,
  "curl: A provider's own API": /x-mkt-buyer-cost-micro: 14300\r\n[\s\S]*"data":\[\{"url"/i,
  'curl: A queue of a provider': /^ *\d{4,}\n$/,
  'The openai SDK: On a lent key': /^.+\nfor [1-9]\d* micro-USD\n$/,
  'The openai SDK: Chat, whole and streamed': /buyer_cost_micro: [1-9]/,
  'The openai SDK: Tools': /^1 call: ./,
  'The openai SDK: Embeddings and audio': /^2 vectors of \d+\nheard: ./,
  'The openai SDK: Routing, and what a call cost': /served by sandbox-b\nfor [1-9]\d* micro-USD/,
  'The anthropic SDK: A message, whole and streamed': /output_tokens: [1-9][\s\S]*end_turn\n$/,
  'The anthropic SDK: Tools, and a count of tokens': /input_tokens: \d+[\s\S]*get_weather \{ city: /,
  'The AI SDK': /: sunny\.'[\s\S]*\d+ dimensions/,
  'Agents: By environment': /\S+ \S+/,
}

async function runSnippet({ language, text }: Snippet): Promise<string> {
  const { api_base_url: url, buyer_key: key } = scripts.network.sandbox
  const environment = { HOME: scripts.path, MARKET_URL: url, MARKET_KEY: key }
  if (language === 'sh') return scripts.run('bash', ['-euo', 'pipefail', '-c', text], environment)
  await scripts.write('snippet.mts', text)
  return scripts.run(process.execPath, ['--import', 'tsx', 'snippet.mts'], environment)
}

const Configuration = z.object({
  provider: z.object({
    market: z.object({ options: z.object({ baseURL: z.string(), apiKey: z.string() }) }),
  }),
  model: z.string().startsWith('market/'),
})

describe('the snippets of docs/snippets.md', () => {
  const snippets = snippetsOf(PAGE)
  const [runnable, files] = [snippets.filter(({ language }) => language !== 'json'), snippets.filter(isFile)]

  it.each(runnable)('$title', async (snippet) => {
    const printed = await runSnippet(snippet)
    expect(PRINTS[snippet.title], `the output of ${snippet.title}`).toBeDefined()
    expect(printed).toMatch(PRINTS[snippet.title] ?? /./)
  })

  it.each(files)('$title', async ({ text }) => {
    const { api_base_url: url, buyer_key: key } = scripts.network.sandbox
    const filled = text.replaceAll('{env:MARKET_URL}', url).replaceAll('{env:MARKET_KEY}', key)
    const { provider, model } = Configuration.parse(JSON.parse(filled))
    const market = createOpenAICompatible({ name: 'market', ...provider.market.options })
    const { text: said } = await generateText({ model: market(model.slice('market/'.length)), prompt: 'Say hello.' })
    expect(said).not.toBe('')
  })

  it('are all expected snippets', () => {
    expect(new Set(runnable.map(({ title }) => title))).toEqual(new Set(Object.keys(PRINTS)))
    expect(files).toHaveLength(1)
  })
})

function isFile({ language }: Snippet): boolean {
  return language === 'json'
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { modelsOf, readCatalog } from '#dev/seed/catalog.ts'
import type { Model } from '#shared/catalog/model.ts'
import { createProviderFinder } from '#shared/catalog/providers.ts'
import { createResolver } from '#shared/catalog/resolve.ts'

function model(lab: string, id: string, created: number, aliases: string[] = []): Model {
  return {
    id,
    lab,
    name: id,
    description: '',
    created,
    aliases,
    contextLength: 1_000,
    maxCompletionTokens: 1_000,
    inputModalities: ['text'],
    outputModalities: ['text'],
    features: [],
    parameters: [],
    endpoints: ['chat'],
    imageTokens: 8_192,
    imageOutput: null,
    clip: null,
    isSandbox: lab === 'sandbox',
    mediaUnit: null,
  }
}

const resolve = createResolver([
  model('anthropic', 'claude-sonnet-4.5', 2_000, ['claude-sonnet-4-5-20250929']),
  model('anthropic', 'claude-sonnet-4', 1_000),
  model('anthropic', 'claude-haiku-4.5', 3_000),
  model('openai', 'gpt-5', 1_500),
  model('openai', 'gpt-5-mini', 1_600),
  model('openai', 'chatgpt-4o-latest', 100),
  model('z-ai', 'glm-4.6', 1_900),
  model('sandbox', 'sandbox/echo', 0),
])

describe('model names', () => {
  it.each([
    ['claude-sonnet-4.5', 'claude-sonnet-4.5', 'canonical'],
    ['Claude-Sonnet-4.5', 'claude-sonnet-4.5', 'any case'],
    ['anthropic/claude-sonnet-4.5', 'claude-sonnet-4.5', 'lab/model'],
    ['claude-sonnet-45', 'claude-sonnet-4.5', 'Venice: dots dropped'],
    ['claude-sonnet-4-5', 'claude-sonnet-4.5', 'dots dashed'],
    ['z-ai-glm-4.6', 'glm-4.6', 'Venice: lab dashed'],
    ['openai-gpt-5', 'gpt-5', 'Venice: lab dashed'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4.5', 'dated alias'],
    ['claude-sonnet-4-20250514', 'claude-sonnet-4', 'dated'],
    ['gpt-5-2025-08-07', 'gpt-5', 'dated with dashes'],
    ['anthropic/claude-sonnet-4@20250514', 'claude-sonnet-4', 'dated with @'],
    ['claude-sonnet-latest', 'claude-sonnet-4.5', 'floating'],
    ['~anthropic/claude-sonnet-latest', 'claude-sonnet-4.5', 'floating, OpenRouter form'],
    ['claude-latest', 'claude-sonnet-4.5', 'a family, without its smaller sibling'],
    ['claude-haiku-latest', 'claude-haiku-4.5', 'the smaller sibling, by its name'],
    ['gpt-latest', 'gpt-5', 'floating family'],
    ['glm-latest', 'glm-4.6', 'floating family'],
    ['chatgpt-4o-latest', 'chatgpt-4o-latest', 'an exact name with such an ending'],
    ['sandbox/echo', 'sandbox/echo', 'sandbox'],
  ])('%s is %s (%s)', (name, expected) => expect(resolve(name)?.id).toBe(expected))

  it.each([
    '',
    'nope',
    'nope-latest',
    '-latest',
    '/',
    'anthropic/',
    'openai/claude-sonnet-4.5',
    'gpt-5\u0000',
    // The sign of kelvin becomes a k in lower case.
    'claude-hai\u212au-4.5',
    'anthropic/claude-sonnet/\u0000-latest',
    'x'.repeat(10_000),
  ])('%j is no model', (name) => expect(resolve(name)).toBeUndefined())
})

const seeded = await readCatalog()

describe('floating names of the catalogue', () => {
  const catalogue = modelsOf(seeded)
  const chats = catalogue.filter(({ endpoints, isSandbox }) => endpoints.includes('chat') && !isSandbox)
  const resolveSeeded = createResolver(catalogue)
  /** Words that may be part of a name: versions, sizes, days and the forms of text models. */
  const isDetail = (word: string) => /^[vkma]?\d+(?:\.\d+)*[bmeo]?$|^\d+x\d+b$|^(?:instruct|it)$/.test(word)
  const LARGER = ['opus', 'sonnet', 'pro', 'max', 'plus', 'ultra', 'premier', 'large', 'medium']

  it.each([
    ['gpt-latest', 'gpt-5.5'],
    ['gpt-mini-latest', 'gpt-5.4-mini'],
    ['gpt-codex-latest', 'gpt-5.3-codex'],
    ['gpt-codex-mini-latest', 'gpt-5.1-codex-mini'],
    ['gemini-latest', 'gemini-2.5-pro'],
    ['gemini-pro-latest', 'gemini-2.5-pro'],
    ['~google/gemini-flash-latest', 'gemini-3.8-flash'],
    ['gemini-flash-lite-latest', 'gemini-3.5-flash-lite'],
    ['gemini-flash-image-latest', 'gemini-2.5-flash-image'],
    ['claude-latest', 'claude-sonnet-5.5'],
    ['claude-haiku-latest', 'claude-haiku-5.5'],
    ['claude-haiku-4-5-latest', 'claude-haiku-4.5'],
    ['anthropic/claude-haiku-4.5-latest', 'claude-haiku-4.5'],
    ['claude-haiku-45-latest', 'claude-haiku-4.5'],
    ['claude-sonnet-4-latest', 'claude-sonnet-4'],
    ['claude-3-7-sonnet-latest', 'claude-3.7-sonnet'],
    ['mistral-small-latest', 'mistral-small-2603'],
    ['kimi-k2-latest', 'kimi-k2-0905'],
    ['qwen3-coder-latest', 'qwen3-coder'],
    ['deepseek-latest', 'deepseek-v3.2'],
    ['deepseek-chat-latest', 'deepseek-v3.2'],
    ['glm-latest', 'glm-5.3'],
    ['grok-latest', 'grok-4.7'],
    ['grok-fast-latest', 'grok-4.1-fast'],
  ])('%s is %s', (name, expected) => expect(resolveSeeded(name)?.id).toBe(expected))

  it.each(['gemini-3-pro-latest', 'claude-3-5-sonnet-latest', 'nemotron-latest', 'gpt-mini-codex-latest'])(
    '%s is no model: the name belongs to another line',
    (name) => expect(resolveSeeded(name)).toBeUndefined(),
  )

  it('mean no other line of products, with any word that a model name has', () => {
    const anyFamily = fc
      .constantFrom(...catalogue.flatMap(({ id, aliases }) => [id, ...aliases]))
      .map((name) => name.split('-'))
      .chain((words) => fc.subarray(words.slice(1)).map((rest) => [words[0] ?? '', ...rest]))
    fc.assert(
      fc.property(anyFamily, (words) => {
        const name = `${words.join('-')}-latest`
        const isExact = catalogue.some((model) => model.aliases.includes(name))
        const found = resolveSeeded(name)
        if (isExact || found === undefined) return
        const others = found.id.split('-').filter((word) => !words.includes(word) && !isDetail(word))
        expect([name, found.id, others.filter((word) => !LARGER.includes(word))]).toEqual([name, found.id, []])
        expect(chats).toContain(found)
      }),
      { numRuns: 3_000 },
    )
  })

  it('find each chat model by the words of its line, or a newer model of the line', () => {
    for (const model of chats) {
      const line = model.id.split('-').filter((word, at) => at === 0 || !isDetail(word))
      const found = resolveSeeded(`${line.join('-')}-latest`)
      const others = found?.id.split('-').filter((word) => !line.includes(word) && !isDetail(word))
      expect([model.id, others]).toEqual([model.id, []])
    }
  })
})

describe('provider hints', () => {
  const find = createProviderFinder([
    {
      id: 'openai',
      name: 'OpenAI',
      baseUrl: 'https://api.openai.com/v1',
      host: 'api.openai.com',
      isTrusted: true,
      costReferenceUrl: null,
      endpoints: null,
      hosts: [],
      basePaths: [],
      fileHosts: [],
    },
    {
      id: 'local',
      name: 'Local',
      baseUrl: 'http://127.0.0.11:9000/v1',
      host: '127.0.0.11:9000',
      isTrusted: true,
      costReferenceUrl: null,
      endpoints: null,
      hosts: [],
      basePaths: [],
      fileHosts: [],
    },
  ])
  it.each([
    ['openai', 'openai'],
    ['OpenAI', 'openai'],
    ['api.openai.com', 'openai'],
    ['API.OPENAI.COM.', 'openai'],
    ['https://api.openai.com/v1/chat', 'openai'],
    ['https://api.openai.com:443', 'openai'],
    ['http://127.0.0.11:9000/v1', 'local'],
    ['127.0.0.11:9000', 'local'],
  ])('%s is %s', (hint, expected) => expect(find(hint)?.id).toBe(expected))

  it.each(['nope', '', 'openai.com', 'https://evil.api.openai.com', 'https://api.openai.com.evil.example'])(
    '%j is none',
    (hint) => expect(find(hint)).toBeUndefined(),
  )
})

import { describe, expect, it } from 'vitest'
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
    ['claude-latest', 'claude-sonnet-4.5', 'a family without its smaller sibling'],
    ['claude-haiku-latest', 'claude-haiku-4.5', 'the smaller sibling when asked for'],
    ['gpt-latest', 'gpt-5', 'floating family'],
    ['glm-latest', 'glm-4.6', 'floating family'],
    ['chatgpt-4o-latest', 'chatgpt-4o-latest', 'a name that ends so is taken as it stands'],
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
    // The sign of kelvin is a k in lower case.
    'claude-hai\u212au-4.5',
    'anthropic/claude-sonnet/\u0000-latest',
    'x'.repeat(10_000),
  ])('%j is no model', (name) => expect(resolve(name)).toBeUndefined())
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

import { expect, it } from 'vitest'
import { closestName, didYouMean } from '#shared/closest-name.ts'

const NAMES = ['gpt-5', 'gpt-5-mini', 'gpt-5-nano', 'claude-3.5-haiku', 'claude-sonnet-4.5', 'gemini-2.5-flash']

it('suggests the name that was meant', () => {
  const meant = { 'gtp-5': 'gpt-5', 'gpt-5-mni': 'gpt-5-mini', 'Claude 3.5 Haiku': 'claude-3.5-haiku' }
  for (const [typed, name] of Object.entries(meant)) expect(closestName(typed, NAMES), typed).toBe(name)
  expect(closestName('openai/gpt-5-nanno', NAMES)).toBe('gpt-5-nano')
  expect(didYouMean('gemini-2.5-flsh', NAMES)).toBe(' Did you mean gemini-2.5-flash?')
})

it('suggests nothing for a name that is far from all, is empty or is very long', () => {
  for (const typed of ['no-such-model', 'nope', '', 'x', 'a'.repeat(100_000)]) {
    expect([typed.slice(0, 20), closestName(typed, NAMES)]).toEqual([typed.slice(0, 20), undefined])
  }
  expect(didYouMean('llama', [])).toBe('')
})

import { createHash } from 'node:crypto'

/** Caching starts at 1,024 tokens and goes in steps of 128, estimated at four bytes per token. */
const MIN_BLOCKS = 8
const BLOCK_CHARS = 512
const TOKENS_PER_BLOCK = 128
const MAX_KEPT_BLOCKS = 20_000

/** Remembers long beginnings of prompts, like a provider's prompt cache. */
export type PromptCache = {
  /**
   * Returns the number of tokens at this prompt's beginning that this model has seen before, and remembers the prompt.
   */
  readonly recall: (model: string, prompt: string) => number
}

export function createPromptCache(): PromptCache {
  const prefixes = new Set<string>()
  return {
    recall: (model, prompt) => {
      const blocks = Math.floor(prompt.length / BLOCK_CHARS)
      if (blocks < MIN_BLOCKS) return 0
      let knownTokens = 0
      let running = model
      for (let index = 0; index < blocks; index += 1) {
        const block = prompt.slice(index * BLOCK_CHARS, (index + 1) * BLOCK_CHARS)
        running = createHash('sha256').update(running).update(block).digest('base64')
        if (prefixes.has(running) && knownTokens === index) knownTokens = index + 1
        prefixes.add(running)
      }
      if (prefixes.size > MAX_KEPT_BLOCKS) prefixes.clear()
      return knownTokens < MIN_BLOCKS ? 0 : knownTokens * TOKENS_PER_BLOCK
    },
  }
}

// npm install ai @ai-sdk/openai-compatible tsx
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText } from 'ai'

const market = createOpenAICompatible({
  name: 'market',
  baseURL: `${process.env.MARKET_URL}/v1`,
  apiKey: process.env.MARKET_KEY,
})

const { text, usage } = await generateText({ model: market('gpt-5-mini'), prompt: 'Say hello.' })
console.log(text, usage.totalTokens)

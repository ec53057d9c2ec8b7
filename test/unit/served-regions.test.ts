import { expect, it } from 'vitest'
import { servedRegions } from '#shared/protocols/served-regions.ts'

it.each<[string, string, readonly string[]]>([
  ['https://api.openai.com/v1', 'gpt-6-sol', []],
  ['https://eu.api.openai.com/v1', 'gpt-6-sol', ['eu']],
  ['https://eu.api.openai.com.example/v1', 'gpt-6-sol', []],
  ['https://us-east-1.api.x.ai/v1', 'grok-4.7', ['us-east-1', 'us']],
  ['https://europe-west4-aiplatform.googleapis.com/v1', 'gemini-3.8-flash', ['europe-west4', 'eu']],
  ['https://aiplatform.us.rep.googleapis.com/v1', 'gemini-3.8-flash', ['us']],
  ['https://aiplatform.googleapis.com/v1', 'gemini-3.8-flash', []],
  ['https://bedrock-runtime.eu-central-1.amazonaws.com', 'eu.anthropic.claude-opus-5', ['eu']],
  ['https://bedrock-runtime.eu-central-1.amazonaws.com', 'global.anthropic.claude-opus-5', []],
  ['https://bedrock-runtime.eu-central-1.amazonaws.com', 'amazon.nova-pro-v1:0', ['eu-central-1', 'eu']],
])('a model at %s called %s is served in %j', (baseUrl, providerModel, regions) => {
  expect(servedRegions({ baseUrl, providerModel })).toEqual(regions)
})

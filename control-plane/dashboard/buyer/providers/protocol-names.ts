/** The protocols of providers as people know them, by the API's name. */
export const PROTOCOL_NAMES: Readonly<Record<string, string>> = {
  openai: 'OpenAI chat completions',
  responses: 'OpenAI responses',
  azure: 'Azure OpenAI',
  azureresponses: 'Azure OpenAI responses',
  azuredeployments: 'Azure OpenAI deployments',
  messages: 'Anthropic messages',
  gemini: 'Gemini',
  vertex: 'Vertex AI',
  vertexclaude: 'Claude on Vertex AI',
  bedrock: 'Amazon Bedrock',
  together: 'Together',
  fal: 'fal',
  falqueue: 'fal queue',
}

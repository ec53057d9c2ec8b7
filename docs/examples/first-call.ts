// npm install openai tsx
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: `${process.env.MARKET_URL}/v1`, apiKey: process.env.MARKET_KEY })

const { data, response } = await client.chat.completions
  .create({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Say hello.' }] })
  .withResponse()
console.log(data.choices[0]?.message.content)
console.log('cost:', response.headers.get('x-mkt-buyer-cost-micro'), 'micro-USD')

import OpenAI from 'openai'

const client = new OpenAI({ baseURL: `${process.env.MARKET_URL}/v1`, apiKey: process.env.MARKET_KEY })

const stream = await client.chat.completions.create({
  model: 'gpt-5-mini',
  messages: [{ role: 'user', content: 'Count to five.' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
console.log()

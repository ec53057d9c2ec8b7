import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { createFundNews } from '#data-plane/store/fund-news.ts'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import { until } from '#test/support/run/until.ts'

const WAIT_MS = 5_000
let redis: Redis
let listener: Redis

beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
  listener = new Redis(inject('redisUrl'))
})
afterAll(() => {
  redis.disconnect()
  listener.disconnect()
})

it('announcements of balances cover many calls at once, with each account once, and later calls in the next one', async () => {
  const heard: string[] = []
  await listener.subscribe(CHANNELS.funds)
  // Announcements reach the whole server. Those of other tests name other accounts.
  listener.on('message', (_channel, message) => {
    if (message.includes('acc_news')) heard.push(message)
  })
  const news = createFundNews(redis)
  for (let call = 0; call < 50; call++) news.changed(call % 2 === 0 ? 'acc_news_a' : 'acc_news_b')
  await until('the news', WAIT_MS, () => heard.length > 0)
  news.changed('acc_news_b')
  await until('more news', WAIT_MS, () => heard.length > 1)
  expect(heard).toEqual(['["acc_news_a","acc_news_b"]', '["acc_news_b"]'])
})

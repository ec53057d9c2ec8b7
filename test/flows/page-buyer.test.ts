import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { startBrowser } from '#test/support/browser.ts'
import type { Network } from '#test/support/network.ts'
import { sharedNetwork } from '#test/support/network.ts'
import { openPerson } from '#test/support/page-browser.ts'
import { until } from '#test/support/until.ts'

const START_MS = 120_000
const JOURNEY_MS = 60_000
const SEEN_MS = 20_000
const MODEL = 'gpt-5-nano'

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
}, START_MS)

afterAll(() => browser?.close())

const open = (key?: string) => openPerson(browser, { url: site, ...(key === undefined ? {} : { key }) })

async function door(path: string, key: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${site}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} answered ${answer.status} ${text}`)
  return JSON.parse(text)
}

const Simulated = z.object({
  calls: z.number(),
  policy: z.object({ served: z.number(), unserved: z.number(), costMicro: z.number() }),
  byModel: z.array(z.object({ model: z.string(), policyProvider: z.string().nullable() })),
})

/** What the calls of the last day would have cost under a policy. */
async function simulated(key: string, policy: object): Promise<z.infer<typeof Simulated>> {
  const query = `query($policy: RoutingPolicyInput!) { routingSimulation(policy: $policy) {
    calls policy { served unserved costMicro } byModel { model policyProvider } } }`
  const answer = await door('/graphql', key, { query, variables: { policy } })
  return z.object({ data: z.object({ routingSimulation: Simulated }) }).parse(answer).data.routingSimulation
}

it(
  'a buyer tries a policy on the calls of the last day, and changes nothing by it',
  async () => {
    const { buyer_key: own } = network.sandbox
    const messages = [{ role: 'user', content: 'Say hello.' }]
    await door('/v1/chat/completions', own, { model: MODEL, max_tokens: 32, messages })
    await until('the call is booked', SEEN_MS, async () =>
      (await simulated(own, {})).byModel.some(({ model }) => model === MODEL),
    )
    const provider = (await simulated(own, {})).byModel.find(({ model }) => model === MODEL)?.policyProvider
    const { context, page, complaints } = await open(own)
    await page.goto(`${site}/buyer/providers`)
    await page.getByLabel('Never these providers').fill(provider ?? '')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.waitForURL(/try=yes/)
    const line = page.getByRole('table', { name: 'Simulation by model' }).getByRole('row', { name: MODEL })
    await line.waitFor()
    expect(await line.getByRole('cell').last().textContent()).not.toBe(provider)
    await page
      .getByRole('table', { name: 'Under each policy' })
      .getByRole('row', { name: /^This policy/ })
      .waitFor()
    await page.getByLabel('Never these providers').fill('')
    await page.getByLabel('Floor, percent').fill('100')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('no call is served under both').waitFor()
    const none = await simulated(own, { minDiscountPct: 100 })
    expect([none.policy.served, none.policy.unserved, none.policy.costMicro]).toEqual([0, none.calls, 0])
    await page.getByLabel('Only these providers').fill('nobody-sells-here')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByRole('alert').getByText('None of these providers is known: nobody-sells-here.').waitFor()
    await page.goBack()
    expect(await page.getByLabel('Floor, percent').inputValue()).toBe('100')
    expect(await door('/v1/buyer/preferences', own)).toMatchObject({ min_discount_pct: null })
    expect(complaints).toEqual([])
    await context.close()
  },
  JOURNEY_MS,
)

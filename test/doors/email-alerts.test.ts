import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { transact } from '#control-plane/db/database.ts'
import { insertEmail } from '#control-plane/db/emails.ts'
import { WEBHOOK_EVENTS } from '#control-plane/db/tables/webhooks.ts'
import { alertWords } from '#control-plane/services/mail/alert-texts.ts'
import { MAX_ALERT_MAILS_A_DAY } from '#control-plane/services/webhooks/alert-mail.ts'
import { tellAccount } from '#control-plane/services/webhooks/tell-account.ts'
import { startSendWebhooks, startWatchAlerts } from '#control-plane/workers/webhooks.ts'
import type { RunningWorker } from '#control-plane/workers/worker.ts'
import { DAY } from '#shared/clock.ts'
import { isId } from '#shared/ids.ts'
import type { Answer, Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import type { MailServer } from '#test/support/doors/mail-server.ts'
import { headersOf, startMailServer, textOf } from '#test/support/doors/mail-server.ts'
import { newPasskeyAccount } from '#test/support/doors/passkey-account.ts'
import { until } from '#test/support/run/until.ts'

const PAGE = 'http://localhost:8402'
let market: TestMarket
let server: MailServer
let workers: RunningWorker[] = []

beforeAll(async () => {
  server = await startMailServer()
  market = await startMarket({ environment: { SMTP_URL: server.url, MAIL_FROM: 'market@example.com' } })
  workers = [startWatchAlerts(market.plane), startSendWebhooks(market.plane)]
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
  await market?.stop()
  await server?.stop()
})

const Hook = z.object({ id: z.string(), url: z.string(), enabled: z.boolean(), format: z.string() })
const Delivery = z.object({ status: z.string(), error: z.string().nullable(), body: z.string() })
const refusal = (answer: Answer) => [answer.status, codeOf(answer)]

let made = 0
/** A person with a verified address. */
async function reader(): Promise<Person & { readonly address: string }> {
  const person = await market.person()
  const address = `alerts-${++made}@example.com`
  const email = { id: market.plane.ids.make('eml'), user: person.buyer.user, address, createdAt: 0 }
  await transact(market.plane.db, (trx) => insertEmail(trx, email))
  return { ...person, address }
}

const create = ({ buyerKey }: Person, body: object) =>
  market.rest('POST', '/v1/buyer/webhooks', { key: buyerKey, body: { format: 'email', ...body } })
const alertOf = async (person: Person & { readonly address: string }) =>
  Hook.parse((await create(person, { url: `mailto:${person.address}` })).body)
const change = ({ buyerKey }: Person, id: string, body: object) =>
  market.rest('PATCH', `/v1/buyer/webhooks/${id}`, { key: buyerKey, body })
const read = async ({ buyerKey }: Person, id: string) =>
  Hook.parse((await market.rest('GET', `/v1/buyer/webhooks/${id}`, { key: buyerKey })).body)
const deliveriesOf = async ({ buyerKey }: Person, id: string) =>
  z
    .object({ deliveries: z.array(Delivery) })
    .or(z.object({ items: z.array(Delivery) }).transform(({ items }) => ({ deliveries: items })))
    .parse((await market.rest('GET', `/v1/buyer/webhooks/${id}/deliveries`, { key: buyerKey })).body).deliveries

/** Reports an event to the webhooks of an account. */
const report = ({ buyer }: Person, more: object = {}) =>
  transact(market.plane.db, (trx) =>
    tellAccount(market.plane, trx, buyer.account, {
      event: 'deposit.credited',
      data: { amount_usdc: '2500000', tx_hash: '0xabc', ...more },
    }),
  )

describe('an alert by e-mail', () => {
  it('reaches a verified address as a sentence, with a link that ends the alert', async () => {
    const person = await reader()
    const answer = await create(person, { url: `mailto:${person.address.toUpperCase()}` })
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({ url: `mailto:${person.address}`, format: 'email' })
    expect(answer.text).not.toContain('whsec')
    const { id } = Hook.parse(answer.body)
    await report(person)
    const mail = await server.mailTo(person.address)
    const headers = headersOf(mail)
    expect(headers.get('subject')).toBe('$2.50 added to your credit')
    expect(headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    const text = textOf(mail)
    expect(text).toContain('Your deposit of $2.50 is credited.')
    await until(
      'the delivery is stored',
      5_000,
      async () => (await deliveriesOf(person, id))[0]?.status === 'delivered',
    )
    expect(JSON.stringify(await deliveriesOf(person, id))).not.toContain(person.address)

    // A mail program posts a form without credentials to the address of the header.
    const [url = ''] = /https?:[^>]+/.exec(headers.get('list-unsubscribe') ?? '') ?? []
    const path = new URL(url).pathname
    expect((await fetch(market.url + path)).status).toBe(405)
    expect((await read(person, id)).enabled).toBe(true)
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const clicked = await fetch(market.url + path, { ...form, body: 'List-Unsubscribe=One-Click' })
    expect(clicked.status).toBe(200)
    expect((await read(person, id)).enabled).toBe(false)
    expect((await market.rest('POST', path)).status).toBe(200)
    expect((await fetch(`${market.url}/v1/buyer/webhooks`, { ...form, body: 'a=b' })).status).toBe(415)
    // The link of the text leads to the page, where a click ends the alert: scanners open links.
    expect(text).toContain(`${PAGE}/unsubscribe#alert=${path.split('/').slice(-2).join('/')}`)
  })

  it('does not go to an unverified address', async () => {
    const person = await reader()
    const other = await reader()
    const REFUSED = [400, 'invalid_request']
    expect(refusal(await create(person, { url: `mailto:${other.address}` }))).toEqual(REFUSED)
    expect(refusal(await create(person, { url: 'mailto:nobody@example.com' }))).toEqual(REFUSED)
    expect(refusal(await create(person, { url: 'https://example.com/hook' }))).toEqual(REFUSED)
    expect(refusal(await create(person, { url: `mailto:${person.address}`, format: 'standard' }))).toEqual(REFUSED)
    expect(refusal(await create(person, { url: `mailto:${person.address}?bcc=x@example.com` }))).toEqual(REFUSED)
    const { id } = await alertOf(person)
    expect(refusal(await change(person, id, { url: `mailto:${other.address}` }))).toEqual(REFUSED)
    expect(refusal(await change(person, id, { format: 'standard' }))).toEqual(REFUSED)
    const hook = Hook.parse((await create(person, { url: 'https://example.com/hook', format: 'slack' })).body)
    expect(refusal(await change(person, hook.id, { format: 'email' }))).toEqual(REFUSED)
    const rotated = await market.rest('POST', `/v1/buyer/webhooks/${id}/rotate-secret`, { key: person.buyerKey })
    expect(refusal(rotated)).toEqual([409, 'conflict'])
  })

  it('ends with its address, and is not switched on again without it', async () => {
    const { browser, user } = await newPasskeyAccount(market, PAGE)
    if (!isId('usr', user)) throw new Error('there is no user')
    const address = `alerts-${++made}@example.com`
    const email = { id: market.plane.ids.make('eml'), user, address, createdAt: 0 }
    await transact(market.plane.db, (trx) => insertEmail(trx, email))
    const url = `mailto:${address}`
    const { id } = Hook.parse((await browser.send('POST', '/v1/buyer/webhooks', { url, format: 'email' })).body)
    expect((await browser.send('DELETE', `/v1/auth/emails/${email.id}`)).status).toBe(200)
    expect((await browser.send('GET', `/v1/buyer/webhooks/${id}`)).body).toMatchObject({ enabled: false })
    const again = await browser.send('PATCH', `/v1/buyer/webhooks/${id}`, { enabled: true })
    expect(refusal(again)).toEqual([400, 'invalid_request'])
  })

  it('is ended by its own token only', async () => {
    const person = await reader()
    const [one, two] = [await alertOf(person), await alertOf(person)]
    await report(person)
    await server.mailTo(person.address, 2)
    const tokens = server.received(person.address).map((mail) => {
      const [, id = '', token = ''] =
        /unsubscribe\/(whk_[\w-]+)\/([\w-]+)/.exec(headersOf(mail).get('list-unsubscribe') ?? '') ?? []
      return { id, token }
    })
    const tokenOf = (id: string) => tokens.find((found) => found.id === id)?.token ?? ''
    const end = (id: string, token: string) => market.rest('POST', `/v1/buyer/unsubscribe/${id}/${token}`)
    expect(refusal(await end(one.id, tokenOf(two.id)))).toEqual([404, 'not_found'])
    expect(refusal(await end(one.id, 'x'.repeat(43)))).toEqual([404, 'not_found'])
    expect((await read(person, one.id)).enabled).toBe(true)
    expect((await end(two.id, tokenOf(two.id))).status).toBe(200)
    expect([(await read(person, one.id)).enabled, (await read(person, two.id)).enabled]).toEqual([true, false])
  })

  it('is tested at once', async () => {
    const person = await reader()
    const { id } = await alertOf(person)
    const test = () => market.rest('POST', `/v1/buyer/webhooks/${id}/test`, { key: person.buyerKey })
    expect((await test()).body).toMatchObject({ status: 'delivered', error: null })
    expect(headersOf(await server.mailTo(person.address)).get('subject')).toBe('Test alert')
    server.reply('refused')
    const refused = await test()
    expect(refused.body).toMatchObject({ status: 'failed', error: 'EENVELOPE 550' })
    expect(refused.text).not.toContain(person.address)
  })

  it('stops at the daily limit, says so in the last mail, and counts the rest on the next day', async () => {
    const person = await reader()
    const { id } = await alertOf(person)
    for (let count = 0; count < MAX_ALERT_MAILS_A_DAY + 2; count++) await report(person)
    const isOver = async () =>
      (await deliveriesOf(person, id)).filter(({ status }) => status === 'pending').length === 0
    await until('all deliveries are tried', 60_000, isOver)
    const mails = server.received(person.address)
    expect(mails).toHaveLength(MAX_ALERT_MAILS_A_DAY)
    const last = `This is the last of ${MAX_ALERT_MAILS_A_DAY} alerts by e-mail today (UTC).`
    expect(mails.filter((mail) => textOf(mail).includes(last))).toHaveLength(1)
    const failed = (await deliveriesOf(person, id)).filter(({ status }) => status === 'failed')
    expect(failed.map(({ error }) => error)).toEqual(
      Array(failed.length).fill(`the limit of ${MAX_ALERT_MAILS_A_DAY} e-mails a day is reached`),
    )
    market.advance(DAY)
    await report(person)
    const next = await server.mailTo(person.address, MAX_ALERT_MAILS_A_DAY + 1)
    expect(textOf(next)).toContain('Yesterday, 2 more alerts were not sent by e-mail.')
  })

  it('cannot be made where the market sends no mail', async () => {
    const plain = await startMarket()
    const { buyerKey } = await plain.person()
    const body = { url: 'mailto:ada@example.com', format: 'email' }
    expect(refusal(await plain.rest('POST', '/v1/buyer/webhooks', { key: buyerKey, body }))).toEqual([
      400,
      'invalid_request',
    ])
    await plain.stop()
  })
})

describe('the words of alerts', () => {
  const facts = {
    host: 'market.example',
    alertsUrl: 'https://market.example/buyer/limits',
    unsubscribeUrl: 'https://u',
    notes: [],
  }

  it('exist for every event', () => {
    for (const event of [...WEBHOOK_EVENTS, 'webhook.test']) {
      const { subject, lines } = alertWords(event, {}, facts)
      expect(subject).not.toBe(event)
      expect(lines.length).toBeGreaterThan(0)
    }
  })

  it('keep the name of a key on one line', () => {
    const data = {
      key_label: 'x\r\nBcc: b@example.com',
      percent: 80,
      period: 'day',
      cap_usdc: '1000000',
      used_usdc: '800000',
      resets_at: 0,
    }
    const { subject, lines } = alertWords('key.cap_reached', data, facts)
    expect(subject).not.toMatch(/[\r\n]/)
    expect(lines[0]).toBe('x  Bcc: b@example.com has used $0.80 of $1.00, its budget for this day.')
  })
})

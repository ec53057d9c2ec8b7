import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Mail } from '#control-plane/ports/mail/mail-sender.ts'
import { openQueuedMail } from '#control-plane/ports/mail/redis-mail-queue.ts'
import { createSmtpMailSender } from '#control-plane/ports/mail/smtp-mail-sender.ts'
import { startSendMail } from '#control-plane/workers/send-mail.ts'
import { MINUTE } from '#shared/clock.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { Secret } from '#shared/secret.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import type { MailServer } from '#test/support/doors/mail-server.ts'
import { headersOf, startMailServer, textOf } from '#test/support/doors/mail-server.ts'
import { until } from '#test/support/run/until.ts'

const FROM = { name: 'Test Märket', address: 'market@example.com' }
const mailTo = (to: string, more: Partial<Mail> = {}): Mail => ({
  to,
  subject: 'Sign in to the märket',
  text: 'Open https://example.com/sign-in#mail=canary-secret',
  html: '<p>Open</p>',
  ...more,
})

let server: MailServer
let market: TestMarket

beforeAll(async () => {
  server = await startMailServer()
  market = await startMarket({
    environment: { SMTP_URL: server.url, MAIL_FROM: 'Test Märket <market@example.com>' },
  })
})
afterAll(async () => {
  await market?.stop()
  await server?.stop()
})

describe('the sender of mails', () => {
  it('sends text and HTML to one reader, with the links that stop such mails', async () => {
    const sender = createSmtpMailSender(new Secret(server.url), FROM)
    const unsubscribeUrl = 'https://example.com/v1/buyer/unsubscribe/whk_1/abc'
    expect(await sender.send(mailTo('one@example.com', { unsubscribeUrl }))).toEqual({ kind: 'sent' })
    const mail = await server.mailTo('one@example.com')
    expect(mail).toMatchObject({ from: 'market@example.com', to: ['one@example.com'] })
    const headers = headersOf(mail)
    expect(headers.get('to')).toBe('one@example.com')
    expect(headers.get('list-unsubscribe')).toBe(`<${unsubscribeUrl}>`)
    expect(headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    expect(headers.get('content-type')).toMatch(/^multipart\/alternative/)
    expect(textOf(mail)).toContain('https://example.com/sign-in#mail=canary-secret')
    sender.close()
  })

  it.each([
    ['a second address', { to: 'a@example.com, b@example.com' }],
    ['a line break in the address', { to: 'a@example.com\r\nBcc: b@example.com' }],
    ['a line break in the address’s name', { to: 'a\n@example.com' }],
    ['a line break in the subject', { subject: 'Hello\r\nBcc: b@example.com' }],
    ['a line feed in the subject', { subject: 'Hello\nBcc: b@example.com' }],
    ['a line break in the link', { unsubscribeUrl: 'https://example.com/\r\nBcc: b@example.com' }],
    ['a second link', { unsubscribeUrl: 'https://example.com/>, <https://evil.example/' }],
  ])('refuses %s before anything is sent', async (_what, twist) => {
    const sender = createSmtpMailSender(new Secret(server.url), FROM)
    const before = server.attempts()
    await expect(sender.send({ ...mailTo('two@example.com'), ...twist })).rejects.toThrow('not one line')
    expect(server.attempts()).toBe(before)
    sender.close()
  })

  it('reports a refusal, and a busy or absent server as unreachable, without the address', async () => {
    const sender = createSmtpMailSender(new Secret(server.url), FROM)
    server.reply('refused', 'busy')
    expect(await sender.send(mailTo('no@example.com'))).toEqual({ kind: 'refused', reason: 'EENVELOPE 550' })
    expect(await sender.send(mailTo('no@example.com'))).toEqual({ kind: 'unreachable', reason: 'EENVELOPE 451' })
    sender.close()
    const gone = createServer()
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
    const bound = gone.address()
    const port = typeof bound === 'object' ? bound?.port : 0
    await new Promise((resolve) => gone.close(resolve))
    const away = createSmtpMailSender(new Secret(`smtp://127.0.0.1:${port}`), FROM)
    expect(await away.send(mailTo('no@example.com'))).toMatchObject({ kind: 'unreachable' })
    away.close()
  })
})

describe('the queue of mails', () => {
  const post = (mail: Mail, forMs: number) => market.plane.mail?.post(mail, market.plane.clock.now() + forMs)
  const jobs = async () => {
    const queue = market.plane.openQueue(QUEUES.mail)
    const waiting = await queue.getJobs(['waiting', 'delayed', 'active'])
    return waiting.filter((job) => job !== undefined)
  }

  it('keeps a mail sealed in Redis, sends it, and drops one whose time is over', async () => {
    await post(mailTo('sealed@example.com'), MINUTE)
    const [job] = await jobs()
    const stored = JSON.stringify(job?.data)
    expect(stored).not.toContain('sealed@example.com')
    expect(stored).not.toContain('canary-secret')
    const opened = openQueuedMail(market.plane.settings.keyRing, job?.data, market.plane.clock.now())
    expect(opened).toEqual(mailTo('sealed@example.com'))
    await post(mailTo('late@example.com'), -1)
    const worker = startSendMail(market.plane)
    await server.mailTo('sealed@example.com')
    await until('the queue is empty', 10_000, async () => (await jobs()).length === 0)
    expect(server.received('late@example.com')).toEqual([])
    await worker.stop()
  })

  it('tries a busy server again, and a refused mail never', async () => {
    const worker = startSendMail(market.plane)
    server.reply('busy')
    await post(mailTo('again@example.com'), MINUTE)
    await server.mailTo('again@example.com')
    const before = server.attempts()
    server.reply('refused')
    await post(mailTo('never@example.com'), MINUTE)
    await until('the mail was tried', 10_000, async () => server.attempts() > before)
    await until('the queue is empty', 10_000, async () => (await jobs()).length === 0)
    expect(server.attempts()).toBe(before + 1)
    await worker.stop()
  })
})
